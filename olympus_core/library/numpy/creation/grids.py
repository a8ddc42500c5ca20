"""Coordinates of grids (`meshgrid`, `indices`, `mgrid`), and arrays of slices (`r_`, `c_`)."""

from __future__ import annotations

from typing import Any, Final, Literal, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, shape_of
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, DTypeLike, NestedArrayLike, ShapeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange, linspace, progression
from olympus_core.library.numpy.dtypes.queries import result_type
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.manipulation.shapes import expand_dims, ravel
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.library.structural import structural
from olympus_core.primitives.shape import broadcast_in_dim_p


@structural(-1)
def meshgrid(
    *xi: ArrayOrKeys, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Return the coordinate arrays of the grid that vectors span: one for each vector.

    With `indexing` "xy" the first vector is along axis 1, and with "ij" along axis 0.  `sparse`
    leaves axes at length 1.  Raises ArgumentError for another `indexing`, ShapeError for matrices.

    >>> meshgrid(asarray([1, 2]), asarray([3]))[0]
    Array([[1, 2]], dtype=int32)
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid takes indexing 'xy' or 'ij', and got {indexing!r}")
    if not copy:
        raise ArgumentError("meshgrid makes new arrays: copy must be True")
    check_arrays("meshgrid", *xi)
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) >= 2:
        axes[:2] = 1, 0
    vectors = [ravel(x) if len(shape_of(x)) < 2 else _refuse(x) for x in xi]
    shape = [1] * len(xi)
    for axis, vector in zip(axes, vectors, strict=True):
        shape[axis] = vector.size
    grid = zip(vectors, axes, strict=True)
    return tuple([along(v, a, tuple(shape), sparse) for v, a in grid])


def _refuse(x: Any) -> Array:
    raise ShapeError(f"meshgrid needs vectors, and got an array of shape {shape_of(x)}")


def along(vector: Array, axis: int, shape: Shape, sparse: bool) -> Array:
    """Return the vector along an axis of a grid."""
    if sparse:
        shape = tuple([n if i == axis else 1 for i, n in enumerate(shape)])
    result: Array = broadcast_in_dim_p.bind(vector, shape=shape, broadcast_dimensions=(axis,))
    return result


@overload
def indices(
    dimensions: ShapeLike, dtype: DTypeLike | None = None, sparse: Literal[False] = False
) -> Array: ...


@overload
def indices(
    dimensions: ShapeLike, dtype: DTypeLike | None = None, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...


@overload
def indices(
    dimensions: ShapeLike, dtype: DTypeLike | None, sparse: Literal[True]
) -> tuple[Array, ...]: ...


@overload
def indices(
    dimensions: ShapeLike, dtype: DTypeLike | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]: ...


def indices(
    dimensions: ShapeLike, dtype: DTypeLike | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]:
    """Return the index of each element of a grid, stacked on a first axis, or, sparse, a tuple.

    >>> indices((2, 2))[1]
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    target_dtype = dtypes.requested("indices", dtype, dtypes.default_dtype("i"))
    shape = canonical_shape(dimensions, "dimensions")
    counts = [progression(0, 1, n, target_dtype) for n in shape]
    grids = [along(x, i, shape, sparse) for i, x in enumerate(counts)]
    if sparse:
        return tuple(grids)
    return stack(grids) if grids else asarray(np.zeros((0,), target_dtype))


s_: Final = np.s_


index_exp: Final = np.index_exp


def _of_slice(bounds: slice) -> Array:
    """Return the numbers of a slice; an imaginary step is their count, and includes the stop."""
    step = 1 if bounds.step is None else bounds.step
    start = 0 if bounds.start is None else bounds.start
    if isinstance(step, complex):
        return linspace(start, bounds.stop, int(abs(step)))
    return arange(start, bounds.stop, step)


def _coordinates(key: tuple[slice, ...], sparse: bool) -> tuple[Array, ...]:
    """Return the coordinates of the grid that slices span, of one dtype."""
    vectors = [_of_slice(bounds) for bounds in key]
    dtype = result_type(*vectors)
    return meshgrid(*(convert(v, dtype) for v in vectors), sparse=sparse, indexing="ij")


class _Grid:
    """`mgrid`: indexed by slices, it returns a grid of coordinates."""

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Array:
        if isinstance(key, slice):
            return _of_slice(key)
        if not key:
            return asarray(np.zeros((0,), dtypes.default_dtype("i")))
        return stack(_coordinates(key, sparse=False))


class _OpenGrid:
    """`ogrid`: indexed by slices, it returns coordinates that broadcast to a grid."""

    @overload
    def __getitem__(self, key: slice) -> Array: ...

    @overload
    def __getitem__(self, key: tuple[slice, ...]) -> list[Array]: ...

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Array | list[Array]:
        if isinstance(key, slice):
            return _of_slice(key)
        return list(_coordinates(key, sparse=True)) if key else []


class _Concatenator:
    """`r_` and `c_`: indexed by slices and arrays, they return them joined along an axis."""

    def __init__(self, axis: int, ndmin: int, trans1d: int) -> None:
        self.defaults = axis, ndmin, trans1d

    def __getitem__(
        self, key: str | slice | ArrayLike | tuple[str | slice | NestedArrayLike, ...]
    ) -> Array:
        entries: list[Any] = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self.defaults
        directive = entries.pop(0) if entries and isinstance(entries[0], str) else ""
        if directive not in ("", "r", "c"):
            axis, ndmin, trans1d = self._directive(directive)
        joined = concatenate([self._entry_array(entry, ndmin, trans1d) for entry in entries], axis)
        if directive not in ("r", "c") or joined.ndim != 1:
            return joined
        return expand_dims(joined, 0 if directive == "r" else 1)  # a matrix

    def _directive(self, text: str) -> tuple[int, int, int]:
        numbers = [int(n) for n in text.split(",")]
        axis, ndmin, trans1d = (*numbers, *self.defaults[len(numbers) :])
        return axis, ndmin, trans1d

    def _entry_array(self, entry: slice | NestedArrayLike, ndmin: int, trans1d: int) -> Array:
        if isinstance(entry, slice):
            entry = _of_slice(entry)
        x = asarray(entry)
        missing = max(ndmin, 1) - x.ndim
        if missing <= 0:
            return x
        place = trans1d if trans1d >= 0 else trans1d + missing + 1
        operand_axes = range(place, place + x.ndim)
        return expand_dims(x, tuple(i for i in range(x.ndim + missing) if i not in operand_axes))


mgrid: Final = _Grid()


ogrid: Final = _OpenGrid()


r_: Final = _Concatenator(axis=0, ndmin=1, trans1d=-1)


c_: Final = _Concatenator(axis=-1, ndmin=2, trans1d=0)
