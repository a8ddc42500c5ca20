"""`olympus.scipy.ndimage`: arrays at coordinates between their elements.

The modes at the edges are those of SciPy's `scipy.ndimage.map_coordinates`.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import shape_of
from olympus_core.base.errors import ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.elementwise import round as lax_round
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.elementwise.rounding import floor
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.ufuncs import logical_and
from olympus_core.library.promotion import convert

_Node = tuple[Any, Any]


def _mirrored(index: Any, size: int) -> Any:
    period = 2 * (size - 1)
    return abs_((index + size - 1) % period - (size - 1))


def _reflected(index: Any, size: int) -> Any:
    return (_mirrored(2 * index + 1, 2 * size + 1) - 1) // 2


_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def _rounded(x: Any) -> Any:
    """Return floats rounded to integers, halves away from zero."""
    return lax_round(x) if dtypes.kind(x.dtype) in "f" else x


def _nodes(coordinate: Any, order: int) -> list[_Node]:
    """Return the indices that a coordinate is interpolated from, each with its weight."""
    if order == 0:
        return [(_rounded(coordinate).astype(np.int32), ones((), coordinate.dtype))]
    lower = floor(coordinate)
    weight = coordinate - lower
    index = lower.astype(np.int32)
    return [(index, 1 - weight), (index + 1, weight)]


@composite(static_argnames=("order", "mode"))
def _interpolated(x: Any, coordinates: Sequence[Any], order: int, mode: str, cval: Any) -> Array:
    values, fill = asarray(x), convert(asarray(cval), asarray(x).dtype)
    axes = [_nodes(asarray(c), order) for c in coordinates]
    total: Any = None
    for corner in itertools.product(*axes):
        indices = [_MODES[mode](i, n) for (i, _), n in zip(corner, values.shape, strict=True)]
        part = values[tuple(indices)]
        if mode == "constant":
            inside: Any = True
            for (i, _), n in zip(corner, values.shape, strict=True):
                inside = logical_and(inside, (i >= 0) & (i < n))
            part = where(inside, part, fill)
        weight = functools.reduce(operator.mul, [w for _, w in corner])
        total = weight * part if total is None else total + weight * part
    if dtypes.kind(values.dtype) in "iu":
        total = _rounded(total)
    result: Array = total.astype(values.dtype)
    return result


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """Return the values of an array at coordinates, interpolated.

    input: an array of rank n. coordinates: n arrays of one shape, the shape of the result. order: 0
    for the nearest element, 1 for linear interpolation. mode: the values beyond the edges:
    "constant" for `cval`, "nearest", "wrap", "mirror" or "reflect". The result has the dtype of
    input; both `input` and the coordinates have derivatives.

    Raises ShapeError for another number of coordinates, UnsupportedError for other orders and
    modes.

    >>> map_coordinates(array([1.0, 2.0, 4.0]), [array([0.5, 1.5, 9.0])], order=1)
    Array([1.5, 3. , 0. ], dtype=float32)
    """
    rank = len(shape_of(input if isinstance(input, Array) else asarray(input)))
    if len(coordinates) != rank:
        raise ShapeError(
            f"coordinates must be a sequence of length input.ndim, but {len(coordinates)} != {rank}"
        )
    if mode not in _MODES:
        raise UnsupportedError(
            f"map_coordinates does not support mode {mode}; the modes are {', '.join(_MODES)}"
        )
    if order not in (0, 1):
        raise UnsupportedError(f"map_coordinates requires order<=1, and got {order}")
    result: Array = _interpolated(input, list(coordinates), order=order, mode=mode, cval=cval)
    return result
