"""The reductions of olympus.numpy against jax.numpy: values, dtypes, weakness and shapes."""

from __future__ import annotations

import itertools
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy
import ml_dtypes
import numpy as np
import pytest

import olympus as ox
from tests.day import by_day
from tests.drawn import examples
from tests.library.oracle import Row, check, row

jnp = ox.numpy

DTYPES = ["float32", "bool", "int8", "uint8", "int32", "bfloat16", "float16", "complex64"]
REAL = DTYPES[:-1]
TOTALS = ["sum", "prod", "mean", "any", "all", "count_nonzero"]
EXTREMA = ["max", "min", "amax", "amin", "ptp"]
SPREADS = ["var", "std"]
NANS = ["nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"]
PLACES = ["argmax", "argmin", "nanargmax", "nanargmin"]
SORTED = ["median", "nanmedian"]
QUANTILES = ["quantile", "nanquantile", "percentile", "nanpercentile"]
CUMULATIVE = ["cumsum", "cumprod", "nancumsum", "nancumprod"]
AXES: list[dict[str, Any]] = [
    {},
    {"axis": 1},
    {"axis": (0, -1)},
    {"axis": ()},
    {"axis": -2, "keepdims": True},
    {"keepdims": True},
]


def values(dtype: str = "float32", shape: tuple[int, ...] = (2, 3, 4), seed: int = 0) -> Any:
    """Return elements of a dtype, a few of them equal."""
    rng = np.random.default_rng(seed)
    base = rng.integers(-4, 5, shape) / 2
    if dtype == "complex64":
        return (base + 1j * rng.integers(-2, 3, shape)).astype(dtype)
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    return (np.abs(base) if kind.kind == "u" else base).astype(kind)


def with_nans(shape: tuple[int, ...] = (3, 4), seed: int = 1) -> Any:
    """Return floats of which a third, and one whole row, is NaN."""
    x = values(shape=shape, seed=seed)
    x[np.random.default_rng(seed).random(shape) < 0.3] = np.nan
    x[0] = np.nan
    return x


def named(name: str, *args: Any, **options: Any) -> Row:
    label = f"{name} {[getattr(a, 'dtype', a) for a in args]} {options}"
    return row(label, lambda np_like, *given: getattr(np_like, name)(*given, **options), *args)


@pytest.mark.parametrize("dtype", by_day(DTYPES, ["float32", "bool", "int8", "complex64"]))
def test_totals(dtype: str) -> None:
    names = TOTALS + (EXTREMA if dtype != "complex64" else ["max", "min"])
    names = [n for n in names if (n, dtype) != ("ptp", "bool")]
    options = AXES if dtype == "float32" else AXES[3:5]
    check([named(n, values(dtype), **o) for n in names for o in options])


@pytest.mark.parametrize("dtype", by_day(DTYPES, ["float32", "bfloat16", "complex64"]))
def test_spreads_and_nan_reductions(dtype: str) -> None:
    options = [{"axis": (2, 0), "keepdims": True}, {}, {"axis": 1}]
    options = options if dtype == "float32" else options[:1]
    check([named(n, values(dtype), **o) for n in SPREADS + NANS for o in options])


@pytest.mark.parametrize("dtype", by_day(REAL, ["float32", "int32"]))
def test_places_and_medians(dtype: str) -> None:
    options = [{"axis": -2, "keepdims": True}, {}, {"axis": -1}, {"keepdims": True}]
    options = options if dtype == "float32" else options[:1]
    check([named(n, values(dtype), **o) for n in PLACES + SORTED for o in options])


@pytest.mark.parametrize("dtype", by_day(DTYPES, ["float32", "bool", "complex64"]))
def test_cumulative(dtype: str) -> None:
    rows = [named(n, values(dtype), axis=a) for n in CUMULATIVE for a in (None, 1)]
    flat = values(dtype, (5,))
    for name in ("cumulative_sum", "cumulative_prod"):
        rows += [named(name, flat), named(name, values(dtype), axis=1, include_initial=True)]
    check(rows)


def test_nan_reductions_ignore_nans() -> None:
    names = NANS + PLACES[2:] + ["nanmedian", "nancumsum", "nancumprod"]
    check([named(n, with_nans(), axis=a) for n in names for a in (None, 0, 1)])


def test_reductions_propagate_nans() -> None:
    names = ["sum", "mean", "max", "min", "argmax", "argmin", "median", "var", "cumsum"]
    check([named(n, with_nans(), axis=a) for n in names for a in (None, 0, 1)])


def test_dtype_argument() -> None:
    names = ["sum", "prod", "mean", "nansum", "nanmean", "cumsum", "cumprod"]
    rows = [named(n, values(), axis=0, dtype=d) for n in names for d in ("float16", "int32")]
    rows += [named(n, values(), dtype=bool, axis=0) for n in ("sum", "prod", "cumsum", "cumprod")]
    rows += [
        named("var", values("int32"), dtype="float16"),
        named("sum", values("bool"), dtype=int),
    ]
    rows += [named("sum", values("int8"), promote_integers=False)]
    check(rows)


def test_initial_and_where() -> None:
    mask = values(shape=(3, 1), seed=3) > 0
    rows = []
    for name in ("sum", "prod", "max", "min", "nansum", "nanmax"):
        for dtype in ("float32", "int32", "bfloat16"):
            rows.append(named(name, values(dtype), initial=3, where=mask, axis=1))
            rows.append(named(name, values(dtype), initial=2.0))
    for name in ("sum", "mean", "var", "std", "any", "all", "nanmean", "nanvar"):
        rows.append(named(name, values(), where=mask))
        rows.append(named(name, values(), where=mask, axis=(0, 2), keepdims=True))
    rows += [named("mean", values(), where=True), named("var", values(), where=mask, ddof=2)]
    check(rows)


def test_degrees_of_freedom() -> None:
    x, center = values(shape=(3, 4)), np.ones((1, 4), np.float32)
    rows = [named(n, x, axis=0, ddof=d) for n in (*SPREADS, "nanvar", "nanstd") for d in (0, 1, 3)]
    rows += [named(n, x, axis=0, mean=center) for n in (*SPREADS, "nanvar")]
    rows += [named("var", x, correction=1.5), named("std", x, correction=2)]
    check(rows)


def test_average() -> None:
    x = values(shape=(2, 3, 4))
    rows = [named("average", x, axis=a, returned=True) for a in (None, 0, (1, 2))]
    rows += [
        named("average", x, weights=np.ones((2, 3, 4), np.float32)),
        named("average", x, axis=1, weights=np.array([1.0, 2, 0], np.float32), returned=True),
        named("average", x, axis=(2, 0), weights=values(shape=(4, 2)) + 3, keepdims=True),
        named("average", values("int32"), axis=0, weights=np.array([1, 2])),
    ]
    check(rows)


def test_scalars() -> None:
    names = ["sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "nansum", "nanmax"]
    names += ["cumsum", "median", "argmax", "count_nonzero", "ptp"]
    check([named(n, a=v) for n in names for v in (2, 2.5)], jit=False)
    check([named(n, a=True) for n in names[:7]], jit=False)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles(method: str) -> None:
    rows = []
    for name, x in itertools.product(("quantile", "nanquantile"), (values(), with_nans((3, 4, 2)))):
        for q in (np.float32(0.3), np.array([0.1, 0.5, 1.0], np.float32)):
            for options in ({"axis": 1}, {"axis": (2, 0), "keepdims": True}):
                rows.append(named(name, x, q, method=method, **options))
    rows.append(named("quantile", values(), np.float32(0.7), method=method))
    rows.append(named("percentile", values(), np.array([5, 50]), method=method))
    rows.append(named("nanpercentile", with_nans(), np.float32(30), method=method, axis=1))
    check(rows)


def test_weighted_quantiles() -> None:
    weights = np.array([1, 2, 0, 3], np.float32)
    rows = []
    for name, q in itertools.product(("quantile", "nanquantile"), (0.25, np.array([0.2, 0.9]))):
        for x in (values(), with_nans((2, 3, 4))):
            options = {"q": np.asarray(q, np.float32), "axis": -1, "method": "inverted_cdf"}
            rows.append(named(name, x, **options))
            rows.append(named(name, x, weights=weights, **options))
            rows.append(named(name, x, weights=np.ones((2, 3, 4), np.float32), **options))
    check(rows)


@hypothesis.given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    name=st.sampled_from(["sum", "prod", "max", "min", "mean", "any", "var"]),
    keepdims=st.booleans(),
    data=st.data(),
)
@examples(20)
def test_axes_have_the_meaning_of_numpy(
    shape: list[int], name: str, keepdims: bool, data: st.DataObject
) -> None:
    rank = len(shape)
    axes = data.draw(st.lists(st.integers(0, rank - 1), unique=True))
    axis = tuple(a - rank if data.draw(st.booleans()) else a for a in axes)
    x = values(shape=tuple(shape))
    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    result = getattr(jnp, name)(x, axis=axis, keepdims=keepdims)
    assert result.shape == expected.shape
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [*NANS, *SORTED, *QUANTILES])
def test_axes_may_be_a_list(name: str) -> None:
    function, fraction = getattr(jnp, name), (0.5,) if name in QUANTILES else ()
    expected = function(values(), *fraction, (0, 1))
    assert np.array_equal(function(values(), *fraction, [0, 1]), expected)
    assert np.array_equal(function(values(), *fraction, axis=[0, 1]), expected)


def test_sixty_four_bits() -> None:
    names = ["sum", "mean", "argmax", "cumsum", "any", "var", "count_nonzero", "argsort"]
    with ox.enable_x64(), jax.enable_x64(True):
        for name, x in itertools.product(names, (values("int64"), values("float64"))):
            expected = getattr(jax.numpy, name)(x)
            result = getattr(jnp, name)(x)
            assert (result.dtype, result.weak_type) == (expected.dtype, expected.weak_type), name


def test_a_mean_is_two_equations() -> None:
    program = ox.make_olympuspr(lambda x: jnp.mean(x, axis=-1))(values(shape=(2, 3)))
    assert [e.primitive.name for e in program.eqns] == ["reduce_sum", "div"]
