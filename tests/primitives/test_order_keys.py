"""Sorts and positions of extremes by packed keys, which the CPU's programs have."""

from __future__ import annotations

from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from olympus_core.primitives.order_keys import _FEW

SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 1.5, -1.5, 1.5, 3e38, -3e38]
DTYPES = ["float32", "bfloat16", "float16", "int32", "uint32", "int8", "uint16", "bool"]


def many(dtype: str, shape: tuple[int, ...] = (8, 13, 16)) -> np.ndarray[Any, Any]:
    """Special values in changing order, with ties along each axis."""
    rng = np.random.default_rng(0)
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in ("int32", "uint32", "int8", "uint16"):
        limits = np.iinfo(kind)
        values = np.array([limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max], kind)
        return rng.choice(values, shape)
    with np.errstate(over="ignore"):
        return rng.choice(np.array(SPECIAL, np.float32), shape).astype(kind)


def bits(x: Any) -> np.ndarray[Any, Any]:
    """The elements, so that -0 is not 0 and a NaN equals one of the same sign."""
    x = np.asarray(x)
    return x if x.dtype.kind in "biu" else x.view(f"uint{8 * x.dtype.itemsize}")


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sort_is_jaxs_to_the_bit(dtype: str, axis: int) -> None:
    x = many(dtype)
    positions = np.broadcast_to(np.arange(x.shape[axis]).reshape([-1] + [1] * (2 - axis)), x.shape)

    def sort(framework: Any, x: Any) -> Any:
        alone = framework.lax.sort(x, dimension=axis)
        return alone, *framework.lax.sort((x, positions.astype(np.int32)), axis, num_keys=1)

    assert x.size >= _FEW
    found, expected = ox.jit(lambda x: sort(ox, x))(x), jax.jit(lambda x: sort(jax, x))(x)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(bits(ours), bits(theirs))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "uint16"])
def test_the_positions_of_an_argsort_are_jaxs_without_a_gather(dtype: str, axis: int) -> None:
    def order(framework: Any, x: Any) -> Any:
        positions = framework.lax.broadcasted_iota(np.dtype("int32"), x.shape, axis)
        return framework.lax.sort((x, positions), axis, num_keys=1)[1]

    x, f = many(dtype), ox.jit(lambda x: order(ox, x))
    np.testing.assert_array_equal(f(x), jax.jit(lambda x: order(jax, x))(x))
    text = f.lower(x).compile().as_text()
    assert text is not None
    assert " gather(" not in text


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_positions_of_extremes_are_jaxs(dtype: str) -> None:
    x = many(dtype, (40, 64))
    finite = np.where(np.isnan(x.astype(np.float32)), np.zeros_like(x), x)

    def positions(framework: Any, *xs: Any) -> Any:
        return [
            function(x, axis, np.int32)
            for x in xs
            for axis in (0, 1)
            for function in (framework.lax.argmax, framework.lax.argmin)
        ]

    found = ox.jit(lambda *xs: positions(ox, *xs))(x, finite)
    expected = jax.jit(lambda *xs: positions(jax, *xs))(x, finite)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.int32
        np.testing.assert_array_equal(ours, theirs)


def lowered(fun: Any, dtype: str, shape: tuple[int, ...], *target: Any) -> str:
    """The StableHLO of a function of one array."""
    with ox.enable_x64():
        return str(ox.jit(fun).trace(ox.ShapeDtypeStruct(shape, dtype)).lower(*target).as_text())


@pytest.mark.parametrize(
    ("function", "dtype", "shape", "is_packed"),
    [
        ("sort", "float32", (8, 128), True),
        ("sort", "float32", (8, 127), False),
        ("sort", "int32", (8, 128), False),
        ("sort", "float64", (8, 128), False),
        ("argsort", "int32", (8, 128), True),
        ("argsort", "int64", (8, 128), False),
        ("argmax", "float32", (32, 32), True),
        ("argmin", "bfloat16", (32, 32), True),
        ("argmax", "float32", (8, 32), False),
        ("argmax", "float32", (1024, 8), False),
        ("argmax", "int32", (32, 32), False),
    ],
)
def test_keys_are_packed_where_that_is_faster(
    function: str, dtype: str, shape: tuple[int, ...], is_packed: bool
) -> None:
    text = lowered(lambda x: getattr(ox.numpy, function)(x, axis=-1), dtype, shape)
    assert ("@packed_" in text) == is_packed


def test_other_platforms_compare() -> None:
    target = ox.Target("gpu", "h200")
    for function in (ox.numpy.sort, ox.numpy.argmax):
        assert "@packed_" not in lowered(function, "float32", (64, 64), target)


@pytest.mark.parametrize(("shape", "axis"), [((0,), 0), ((0, 3), 1), ((3, 0), 0)])
def test_an_array_without_elements_is_sorted_and_differentiated(
    shape: tuple[int, ...], axis: int
) -> None:
    x = np.zeros(shape, np.float32)
    assert ox.grad(lambda x: ox.numpy.sort(x, axis=axis).sum())(x).shape == shape
    assert ox.grad(lambda x: ox.lax.top_k(x, 0)[0].sum())(x).shape == shape
