"""The choice of XLA's kernels for products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from olympus_core import xla
from olympus_core.xla.runtime import product_kernels
from olympus_core.xla.runtime.product_kernels import product_options

OPTION, KIND = "xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE"
EIGEN = {OPTION: ""}
EIGEN_PRODUCTS = {OPTION: f"{KIND}_REDUCE,{KIND}_INDIVIDUAL_CONVOLUTION"}
EIGEN_CONVOLUTIONS = {OPTION: f"{KIND}_REDUCE,{KIND}_INDIVIDUAL_DOT"}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process on one processor."""
    monkeypatch.setattr(product_kernels, "processors", lambda: 1)


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process on two processors."""
    monkeypatch.setattr(product_kernels, "processors", lambda: 2)


def options_of(module: Any) -> xla.Options:
    return product_options(module, xla.module_bytes(module))


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
        (product, [(4, 784, 34), (4, 34, 34)], True),  # part of a block of columns
        (product, [(49, 34), (34, 34)], False),  # too few results
        (product, [(784, 400), (400, 34)], False),  # long sums
        (product, [(784, 34), (34, 12)], False),
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
    assert options_of(lowered(fun, *shapes).module) == (EIGEN if is_eigen else {})


@pytest.mark.usefixtures("alone")
def test_products_of_a_program_with_convolutions_have_their_own_kernels() -> None:
    module = lowered(with_convolution, (64, 512), (512, 512)).module
    assert options_of(module) == EIGEN_PRODUCTS


def convolution(x: Any, w: Any, **params: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    params = {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": numbers} | params
    return ox.lax.conv_general_dilated(x, w, **params)


@pytest.mark.parametrize(
    ("shapes", "params", "is_eigen"),
    [
        # on two processors, with the times in microseconds by YNNPACK and by Eigen
        ([(2, 64, 64, 64), (3, 3, 64, 32)], {}, True),  # 1286 and 858
        ([(1, 112, 112, 32), (3, 3, 32, 64)], {}, True),  # 1932 and 1198
        ([(1, 28, 28, 128), (3, 3, 128, 160)], {"window_strides": (2, 2)}, True),  # 297 and 225
        ([(8, 8, 8, 64), (3, 3, 64, 64)], {}, True),  # 185 and 134
        ([(32, 32, 32, 3), (3, 3, 3, 64)], {}, False),  # 610 and 834: few features of the array
        ([(1, 256, 256, 4), (3, 3, 4, 48)], {}, False),  # 1334 and 1634
        ([(1, 128, 128, 12), (3, 3, 12, 32)], {}, False),  # 497 and 545
        ([(1, 28, 28, 1), (5, 5, 1, 32)], {}, False),  # 29 and 56: few products
        ([(8, 32, 32, 16), (3, 3, 16, 16)], {}, False),  # YNNPACK has no kernel for these
        ([(2, 64, 64, 64), (3, 3, 64, 32)], {"padding": ((2, 2), (2, 2))}, False),
        (
            [(2, 64, 64, 64), (2, 2, 64, 32)],
            {"lhs_dilation": (2, 2), "padding": ((0, 0), (0, 0))},
            False,
        ),
        ([(2, 64, 64, 64), (3, 3, 32, 64)], {"feature_group_count": 2}, False),  # not measured
        ([(0, 64, 64, 64), (3, 3, 64, 32)], {}, False),
    ],
)
@pytest.mark.usefixtures("several")
def test_convolutions_have_the_kernels_that_take_less_time_on_several_processors(
    shapes: list[tuple[int, ...]], params: dict[str, Any], is_eigen: bool
) -> None:
    module = lowered(lambda x, w: convolution(x, w, **params), *shapes).module
    assert options_of(module) == (EIGEN_CONVOLUTIONS if is_eigen else {})


@pytest.mark.usefixtures("several")
def test_a_convolution_has_the_kernels_of_all() -> None:
    shapes = (2, 64, 64, 64), (3, 3, 64, 32)
    assert options_of(lowered(convolution, *shapes, dtype="bfloat16").module) == {}
    x, w = [np.random.default_rng(0).standard_normal(s).astype("f4") for s in shapes]
    compiled = lowered(convolution, *shapes).compile()
    assert "__ynn_fusion" not in compiled.as_text()
    numbers = ("NHWC", "HWIO", "NHWC")
    reference = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)
    np.testing.assert_allclose(compiled(x, w), reference, rtol=1e-5, atol=1e-3)


@pytest.mark.usefixtures("alone")
def test_others_have_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = (64, 512), (512, 512)
    assert options_of(lowered(product, *shapes, dtype="bfloat16").module) == {}
    module = lowered(product, *shapes).module
    assert options_of(b"a module") == {}
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=")
    assert options_of(module) == {}
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.setattr(product_kernels, "processors", lambda: 2)
    assert options_of(module) == {}


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
