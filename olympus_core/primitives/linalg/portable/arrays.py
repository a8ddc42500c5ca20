"""Helpers of the algorithms: loops, selections, indices, and matrices scaled to the size of 1.

Axes are counted from the last one, so that batch axes do not matter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import elementwise_constant, scalar_zero, spread
from olympus_core.primitives.linalg.algebra import converted_like

INT32 = np.dtype("int32")


def panels(count: int) -> tuple[int, int]:
    """Return number and width of the panels in which `count` >= 1 columns are factorized."""
    width = min(count, 32 if count <= 1024 else 128)
    return -(-count // width), width


def in_panels(x: Any) -> tuple[int, int, Any]:
    """Return the number and the width of the panels of matrices, and the padded matrices.

    The padding, of zeros, makes the last panel as wide as the others.
    """
    rows, columns = shape_of(x)[-2:]
    count, width = panels(min(rows, columns))
    size = count * width
    return count, width, padded(x, max(rows, size), max(columns, size))


def padded(x: Any, *sizes: int) -> Any:
    """Return arrays padded with zeros after the elements to these sizes of the last axes."""
    shape = shape_of(x)
    batch_rank = len(shape) - len(sizes)
    config = [(0, 0, 0)] * batch_rank
    config += [(0, size - n, 0) for size, n in zip(sizes, shape[batch_rank:], strict=True)]
    return op.pad(x, scalar_zero(x), padding_config=tuple(config))


def trimmed(x: Any, *sizes: int) -> Any:
    """Return the first elements of arrays, these many along the last axes: undo `padded`."""
    shape = shape_of(x)
    limits = (*shape[: len(shape) - len(sizes)], *sizes)
    return op.slice(x, start_indices=(0,) * len(shape), limit_indices=limits, strides=None)


def window(x: Any, start: Any, width: int, axis: int) -> Any:
    """Return `width` rows or columns of matrices from a computed index on; see `put_window`."""
    shape = shape_of(x)
    place = len(shape) + axis
    sizes = tuple([width if i == place else n for i, n in enumerate(shape)])
    return op.dynamic_slice(x, *_starts(x, start, axis), slice_sizes=sizes)


def put_window(x: Any, part: Any, start: Any, axis: int) -> Any:
    """Return the matrices with rows or columns replaced from a computed index on."""
    return op.dynamic_update_slice(x, part, *_starts(x, start, axis))


def _starts(x: Any, start: Any, axis: int) -> list[Any]:
    rank = len(shape_of(x))
    return [start if i == rank + axis else np.int32(0) for i in range(rank)]


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros."""
    return spread(np.zeros((), dtype)[()], shape)


def over(x: Any, like: Any, axis: int | None = None) -> Any:
    """Return `x` broadcast to `like`, of which it lacks axis `axis`, or all axes after its own."""
    shape = shape_of(like)
    axes = list(range(len(shape)))
    axes = axes[: len(shape_of(x))] if axis is None else [i for i in axes if i != len(shape) + axis]
    return op.broadcast_in_dim(x, shape=shape, broadcast_dimensions=tuple(axes))


def where(choice: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where `choice`, else `no`; one may be a number."""
    like = no if isinstance(yes, int | float) else yes
    yes, no = (
        spread(elementwise_constant(like, x), shape_of(choice)) if isinstance(x, int | float) else x
        for x in (yes, no)
    )
    return op.select_n(choice, no, yes)


def places(x: Any, axis: int) -> Any:
    """Return the index of each element along an axis, int32."""
    shape = shape_of(x)
    return op.iota(dtype=INT32, shape=shape, dimension=len(shape) + axis)


def unpermuted(*shape: int) -> Any:
    """Return identity permutations along the last axis."""
    return op.iota(dtype=INT32, shape=shape, dimension=len(shape) - 1)


def ascending(x: Any) -> tuple[Any, Any]:
    """Return the elements in ascending order along the last axis, and the sorting permutations."""
    last = len(shape_of(x)) - 1
    x, order = op.sort(x, places(x, -1), dimension=last, is_stable=True, num_keys=1)
    return x, order


def total(x: Any, *axes: int) -> Any:
    """Return the sum along axes."""
    rank = len(shape_of(x))
    return op.reduce_sum(x, axes=tuple(sorted(rank + a for a in axes)))


def squares(x: Any) -> Any:
    """|x|**2, real."""
    if dtypes.kind(get_aval(x).dtype) != "c":
        return op.mul(x, x)
    re, im = op.real(x), op.imag(x)
    return op.add(op.mul(re, re), op.mul(im, im))


def at(x: Any, j: Any, axis: int) -> Any:
    """Return the slice at index j along an axis, without that axis; j is one for all matrices."""
    place = len(shape_of(x)) + axis
    return op.squeeze(window(x, j, 1, axis), dimensions=(place,))


def greatest(x: Any, start: Any) -> Any:
    """Return the index of the greatest element from `start` on; no element is negative."""
    x = where(op.lt(places(x, -1), over(start, x)), -1, x)
    return op.argmax(x, axes=(len(shape_of(x)) - 1,), index_dtype=INT32)


def take(x: Any, index: Any, axis: int) -> Any:
    """Return the slice at `index`, one for each matrix, along an axis; without that axis."""
    if not shape_of(index):
        return at(x, index, axis)
    return total(where(op.eq(places(x, axis), over(index, x)), x, 0), axis)


def put(x: Any, j: Any, value: Any, axis: int) -> Any:
    """Return `x` with `value` at j along an axis; j is one for all matrices, or one for each."""
    return op.select_n(op.eq(places(x, axis), over(j, x)), x, over(value, x, axis))


def exchange(x: Any, j: Any, others: Any, axis: int) -> Any:
    """Return `x` with the slices at j and, for each matrix, at `others` exchanged along an axis."""
    return put(put(x, others, at(x, j, axis), axis), j, take(x, others, axis), axis)


def epsilon(x: Any) -> float:
    """Return the distance from 1 to the next number of x's precision."""
    return float(dtypes.finfo(get_aval(x).dtype).eps)


def negligible(x: Any) -> float:
    """Return a length that counts as zero next to 1: its square is near the least number."""
    return math.sqrt(float(dtypes.finfo(get_aval(x).dtype).tiny)) / epsilon(x)


def scaled(x: Any) -> tuple[Any, Any]:
    """Return the matrices divided by powers of two near their greatest elements, and these powers.

    The squares of elements then neither overflow, nor vanish next to the square of the greatest.  A
    matrix with an element that is not finite becomes NaN.
    """
    rank = len(shape_of(x))
    is_complex = dtypes.kind(get_aval(x).dtype) == "c"
    size = op.max(*(op.abs(part(x)) for part in (op.real, op.imag))) if is_complex else op.abs(x)
    size = op.reduce_max(size, axes=(rank - 2, rank - 1))
    finfo = dtypes.finfo(get_aval(size).dtype)
    low, high = (
        elementwise_constant(size, float(finfo.tiny)),
        elementwise_constant(size, float(finfo.max) / 8),
    )
    exponent = finfo.bits - finfo.nmant - 1
    unit = op.reduce_precision(op.clamp(low, size, high), exponent_bits=exponent, mantissa_bits=0)
    unit = where(op.is_finite(size), unit, np.nan)
    return op.div(x, over(converted_like(unit, x), x)), unit
