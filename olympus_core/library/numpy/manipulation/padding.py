"""Padding arrays by every mode of `numpy.pad`, and its reverse, `trim_zeros`.

Widths are static.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, SupportsIndex, TypeAlias

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, get_aval, shape_of
from olympus_core.base.errors import (
    ArgumentError,
    ConcretizationTypeError,
    ShapeError,
    UnsupportedError,
    concrete_value_expected,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, NestedArrayLike
from olympus_core.library.axes import canonical_axes
from olympus_core.library.composite import composite
from olympus_core.library.lax.slicing import pad as lax_pad
from olympus_core.library.lax.slicing import slice_in_dim
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import linspace
from olympus_core.library.numpy.elementwise.rounding import round as round_
from olympus_core.library.numpy.indexing.reading import getitem
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.rearranging import flip
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, reshape
from olympus_core.library.numpy.manipulation.tiling import tile
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.quantiles import median
from olympus_core.library.numpy.reductions.statistics import mean
from olympus_core.library.numpy.reductions.sums import max as max_
from olympus_core.library.numpy.reductions.sums import min as min_
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert
from olympus_core.transforms.vmapping import vmap

Pair = tuple[Any, Any]

#: the widths of padding: a number, a pair (before, after), one or a pair for each axis, or a dict
PadWidth: TypeAlias = (
    "ArrayLike | Sequence[SupportsIndex | Sequence[SupportsIndex]] "
    "| Mapping[int, SupportsIndex | tuple[SupportsIndex, SupportsIndex]]"
)


Pairs = tuple[Pair, ...]


def _sides(name: str, value: Any, ndim: int) -> Pairs:
    """Return (before, after) of each axis for a number, a pair, a pair for each axis, or a dict."""
    if isinstance(value, dict):
        pairs_by_axis: list[Pair] = [(0, 0)] * ndim
        for axis, pair in value.items():
            (i,) = canonical_axes(axis, ndim)
            pairs_by_axis[i] = _sides(name, pair, 1)[0]
        return tuple(pairs_by_axis)
    shape = np.shape(value) if isinstance(value, (tuple, list)) else shape_of(value)
    if shape == ():
        return ((value, value),) * ndim
    if shape == (1,):
        return ((value[0], value[0]),) * ndim
    if shape == (2,):
        return ((value[0], value[1]),) * ndim
    if len(shape) == 2 and shape[1] in (1, 2) and shape[0] in (1, ndim):
        pairs = tuple([(pair[0], pair[-1]) for pair in value])
        return pairs if len(pairs) == ndim else pairs * ndim
    raise ShapeError(f"pad of {ndim} axes needs {name} for each, or for all, and got {value!r:.80}")


def _edge(x: Array, axis: int, before: int, after: int) -> Array:
    length = x.shape[axis]
    first, last = slice_in_dim(x, 0, 1, axis=axis), slice_in_dim(x, length - 1, length, axis=axis)
    return _joined(_along(first, axis, before), x, _along(last, axis, after), axis)


def _along(x: Array, axis: int, length: int) -> Array:
    """Return a slice of length 1 repeated along its axis."""
    return broadcast_to(x, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def _joined(before: Array, x: Array, after: Array, axis: int) -> Array:
    nonempty = [piece for piece in (before, x, after) if piece.shape[axis]]
    return concatenate(nonempty, axis) if nonempty else x


def _mirror(x: Array, axis: int, before: int, after: int, skip: int, odd: bool) -> Array:
    """Reflect repeatedly: all but the edge element (`skip` 1), or all elements (0)."""
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
    statistics = []
    for bounds in ((0, left), (length - right, length)):
        value = statistic(slice_in_dim(x, *bounds, axis=axis), axis=axis, keepdims=True)
        if dtypes.kind(x.dtype) in "iu":
            value = round_(value)
        statistics.append(convert(value, x.dtype))
    return _joined(_along(statistics[0], axis, before), x, _along(statistics[1], axis, after), axis)


_STATISTICS: Final[dict[str, Callable[..., Any]]] = {
    "maximum": max_,
    "minimum": min_,
    "mean": mean,
    "median": median,
}


#: the mode's option, with its default
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
    **{name: {"stat_length": None} for name in _STATISTICS},
}


def _padded_axis(x: Array, axis: int, width: tuple[int, int], mode: str, option: Any) -> Array:
    before, after = width
    if mode == "edge":
        return _edge(x, axis, before, after)
    if mode == "wrap":
        return _wrap(x, axis, before, after)
    if mode in ("reflect", "symmetric"):
        skip = 1 if mode == "reflect" else 0
        return _mirror(x, axis, before, after, skip, odd=option == "odd")
    pair = _sides("a pair of values", option, x.ndim)[axis]
    if mode == "linear_ramp":
        return _ramp(x, axis, before, after, pair)
    return _statistic(x, axis, before, after, _STATISTICS[mode], pair)


def _widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = _sides("a pair of widths", pad_width, ndim)
        widths = tuple((dimension(b), dimension(a)) for b, a in pairs)
    except TypeError as e:
        if isinstance(e, (ShapeError, ConcretizationTypeError)):
            raise
        raise ShapeError(f"pad needs integers as widths, and got {pad_width!r:.80}") from None
    if any(n < 0 for pair in widths for n in pair):
        raise ShapeError(f"pad needs widths >= 0, and got {pad_width!r:.80}")
    return widths


def _constant(x: Any, widths: Sequence[tuple[int, int]], constant_values: Any = 0) -> Any:
    dtype = get_aval(x).dtype
    if not widths:
        return x
    values = _sides("a pair of values", constant_values, len(widths))
    if all(pair == (0, 0) or (pair[0] is constant_values) for pair in values):
        value = convert(values[0][0], dtype)
        return lax_pad(x, value, [(b, a, 0) for b, a in widths])
    for axis, (width, pair) in enumerate(zip(widths, values, strict=True)):
        for side in (0, 1):
            config = [(0, 0, 0)] * len(widths)
            config[axis] = (width[0], 0, 0) if side == 0 else (0, width[1], 0)
            x = lax_pad(x, convert(pair[side], dtype), config)
    return x


@composite(static_argnames=("widths", "mode", "option"))
def _padded(x: Any, widths: tuple[tuple[int, int], ...], mode: str, option: Any) -> Array:
    for axis, width in enumerate(widths):
        if width != (0, 0):
            if not x.shape[axis]:
                raise ShapeError(f"pad cannot extend the empty axis {axis} in mode {mode!r}")
            x = _padded_axis(x, axis, width, mode, option)
    return asarray(x)


def pad(
    array: ArrayLike,
    pad_width: PadWidth,
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> Array:
    """Return the array with elements added before and after it along its axes.

    `pad_width` is a number of elements, a pair (before, after), or one or a pair for each axis,
    known while tracing.  Modes, with their options: "constant" (`constant_values`), "edge",
    "empty", "linear_ramp" (`end_values`), "maximum", "mean", "median", "minimum" (`stat_length`),
    "reflect", "symmetric" (`reflect_type` "even" or "odd"), "wrap".  Or `mode` is a function of a
    vector along an axis, padded with 0, the widths before and after, the axis, and a dict of the
    options: it returns the new vector, and is called once for each axis.

    Raises ShapeError for widths that do not match the array, UnsupportedError for another mode,
    ArgumentError for another option.

    >>> pad(asarray([1, 2]), (1, 2), mode="edge")
    Array([1, 1, 2, 2, 2], dtype=int32)
    """
    array, aval = operand("pad", array)
    widths = _widths(pad_width, aval.ndim)
    if callable(mode):
        return _by_function(asarray(_constant(array, widths)), widths, mode, kwargs)
    if mode not in _OPTIONS:
        raise UnsupportedError(
            f"Unimplemented padding mode {mode!r} for pad",
            hint=f"the modes are {', '.join(map(repr, _OPTIONS))}",
        )
    unknown = set(kwargs) - set(_OPTIONS[mode])
    if unknown:
        raise ArgumentError(f"pad in mode {mode!r} has no option {', '.join(sorted(unknown))}")
    option = next(iter({**_OPTIONS[mode], **kwargs}.values()), None)
    if mode == "constant":
        return asarray(_constant(array, widths, option))
    if mode == "empty":
        return asarray(_constant(array, widths))
    return _padded(array, widths, mode, _hashable(option))


def _by_function(
    x: Array, widths: Sequence[tuple[int, int]], function: Callable[..., Any], options: Any
) -> Array:
    for axis, width in enumerate(widths):

        def along(vector: Any, axis: int = axis, width: tuple[int, int] = width) -> Any:
            return function(vector, width, axis, options)

        rows = moveaxis(x, axis, -1)
        flat = reshape(rows, (math.prod(rows.shape[:-1]), rows.shape[-1]))
        x = moveaxis(reshape(vmap(along)(flat), rows.shape), -1, axis)
    return x


def _hashable(option: Any) -> Any:
    if isinstance(option, (list, tuple)):
        return tuple(map(_hashable, option))
    concrete = isinstance(option, (np.generic, np.ndarray, Array)) and not isinstance(
        option, Tracer
    )
    return np.asarray(option).item() if concrete else option


def trim_zeros(
    filt: NestedArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None
) -> Array:
    """Return the array without the zeros at the start ("f") and end ("b") of its axes.

    The length depends on the values: raises ConcretizationTypeError under a trace.

    >>> trim_zeros(asarray([0, 1, 2, 0]))
    Array([1, 2], dtype=int32)
    """
    if isinstance(filt, Tracer):
        raise concrete_value_expected(
            f"trim_zeros cannot know the shape of its result: the array is {filt.origin()}",
            hint="trim before tracing, or mask the zeros with where",
        )
    array = asarray(filt)
    axes = range(array.ndim) if axis is None else canonical_axes(axis, array.ndim)
    if not array.ndim:
        return array
    where = np.nonzero(np.asarray(array))
    index = [slice(None)] * array.ndim
    for i in axes:
        used = where[i]
        if not used.size:
            return zeros((0,) * array.ndim, array.dtype) if axis is None else array[:0]
        start = used.min() if "f" in trim.lower() else 0
        stop = used.max() + 1 if "b" in trim.lower() else array.shape[i]
        index[i] = slice(int(start), int(stop))
    return getitem(array, tuple(index))
