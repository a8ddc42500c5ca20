"""Random bits and keys: the 20-round Threefry-2x32 of a key and a counter, in NumPy.

Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011), with its
constants.
"""

from __future__ import annotations

import math

import numpy as np

from olympus_core.verification.reference.rule import Array, Call, Rule

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = np.uint32(0x1BD11BDA)
_INJECTED = 4  # rounds between two additions of the key
_ROUNDS = 20


def _threefry(keys: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Return two words for each counter, from keys of shape (..., 2)."""
    k0, k1 = keys[..., 0], keys[..., 1]
    schedule = (k0, k1, k0 ^ k1 ^ _PARITY)
    x0, x1 = high + k0, low + k1
    for number in range(_ROUNDS):
        turn = np.uint32(_ROTATIONS[number % len(_ROTATIONS)])
        x0 = x0 + x1
        x1 = ((x1 << turn) | (x1 >> (np.uint32(32) - turn))) ^ x0
        if (number + 1) % _INJECTED == 0:
            group = (number + 1) // _INJECTED
            x0 = x0 + schedule[group % 3]
            x1 = x1 + schedule[(group + 1) % 3] + np.uint32(group)
    return x0, x1


def _words(call: Call) -> tuple[Array, Array]:
    """Return two words for each element of `shape`, from each key."""
    keys, shape = call.operands[0], tuple(call.params["shape"])
    counter = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    spread = keys.reshape(*keys.shape[:-1], *(1,) * len(shape), 2)
    high, low = (counter >> np.uint64(32)).astype(np.uint32), counter.astype(np.uint32)
    return _threefry(spread, high, low)


def _bits(call: Call) -> list[Array]:
    high, low = _words(call)
    width = call.params["bit_width"]
    if width == 64:
        return [(high.astype(np.uint64) << np.uint64(32)) | low]
    return [(high ^ low).astype(call.out.dtype)]


def _split(call: Call) -> list[Array]:
    return [np.stack(_words(call), -1)]


def _fold_in(call: Call) -> list[Array]:
    keys, data = call.operands
    return [np.stack(_threefry(keys, np.zeros_like(data), data), -1)]


def _seed(call: Call) -> list[Array]:
    """Return the high and the low word of each seed; 32-bit seeds have no high word."""
    (seed,) = call.operands
    bits = seed.astype(f"uint{8 * seed.dtype.itemsize}").astype(np.uint64)
    if seed.dtype.itemsize < 8:
        bits = seed.astype(np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF)
    return [np.stack([(bits >> np.uint64(32)), bits & np.uint64(0xFFFFFFFF)], -1).astype("uint32")]


def _hash(call: Call) -> list[Array]:
    first, second, high, low = np.broadcast_arrays(*call.operands)
    return list(_threefry(np.stack([first, second], -1), high, low))


RANDOM: dict[str, Rule] = {
    "threefry2x32": Rule(_hash),
    "random_bits": Rule(_bits),
    "random_split": Rule(_split),
    "random_fold_in": Rule(_fold_in),
    "random_seed": Rule(_seed),
}
