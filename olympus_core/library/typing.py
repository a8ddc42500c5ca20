"""Types for annotations of functions that take arrays.

`ArrayLike` is what a function of the library takes for an array: an Array (traced ones are), a
NumPy array or scalar, or a Python scalar.  `DTypeLike` is what it takes for a dtype: a name, a
NumPy dtype or scalar type, a scalar type of `olympus.numpy`, or what has a `dtype`.  `ShapeLike`
is what it takes for a shape: a length, or the length of each dimension.

>>> def scale(x: ArrayLike, factor: ArrayLike = 2) -> Array: ...

`ArrayOrKeys` and `ArraysOrKeys` are what functions take that move elements, such as `stack`.  They
give keys of keys, but declare an `Array` for these too: with overloads, a type checker would not
know that the result is an array wherever it does not know the type of an argument.  The methods
and indices of a KeyArray and the functions of `olympus.random` do declare keys; of the others,
`cast(KeyArray, stack(keys))` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, Union, runtime_checkable

import numpy as np

from olympus_core.tracer import Array

if TYPE_CHECKING:
    from olympus_core.library.random.keys import KeyArray

__all__ = [
    "ArrayLike",
    "ArrayOrKeys",
    "ArraySequence",
    "ArraysOrKeys",
    "DTypeLike",
    "IndexLike",
    "NestedArrayLike",
    "ShapeLike",
]


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

ShapeLike = SupportsIndex | Sequence[SupportsIndex]

#: several arrays: a sequence of them, or the rows of one
ArraySequence = Array | np.ndarray[Any, Any] | Sequence[ArrayLike]
#: what functions take that move elements, whatever they are: of keys they make keys
ArrayOrKeys = Union[ArrayLike, "KeyArray"]
ArraysOrKeys = Union[ArraySequence, "KeyArray", Sequence[ArrayOrKeys]]
#: what the few functions take that make arrays of nested lists, too
NestedArrayLike = ArrayLike | list[Any] | tuple[Any, ...]
_Index = SupportsIndex | np.bool_ | slice | EllipsisType | None
#: what `x[...]` takes: a list is an index array, and stands among others alone
IndexLike = _Index | tuple[_Index | list[Any] | tuple[Any, ...], ...]
