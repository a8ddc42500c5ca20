"""The forms of convolutions for GPUs, computed on the CPU and compared with JAX's convolution."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.interop.stablehlo
from olympus import lax
from olympus_core.base.avals import get_aval
from olympus_core.primitives import conv_patches
from olympus_core.primitives.conv import conv_general_dilated_p
from olympus_core.xla.bindings import JAXLIB_VERSION
from tests.marks import needs_gpu_compiler

LAYOUTS = [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("CNWH", "IWHO", "HWNC")]
H200 = olympus.target("gpu", "h200")


def both(x: Any, kernel: Any, *options: Any) -> tuple[str, Any, Any]:
    """Return the name of the GPU form of a convolution, its result and JAX's."""
    wanted = jax.lax.conv_general_dilated(x, kernel, *options, precision="highest")
    program = olympus.make_olympuspr(lambda x, k: lax.conv_general_dilated(x, k, *options))
    (eqn,) = program(x, kernel).eqns
    out = conv_general_dilated_p.abstract(get_aval(x), get_aval(kernel), **eqn.params)
    form = conv_patches.gpu_form([get_aval(x), get_aval(kernel)], out, eqn.params)
    assert form is not None
    return form.__name__, form(x, kernel, out.shape, **eqn.params), np.asarray(wanted)


def operands(layout: Any, groups: int, size: tuple[int, int], dtype: str) -> tuple[Any, Any]:
    numbers = jax.lax.conv_dimension_numbers((1,) * 4, (1,) * 4, layout)
    rng = np.random.default_rng(0)
    drawn = []
    for spec, sizes in (
        (numbers.lhs_spec, (4, 6, 9, 8)),
        (numbers.rhs_spec, (12, 6 // groups, *size)),
    ):
        shape = [n for _, n in sorted(zip(spec, sizes, strict=True))]
        array = rng.standard_normal(shape)
        array = array + 1j * rng.standard_normal(shape) if dtype == "complex64" else array
        drawn.append(array.astype(dtype))
    return drawn[0], drawn[1]


@pytest.mark.parametrize("size", [(3, 2), (1, 1), (6, 7)], ids=str)
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (3, 1), (1, 4)], ids=str)
def test_a_form_computes_the_convolution(groups: tuple[int, int], size: tuple[int, int]) -> None:
    names = set()
    grid = itertools.product(
        LAYOUTS,
        [((1, 1), "SAME", (1, 1), (1, 1)), ((2, 3), ((2, 1), (4, 3)), (2, 1), (1, 2))],
    )
    for layout, (strides, padding, lhs_dilation, rhs_dilation) in grid:
        x, kernel = operands(layout, groups[0], size, "float32")
        options = (strides, padding, lhs_dilation, rhs_dilation, layout, *groups)
        name, result, wanted = both(x, kernel, *options)
        names.add(name)
        np.testing.assert_allclose(result, wanted, atol=1e-4)
    if groups[1] > 1:
        assert names == {"grouped_weights"}
    elif size == (6, 7):
        assert "product_of_windows" in names
    else:
        grouped = groups[0] > 1
        assert names == {"product_of_grouped_patches" if grouped else "product_of_patches"}


def test_slices_that_are_large_together_are_multiplied_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conv_patches, "_MOST_BYTES", 100)
    for groups in (1, 2):
        x, kernel = operands(LAYOUTS[0], groups, (3, 2), "float32")
        options = ((1, 1), "SAME", (1, 1), (1, 1), LAYOUTS[0], groups, 1)
        name, result, wanted = both(x, kernel, *options)
        assert name == "product_of_grouped_patches"
        np.testing.assert_allclose(result, wanted, atol=1e-4)


def test_other_forms() -> None:
    x, kernel = operands(LAYOUTS[0], 1, (3, 2), "complex64")
    name, result, wanted = both(x, kernel, (1, 1), "SAME", (1, 1), (1, 1), LAYOUTS[0])
    assert name == "complex_convolution"
    np.testing.assert_allclose(result, wanted, atol=1e-4)
    x, kernel = operands(LAYOUTS[1], 1, (3, 2), "float32")
    cropped = ((1, 1), ((-1, 2), (1, -1)), (1, 1), (1, 1), LAYOUTS[1])
    name, result, wanted = both(x, kernel, *cropped)
    assert name == "cropped_convolution"
    np.testing.assert_allclose(result, wanted, atol=1e-4)


def test_too_many_slices_have_no_form() -> None:
    shape = olympus.ShapeDtypeStruct((1, 1, 2000), "float32")
    kernel = olympus.ShapeDtypeStruct((1, 1, 1000), "float32")
    traced = olympus.jit(lambda x, k: lax.conv(x, k, (1,), "VALID")).trace(shape, kernel)
    assert "stablehlo.convolution" in traced.lower(H200).as_text()


def trained(x: Any, kernel: Any) -> Any:
    """Return the gradients of a convolution with strides."""

    def loss(x: Any, kernel: Any) -> Any:
        return (lax.conv(x, kernel, (2, 2), "SAME") ** 2).sum()

    return olympus.grad(loss, (0, 1))(x, kernel)


@needs_gpu_compiler
def test_a_program_for_a_gpu_refers_to_no_algorithm_of_cudnn() -> None:
    shapes = (
        olympus.ShapeDtypeStruct((2, 8, 9, 9), "float32"),
        olympus.ShapeDtypeStruct((16, 8, 3, 3), "float32"),
    )
    traced = olympus.jit(trained).trace(*shapes)
    assert "stablehlo.convolution" not in traced.lower(H200).as_text()
    text = traced.lower(H200).compile().as_text()
    assert "cudnn" not in text
    assert "__cublas" in text
    assert "triton_gemm" not in text


@needs_gpu_compiler
def test_a_convolution_that_is_compiled_unchanged_has_no_search_of_an_algorithm() -> None:
    traced = olympus.jit(lambda x, k: lax.conv(x, k, (1, 1), "SAME")).trace(
        np.ones((2, 8, 9, 9), "float32"), np.ones((16, 8, 3, 3), "float32")
    )
    text = traced.lower(lowering_platforms="tpu").as_text()  # it has the operation
    unchanged = olympus.interop.stablehlo.read(text.encode(), as_is=True)
    compiled = unchanged.lower(H200).compile().as_text()
    assert "__cudnn$conv" in compiled
    # -1 is an algorithm that is chosen later; jaxlib 0.12 has no option without it
    assert ('"algo_id":"-1"' in compiled) == JAXLIB_VERSION.startswith("0.12")
