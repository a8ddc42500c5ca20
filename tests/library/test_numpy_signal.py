"""Norms, differences, interpolation, histograms, convolution, polynomials, against jax.numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ConcretizationTypeError, DTypeError, ShapeError
from tests.library.oracle import check, row

jnp = ox.numpy
Call = Callable[..., Any]

X = np.array([0.5, 2.0, -1.0, 3.5, 3.5, 0.0], "float32")
Y = np.array([[1.0, 2.0, 4.0], [0.0, -3.0, 9.0]], "float32")
N = np.array([0, 2, 2, 5, 1, 2], "int32")

CALLS: dict[str, Call] = {
    "gradient": lambda np, x, y, n: [np.gradient(x), np.gradient(y), np.gradient(n)],
    "gradient spacing": lambda np, x, y, n: np.gradient(y, 2.0, 0.5),
    "gradient coordinates": lambda np, x, y, n: np.gradient(x, np.array([0.0, 1, 3, 4, 7, 8])),
    "gradient axis": lambda np, x, y, n: np.gradient(y, axis=1),
    "trapezoid": lambda np, x, y, n: [np.trapezoid(x), np.trapezoid(n, dx=2)],
    "trapezoid x": lambda np, x, y, n: np.trapezoid(y, x=np.array([0.0, 1.0, 3.0])),
    "trapezoid axis": lambda np, x, y, n: np.trapezoid(y, axis=0),
    "interp": lambda np, x, y, n: np.interp(x, np.array([0.0, 1.0, 3.0]), y[0]),
    "interp ends": lambda np, x, y, n: np.interp(x, np.arange(3), n[:3], left=-5, right=7.5),
    "interp extrapolate": lambda np, x, y, n: np.interp(
        x, np.arange(3), y[0], "extrapolate", "extrapolate"
    ),
    "interp period": lambda np, x, y, n: np.interp(x, np.array([2.0, 0.0, 1.0]), y[0], period=2.5),
    "interp steps": lambda np, x, y, n: np.interp(x, np.array([0.0, 2.0, 2.0]), y[0]),
    "unwrap": lambda np, x, y, n: [np.unwrap(x * 4), np.unwrap(y * 3, axis=0)],
    "unwrap discont": lambda np, x, y, n: np.unwrap(x * 4, discont=5.0),
    "unwrap period": lambda np, x, y, n: np.unwrap(n * 3, period=4),
    "bincount": lambda np, x, y, n: [np.bincount(n, length=4), np.bincount(n - 2, length=3)],
    "bincount weights": lambda np, x, y, n: np.bincount(n, x, length=7),
    "bincount minlength": lambda np, x, y, n: np.bincount(n, minlength=9, length=3),
    "digitize": lambda np, x, y, n: np.digitize(x, np.array([0.0, 1.0, 3.5])),
    "digitize right": lambda np, x, y, n: np.digitize(x, np.array([0.0, 1.0, 3.5]), right=True),
    "digitize down": lambda np, x, y, n: np.digitize(x, np.array([3.5, 1.0, 0.0])),
    "digitize down right": lambda np, x, y, n: np.digitize(x, np.array([3.5, 1.0]), right=True),
    "digitize none": lambda np, x, y, n: np.digitize(x, np.zeros(0)),
    "histogram": lambda np, x, y, n: np.histogram(x),
    "histogram ints": lambda np, x, y, n: np.histogram(n, bins=3),
    "histogram range": lambda np, x, y, n: np.histogram(x, 4, range=(0, 2)),
    "histogram edges": lambda np, x, y, n: np.histogram(x, np.array([-1.0, 0.0, 3.5])),
    "histogram weights": lambda np, x, y, n: np.histogram(x, 3, weights=n),
    "histogram density": lambda np, x, y, n: np.histogram(x, 3, density=True),
    "histogram_bin_edges": lambda np, x, y, n: np.histogram_bin_edges(np.ones(3), bins=2),
    "histogram2d": lambda np, x, y, n: np.histogram2d(x, n, bins=[2, 3]),
    "histogramdd": lambda np, x, y, n: np.histogramdd(y.T, bins=2, density=True),
    "histogramdd range": lambda np, x, y, n: np.histogramdd(y.T, [2, 3], [(0, 4), None], x[:3]),
    "convolve": lambda np, x, y, n: [np.convolve(x, y[0]), np.convolve(y[0], x, "same")],
    "convolve valid": lambda np, x, y, n: np.convolve(x, n[:2], mode="valid"),
    "correlate": lambda np, x, y, n: [np.correlate(x, y[0]), np.correlate(y[0], x, "full")],
    "correlate same": lambda np, x, y, n: [
        np.correlate(x, y[0, :2], "same"),
        np.correlate(y[0, :2], x, "same"),
    ],
    "cov": lambda np, x, y, n: [np.cov(y), np.cov(x), np.cov(y, rowvar=False)],
    "cov y": lambda np, x, y, n: np.cov(x, n),
    "cov weights": lambda np, x, y, n: np.cov(x, fweights=n, aweights=x + 2),
    "cov fweights": lambda np, x, y, n: np.cov(x, fweights=n),
    "cov bias": lambda np, x, y, n: np.cov(y, bias=True, aweights=np.array([1.0, 2.0, 3.0])),
    "corrcoef": lambda np, x, y, n: [np.corrcoef(y), np.corrcoef(x, n)],
    "polyval": lambda np, x, y, n: [np.polyval(n, 2), np.polyval(y[0], x), np.polyval(x, 0.5)],
    "polyadd": lambda np, x, y, n: [np.polyadd(x, y[0]), np.polyadd(n[:2], n), np.polysub(x, y[0])],
    "polyadd columns": lambda np, x, y, n: [np.polyadd(y[:1], y), np.polysub(y, y[:1])],
    "polyadd broadcast": lambda np, x, y, n: [np.polyadd(y, n[:1]), np.polysub(n[:1], y)],
    "polymul": lambda np, x, y, n: [np.polymul(x, y[0]), np.polymul(n, n[:2])],
    "polyder": lambda np, x, y, n: [np.polyder(x), np.polyder(n, 2), np.polyder(y[0], 0)],
    "polyint": lambda np, x, y, n: [
        np.polyint(x),
        np.polyint(n, 2),
        np.polyint(x, 2, k=np.array([1, 2])),
    ],
    "polydiv": lambda np, x, y, n: np.polydiv(x, y[0]),
    "poly": lambda np, x, y, n: [np.poly(x), np.poly(n[:3])],
}

NORMS: dict[str, Call] = {
    "norm": lambda np, x, y, n: [np.linalg.norm(v) for v in (x, y, n, 1j * x)],
    "norm orders": lambda np, x, y, n: [
        np.linalg.norm(x, o) for o in (0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)
    ],
    "norm axis": lambda np, x, y, n: np.linalg.norm(y, axis=1, keepdims=True),
    "norm matrix": lambda np, x, y, n: [
        np.linalg.norm(y, o) for o in ("fro", 1, -1, np.inf, -np.inf)
    ],
    "norm axes": lambda np, x, y, n: np.linalg.norm(y[None], 1, axis=(0, 2), keepdims=True),
    "vector_norm": lambda np, x, y, n: [
        np.linalg.vector_norm(y),
        np.linalg.vector_norm(y, axis=0, ord=1),
    ],
    "matrix_norm": lambda np, x, y, n: np.linalg.matrix_norm(y, ord=1, keepdims=True),
    "products": lambda np, x, y, n: [
        np.linalg.outer(x, n),
        np.linalg.cross(y[0], y[1]),
        np.linalg.matmul(y, y.T),
        np.linalg.tensordot(y, y.T, axes=1),
        np.linalg.vecdot(y, y),
    ],
    "diagonals": lambda np, x, y, n: [
        np.linalg.trace(y[None]),
        np.linalg.diagonal(y, offset=1),
        np.linalg.matrix_transpose(y),
    ],
    "matrix_power": lambda np, x, y, n: [np.linalg.matrix_power(y[:, :2], k) for k in (0, 1, 5)],
    "multi_dot": lambda np, x, y, n: [
        np.linalg.multi_dot([y, y.T, y]),
        np.linalg.multi_dot([y[0], y.T, y, y[1]]),
    ],
}


@pytest.mark.parametrize("table", [CALLS, NORMS], ids=["calls", "norms"])
def test_functions_of_signals_agree_with_jax(table: dict[str, Call]) -> None:
    check([row(name, call, X, Y, N, rtol=1e-5, atol=2e-6) for name, call in table.items()])


def test_functions_of_signals_run_eagerly() -> None:
    calls: dict[str, Call] = {
        "bincount": lambda np: np.bincount(np.array(N)),
        "polymul trim": lambda np: np.polymul(
            np.array([0.0, 1]), np.array([2.0, 1]), trim_leading_zeros=True
        ),
        "polydiv trim": lambda np: np.polydiv(
            np.array([1.0, 2, 3]), np.array([1.0, 2]), trim_leading_zeros=True
        ),
    }
    check([row(name, call) for name, call in calls.items()], jit=False, jit_oracle=False)


ERRORS: list[tuple[Call, type[Exception], str]] = [
    (lambda: jnp.gradient(X[:1]), ShapeError, "two samples"),
    (lambda: jnp.gradient(X, edge_order=2), ValueError, "order 1"),
    (lambda: jnp.gradient(Y, 1.0, 2.0, 3.0), ShapeError, "3 distances for 2 axes"),
    (lambda: jnp.diff(3), ShapeError, "scalar"),
    (lambda: jnp.diff(X, -1), ValueError, "-1 times"),
    (lambda: jnp.interp(X, X, X[:2]), ShapeError, "two vectors"),
    (lambda: jnp.interp(X, X, X, left="nearest"), ValueError, "'extrapolate'"),
    (lambda: jnp.bincount(X), DTypeError, "integers"),
    (lambda: ox.jit(jnp.bincount)(N), ConcretizationTypeError, "shape of its result"),
    (lambda: jnp.digitize(X, 1.0), ShapeError, "vector of bins"),
    (lambda: jnp.histogram(X, "auto"), ValueError, "'auto'"),
    (lambda: jnp.histogram(X, 1.5), DTypeError, "an integer number of bins, and got 1.5"),
    (lambda: jnp.histogramdd(X), ShapeError, "matrix of points"),
    (lambda: jnp.convolve(X, Y), ShapeError, "two vectors"),
    (lambda: jnp.convolve(X, X, "most"), ValueError, "'valid'"),
    (lambda: jnp.cov(X, fweights=X), DTypeError, "fweights"),
    (lambda: jnp.polyder(X, -1), ValueError, ">= 0"),
    (lambda: jnp.polyint(X, 2, k=np.ones(3)), ShapeError, "3 constants"),
    (lambda: jnp.poly(Y), ShapeError, "eigenvalues|vector of zeros"),
    (lambda: jnp.linalg.norm(Y[None], axis=(0, 1, 2)), ShapeError, "one axis or two"),
    (lambda: jnp.linalg.norm(X, "fro"), ValueError, "'fro'"),
    (lambda: jnp.linalg.norm(Y, 3), ValueError, "not 3"),
    (lambda: jnp.linalg.matrix_power(Y, 2), ShapeError, "square"),
    (lambda: jnp.linalg.multi_dot([Y]), ShapeError, "two arrays"),
    (lambda: jnp.ravel_multi_index((9,), (2,)), ValueError, "out of bounds"),
    (lambda: jnp.packbits(X), DTypeError, "bools and integers"),
    (lambda: jnp.unpackbits(N), DTypeError, "uint8"),
    (lambda: jnp.gcd(1.5, 2), DTypeError, "integers"),
    (lambda: jnp.ldexp(1.5, 2.5), DTypeError, "integer exponent"),
    (lambda: jnp.round(N, -1), DTypeError, "decimals=-1"),
    (lambda: jnp.clip(1j, 0, 1), DTypeError, "complex"),
    (lambda: jnp.fft.fftfreq([3]), ValueError, r"only takes an int. Got n = \[3\]"),
]


@pytest.mark.parametrize("dtype", ["int8", "bool", "uint32", "float32"])
def test_unwrap_with_x64_has_the_dtype_of_jax(dtype: str) -> None:
    x = np.asarray([0, 1, 1], dtype)
    with ox.enable_x64(True), jax.enable_x64(True):
        assert jnp.unwrap(x).dtype == jax.numpy.unwrap(x).dtype
