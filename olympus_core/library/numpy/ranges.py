"""Ranges and grids of `olympus.numpy`: numbers at even distances, and coordinates of grids.

Bounds and lengths enter (lengths are Python ints); arrays leave.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import Shape, canonical_shape, shape_of
from olympus_core.dtypes import DType
from olympus_core.errors import ConcretizationError, ShapeError
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation import asarray, requested_dtype
from olympus_core.library.numpy.dtypes import result_type
from olympus_core.library.numpy.joining import concatenate, stack
from olympus_core.library.numpy.shapes import broadcast_to, expand_dims, moveaxis, ravel
from olympus_core.library.promotion import broadcast_shapes, check_arrays, convert
from olympus_core.primitives import elementwise as p
from olympus_core.primitives.shape import broadcast_in_dim_p, iota_p
from olympus_core.tracer import Array, Tracer

__all__ = [
    "arange",
    "c_",
    "geomspace",
    "index_exp",
    "indices",
    "ix_",
    "linspace",
    "logspace",
    "meshgrid",
    "mgrid",
    "ogrid",
    "r_",
    "s_",
]


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Array:
    """The numbers `start`, `start + step`, ... below `stop`; with one argument, from 0 to it.

    The arguments are values that Python knows while tracing (ConcretizationError otherwise), as
    they decide the shape.  Raises ZeroDivisionError for a step of 0.

    >>> arange(1, 7, 2)
    Array([1, 3, 5], dtype=int32)
    """
    given = [x for x in (start, stop, step) if x is not None]
    for x in given:
        if isinstance(x, Tracer):
            raise ConcretizationError(
                f"arange needs its bounds while tracing, and got {x.origin()}",
                hint="its shape depends on them: make the argument static, or use a mask",
            )
    wanted = requested_dtype("arange", dtype, result_type(*given))
    bounds = [np.asarray(x).item() for x in given]
    if len(bounds) == 1:
        bounds = [0, *bounds]
    first, last = bounds[:2]
    by = bounds[2] if len(bounds) == 3 else 1
    count = max(math.ceil((last - first) / by), 0)
    return _progression(first, by, count, wanted)


def _progression(first: Any, step: Any, count: int, dtype: DType) -> Array:
    if dtype == dtypes.bool_:
        return asarray(np.arange(first, first + step * count, step, dtype=bool))
    numbers: Array = iota_p.bind(dtype=dtype, shape=(count,), dimension=0)
    if step != 1:
        numbers = p.mul_p.bind(numbers, convert(step, dtype))
    if first != 0:
        numbers = p.add_p.bind(convert(first, dtype), numbers)
    return numbers


@composite(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers at even distances from `start` to `stop`, or to before it without `endpoint`.

    The bounds may be arrays that broadcast; the numbers run along the new axis `axis`.  With
    `retstep`, a pair of the numbers and their distance.  Raises ValueError for a negative `num`.

    >>> linspace(0, 1, 3)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"linspace needs a number of samples >= 0, and got {num}")
    check_arrays("linspace", start, stop)
    wanted = requested_dtype("linspace", dtype, dtypes.to_inexact(result_type(start, stop)))
    inexact = dtypes.to_inexact(wanted)
    shape = broadcast_shapes(shape_of(start), shape_of(stop))
    first, last = (broadcast_to(convert(x, inexact), shape) for x in (start, stop))
    gaps = num - 1 if endpoint else num
    step = (last - first) / gaps if gaps > 0 else asarray(math.nan, dtype=inexact)
    numbers = _interpolated(first, last, num, gaps, endpoint)
    numbers = moveaxis(numbers, 0, canonical_axis(axis, len(shape) + 1))
    if dtypes.kind(wanted) in "iu" and dtypes.kind(inexact) == "f":
        numbers = p.floor_p.bind(numbers)
    numbers = convert(numbers, wanted)
    return (numbers, step) if retstep else numbers


def _interpolated(first: Array, last: Array, num: int, gaps: int, endpoint: bool) -> Array:
    """The numbers along axis 0; the last is `last` itself, not what rounding makes of it."""
    if num < 2:
        return broadcast_to(first, (num, *first.shape))
    count = gaps if endpoint else num
    column = (count,) + (1,) * first.ndim
    real = dtypes.to_real(first.dtype)
    at = iota_p.bind(dtype=real, shape=column, dimension=0) / convert(gaps, real)
    numbers: Array = first * (1 - at) + last * at
    return concatenate([numbers, expand_dims(last, 0)]) if endpoint else numbers


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """`base ** x` for the numbers x of `linspace`.

    >>> logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    wanted = requested_dtype("logspace", dtype, dtypes.to_inexact(result_type(start, stop)))
    inexact = dtypes.to_inexact(wanted)
    exponents = linspace(start, stop, num, endpoint, dtype=inexact, axis=axis)
    return convert(convert(base, inexact) ** exponents, wanted)  # type: ignore[no-any-return]


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Array:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    >>> geomspace(1, 100, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    check_arrays("geomspace", start, stop)
    wanted = requested_dtype("geomspace", dtype, dtypes.to_inexact(result_type(start, stop)))
    inexact = dtypes.to_inexact(wanted)
    first, last = asarray(start, inexact), asarray(stop, inexact)
    sign = p.sign_p.bind(first)
    scale = convert(1 / math.log(10), inexact)
    exponents = [p.log_p.bind(x / sign) * scale for x in (first, last)]
    numbers = logspace(*exponents, num, endpoint, dtype=inexact, axis=0)
    return convert(moveaxis(sign * numbers, 0, axis), wanted)  # type: ignore[no-any-return]


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Coordinate arrays of the grid that vectors span: one for each vector.

    With `indexing` "xy" the first vector runs along axis 1, and with "ij" along axis 0.  `sparse`
    leaves axes at length 1.  Raises ValueError for another `indexing`, ShapeError for matrices.

    >>> meshgrid(asarray([1, 2]), asarray([3]))[0]
    Array([[1, 2]], dtype=int32)
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid takes indexing 'xy' or 'ij', and got {indexing!r}")
    if not copy:
        raise ValueError("meshgrid makes new arrays: copy must be True")
    check_arrays("meshgrid", *xi)
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) >= 2:
        axes[:2] = 1, 0
    vectors = [ravel(x) if len(shape_of(x)) < 2 else _refuse(x) for x in xi]
    shape = [1] * len(xi)
    for axis, vector in zip(axes, vectors, strict=True):
        shape[axis] = vector.size
    return [_along(v, a, tuple(shape), sparse) for v, a in zip(vectors, axes, strict=True)]


def _refuse(x: Any) -> Array:
    raise ShapeError(f"meshgrid needs vectors, and got an array of shape {shape_of(x)}")


def _along(vector: Array, axis: int, shape: Shape, sparse: bool) -> Array:
    """The vector along an axis of a grid."""
    if sparse:
        shape = tuple([n if i == axis else 1 for i, n in enumerate(shape)])
    result: Array = broadcast_in_dim_p.bind(vector, shape=shape, broadcast_dimensions=(axis,))
    return result


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The index of each element of a grid: one array with an axis in front, or, sparse, a tuple.

    >>> indices((2, 2))[1]
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    wanted = requested_dtype("indices", dtype, dtypes.default_dtype("i"))
    shape = canonical_shape(dimensions, "dimensions")
    counts = [_progression(0, 1, n, wanted) for n in shape]
    grids = [_along(x, i, shape, sparse) for i, x in enumerate(counts)]
    if sparse:
        return tuple(grids)
    return stack(grids) if grids else asarray(np.zeros((0,), wanted))


def ix_(*args: Any) -> tuple[Array, ...]:
    """Vectors as index arrays that pick out the grid they span; a bool vector by its True ones.

    >>> asarray([[1, 2], [3, 4]])[ix_(asarray([1]), asarray([0, 1]))]
    Array([[3, 4]], dtype=int32)
    """
    result = []
    for i, x in enumerate(map(asarray, args)):
        if x.ndim != 1:
            raise ShapeError(f"ix_ needs vectors, and got an array of shape {x.shape}")
        if x.dtype == dtypes.bool_:
            x = asarray(np.flatnonzero(np.asarray(x)).astype("int32"))
        shape = tuple([x.size if i == axis else 1 for axis in range(len(args))])
        result.append(_along(x, i, shape, sparse=True))
    return tuple(result)


s_: Final = np.s_
index_exp: Final = np.index_exp


def _of_slice(part: slice) -> Array:
    """The numbers of a slice; an imaginary step counts them, and the stop is then among them."""
    step = 1 if part.step is None else part.step
    start = 0 if part.start is None else part.start
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))  # type: ignore[no-any-return]
    return arange(start, part.stop, step)


class _Grid:
    """`mgrid` and `ogrid`: slices between brackets enter, a grid of coordinates leaves."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _of_slice(key)
        vectors = [_of_slice(part) for part in key]
        dtype = result_type(*vectors)
        grids = meshgrid(*(convert(v, dtype) for v in vectors), sparse=self.sparse, indexing="ij")
        return grids if self.sparse else stack(grids)


class _Concatenator:
    """`r_` and `c_`: slices and arrays between brackets enter, joined along an axis they leave."""

    def __init__(self, axis: int, ndmin: int, trans1d: int) -> None:
        self.defaults = axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> Array:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self.defaults
        if parts and isinstance(parts[0], str):
            axis, ndmin, trans1d = self._directive(parts.pop(0))
        arrays = [self._part(part, ndmin, trans1d) for part in parts]
        return concatenate(arrays, axis)

    def _directive(self, text: str) -> tuple[int, int, int]:
        if text in ("r", "c"):
            raise ValueError(f"matrices do not exist here: the directive {text!r} has no meaning")
        numbers = [int(n) for n in text.split(",")]
        return tuple((*numbers, *self.defaults[len(numbers) :]))  # type: ignore[return-value]

    def _part(self, part: Any, ndmin: int, trans1d: int) -> Array:
        if isinstance(part, slice):
            part = _of_slice(part)
        x = asarray(part)
        missing = max(ndmin, 1) - x.ndim
        if missing <= 0:
            return x
        place = trans1d if trans1d >= 0 else trans1d + missing + 1
        kept = range(place, place + x.ndim)
        return expand_dims(x, tuple(i for i in range(x.ndim + missing) if i not in kept))


mgrid: Final = _Grid(sparse=False)
ogrid: Final = _Grid(sparse=True)
r_: Final = _Concatenator(axis=0, ndmin=1, trans1d=-1)
c_: Final = _Concatenator(axis=-1, ndmin=2, trans1d=0)
