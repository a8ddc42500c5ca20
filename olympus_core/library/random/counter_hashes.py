"""Implementations of random keys by hashes of a key and a counter.

They are Threefry-4x32 with 20 rounds, and Philox-2x32 and Philox-4x32 with 10: Salmon, Moraes,
Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), with its constants.  Element i
of a result hashes the 64-bit counter i.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from olympus_core.base.avals import Shape
from olympus_core.base.dimensions.expression import known_at_least
from olympus_core.ir.tracer import Array
from olympus_core.library.composite import composite
from olympus_core.library.lax.wide_products import mulhi
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.promotion import convert
from olympus_core.primitives.barrier import optimization_barrier_p
from olympus_core.primitives.elementwise.arithmetic import add_p, mul_p
from olympus_core.primitives.elementwise.logic import or_p, shift_left_p, shift_right_logical_p
from olympus_core.primitives.random import random_seed_p
from olympus_core.primitives.shape import broadcast_in_dim_p, iota_p

_UINT32, _UINT64 = np.dtype("uint32"), np.dtype("uint64")
_ZERO = np.uint32(0)

#: the rotations of the rounds of Threefry-4x32, and the parity word of its key
_ROTATIONS: Final = (
    *((10, 26), (11, 21), (13, 27), (23, 5)),
    *((6, 20), (17, 11), (25, 10), (18, 20)),
)
_PARITY = np.uint32(0x1BD11BDA)
#: the factors of Philox, and the steps of its key
_FACTOR_OF_2 = np.uint32(0xD256D193)
_FACTORS_OF_4 = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85
_PHILOX_ROUNDS = 10
_THREEFRY_ROUNDS = 20


def _rotated(x: Array, count: int) -> Array:
    return (x << np.uint32(count)) | (x >> np.uint32(32 - count))


@composite()
def _threefry4x32(key: Sequence[Any], counter: Sequence[Any]) -> list[Array]:
    key = [asarray(word) for word in key]
    schedule = [*key, functools.reduce(operator.xor, key) ^ _PARITY]
    x = [k + c for k, c in zip(key, counter, strict=True)]
    for number in range(_THREEFRY_ROUNDS):
        for first, count in zip((0, 2), _ROTATIONS[number % 8], strict=True):
            second = (first + (1 if number % 2 == 0 else 3)) % 4
            x[first] = x[first] + x[second]
            x[second] = x[first] ^ _rotated(x[second], count)
        if number % 4 == 3:
            group = number // 4 + 1
            x = [word + schedule[(group + i) % 5] for i, word in enumerate(x)]
            x[3] = x[3] + np.uint32(group)
    return x


def _step(word: Any, step: int, number: int) -> Array:
    """Return a word of the key of Philox for a round."""
    return asarray(word) + np.uint32(step * number % 2**32)


@composite()
def _philox2x32(key: Sequence[Any], counter: Sequence[Any]) -> list[Array]:
    x, y = map(asarray, counter)
    for number in range(_PHILOX_ROUNDS):
        word = _step(key[0], _STEPS[0], number)
        x, y = mulhi(_FACTOR_OF_2, x) ^ y ^ word, x * _FACTOR_OF_2
    return [x, y]


@composite()
def _philox4x32(key: Sequence[Any], counter: Sequence[Any]) -> list[Array]:
    x, y, z, w = map(asarray, counter)
    first, second = _FACTORS_OF_4
    for number in range(_PHILOX_ROUNDS):
        words = [_step(k, step, number) for k, step in zip(key, _STEPS, strict=True)]
        x, y, z, w = (
            *(mulhi(second, z) ^ y ^ words[0], z * second),
            *(mulhi(first, x) ^ w ^ words[1], x * first),
        )
    return [x, y, z, w]


def _counters(shape: Shape) -> tuple[Any, Any]:
    """Return the high and the low words of the row-major index of each element."""
    is_wide = known_at_least(math.prod(shape), 2**32)
    dtype = _UINT64 if is_wide else _UINT32
    index: Any = broadcast_in_dim_p.bind(dtype.type(0), shape=shape, broadcast_dimensions=())
    stride: Any = 1
    for axis in reversed(range(len(shape))):
        places = iota_p.bind(dtype=dtype, shape=shape, dimension=axis)
        index = add_p.bind(index, mul_p.bind(places, convert(asarray(stride), dtype)))
        stride *= shape[axis]
    if not is_wide:
        return _ZERO, index
    high = shift_right_logical_p.bind(index, np.uint64(32))
    return convert(high, _UINT32), convert(index, _UINT32)


class CounterHash(NamedTuple):
    """An implementation of keys of `size` words, by a hash of a key and a counter."""

    size: int
    function: Callable[[Sequence[Any], Sequence[Any]], list[Array]]
    #: True if the key of a seed is the hash by the seed as the key, and not of it as the counter
    seeds_key: bool = False

    def seed(self, seed: Array) -> Array:
        """Return the key of an integer."""
        high, low = random_seed_p.bind(seed)
        words = [high, low] if self.size == 1 else [high, low, _ZERO, _ZERO]
        if self.seeds_key:
            return self._key(self.function(words, [_ZERO] * 4))
        return self._key(self.function([_ZERO] * self.size, words))

    def split(self, key: Array, shape: Shape) -> Array:
        """Return new keys of the shape `shape`."""
        return self._key(self.function(list(key), self._last(*_counters(shape))))

    def random_bits(self, key: Array, width: int, shape: Shape) -> Array:
        """Return unsigned integers of `width` bits, of the shape `shape`."""
        high, low = _counters(shape)
        rest = [] if self.size == 1 else [_ZERO, _ZERO]
        words = self.function(list(key), [high, low, *rest])
        dtype = np.dtype(f"uint{width}")
        if width != 64:
            return convert(functools.reduce(operator.xor, words), dtype)
        if self.size == 4:
            words = [words[0] ^ words[2], words[1] ^ words[3]]
        first, second = (convert(word, dtype) for word in words[:2])
        bits: Array = or_p.bind(shift_left_p.bind(first, np.uint64(32)), second)
        return bits

    def fold_in(self, key: Array, data: Array) -> Array:
        """Return the key of a key and a word."""
        return self._key(self.function(list(key), self._last(_ZERO, data)))

    def _last(self, high: Any, low: Any) -> list[Any]:
        """Return a counter of which the last words are these."""
        return [high, low] if self.size == 1 else [_ZERO, _ZERO, high, low]

    def _key(self, words: Sequence[Array]) -> Array:
        (key,) = optimization_barrier_p.bind(stack(words[: self.size], -1))
        return key  # the barrier keeps XLA from computing it again for each element drawn from it


HASHES: Final = {
    "threefry4x32": CounterHash(4, _threefry4x32, seeds_key=True),
    "philox2x32": CounterHash(1, _philox2x32),
    "philox4x32": CounterHash(2, _philox4x32),
}
