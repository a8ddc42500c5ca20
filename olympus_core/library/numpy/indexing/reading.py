"""Reading by an index: `x[index]`.

Static indices and slices become slices, dynamic scalars dynamic slices; index arrays become a
gather from the result of the slices.  Reads out of bounds are clamped unless a `mode` selects
another behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.sharded_array import ShardedArray
from olympus_core.base.avals import Shape, get_aval, shape_of
from olympus_core.base.context import state
from olympus_core.base.errors import IndexingError
from olympus_core.execution.eager import EagerTrace
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, IndexLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.indexing import Mode, gather
from olympus_core.library.lax.shape import expand_dims, full_like
from olympus_core.library.lax.slicing import slice_in_dim, wrapped
from olympus_core.library.numpy.indexing.plan import (
    INTS,
    Plan,
    StaticSlice,
    coordinates,
    make_plan,
    parse,
)
from olympus_core.placement.sharding import NamedSharding
from olympus_core.primitives.gather import GatherScatterMode
from olympus_core.primitives.shape import rev_p, squeeze_p
from olympus_core.primitives.slicing import dynamic_slice_p, slice_p

_INT32 = np.dtype("int32")
_CLIPPED = (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)


def getitem(x: ArrayLike, index: IndexLike) -> Array:
    """Return `x[index]`, with indices out of bounds clamped to the nearest element.

    Raises IndexingError for a value that is not an index of the array.
    """
    return read(x, index)


def read(
    x: ArrayLike,
    index: IndexLike,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
    fill_value: ArrayLike | None = None,
    wrap_negative_indices: bool = True,
) -> Array:
    """Read `x.at[index].get(...)`: the elements at an index, with a mode for out of bounds."""
    parsed = parse(index, shape_of(x))
    clip = mode is None or GatherScatterMode.from_any(mode) in _CLIPPED
    shape = shape_of(x)
    entries, arrays = _resolved(parsed.entries, shape, clip, wrap_negative_indices)
    is_split = x.__class__ is ShardedArray and len(x.sharding.devices) > 1
    if not arrays and not (is_split and not parsed.nothing and _is_part(entries, shape)):
        result = _basic(x, entries, wrap_negative_indices)
        return slice_in_dim(result, 0, 0, axis=parsed.block) if parsed.nothing else result
    spans: tuple[StaticSlice, ...] = ()
    squeezed: tuple[int, ...] = ()
    if not is_split and get_aval(x).explicit is None:
        spans, squeezed, entries = _advanced_part(shape, entries)
        shape = tuple([s.size for n, s in enumerate(spans) if n not in squeezed])
    plan, columns = make_plan(entries, parsed.block, shape)
    return _gather(
        x,
        tuple(columns),
        spans=spans,
        squeezed=squeezed,
        plan=plan,
        mode=mode,
        fill_value=fill_value,
        wrap=wrap_negative_indices,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )


def _resolved(entries: list[Any], shape: Shape, clip: bool, wrap: bool) -> tuple[list[Any], bool]:
    """Return entries with ints in bounds, and True if the others need a gather.

    An int out of bounds that must not be clamped becomes an array.
    """
    resolved: list[Any] = []
    arrays, axis = False, 0
    for e in entries:
        if e is None:
            resolved.append(e)
            continue
        length = shape[axis]
        if e.__class__ in INTS:
            position = e + length if e < 0 and wrap else e
            if not length:
                raise IndexingError(f"index is out of bounds for axis {axis} with size 0: {e}")
            if state.keeps_indices and not 0 <= position < length:
                e = np.asarray(e, _INT32)
            elif clip or 0 <= position < length:
                e = min(max(position, 0), length - 1)
            else:
                e, arrays = np.asarray(length, _INT32), True
        elif e.__class__ is not StaticSlice:
            if not length and e.size:
                raise IndexingError(f"axis {axis}, of length 0, has no element to index")
            arrays = arrays or e.ndim > 0 or not clip
        resolved.append(e)
        axis += 1
    return resolved, arrays


def _is_part(entries: list[Any], shape: Shape) -> bool:
    """Return True if an int or a slice selects a part of an axis.

    The result of a slice of a split axis has no sharding, and that of a gather may have one.
    """
    axes = [e for e in entries if e is not None]
    return any(
        e.__class__ in INTS or (e.__class__ is StaticSlice and (e.size != n or abs(e.step) != 1))
        for e, n in zip(axes, shape, strict=True)
    )


def _basic(x: Any, entries: list[Any], wrap: bool) -> Array:
    """Read a region: entries are ints, slices, new axes and dynamic scalars."""
    axes = [e for e in entries if e is not None]
    squeezed = tuple([n for n, e in enumerate(axes) if e.__class__ is not StaticSlice])
    new_axes = _new_axes(entries) if len(axes) < len(entries) else ()
    spans, static = _spans(axes, shape_of(x))
    if _whole(spans, shape_of(x)) and static:
        return _arranged(x, squeezed, new_axes)
    if static and state.trace.__class__ is not EagerTrace:
        return _arranged(_sliced(x, spans), squeezed, new_axes)
    if any(s.step != 1 for s in spans):
        x = _sliced(x, spans)
        spans = [StaticSlice(0, n, 1) for n in shape_of(x)]
    return _region(
        x,
        tuple(
            [
                _INT32.type(s.start) if e.__class__ in _STATIC else e
                for s, e in zip(spans, axes, strict=True)
            ]
        ),
        sizes=tuple(
            [s.size if e.__class__ in _STATIC else 1 for s, e in zip(spans, axes, strict=True)]
        ),
        squeezed=squeezed,
        new_axes=new_axes,
        wrap=wrap,
    )


_STATIC = (int, StaticSlice)


def _spans(axes: list[Any], shape: Shape) -> tuple[list[StaticSlice], bool]:
    """Return the slice of each static entry, and True if all are; other entries are whole axes."""
    static = True
    spans = []
    for e, n in zip(axes, shape, strict=True):
        if e.__class__ is StaticSlice:
            spans.append(e)
        elif e.__class__ in INTS:
            spans.append(StaticSlice(e, 1, 1))
        else:
            spans.append(StaticSlice(0, n, 1))
            static = False
    return spans, static


def _new_axes(entries: list[Any]) -> tuple[int, ...]:
    """Return the positions of new axes in the result."""
    outs = [e for e in entries if e is None or e.__class__ is StaticSlice]
    return tuple([n for n, e in enumerate(outs) if e is None])


def _whole(spans: Sequence[StaticSlice], shape: Shape) -> bool:
    return all(s.size == n and s.step == 1 for s, n in zip(spans, shape, strict=True))


def _sliced(x: Any, spans: Sequence[StaticSlice]) -> Any:
    """Return `x` at static slices, one an axis: a slice, and a reversal for negative steps."""
    start, limit, strides, backward = [], [], [], []
    for axis, (first, size, step) in enumerate(spans):
        low = first
        if step < 0:
            low = first + (size - 1) * step
            backward.append(axis)
        start.append(low)
        limit.append(low + (size - 1) * abs(step) + 1 if size else low)
        strides.append(abs(step))
    stepped = max(strides, default=1) > 1
    if stepped or any(s.size != n for s, n in zip(spans, shape_of(x), strict=True)):
        x = slice_p.bind(
            x,
            start_indices=tuple(start),
            limit_indices=tuple(limit),
            strides=tuple(strides) if stepped else None,
        )
    return rev_p.bind(x, dimensions=tuple(backward)) if backward else x


def _arranged(x: Any, squeezed: tuple[int, ...], new_axes: tuple[int, ...]) -> Array:
    if squeezed:
        x = squeeze_p.bind(x, dimensions=squeezed)
    return expand_dims(x, new_axes) if new_axes else x


@composite(static_argnames=("sizes", "squeezed", "new_axes", "wrap"))
def _region(
    x: Any,
    starts: tuple[Any, ...],
    *,
    sizes: Shape,
    squeezed: tuple[int, ...],
    new_axes: tuple[int, ...],
    wrap: bool,
) -> Array:
    """Read `sizes` elements from dynamic starts on; starts of squeezed axes may be negative."""
    clamped_starts = [
        wrapped(s, n, _INT32, wrap and axis in squeezed)
        for axis, (s, n) in enumerate(zip(starts, shape_of(x), strict=True))
    ]
    region = dynamic_slice_p.bind(x, *clamped_starts, slice_sizes=sizes)
    return _arranged(region, squeezed, new_axes)


def _advanced_part(
    shape: Shape, entries: list[Any]
) -> tuple[tuple[StaticSlice, ...], tuple[int, ...], list[Any]]:
    """Return the selection of ints and slices, as slices and axes to squeeze, and other entries.

    The other entries are index arrays, whole axes and new axes.
    """
    axes = [e for e in entries if e is not None]
    spans, _ = _spans(axes, shape)
    squeezed = tuple([n for n, e in enumerate(axes) if e.__class__ in INTS])
    remaining_entries = [e for e in entries if e.__class__ not in INTS]
    relative_entries = [
        StaticSlice(0, e.size, 1) if e.__class__ is StaticSlice else e for e in remaining_entries
    ]
    return tuple(spans), squeezed, relative_entries


@composite(
    static_argnames=(
        "spans",
        "squeezed",
        "plan",
        "mode",
        "fill_value",
        "wrap",
        "indices_are_sorted",
        "unique_indices",
    )
)
def _gather(
    x: Any,
    columns: tuple[Any, ...],
    *,
    spans: tuple[StaticSlice, ...],
    squeezed: tuple[int, ...],
    plan: Plan,
    mode: Mode,
    fill_value: Any,
    wrap: bool,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    if 0 in plan.shape:
        return full_like(x, 0, shape=plan.shape, sharding=_sharding_of_windows(x, plan))
    if spans:
        x = _arranged(_sliced(x, spans), squeezed, ())
    result = gather(
        x,
        coordinates(plan, columns, shape_of(x), wrap),
        plan.gather_numbers(),
        plan.sizes,
        unique_indices=unique_indices or plan.ordered,
        indices_are_sorted=indices_are_sorted or plan.ordered,
        mode=mode,
        fill_value=fill_value,
    )
    return expand_dims(result, plan.new_axes) if plan.new_axes else result


def _sharding_of_windows(x: Any, plan: Plan) -> NamedSharding | None:
    """Return the sharding of a gather of which each dimension of a slice is split as in `x`."""
    aval = get_aval(x)
    if aval.explicit is None:
        return None
    entries: list[Any] = [None] * len(plan.shape)
    windows = [d for d in range(aval.ndim) if d not in plan.collapsed]
    places = [n for n in range(len(plan.shape)) if n not in plan.new_axes]
    for place, d in zip(plan.offset_dims, windows, strict=True):
        entries[places[place]] = spec_of(aval)[d]
    sharding: NamedSharding = aval.explicit.with_partitions(entries)
    return sharding
