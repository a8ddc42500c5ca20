"""Products by constants: which ones they are, their blocks of columns, and their kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_bundle.host import Host
from olympus_core import xla
from olympus_core.xla.runtime import constant_factors, product_kernels
from olympus_core.xla.runtime.constant_factors import constant_products, with_column_blocks
from olympus_core.xla.runtime.product_kernels import prepared, product_options
from tests.xla.runtime.test_product_kernels import (
    EIGEN,
    EIGEN_CONVOLUTIONS,
    EIGEN_PRODUCTS,
    KIND,
    OPTION,
    convolution,
)


def drawn(*shape: int) -> Any:
    """An array with elements of about 1 / sqrt(rows)."""
    draws = np.random.default_rng(len(shape)).standard_normal(shape)
    return (draws / shape[-2] ** 0.5).astype("float32")


WIDE, NARROW = drawn(512, 1024), drawn(512, 300)


@pytest.fixture(autouse=True)
def _measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor without AVX-512."""
    monkeypatch.setattr(constant_factors, "is_measured", lambda: True)


def on(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `count` processors."""
    monkeypatch.setattr(product_kernels, "processors", lambda: count)


def module_of(fun: Callable[..., Any], *shapes: tuple[int, ...], constants: Any = "embed") -> Any:
    arguments = [ox.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return ox.jit(fun).trace(*arguments).lower(constants=constants).module


def options_of(module: Any) -> xla.Options:
    return product_options(module, xla.module_bytes(module))


def by_constant(x: Any) -> Any:
    return ox.nn.relu(x @ WIDE)


def by_transpose(x: Any) -> Any:
    return x @ ox.lax.transpose(WIDE, (1, 0))


def of_batch(x: Any) -> Any:
    return ox.numpy.einsum("bsk,kn->bsn", x, WIDE)


def in_loop(x: Any) -> Any:
    return ox.lax.fori_loop(0, 3, lambda _, x: ox.numpy.tanh(x @ WIDE)[:, :512], x)


def by_function(x: Any) -> Any:
    layer = ox.jit(lambda x, w: ox.numpy.tanh(x @ w)[:, :512])
    return layer(layer(x, WIDE), 2 * WIDE)


def by_function_of_both(x: Any, w: Any) -> Any:
    layer = ox.jit(lambda x, w: ox.numpy.tanh(x @ w)[:, :512])
    return layer(layer(x, WIDE), w)


def by_late_function(x: Any) -> Any:
    return ox.jit(lambda x, w: x @ w, inline=ox.Inline.XLA_LATE)(x, WIDE)


def first_contracted(x: Any) -> Any:
    return ox.lax.dot_general(x, WIDE, (((0,), (0,)), ((), ())))


def of_bfloat16(x: Any) -> Any:
    return x.astype("bfloat16") @ WIDE.astype("bfloat16")


@pytest.mark.parametrize(
    ("fun", "shapes", "sizes"),
    [
        (by_constant, [(64, 512)], [(64, 512, 1024)]),
        (by_transpose, [(64, 1024)], [(64, 1024, 512)]),
        (of_batch, [(4, 16, 512)], [(64, 512, 1024)]),
        (in_loop, [(64, 512)], [(64, 512, 1024)]),
        (by_function, [(64, 512)], [(64, 512, 1024)]),
        (by_function_of_both, [(64, 512), (512, 1024)], []),
        (by_late_function, [(64, 512)], []),
        (first_contracted, [(512, 64)], []),
        (of_bfloat16, [(64, 512)], []),
        (lambda x, w: x @ w, [(64, 512), (512, 1024)], []),
        (lambda x: x @ (WIDE * x[0, 0]), [(64, 512)], []),
    ],
)
def test_a_product_by_a_constant_is_found(
    fun: Callable[..., Any], shapes: list[tuple[int, ...]], sizes: list[tuple[int, ...]]
) -> None:
    found = list(constant_products(module_of(fun, *shapes)))
    assert [(p.rows, p.depth, p.columns) for p in found] == sizes
    assert not any(p.is_stored for p in found)


def test_a_stored_constant_is_an_argument() -> None:
    module = module_of(by_constant, (64, 512), constants="store")
    assert [p.is_stored for p in constant_products(module)] == [True]
    assert with_column_blocks(module, 1) is module


@pytest.mark.parametrize(
    ("weight", "rows", "blocks", "blocks_of_several"),
    [
        (WIDE, 64, 6, 6),
        (WIDE, 8, 6, 0),
        (WIDE, 7, 0, 0),
        (WIDE, 1024, 6, 0),
        (WIDE, 1025, 0, 0),
        (drawn(256, 1024), 64, 6, 0),  # few rows of the factor
        (drawn(1024, 512), 64, 3, 3),
        (drawn(1024, 768), 64, 0, 0),  # rows in different sets of a cache
        (NARROW, 64, 0, 0),
        (drawn(128, 512), 64, 0, 0),  # a small factor
    ],
)
def test_a_wide_constant_has_blocks_of_columns(
    weight: Any, rows: int, blocks: int, blocks_of_several: int
) -> None:
    module = module_of(lambda x: x @ weight, (rows, len(weight)))
    for processors, count in ((1, blocks), (4, blocks_of_several)):
        divided = with_column_blocks(module, processors)
        assert (divided is module) == (count == 0)
        assert str(divided).count("stablehlo.dot_general") == max(count, 1)
        constants = [x for x in str(divided).splitlines() if "stablehlo.constant" in x]
        assert len(constants) == max(count, 1)  # the whole one is not in it too


@pytest.mark.parametrize("fun", [by_constant, by_transpose, of_batch, in_loop, by_function])
@pytest.mark.parametrize("processors", [1, 2])
def test_the_values_are_those_of_the_whole_product(
    fun: Callable[..., Any], processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = {by_transpose: (64, 1024), of_batch: (4, 16, 512)}.get(fun, (64, 512))
    x = np.random.default_rng(9).standard_normal(shape).astype("float32")
    on(processors, monkeypatch)
    monkeypatch.setattr(product_kernels, "_LEAST_SAVED", 0)
    lowered = ox.jit(lambda x: fun(x)).lower(x)
    compiled = lowered.compile()
    assert compiled.as_text().count("f32[512,192]") + compiled.as_text().count("f32[1024,192]") > 1
    assert lowered.compile_request() is None  # it depends on the machine
    monkeypatch.setattr(constant_factors, "is_measured", lambda: False)
    whole = lowered.compile()
    assert ",192]" not in whole.as_text()
    np.testing.assert_allclose(compiled(x), whole(x), rtol=1e-4, atol=1e-4)


def by_large(x: Any) -> Any:
    return ox.numpy.tanh(x @ LARGE) @ LARGE


def with_convolution(x: Any, image: Any, kernel: Any) -> Any:
    return by_large(x), convolution(image, kernel)


LARGE = drawn(1000, 1000)
CONVOLUTION = (2, 64, 64, 64), (3, 3, 64, 32)


def test_products_by_constants_have_eigens_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    on(2, monkeypatch)
    module = module_of(by_large, (64, 1000))
    assert options_of(module) == EIGEN_PRODUCTS
    assert options_of(module_of(by_large, (64, 1000), constants="store")) == EIGEN_PRODUCTS
    both = module_of(with_convolution, (64, 1000), *CONVOLUTION)
    assert options_of(both) == {OPTION: f"{KIND}_REDUCE"}
    few = module_of(with_convolution, (2, 1000), *CONVOLUTION)
    assert options_of(few) == EIGEN_CONVOLUTIONS
    assert options_of(module_of(by_large, (16, 1000))) == {}  # a gain of less than 0.35 ms
    transposed = module_of(lambda x: x @ ox.lax.transpose(LARGE, (1, 0)), (256, 1000))
    assert options_of(transposed) == {}  # XLA reads the rows of these, and Eigen copies them
    argument = module_of(lambda x, w: x @ w, (64, 1000), (1000, 1000))
    assert options_of(argument) == {}
    on(1, monkeypatch)
    assert options_of(module) == EIGEN
    # the rows of a wide constant that is stored apart replace each other in the caches
    assert options_of(module_of(lambda x: x @ WIDE, (256, 512), constants="store")) == {}
    assert options_of(module_of(lambda x: x @ WIDE, (256, 512))) == EIGEN


def test_other_processors_have_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    on(2, monkeypatch)
    module = module_of(by_large, (64, 1000))
    monkeypatch.setattr(constant_factors, "is_measured", lambda: False)
    assert options_of(module) == {}


def test_a_program_of_several_devices_has_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    on(1, monkeypatch)
    module = module_of(by_constant, (64, 512))
    program = xla.module_bytes(module)
    assert prepared(module, program, is_partitioned=True) == (program, EIGEN)
    divided, options = prepared(module, program, is_partitioned=False)
    assert divided != program
    assert options == EIGEN


@pytest.mark.parametrize(
    ("features", "is_measured"),
    [
        (("avx2", "fma"), True),
        (("avx2", "avx512f", "fma"), False),
        (("neon",), False),
        (None, False),
    ],
)
def test_the_processors_without_avx512_are_measured(
    features: tuple[str, ...] | None, is_measured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(Host, "here", lambda: Host("Linux", "x86_64", features))
    constant_factors.is_measured.cache_clear()
    assert constant_factors.is_measured() == is_measured
    constant_factors.is_measured.cache_clear()
