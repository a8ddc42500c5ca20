"""Arrays of `olympus.numpy` from what Python holds: buffers of bytes, and iterables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.errors import ArgumentError
from olympus_core.library.numpy.creation import asarray
from olympus_core.tracer import Array

__all__ = ["frombuffer", "fromiter"]


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """The vector whose elements' bytes are in a buffer, such as bytes; they are copied.

    dtype: what the bytes are read as; the default, float, is 64 bits wide.  count: how many
    elements to read, all unless given.  offset: how many bytes to leave out first.

    Raises ArgumentError where the buffer does not hold so many elements, or is not one.

    >>> frombuffer(b"abcd", dtype="uint8", count=2, offset=1)
    Array([98, 99], dtype=uint8)
    """
    try:
        value = np.frombuffer(buffer, dtypes.dtype(dtype), count, offset)
    except (AttributeError, TypeError, ValueError) as e:
        raise ArgumentError(f"frombuffer cannot read the buffer: {e}") from None
    return asarray(value)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1) -> Array:
    """The vector of the elements of an iterable, as `dtype`; the first `count`, or all.

    Raises ArgumentError where there are fewer, or one does not fit the dtype.

    >>> fromiter(range(3), dtype="int32")
    Array([0, 1, 2], dtype=int32)
    """
    try:
        value = np.fromiter(iter, dtypes.dtype(dtype), count)
    except (TypeError, ValueError, OverflowError) as e:
        raise ArgumentError(f"fromiter cannot read the elements: {e}") from None
    return asarray(value)
