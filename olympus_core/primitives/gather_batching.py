"""Dimension numbers of a gather, and a mapped axis in; those of the gather of the whole batch out.

No array is moved or repeated for it: a mapped operand has one more axis in each window, mapped
indices have more windows, and axes of both are batching axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olympus_core.primitives.elementwise.base import shift_all

if TYPE_CHECKING:
    from olympus_core.primitives.indexing import GatherDimensionNumbers

__all__ = ["over_indices", "over_operand", "shift", "shift_all"]

Axes = tuple[int, ...]


def over_operand(
    numbers: GatherDimensionNumbers, dim: int, rank: int
) -> tuple[GatherDimensionNumbers, int]:
    """Numbers for an operand with one more axis, whole in every window; its place in the result."""
    absent = {
        shift(a, dim) for a in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    }
    before = sum([i not in absent for i in range(dim)])
    offsets = numbers.offset_dims
    place = offsets[before] if before < len(offsets) else rank
    shifted = [shift(i, place) for i in offsets]
    return (
        numbers._replace(
            offset_dims=(*shifted[:before], place, *shifted[before:]),
            collapsed_slice_dims=shift_all(numbers.collapsed_slice_dims, dim),
            start_index_map=shift_all(numbers.start_index_map, dim),
            operand_batching_dims=shift_all(numbers.operand_batching_dims, dim),
        ),
        place,
    )


def over_indices(
    numbers: GatherDimensionNumbers, of_operand: int | None, dim: int, rank: int
) -> tuple[GatherDimensionNumbers, int]:
    """Numbers for indices, and where it is mapped an operand, with one more axis."""
    rest = [i for i in range(rank) if i not in numbers.offset_dims]
    place = rest[dim] if dim < len(rest) else rank
    pairs = list(
        zip(
            numbers.operand_batching_dims,
            shift_all(numbers.start_indices_batching_dims, dim),
            strict=True,
        )
    )
    collapsed, starts = numbers.collapsed_slice_dims, numbers.start_index_map
    if of_operand is not None:
        pairs = sorted([(of_operand, dim), *((shift(a, of_operand), b) for a, b in pairs)])
        collapsed, starts = shift_all(collapsed, of_operand), shift_all(starts, of_operand)
    return (
        numbers.__class__(
            shift_all(numbers.offset_dims, place),
            collapsed,
            starts,
            tuple([a for a, _ in pairs]),
            tuple([b for _, b in pairs]),
        ),
        place,
    )


def shift(axis: int, dim: int) -> int:
    """An axis of a value, as one of the array that has a mapped axis at `dim` as well."""
    return axis + (axis >= dim)
