"""Random bits and new keys of Threefry by counters in pairs, as without `threefry_partitionable`.

The first half of the counters are the high words of the hash, and the second half the low words.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base.avals import Shape
from olympus_core.base.errors import UnsupportedError
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.library.lax.shape import reshape
from olympus_core.library.promotion import convert
from olympus_core.library.random.keys import UINT32
from olympus_core.primitives.threefry import threefry2x32_p


def _hashed(key: Any, size: int) -> Any:
    """Return the first `size` words of the hash of the counters 0, 1, ..."""
    if size >= 2**32:
        raise UnsupportedError(
            f"{size} random words of one key need threefry_partitionable",
            hint="leave threefry_partitionable on",
        )
    half = (size + 1) // 2
    high = np.arange(half, dtype=UINT32)
    low = np.arange(half, 2 * half, dtype=UINT32)
    if size % 2:
        low[-1] = 0
    first, second = key[0], key[1]
    words = threefry2x32_p.bind(first, second, high, low)
    return op.concatenate(*words, dimension=0)[:size]


def random_split(key: Any, shape: Shape) -> Array:
    """Return new keys, of `shape`, of the two words of a key."""
    return reshape(_hashed(key, 2 * math.prod(shape)), (*shape, 2))


def random_bits(key: Any, width: int, shape: Shape) -> Array:
    """Return unsigned integers of `width` bits, of `shape`, for the two words of a key."""
    size, dtype = math.prod(shape), np.dtype(f"uint{width}")
    words = _hashed(key, -(-width * size // 32))
    if width == 64:
        high, low = convert(words[:size], dtype), convert(words[size:], dtype)
        return reshape(high << np.asarray(32, dtype) | low, shape)
    if width < 32:
        shifts = np.arange(0, 32, width, dtype=UINT32)
        parts = words[:, None] >> shifts & np.asarray(np.iinfo(dtype).max, UINT32)
        count = words.shape[0] * (32 // width)
        words = convert(reshape(parts, (count,)), dtype)[:size]
    return reshape(words, shape)
