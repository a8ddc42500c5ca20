"""`olympus.scipy.interpolate`: values between the points of a regular grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.manipulation.shapes import broadcast_arrays, reshape
from olympus_core.library.numpy.sorting.searching import searchsorted, where
from olympus_core.library.promotion import check_arrays, promote_inexact


def _checked_method(method: str) -> str:
    if method not in ("linear", "nearest"):
        raise ArgumentError(f"method {method!r} is not defined; it is 'linear' or 'nearest'")
    return method


def _points(xi: Any, ndim: int) -> Any:
    """Return sample points, also from a tuple of coordinates, with the coordinates last."""
    if isinstance(xi, tuple):
        if len(xi) > 1:
            return stack(broadcast_arrays(*(asarray(x, dtypes.default_dtype("f")) for x in xi)), -1)
        xi = xi[0]
    check_arrays("RegularGridInterpolator", xi)
    points = asarray(xi)
    return reshape(points, (-1, ndim)) if points.ndim == 1 else points


class RegularGridInterpolator:
    """A function that interpolates values on a regular grid.

    points: n vectors of increasing coordinates, of lengths (m1, ..., mn). values: an array
    (m1, ..., mn, ...); integers become floats. method: "linear" or "nearest". fill_value: the value
    outside of the grid; None to extrapolate. Called with points (..., n), or a tuple of n arrays of
    coordinates, it returns an array (..., *values.shape[n:]). It is a tree of its arrays.

    Raises ArgumentError for another method, or a fill value that the dtype of values cannot
    represent, ShapeError for more vectors than dimensions, UnsupportedError for `bounds_error`.

    >>> grid = RegularGridInterpolator((array([0.0, 1.0, 2.0]),), array([0.0, 10.0, 40.0]))
    >>> grid(array([[0.5], [1.5]]))
    Array([ 5., 25.], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = np.nan,
    ) -> None:
        self.method = _checked_method(method)
        self.bounds_error = bounds_error
        if bounds_error:
            raise UnsupportedError("RegularGridInterpolator does not support bounds_error")
        check_arrays("RegularGridInterpolator", values)
        self.values: Array = asarray(promote_inexact(values)[0])
        if len(points) > self.values.ndim:
            raise ShapeError(
                f"there are {len(points)} point arrays, but values has {self.values.ndim} "
                "dimensions"
            )
        self.fill_value = None if fill_value is None else self._checked_fill(fill_value)
        check_arrays("RegularGridInterpolator", *points)
        self.grid = tuple(asarray(p) for p in points)

    def _checked_fill(self, fill_value: Any) -> Array:
        check_arrays("RegularGridInterpolator", fill_value)
        fill = asarray(fill_value)
        if "buifc".index(dtypes.kind(fill.dtype)) > "buifc".index(dtypes.kind(self.values.dtype)):
            raise ArgumentError(
                "fill_value must be either 'None' or of a type compatible with values"
            )
        return fill

    def __call__(self, xi: ArrayLike | tuple[ArrayLike, ...], method: str | None = None) -> Array:
        """Return the values at points; `method` replaces the one of the interpolator."""
        method = self.method if method is None else _checked_method(method)
        ndim = len(self.grid)
        points = _points(xi, ndim)
        if points.shape[-1] != ndim:
            raise ShapeError(
                f"the requested sample points xi have dimension {points.shape[-1]}, but this "
                f"RegularGridInterpolator has dimension {ndim}"
            )
        flat = reshape(points, (-1, ndim)).T
        cells, offsets, outside = self._cells(flat)
        result = (
            self._linear(cells, offsets) if method == "linear" else self._nearest(cells, offsets)
        )
        if self.fill_value is not None:
            column = reshape(outside, (-1, *(1,) * (result.ndim - 1)))
            result = where(column, self.fill_value, result)
        return reshape(result, (*points.shape[:-1], *self.values.shape[ndim:]))

    def _cells(self, coordinates: Any) -> tuple[list[Any], list[Any], Any]:
        """Return the cells of points, the offsets in them from 0 to 1, and the points outside."""
        cells, offsets = list[Any](), list[Any]()
        outside = zeros(coordinates.shape[1], bool)
        for x, line in zip(coordinates, self.grid, strict=True):
            i = clip(searchsorted(line, x) - 1, 0, line.size - 2)
            cells.append(i)
            offsets.append((x - line[i]) / (line[i + 1] - line[i]))
            outside = outside | (x < line[0]) | (x > line[-1])
        return cells, offsets, outside

    def _linear(self, cells: list[Any], offsets: list[Any]) -> Any:
        """Return the sum of the values at the corners of each cell, by their weights."""
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1.0
            for upper, y in zip(corner, offsets, strict=True):
                weight = weight * (y if upper else 1 - y)
            places = tuple(i + upper for i, upper in zip(cells, corner, strict=True))
            extra = (1,) * (self.values.ndim - len(cells))
            total = total + self.values[places] * reshape(weight, (-1, *extra))
        return total

    def _nearest(self, cells: list[Any], offsets: list[Any]) -> Any:
        places = (where(y <= 0.5, i, i + 1) for i, y in zip(cells, offsets, strict=True))
        return self.values[tuple(places)]


def _flatten(grid: RegularGridInterpolator) -> tuple[tuple[Any, ...], tuple[str, bool]]:
    return (grid.grid, grid.values, grid.fill_value), (grid.method, grid.bounds_error)


def _unflatten(static: tuple[str, bool], children: Sequence[Any]) -> RegularGridInterpolator:
    interpolator = object.__new__(RegularGridInterpolator)
    interpolator.grid, interpolator.values, interpolator.fill_value = children
    interpolator.method, interpolator.bounds_error = static
    return interpolator


tree.register_node(RegularGridInterpolator, _flatten, _unflatten)
