"""Arrays in files and in text: `load`, `save`, `savez` and `fromstring`."""

from __future__ import annotations

import os
from typing import IO, Any, NoReturn

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError, DTypeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import asarray

File = str | os.PathLike[Any] | IO[bytes]


def load(file: File, *args: Any, **kwargs: Any) -> Any:
    """Return the array of a .npy file, or the NumPy arrays of a .npz file by their names.

    The other arguments are those of `numpy.load`.  Elements of 2 bytes without a dtype are
    bfloat16: NumPy has no name for it.  An array whose dtype is not supported stays a NumPy array.

    >>> import io
    >>> file = io.BytesIO()
    >>> save(file, arange(3))
    >>> _ = file.seek(0)
    >>> load(file)
    Array([0, 1, 2], dtype=int32)
    """
    loaded = np.load(file, *args, **kwargs)
    if not isinstance(loaded, np.ndarray):
        return loaded
    if loaded.dtype == np.dtype("V2"):
        loaded = loaded.view(dtypes.bfloat16)
    try:
        return asarray(loaded)
    except DTypeError:
        return loaded


def save(file: File, arr: ArrayLike, allow_pickle: bool = True) -> None:
    """Write an array to a .npy file, by its path or an open file.

    >>> import io
    >>> save(io.BytesIO(), ones(3))
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: File, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """Write arrays to a .npz file: `args` by the names arr_0, arr_1 and so on, `kwds` by theirs.

    >>> import io
    >>> savez(io.BytesIO(), ones(3), scale=2.0)
    """
    named = {name: np.asarray(x) for name, x in kwds.items()}
    np.savez(file, *[np.asarray(x) for x in args], **named)  # type: ignore[arg-type]


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Return the vector of the numbers in a text, which `sep` separates; the first `count`, or all.

    Raises ArgumentError for a text that is not such a list.

    >>> fromstring("1 2 3", dtype=int, sep=" ")
    Array([1, 2, 3], dtype=int32)
    """
    try:
        value = np.fromstring(string, dtypes.dtype(dtype), count, sep=sep)
    except (TypeError, ValueError) as e:
        raise ArgumentError(f"fromstring cannot read the numbers: {e}") from None
    return asarray(value)


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise UnsupportedError: as in JAX, only `numpy.fromfile` reads a file of bare elements.

    >>> fromfile("data")
    Traceback (most recent call last):
    olympus.errors.UnsupportedError: fromfile is not implemented...
    """
    raise UnsupportedError(
        "fromfile is not implemented, because reading a file moves its position",
        hint="asarray(numpy.fromfile(...)), outside of traced functions",
    )
