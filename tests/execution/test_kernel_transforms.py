"""The pass that transforms constant kernels: values, constants, storage, and where it is off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.execution.kernel_transforms import with_transformed_kernels
from olympus_core.ir.check import check
from olympus_core.primitives import conv_tiles
from tests.execution.test_channels_last import traced

KERNEL = np.random.default_rng(0).standard_normal((64, 64, 3, 3)).astype("float32") / 24
X = np.random.default_rng(1).standard_normal((1, 64, 24, 24)).astype("float32")


def conv(x: Any, kernel: Any) -> Any:
    return ox.lax.conv(x, kernel, (1, 1), "SAME")


def twice(x: Any) -> Any:
    return conv(ox.nn.relu(conv(x, KERNEL)), KERNEL).sum((2, 3))


def names(program: Any) -> list[str]:
    return [eqn.primitive.name for eqn in program.eqns]


def by_definition(x: Any) -> Any:
    """The value without tiles, which a higher precision leaves out."""
    with ox.default_matmul_precision("highest"):
        lowered = ox.jit(lambda x: twice(x)).lower(x)
    assert "tiled_convolution" not in lowered.as_text()
    return np.asarray(lowered.compile()(x))


def test_a_constant_kernel_is_transformed_once() -> None:
    program = with_transformed_kernels(traced(twice, X))
    check(program)
    assert names(program).count("tiled_convolution") == 2
    assert [np.shape(c) for c in program.consts if np.ndim(c)] == [(36, 64, 64)]
    lowered = ox.jit(twice).lower(X)
    found = np.asarray(lowered.compile()(X))
    np.testing.assert_allclose(found, by_definition(X), rtol=1e-4, atol=1e-3)


def test_a_kernel_that_another_operation_reads_stays_too() -> None:
    program = with_transformed_kernels(
        traced(lambda x: (conv(x, KERNEL), KERNEL * x[0, 0, 0, 0]), X)
    )
    check(program)
    assert {np.shape(c) for c in program.consts if np.ndim(c)} == {(36, 64, 64), KERNEL.shape}


def test_a_kernel_that_is_an_argument_is_transformed_in_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conv_tiles, "_LEAST_PRODUCTS_OF_ARGUMENTS", 0)
    program = traced(conv, X, KERNEL)
    assert with_transformed_kernels(program) is program
    text = ox.jit(conv).lower(X, KERNEL).as_text()
    assert "call @winograd_convolution" in text
    assert "stablehlo.convolution" not in text


def test_a_program_without_a_gain_is_unchanged() -> None:
    program = traced(lambda x: conv(x, KERNEL), X[:, :, :7, :7])
    assert with_transformed_kernels(program) is program


def test_the_equation_keeps_the_line_of_the_convolution() -> None:
    program = traced(twice, X)
    lines = {e.source.position() for e in program.eqns if e.primitive.is_convolution}
    tiled = with_transformed_kernels(program).eqns
    found = {e.source.position() for e in tiled if e.primitive.name == "tiled_convolution"}
    assert found == lines


def test_the_cost_is_that_of_the_convolutions() -> None:
    traced = ox.jit(twice).trace(X)
    tiled, for_gpu = traced.lower(), traced.lower(ox.Target("gpu", "h200"))
    assert "call @tiled_convolution" in tiled.as_text()
    assert tiled.cost().flops == for_gpu.cost().flops
    assert tiled.cost().matmul_flops == for_gpu.cost().matmul_flops


def test_transformed_kernels_are_stored_apart() -> None:
    lowered = ox.jit(twice).trace(X).lower(constants="store")
    assert "tensor<36x64x64xf32>" in lowered.as_text().split("->")[0]
    found = np.asarray(lowered.compile()(X))
    np.testing.assert_allclose(found, by_definition(X), rtol=1e-4, atol=1e-3)
