"""Operations that read or write at computed positions, and operations that sort elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.primitives.gather import GatherScatterMode
from olympus_core.verification.reference.rule import Array, Call, Rule, moves

_CLIPS = (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)


def _dynamic_bounds(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    places = [
        min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, sizes, strict=True)
    ]
    return tuple(slice(p, p + size) for p, size in zip(places, sizes, strict=True))


def _dynamic_slice(call: Call) -> Array:
    x, *starts = call.operands
    return x[_dynamic_bounds(x, starts, call.params["slice_sizes"])]


def _dynamic_update_slice(call: Call) -> Array:
    x, update, *starts = call.operands
    result = np.array(x)
    result[_dynamic_bounds(x, starts, update.shape)] = update
    return result


def _placed(x: Array, rank: int, axes: Sequence[int]) -> Array:
    """Return `x` with its axes at `axes` of a rank, for broadcasting."""
    shape = [1] * rank
    for axis, n in zip(axes, x.shape, strict=True):
        shape[axis] = n
    return x.reshape(shape)


def _positions(
    shape: Sequence[int], indices: Array, sizes: Sequence[int], dims: Any, rank: int, clips: bool
) -> tuple[list[Array], Array]:
    """Return the positions of window elements in an array of `shape`, by axis, and the inside mask.

    `dims` are the dimension numbers of a gather, which those of a scatter mirror; the windows are
    those of an array of `rank`. A window that is not wholly inside is outside, or moved.
    """
    window, dropped, starts, of_operand, of_indices = dims
    batch = [i for i in range(rank) if i not in window]
    absent = (*dropped, *of_operand)
    along = dict(zip([d for d in range(len(shape)) if d not in absent], window, strict=True))
    inside = np.ones((1,) * rank, bool)
    positions = []
    for d, n in enumerate(shape):
        place = np.zeros((1,) * rank, np.int64)
        if d in starts:
            start = indices[..., list(starts).index(d)].astype(np.int64)
            fits = (start >= 0) & (start <= n - sizes[d])
            inside = inside & _placed(fits, rank, batch)
            if not clips:
                start = np.where(fits, start, 0)
            place = place + _placed(np.clip(start, 0, max(0, n - sizes[d])), rank, batch)
        if d in of_operand:
            axis = batch[of_indices[list(of_operand).index(d)]]
            place = place + _placed(np.arange(n), rank, (axis,))
        if d in along:
            place = place + _placed(np.arange(sizes[d]), rank, (along[d],))
        positions.append(place)
    return positions, inside


def _gather(call: Call) -> Array:
    (x, indices), p, out = call.operands, call.params, call.out
    if not out.size:
        return np.zeros(out.shape, x.dtype)
    clips = p["mode"] in _CLIPS
    if not x.size:
        filled = np.asarray(p["fill_value"] if p["fill_value"] is not None else 0)
        return np.broadcast_to(filled.astype(x.dtype), out.shape)
    places, inside = _positions(
        x.shape, indices, p["slice_sizes"], p["dimension_numbers"], out.ndim, clips
    )
    gathered = np.broadcast_to(x[tuple(places)], out.shape)
    if clips:
        return gathered
    with np.errstate(all="ignore"):
        fill = np.asarray(p["fill_value"]).astype(out.dtype).astype(x.dtype)
    return np.where(inside, gathered, fill)


_COMBINE: dict[str, Any] = {
    "scatter-add": np.add,
    "scatter-sub": np.subtract,
    "scatter-mul": np.multiply,
    "scatter-max": np.maximum,
    "scatter-min": np.minimum,
}


def _scattered(call: Call, x: Array, updates: Array, combine: Any) -> Array:
    result, indices, p = np.array(x), call.operands[1], call.params
    if not updates.size or not result.size:
        return result
    dims = p["dimension_numbers"]
    absent = (*dims.inserted_window_dims, *dims.operand_batching_dims)
    window = iter(dims.update_window_dims)
    sizes = [1 if d in absent else updates.shape[next(window)] for d in range(x.ndim)]
    clips = p["mode"] is GatherScatterMode.CLIP
    places, inside = _positions(x.shape, indices, sizes, dims, updates.ndim, clips)
    full = [np.broadcast_to(place, updates.shape) for place in places]
    is_written = np.broadcast_to(inside | clips, updates.shape)
    written_places = tuple(place[is_written] for place in full)
    if combine is None:
        result[written_places] = updates[is_written]
    else:
        combine.at(result, written_places, updates[is_written])
    return result


def _scatter(name: str) -> Rule:
    combine = _COMBINE.get(name)

    def value(call: Call) -> list[Array]:
        return [_scattered(call, call.operands[0], call.operands[2], combine)]

    def error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
        """Return the error of one rounding for each update: n u times the sum of magnitudes."""
        if dtypes.kind(call.out.dtype) not in "fc":
            return [0.0]
        x, _, updates = call.operands
        counts = _scattered(call, np.zeros(x.shape), np.ones(updates.shape), np.add)
        if combine is np.multiply:
            return [2 * (counts + 1) * roundoff * np.abs(values[0])]
        total = _scattered(call, np.abs(x), np.abs(updates), np.add)
        return [2 * (counts + 1) * roundoff * total]

    rounds = name in ("scatter-add", "scatter-sub", "scatter-mul")
    return Rule(value, error if rounds else None, sums=name in ("scatter-add", "scatter-sub"))


def _order(keys: Sequence[Array], axis: int) -> Array:
    """Return the stable ascending order of the keys along an axis; NaN is last."""
    sort_keys: list[Array] = []
    for key in keys:
        if dtypes.kind(key.dtype) == "c":
            sort_keys += [key.real + 0, key.imag + 0]
        elif dtypes.kind(key.dtype) == "f":
            sort_keys.append(key.astype(np.float64) + 0)
        else:
            sort_keys.append(key)
    return np.asarray(np.lexsort(sort_keys[::-1], axis=axis))


def _sort(call: Call) -> list[Array]:
    """Sort by the program's own keys, so that all runs have the same order."""
    axis, count = call.params["dimension"], call.params["num_keys"]
    order = _order(call.natives[:count], axis)
    return [np.take_along_axis(x, order, axis) for x in call.operands]


def _top_k(call: Call) -> list[Array]:
    (x,), (own,), k = call.operands, call.natives, call.params["k"]
    order = _falling(own)[..., :k]
    return [np.take_along_axis(x, order, -1), order.astype(np.int32)]


def _falling(x: Array) -> Array:
    """Return the descending order along the last axis; of equal elements the first is first."""
    last = x.shape[-1] - 1
    key = x.astype(np.float64) if dtypes.kind(x.dtype) == "f" else x
    backwards = np.argsort(np.flip(key, -1), axis=-1, kind="stable")
    return np.asarray(last - np.flip(backwards, -1))


def _arg(function: Any) -> Rule:
    def value(call: Call) -> list[Array]:
        (own,), (axis,) = call.natives, call.params["axes"]
        key = own.astype(np.float64) if dtypes.kind(own.dtype) == "f" else own
        return [np.asarray(function(key, axis=axis)).astype(call.params["index_dtype"])]

    return Rule(value)


INDEXING: dict[str, Rule] = {
    "dynamic_slice": moves(_dynamic_slice),
    "dynamic_update_slice": moves(_dynamic_update_slice),
    "gather": moves(_gather),
    **{name: _scatter(name) for name in ("scatter", *_COMBINE)},
    "sort": Rule(_sort),
    "top_k": Rule(_top_k),
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
}
