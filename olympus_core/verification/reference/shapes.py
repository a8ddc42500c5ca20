"""Operations that move elements: shapes, joining, slicing with fixed bounds, padding."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from olympus_core.base import dtypes
from olympus_core.verification.reference.rule import Array, Call, Rule, moves


def _broadcast(call: Call) -> Array:
    (x,), shape = call.operands, call.params["shape"]
    wide = [1] * len(shape)
    for axis, n in zip(call.params["broadcast_dimensions"], x.shape, strict=True):
        wide[axis] = n
    return np.broadcast_to(x.reshape(wide), shape)


def _reshape(call: Call) -> Array:
    (x,), order = call.operands, call.params["dimensions"]
    x = x if order is None else np.transpose(x, order)
    return x.reshape(call.params["new_sizes"])


def _iota(call: Call) -> Array:
    shape, axis, dtype = call.params["shape"], call.params["dimension"], call.params["dtype"]
    kind = dtypes.kind(dtype)
    counted = {"f": np.float64, "c": np.complex128}.get(kind, dtype)
    line = np.arange(shape[axis]).astype(counted)
    return np.broadcast_to(line.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


def _iota_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Array | float]:
    """Return the error of one rounding, for numbers above 1/u."""
    exact = dtypes.kind(call.out.dtype) not in "fc"
    return [0.0 if exact else 2 * roundoff * np.abs(values[0])]


def _slice(call: Call) -> Array:
    (x,), p = call.operands, call.params
    steps = p["strides"] or (1,) * x.ndim
    bounds = zip(p["start_indices"], p["limit_indices"], steps, strict=True)
    return x[tuple(slice(*axis_bounds) for axis_bounds in bounds)]


def _split(call: Call) -> list[Array]:
    (x,), sizes = call.operands, call.params["sizes"]
    return np.split(x, list(itertools.accumulate(sizes))[:-1], call.params["axis"])


def _unstack(call: Call) -> list[Array]:
    (x,), axis = call.operands, call.params["axis"]
    return [np.take(x, i, axis) for i in range(x.shape[axis])]


def pad(x: Array, value: Array, config: Sequence[tuple[int, int, int]]) -> Array:
    """Return `x` with padding before, after and between elements of each axis; negative cuts."""
    grown = [max(0, n + (n - 1) * between) if n else 0 for n, (_, _, between) in _pairs(x, config)]
    spread = np.full(grown, value, x.dtype)
    spread[tuple(slice(None, None, between + 1) for _, _, between in config)] = x
    widths = [(max(0, low), max(0, high)) for low, high, _ in config]
    wide = np.pad(spread, widths, constant_values=value) if widths else spread
    cut = []
    for n, (low, high, _) in zip(wide.shape, config, strict=True):
        cut.append(slice(max(0, -low), n - max(0, -high)))
    return wide[tuple(cut)]


def _pad(call: Call) -> Array:
    x, value = call.operands
    return pad(x, value, call.params["padding_config"])


def _pairs(x: Array, config: Sequence[tuple[int, int, int]]) -> list[tuple[int, tuple[int, ...]]]:
    return list(zip(x.shape, config, strict=True))


SHAPES: dict[str, Rule] = {
    "broadcast_in_dim": moves(_broadcast),
    "reshape": moves(_reshape),
    "transpose": moves(lambda call: np.transpose(call.operands[0], call.params["permutation"])),
    "squeeze": moves(lambda call: np.squeeze(call.operands[0], call.params["dimensions"])),
    "rev": moves(lambda call: np.flip(call.operands[0], call.params["dimensions"])),
    "tile": moves(lambda call: np.tile(call.operands[0], call.params["reps"])),
    "iota": Rule(lambda call: [_iota(call)], _iota_error),
    "constant": moves(lambda call: np.asarray(call.params["value"].value)),
    "concatenate": moves(lambda call: np.concatenate(call.operands, call.params["dimension"])),
    "stack": moves(lambda call: np.stack(call.operands, call.params["axis"])),
    "split": Rule(_split),
    "unstack": Rule(_unstack),
    "slice": moves(_slice),
    "pad": moves(_pad),
    "optimization_barrier": Rule(lambda call: list(call.operands)),
    "sharding_constraint": moves(lambda call: call.operands[0]),
    "pvary": moves(lambda call: call.operands[0]),
}
