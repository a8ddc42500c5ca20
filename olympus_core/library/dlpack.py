"""`olympus.dlpack`: the exchange of arrays with other libraries."""

from __future__ import annotations

from olympus_core.base import dtypes
from olympus_core.ir.typing import DTypeLike

_NAMES = frozenset(
    {
        *("bool", "bfloat16", "float16", "float32", "float64", "complex64", "complex128"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Return True if arrays of a dtype can be exchanged.

    >>> is_supported_dtype("float32"), is_supported_dtype("int4")
    (True, False)
    """
    return dtypes.long_name(dtypes.dtype(dtype)) in _NAMES
