"""Types for annotations of functions that take arrays.

`ArrayLike` is what a function of the library takes for an array: an Array (traced ones are), a
NumPy array or scalar, or a Python scalar.  `DTypeLike` is what it takes for a dtype: a name, a
NumPy dtype or scalar type, a scalar type of `olympus.numpy`, or what has a `dtype`.

>>> def scale(x: ArrayLike, factor: ArrayLike = 2) -> Array: ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from olympus_core.tracer import Array

__all__ = ["ArrayLike", "DTypeLike"]


@runtime_checkable
class SupportsDType(Protocol):
    """What has a dtype, and is taken for it."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""


# isinstance takes a union of classes, and none with parameters
if TYPE_CHECKING:
    _NumPy = np.ndarray[Any, Any] | np.bool_ | np.number[Any]
    ArrayLike = Array | _NumPy | bool | int | float | complex
    DTypeLike = str | type[Any] | np.dtype[Any] | SupportsDType
else:
    ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
    DTypeLike = str | type | np.dtype | SupportsDType
