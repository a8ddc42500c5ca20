"""Padding arrays in `olympus.numpy`, and its reverse.

An array and static widths enter; a longer (or shorter) array leaves.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.avals import get_aval
from olympus_core.errors import ArgumentError, ConcretizationError, ShapeError
from olympus_core.library.axes import canonical_axes
from olympus_core.library.composite import composite
from olympus_core.library.lax.slicing import pad as lax_pad
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.fills import zeros
from olympus_core.library.numpy.indexing import getitem
from olympus_core.library.numpy.orders import moveaxis
from olympus_core.library.numpy.padding_modes import OPTIONS, padded_axis, sides
from olympus_core.library.numpy.shapes import reshape
from olympus_core.library.promotion import convert
from olympus_core.tracer import Array, Tracer
from olympus_core.transforms.vmapping import vmap

__all__ = [
    "pad",
    "trim_zeros",
]


def _widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = sides("a pair of widths", pad_width, ndim)
        widths = tuple((operator.index(b), operator.index(a)) for b, a in pairs)
    except TypeError as e:
        if isinstance(e, (ShapeError, ConcretizationError)):
            raise
        raise ShapeError(f"pad needs integers as widths, and got {pad_width!r:.80}") from None
    if any(n < 0 for pair in widths for n in pair):
        raise ShapeError(f"pad needs widths >= 0, and got {pad_width!r:.80}")
    return widths


def _constant(x: Any, widths: Sequence[tuple[int, int]], constant_values: Any = 0) -> Any:
    dtype = get_aval(x).dtype
    if not widths:
        return x
    values = sides("a pair of values", constant_values, len(widths))
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
            x = padded_axis(x, axis, width, mode, option)
    return asarray(x)


def pad(
    array: Any, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """The array with elements added before and after it along its axes.

    `pad_width` is a number of elements, a pair (before, after), or one or a pair for each axis,
    known while tracing.  Modes, with their options: "constant" (`constant_values`), "edge",
    "empty", "linear_ramp" (`end_values`), "maximum", "mean", "median", "minimum" (`stat_length`),
    "reflect", "symmetric" (`reflect_type` "even" or "odd"), "wrap".  Or `mode` is a function of a
    vector along an axis, padded with 0, the widths before and after, the axis, and a dict of the
    options: it gives the vector to put there, and is called once for each axis.

    Raises ShapeError for widths that do not fit the array, ArgumentError for another mode or
    option.

    >>> pad(asarray([1, 2]), (1, 2), mode="edge")
    Array([1, 1, 2, 2, 2], dtype=int32)
    """
    array, aval = operand("pad", array)
    widths = _widths(pad_width, aval.ndim)
    if callable(mode):
        return _by_function(asarray(_constant(array, widths)), widths, mode, kwargs)
    if mode not in OPTIONS:
        names = ", ".join(map(repr, OPTIONS))
        raise ArgumentError(f"pad has the modes {names}, and got {mode!r}")
    unknown = set(kwargs) - set(OPTIONS[mode])
    if unknown:
        raise ArgumentError(f"pad in mode {mode!r} has no option {', '.join(sorted(unknown))}")
    option = next(iter({**OPTIONS[mode], **kwargs}.values()), None)
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


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """The array without the zeros at its front ("f") and back ("b") along its axes.

    Its length depends on the values: raises ConcretizationError under a trace.

    >>> trim_zeros(asarray([0, 1, 2, 0]))
    Array([1, 2], dtype=int32)
    """
    if isinstance(filt, Tracer):
        raise ConcretizationError(
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
