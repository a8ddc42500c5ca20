"""The choice of XLA's kernels for products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.xla.runtime import product_kernels
from olympus_core.xla.runtime.product_kernels import product_options

EIGEN = {"xla_cpu_experimental_ynn_fusion_type": ""}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process on one processor."""
    monkeypatch.setattr(product_kernels, "processors", lambda: 1)


def lowered(fun: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
    return ox.jit(fun).lower(*[ox.ShapeDtypeStruct(shape, dtype) for shape in shapes])


def product(x: Any, w: Any) -> Any:
    return x @ w


def transposed(x: Any, w: Any) -> Any:
    return x @ w.T


def in_loop(x: Any, w: Any) -> Any:
    return ox.lax.fori_loop(0, 3, lambda _, x: ox.numpy.tanh(x @ w), x)


def with_sums(x: Any, w: Any) -> Any:
    return (x @ w).sum(-1)


def with_convolution(x: Any, w: Any) -> Any:
    y = ox.lax.conv_general_dilated(x[None, None], w[None, None, :3, :3], (1, 1), "SAME")
    return x @ w + y[0, 0]


@pytest.mark.parametrize(
    ("fun", "shapes", "is_eigen"),
    [
        (product, [(64, 512), (512, 512)], True),
        (product, [(4, 32, 512), (512, 512)], True),  # 128 rows
        (product, [(4, 64, 256), (4, 256, 256)], True),
        (in_loop, [(64, 256), (256, 256)], True),
        (product, [(16, 512), (512, 512)], False),  # few rows
        (product, [(512, 512), (512, 512)], False),  # many
        (product, [(128, 512), (512, 64)], False),  # few columns
        (product, [(64, 0), (0, 64)], False),
        (transposed, [(64, 512), (512, 512)], False),
        (with_sums, [(256, 32), (32, 512)], False),
        (with_convolution, [(64, 64), (64, 64)], False),
    ],
)
@pytest.mark.usefixtures("alone")
def test_the_kernels_are_those_that_take_less_time(
    fun: Callable[..., Any], shapes: list[tuple[int, ...]], is_eigen: bool
) -> None:
    assert product_options(lowered(fun, *shapes).module) == (EIGEN if is_eigen else {})


@pytest.mark.usefixtures("alone")
def test_others_have_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = (64, 512), (512, 512)
    assert product_options(lowered(product, *shapes, dtype="bfloat16").module) == {}
    module = lowered(product, *shapes).module
    assert product_options(b"a module") == {}
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=")
    assert product_options(module) == {}
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.setattr(product_kernels, "processors", lambda: 2)
    assert product_options(module) == {}


def test_a_program_is_compiled_with_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    args = [
        np.random.default_rng(0).standard_normal(s).astype("f4") for s in ((64, 512), (512, 512))
    ]
    texts, results = [], []
    for count in (1, 2):
        monkeypatch.setattr(product_kernels, "processors", lambda count=count: count)
        compiled = lowered(product, (64, 512), (512, 512)).compile()
        texts.append(compiled.as_text())
        results.append(np.asarray(compiled(*args)))
    assert ["__ynn_fusion" in text for text in texts] == [False, True]
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-4)


def test_there_is_a_processor() -> None:
    assert product_kernels.processors() >= 1
