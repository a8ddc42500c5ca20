"""Values between the elements of arrays: olympus.scipy.ndimage, interpolate and cluster.vq."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import jax.scipy.ndimage
import numpy as np
import pytest

import olympus as ox
import olympus.scipy
from olympus.errors import ArgumentError, ShapeError, UnsupportedError
from tests.library.oracle import Row, check, check_derivatives, row

SCIPY = {ox.numpy: olympus.scipy, jax.numpy: jax.scipy}
rng = np.random.default_rng(0)
X = rng.normal(size=(4, 5)).astype(np.float32)
COORDINATES = rng.uniform(-6, 9, (2, 3, 7)).astype(np.float32)
INTS = rng.integers(0, 9, (4, 5)).astype(np.int32)


def mapped(x: Any, order: int, mode: str, **options: Any) -> Row:
    def call(n: Any, x: Any, c: Any) -> Any:
        return SCIPY[n].ndimage.map_coordinates(x, [c[0], c[1]], order, mode, **options)

    return row(f"{x.dtype} {order} {mode} {options}", call, x, COORDINATES, atol=1e-5)


MODES = ("constant", "nearest", "wrap", "mirror", "reflect")
MAPPED = [
    *[mapped(X, order, mode) for order in (0, 1) for mode in MODES],
    mapped(X, 1, "constant", cval=2.5),
    *[mapped(INTS, order, "nearest") for order in (0, 1)],
    mapped(X + 1j, 1, "wrap"),
    row(
        "integer coordinates",
        lambda n, x: SCIPY[n].ndimage.map_coordinates(x, [np.array([0, 2]), np.array([1, 4])], 1),
        X,
    ),
]
GRID = (np.array([0.0, 1, 2.5], np.float32), np.array([-1.0, 0, 1, 4], np.float32))
VALUES = rng.normal(size=(3, 4, 2)).astype(np.float32)
POINTS = rng.uniform(-1.5, 4.5, (6, 2)).astype(np.float32)


def interpolated(**options: Any) -> Row:
    def call(n: Any, values: Any, points: Any) -> Any:
        make = SCIPY[n].interpolate.RegularGridInterpolator
        grid = make(GRID, values, **options)
        package = ox if n is ox.numpy else jax
        copied = package.tree.map(lambda x: x, grid) if options.get("fill_value", 0) else grid
        return [grid(points), grid((points[:, 0], points[0, 1])), copied(points, method="linear")]

    return row(str(options), call, VALUES, POINTS, atol=1e-5)


def test_coordinates() -> None:
    check(MAPPED, weak=False)
    check(MAPPED[:2], jit=False, weak=False)


def test_grids() -> None:
    rows = [interpolated(method=m, fill_value=f) for m in ("linear", "nearest") for f in (None, 2)]
    check([*rows, interpolated()], weak=False)


def test_codes() -> None:
    def call(n: Any, *args: Any) -> Any:
        return SCIPY[n].cluster.vq.vq(*args)

    check([row("vq", call, POINTS, X[:, :2]), row("vq scalars", call, POINTS[:, 0], X[0])])
    check([row("vq integers", call, INTS, INTS[:2])])


def test_derivatives() -> None:
    x, c = X.astype(np.float64), np.array([[0.3, 1.6, 5.0], [1.2, 0.7, 2.0]])
    with ox.enable_x64(True), jax.enable_x64(True):
        check_derivatives(lambda n, x: n.sum(n.sin(
            SCIPY[n].ndimage.map_coordinates(x, list(c), 1, "nearest"))), x[:2, :3])  # fmt: skip
        check_derivatives(lambda n, c: n.sum(n.sin(
            SCIPY[n].ndimage.map_coordinates(x, list(c), 1))), c)  # fmt: skip


def test_errors() -> None:
    s = olympus.scipy
    make = s.interpolate.RegularGridInterpolator
    for call, error, text in (
        (lambda: s.ndimage.map_coordinates(X, [X], 1), ShapeError, "length input.ndim"),
        (lambda: s.ndimage.map_coordinates(X, [X, X], 2), UnsupportedError, "order<=1"),
        (lambda: s.ndimage.map_coordinates(X, [X, X], 1, "odd"), NotImplementedError, "mode odd"),
        (lambda: make(GRID, VALUES, "cubic"), ArgumentError, "is not defined"),
        (lambda: make(GRID, VALUES, bounds_error=True), NotImplementedError, "bounds_error"),
        (lambda: make((*GRID, *GRID), VALUES), ValueError, "4 point arrays"),
        (lambda: make(GRID, VALUES, fill_value=1j), ValueError, "fill_value must be"),
        (lambda: make(GRID, VALUES)(VALUES[..., 0]), ValueError, "have dimension 4"),
        (lambda: s.cluster.vq.vq(X, X[0]), ValueError, "same rank"),
        (lambda: s.cluster.vq.vq(VALUES, VALUES), ValueError, "rank 1 and 2"),
    ):
        with pytest.raises(error, match=text):
            call()
