"""Reordering of elements along axes: `flip`, `rot90`, `roll`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.lax import shape as lax
from olympus_core.library.lax.slicing import dynamic_slice_in_dim, slice_in_dim
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import remainder
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import ravel, reshape
from olympus_core.library.numpy.manipulation.transposing import swapaxes
from olympus_core.library.operands import operand
from olympus_core.library.structural import structural


@structural()
def flip(m: ArrayOrKeys, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order of elements along an axis, several, or all.

    >>> flip(asarray([1, 2, 3]))
    Array([3, 2, 1], dtype=int32)
    """
    m, aval = operand("flip", m)
    axes = tuple(range(aval.ndim)) if axis is None else canonical_axes(axis, aval.ndim)
    return lax.rev(m, axes) if axes else asarray(m)


@structural()
def fliplr(m: ArrayOrKeys) -> Array:
    """Reverse the order of elements along axis 1.

    >>> fliplr(asarray([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return flip(m, 1)


@structural()
def flipud(m: ArrayOrKeys) -> Array:
    """Reverse the order of elements along axis 0.

    >>> flipud(asarray([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@structural()
def rot90(m: ArrayOrKeys, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotate the array by `k` times 90 degrees in the plane of two axes, first to second.

    >>> rot90(asarray([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    m, aval = operand("rot90", m)
    first, second = canonical_axes(tuple(axes), aval.ndim)
    quarters = k % 4
    if quarters == 0:
        return asarray(m)
    if quarters == 2:
        return flip(m, (first, second))
    rotated = flip(m, second) if quarters == 1 else m
    rotated = swapaxes(rotated, first, second)
    return rotated if quarters == 1 else flip(rotated, second)


@structural()
def roll(
    a: ArrayOrKeys, shift: ArrayLike | Sequence[ArrayLike], axis: int | Sequence[int] | None = None
) -> Array:
    """Shift the elements by `shift` positions along an axis (None: of the flattened array).

    Elements that leave at the end re-enter at the start.  Several axes take one shift each, or one
    for all.

    >>> roll(asarray([1, 2, 3]), 1)
    Array([3, 1, 2], dtype=int32)
    """
    a, aval = operand("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), aval.shape)
    axes = (
        canonical_axes(axis, aval.ndim)
        if isinstance(axis, int)
        else tuple(canonical_axis(i, aval.ndim) for i in axis)
    )
    shifts = list(shift) if isinstance(shift, (tuple, list)) else _shifts(shift, len(axes))
    if len(shifts) == 1:
        shifts *= len(axes)
    elif len(axes) == 1:
        axes *= len(shifts)
    if len(shifts) != len(axes):
        raise ShapeError(f"roll got {len(shifts)} shifts for {len(axes)} axes")
    for by, i in zip(shifts, axes, strict=True):
        if aval.size:
            a = _rolled(a, by, i)
    return asarray(a)


def _shifts(shift: Any, count: int) -> list[Any]:
    if not shape_of(shift):
        return [shift] * count
    return [shift[i] for i in range(shape_of(shift)[0])]


def _rolled(a: Any, by: Any, axis: int) -> Array:
    length = shape_of(a)[axis]
    if isinstance(by, Tracer):
        twice = concatenate([a, a], axis)
        start = length - remainder(by, length)
        return dynamic_slice_in_dim(twice, start, length, axis)
    cut: int = -(by if is_symbolic_dim(by) else int(by)) % length
    if cut == 0:
        return asarray(a)
    after, before = (slice_in_dim(a, *ends, axis=axis) for ends in ((cut, length), (0, cut)))
    return concatenate([after, before], axis)
