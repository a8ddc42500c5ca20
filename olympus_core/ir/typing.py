"""Types for annotations of functions that take arrays.

`ArrayLike` is an array argument of the library: an Array (including traced ones), a NumPy array or
scalar, or a Python scalar.  `DTypeLike` is a dtype argument: a name, a NumPy dtype or scalar type,
a scalar type of `olympus.numpy`, or an object with a `dtype`.  `ShapeLike` is a shape argument: a
length, or the length of each dimension.

>>> def scale(x: ArrayLike, factor: ArrayLike = 2) -> Array: ...

`ArrayOrKeys` and `ArraysOrKeys` are arguments of functions that move elements, such as `stack`.
These return keys for keys, but declare an `Array` for keys too: with overloads, a type checker
could not infer an array wherever the type of an argument is unknown.  The methods and indices of a
KeyArray and the functions of `olympus.random` do declare keys; for the others, use
`cast(KeyArray, stack(keys))`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, Union, runtime_checkable

import numpy as np

from olympus_core.ir.tracer import Array

if TYPE_CHECKING:
    from olympus_core.library.random.keys import KeyArray


@runtime_checkable
class SupportsDType(Protocol):
    """An object with a dtype, accepted in its place."""

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

ShapeLike = SupportsIndex | Sequence[SupportsIndex]

#: several arrays: a sequence of them, or the rows of one
ArraySequence = Array | np.ndarray[Any, Any] | Sequence[ArrayLike]
#: arguments of functions that move elements of any kind, and return keys for keys
ArrayOrKeys = Union[ArrayLike, "KeyArray"]
ArraysOrKeys = Union[ArraySequence, "KeyArray", Sequence[ArrayOrKeys]]
#: arguments of the few functions that also convert nested lists to arrays
NestedArrayLike = ArrayLike | list[Any] | tuple[Any, ...]
_Index = SupportsIndex | np.bool_ | slice | EllipsisType | None
#: the index of `x[...]`: a list is an index array, and is only allowed in a tuple
IndexLike = _Index | tuple[_Index | list[Any] | tuple[Any, ...], ...]
