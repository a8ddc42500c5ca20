"""Slices at mapped positions: `dynamic_slice` under `vmap` is a gather, the update a scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.avals import Shape, ShapedArray, shape_of
from olympus_core.primitive import Batched, op
from olympus_core.primitives.elementwise.base import at_front, move_axis
from olympus_core.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)

__all__ = ["gather_slices", "scatter_slices", "zero_of"]


def zero_of(aval: ShapedArray) -> Any:
    """Zero as a scalar of a type's dtype."""
    return np.zeros((), aval.dtype)[()]


def _starts(batched: Batched, starts: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """Start indices, one row for each mapped value, as gather and scatter take them."""
    columns = [at_front(s, d, batched.size) for s, d in zip(starts, dims, strict=True)]
    return op.stack(*columns, axis=1)


def gather_slices(
    batched: Batched, args: Sequence[Any], dims: Sequence[int | None], sizes: Shape
) -> tuple[Any, int]:
    """Slices at positions of their own, by a gather; starts are clamped, as dynamic_slice's."""
    x, indices = args[0], _starts(batched, args[1:], dims[1:])
    rank, mapped = len(sizes), dims[0] is not None
    x = move_axis(x, dims[0], 0) if dims[0] is not None else x
    first = 1 if mapped else 0
    out = op.gather(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=tuple(range(1, rank + 1)),
            collapsed_slice_dims=(),
            start_index_map=tuple(range(first, rank + first)),
            operand_batching_dims=(0,) if mapped else (),
            start_indices_batching_dims=(0,) if mapped else (),
        ),
        slice_sizes=(*((1,) if mapped else ()), *sizes),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )
    return out, 0


def scatter_slices(
    batched: Batched, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, int]:
    """Updates at positions of their own, by a scatter; starts are clamped."""
    x, update = (at_front(v, d, batched.size) for v, d in zip(args[:2], dims[:2], strict=True))
    rank = len(shape_of(update)) - 1
    out = op.scatter(
        x,
        _starts(batched, args[2:], dims[2:]),
        update,
        dimension_numbers=ScatterDimensionNumbers(
            update_window_dims=tuple(range(1, rank + 1)),
            inserted_window_dims=(),
            scatter_dims_to_operand_dims=tuple(range(1, rank + 1)),
            operand_batching_dims=(0,),
            scatter_indices_batching_dims=(0,),
        ),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
    return out, 0
