"""Sorting, searching and distinct elements of olympus.numpy against jax.numpy."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import hypothesis
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from tests.day import by_day, diagonals
from tests.drawn import examples
from tests.library.oracle import Row, check, row

jnp = ox.numpy

DTYPES = ["float32", "bfloat16", "int32", "uint8", "bool", "complex64"]
SPECIAL = np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.inf, np.nan, -1.0], np.float32)
EVERYTHING = {"return_index": True, "return_inverse": True, "return_counts": True}


def values(dtype: str = "float32", shape: tuple[int, ...] = (3, 7), seed: int = 0) -> Any:
    """Return elements of a dtype, many of them equal."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 5, shape)
    if dtype == "complex64":
        return (base + 1j * rng.integers(-1, 2, shape)).astype(dtype)
    return (base % 2 if dtype == "bool" else base).astype(getattr(ml_dtypes, dtype, dtype))


def named(name: str, *args: Any, **options: Any) -> Row:
    label = f"{name} {[getattr(a, 'dtype', a) for a in args]} {options}"
    return row(label, lambda np_like, *given: getattr(np_like, name)(*given, **options), *args)


@pytest.mark.parametrize("dtype", by_day(DTYPES, ["float32", "uint8", "complex64"]))
def test_sort_and_argsort(dtype: str) -> None:
    options = [{}, {"axis": 0}, {"axis": None}, {"descending": True}]
    options += [{"axis": 0, "descending": True, "stable": True}]
    check([named(n, values(dtype), **o) for n in ("sort", "argsort") for o in options])


def test_the_order_is_total() -> None:
    rows = [named(n, SPECIAL, **o) for n in ("sort", "argsort") for o in ({}, {"descending": True})]
    rows += [
        named("argsort", SPECIAL, dtype="int8"),
        named("lexsort", np.stack([SPECIAL, SPECIAL])),
    ]
    check(rows)
    result = np.asarray(jnp.sort(SPECIAL))
    # 0 and -0 are in this order
    assert np.array_equal(np.signbit(result[[1, 2, 3]]), [True, False, True])


def test_lexsort_has_the_last_key_first() -> None:
    a, b = values("int32", (2, 9)), values("float32", (2, 9), seed=1)
    check(
        [
            row("last", lambda np_like, x, y: np_like.lexsort((x, y)), a, b),
            row("first", lambda np_like, x, y: np_like.lexsort((x, y), axis=0), a, b),
            named("lexsort", values("int32", (3, 4, 5))),
        ]
    )


@pytest.mark.parametrize("name", ["partition", "argpartition"])
@pytest.mark.parametrize("axis", [0, -1])
def test_partitions(name: str, axis: int) -> None:
    x = values(shape=(6, 5))
    out = np.asarray(getattr(jnp, name)(x, 2, axis=axis))
    parts = np.take_along_axis(x, out, axis) if name == "argpartition" else out
    assert np.array_equal(np.sort(parts, axis), np.sort(x, axis))
    smaller, middle, greater = np.split(parts, [2, 3], axis)
    assert (smaller <= middle).all() and (middle <= greater).all()
    check([named(name, x, kth=2, axis=axis), named(name, SPECIAL[3:6], kth=-2)])


METHODS = ["scan", "scan_unrolled", "compare_all", "sort"]


@pytest.mark.parametrize(("side", "method"), diagonals(["left", "right"], METHODS, 2))
def test_searchsorted(side: str, method: str) -> None:
    values_to_find = np.array([[0, 1, 2], [5, -1, np.nan]], np.float32)
    vectors = [np.sort(SPECIAL), np.sort(values(shape=(16,))), np.ones(1, np.float32)]
    rows = [named("searchsorted", v, values_to_find, side=side, method=method) for v in vectors]
    rows.append(named("searchsorted", np.arange(5), np.float32(2.5), side=side, method=method))
    rows.append(
        named("searchsorted", np.zeros(0, np.float32), values_to_find, side=side, method=method)
    )
    check(rows)


def test_searchsorted_of_an_unsorted_vector() -> None:
    x = np.array([3, 1, 2], np.float32)
    check([named("searchsorted", x, np.float32(2), sorter=np.array([1, 2, 0]))])


@hypothesis.given(
    hnp.arrays(np.float32, st.integers(1, 20), elements=st.integers(-3, 3)),
    hnp.arrays(np.float32, st.integers(1, 5), elements=st.integers(-4, 4)),
    st.sampled_from(["left", "right"]),
)
@examples(12)
def test_a_drawn_searchsorted_agrees_with_numpy(x: Any, v: Any, side: str) -> None:
    positions = jnp.searchsorted(np.sort(x), v, side=side)
    assert np.array_equal(np.asarray(positions), np.searchsorted(np.sort(x), v, side=side))


UNIQUE = [
    np.array([3, 1, 3, 2, 1]),
    np.array([1, np.nan, np.nan, 0], np.float32),
    np.array([[1, 2], [0, 1], [1, 2]]),
    np.array([True, False, True]),
]


@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["values", "everything"])
def test_unique_of_concrete_values(options: dict[str, Any]) -> None:
    rows = [named("unique", x, **options) for x in UNIQUE]
    rows += [named("unique", UNIQUE[2], axis=a, **options) for a in (0, 1)]
    rows += [named("unique", UNIQUE[1], equal_nan=False, **options)]
    rows += [named("unique", np.zeros(0, np.float32), **options)]
    check(rows, jit=False, jit_oracle=False)


@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["values", "everything"])
def test_unique_of_a_size(options: dict[str, Any]) -> None:
    rows = []
    for x in UNIQUE:
        rows += [named("unique", x, size=n, **options) for n in (2, 7)]
        rows += [named("unique", x, size=6, fill_value=7, **options)]
    rows += [named("unique", UNIQUE[2], axis=0, size=4, **options)]
    rows += [named("unique", UNIQUE[2], axis=1, size=4, fill_value=9, **options)]
    rows += [named("unique", UNIQUE[1], equal_nan=False, size=5, **options)]
    check(rows)


@pytest.mark.parametrize("kind", ["all", "counts", "inverse", "values"])
def test_unique_by_parts(kind: str) -> None:
    check([named(f"unique_{kind}", x) for x in UNIQUE[:2]], jit=False, jit_oracle=False)
    check([named(f"unique_{kind}", x, size=4) for x in UNIQUE[:2]])


def test_unique_all_has_names() -> None:
    result = jnp.unique_all(UNIQUE[0])
    assert result._fields == ("values", "indices", "inverse_indices", "counts")
    assert result.counts.tolist() == [2, 1, 2]


def test_top_k_and_minmax() -> None:
    values = np.asarray([[1, 5, 3, np.nan, 5], [4, 2, 6, 0, 2]], np.float32)
    keys = {
        "largest": np.where(np.isnan(values), -np.inf, -values),  # NaN is the largest value
        "smallest": values,
    }
    for mode, axis, k in itertools.product(keys, (-1, 0), (0, 1, 2)):
        call = functools.partial(ox.numpy.top_k, axis=axis, mode=mode)
        places = np.take(np.argsort(keys[mode], axis, kind="stable"), range(k), axis)
        for function in (call, ox.jit(call, static_argnums=1)):
            got = function(values, k)
            assert np.array_equal(got[1], places)
            assert np.array_equal(got[0], np.take_along_axis(values, places, axis), True)
    assert [len(x) for x in ox.numpy.top_k(values[0], 0)] == [0, 0]
    for k, text in ((-1, "must be nonnegative"), (9, "no larger than size")):
        with pytest.raises(ValueError, match=text):
            ox.numpy.top_k(values, k)
    with pytest.raises(ValueError, match="'largest' or 'smallest'"):
        ox.numpy.top_k(values, 1, mode="x")
    low, high = ox.jit(lambda x: ox.numpy.minmax(x, axis=1))(values)
    assert np.array_equal(low, [np.nan, 0], True) and np.array_equal(high, [np.nan, 6], True)
    low, high = ox.numpy.minmax(values, where=values > 3, initial=(9, -9))
    assert (low, high) == (4, 6)
    assert [x.shape for x in ox.numpy.minmax(values, axis=(0, 1), keepdims=True)] == [(1, 1)] * 2
