"""The modes of `numpy.pad`: what an axis is extended by.

An array, an axis and widths enter; the longer array leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import shape_of
from olympus_core.errors import ShapeError
from olympus_core.library.axes import canonical_axes
from olympus_core.library.lax.slicing import slice_in_dim
from olympus_core.library.numpy.joining import concatenate
from olympus_core.library.numpy.orders import flip
from olympus_core.library.numpy.quantiles import median
from olympus_core.library.numpy.ranges import linspace
from olympus_core.library.numpy.reductions import max as max_
from olympus_core.library.numpy.reductions import mean
from olympus_core.library.numpy.reductions import min as min_
from olympus_core.library.numpy.repetition import tile
from olympus_core.library.numpy.rounding import round as round_
from olympus_core.library.numpy.shapes import broadcast_to
from olympus_core.library.promotion import convert
from olympus_core.tracer import Array

__all__ = ["OPTIONS", "padded_axis", "sides"]

Pair = tuple[Any, Any]


Pairs = tuple[Pair, ...]


def sides(name: str, value: Any, ndim: int) -> Pairs:
    """(before, after) for each axis, of a number, a pair, a pair for each axis, or a dict."""
    if isinstance(value, dict):
        found: list[Pair] = [(0, 0)] * ndim
        for axis, one in value.items():
            (i,) = canonical_axes(axis, ndim)
            found[i] = sides(name, one, 1)[0]
        return tuple(found)
    shape = np.shape(value) if isinstance(value, (tuple, list)) else shape_of(value)
    if shape == ():
        return ((value, value),) * ndim
    if shape == (1,):
        return ((value[0], value[0]),) * ndim
    if shape == (2,):
        return ((value[0], value[1]),) * ndim
    if len(shape) == 2 and shape[1] in (1, 2) and shape[0] in (1, ndim):
        pairs = tuple([(one[0], one[-1]) for one in value])
        return pairs if len(pairs) == ndim else pairs * ndim
    raise ShapeError(f"pad of {ndim} axes needs {name} for each, or for all: got {value!r:.80}")


def _edge(x: Array, axis: int, before: int, after: int) -> Array:
    length = x.shape[axis]
    first, last = slice_in_dim(x, 0, 1, axis=axis), slice_in_dim(x, length - 1, length, axis=axis)
    return _joined(_along(first, axis, before), x, _along(last, axis, after), axis)


def _along(x: Array, axis: int, length: int) -> Array:
    """A slice of length 1 repeated along its axis."""
    return broadcast_to(x, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def _joined(before: Array, x: Array, after: Array, axis: int) -> Array:
    parts = [part for part in (before, x, after) if part.shape[axis]]
    return concatenate(parts, axis) if parts else x


def _mirror(x: Array, axis: int, before: int, after: int, skip: int, odd: bool) -> Array:
    """Reflections, again and again: of all but the edge (`skip` 1), or of all (0)."""
    if skip and x.shape[axis] == 1:
        return _edge(x, axis, before, after)
    while before or after:
        length = x.shape[axis]
        left, right = min(before, length - skip), min(after, length - skip)
        start = slice_in_dim(x, skip, skip + left, axis=axis)
        end = slice_in_dim(x, length - skip - right, length - skip, axis=axis)
        start, end = flip(start, axis), flip(end, axis)
        if odd:
            start = 2 * slice_in_dim(x, 0, 1, axis=axis) - start
            end = 2 * slice_in_dim(x, length - 1, length, axis=axis) - end
        x = _joined(start, x, end, axis)
        before, after = before - left, after - right
    return x


def _wrap(x: Array, axis: int, before: int, after: int) -> Array:
    length = x.shape[axis]
    left, right = -(-before // length), -(-after // length)
    reps = [1] * x.ndim
    reps[axis] = left + 1 + right
    start = left * length - before
    return slice_in_dim(tile(x, reps), start, start + before + length + after, axis=axis)


def _ramp(x: Array, axis: int, before: int, after: int, ends: Pair) -> Array:
    length = x.shape[axis]
    edges = slice_in_dim(x, 0, 1, axis=axis), slice_in_dim(x, length - 1, length, axis=axis)
    ramps = []
    for end, edge, n in zip(ends, edges, (before, after), strict=True):
        level = edge.squeeze(axis)
        ramps.append(linspace(end, level, n, endpoint=False, dtype=x.dtype, axis=axis))
    return _joined(ramps[0], x, flip(ramps[1], axis), axis)


def _statistic(
    x: Array, axis: int, before: int, after: int, statistic: Callable[..., Any], lengths: Pair
) -> Array:
    length = x.shape[axis]
    left, right = (length if n is None else min(n, length) for n in lengths)
    if not (left and right):
        raise ShapeError("pad needs a stat_length of 1 or more")
    parts = []
    for part in ((0, left), (length - right, length)):
        value = statistic(slice_in_dim(x, *part, axis=axis), axis=axis, keepdims=True)
        if dtypes.kind(x.dtype) in "iu":
            value = round_(value)
        parts.append(convert(value, x.dtype))
    return _joined(_along(parts[0], axis, before), x, _along(parts[1], axis, after), axis)


_STATISTICS: Final[dict[str, Callable[..., Any]]] = {
    "maximum": max_,
    "minimum": min_,
    "mean": mean,
    "median": median,
}


#: the mode's option, with its default
OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
    **{name: {"stat_length": None} for name in _STATISTICS},
}


def padded_axis(x: Array, axis: int, width: tuple[int, int], mode: str, option: Any) -> Array:
    before, after = width
    if mode == "edge":
        return _edge(x, axis, before, after)
    if mode == "wrap":
        return _wrap(x, axis, before, after)
    if mode in ("reflect", "symmetric"):
        skip = 1 if mode == "reflect" else 0
        return _mirror(x, axis, before, after, skip, odd=option == "odd")
    pair = sides("a pair of values", option, x.ndim)[axis]
    if mode == "linear_ramp":
        return _ramp(x, axis, before, after, pair)
    return _statistic(x, axis, before, after, _STATISTICS[mode], pair)
