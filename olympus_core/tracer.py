"""Array and Tracer: what a user holds.

`Array` is the type of every array value, on a device or traced.  Its properties are here; its
operators and methods are the library's functions, which `library/methods.py` attaches by a table.
A `Tracer` is an Array whose value a transformation follows; asking Python for its value is the
user's most common mistake, and the errors for it are made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from olympus_core import source
from olympus_core.avals import Shape, ShapedArray, register_aval
from olympus_core.dtypes import DType
from olympus_core.errors import (
    ConcretizationError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from olympus_core.primitive import op

if TYPE_CHECKING:
    from olympus_core.trace import Trace

__all__ = ["Array", "Tracer"]


# How many elements of an array are taken at once where it is iterated over: the time that XLA
# needs grows faster than the number of a program's results.
_BLOCK = 128


class Array:
    """The type of every array: those on a device, and those that are traced."""

    __slots__ = ("__weakref__", "aval")
    __array_priority__ = 100
    aval: ShapedArray

    @property
    def shape(self) -> Shape:
        """The length of each dimension."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def itemsize(self) -> int:
        """The size of an element, in bytes."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of the array, in bytes."""
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to an explicit one in promotion."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of an array without dimensions")
        return self.aval.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iteration over an array without dimensions")
        return self._rows()

    def _rows(self) -> Iterator[Any]:
        """The elements along the first axis, lazily: a block of them is an operation or two."""
        length = self.aval.shape[0]
        if length <= _BLOCK:
            yield from op.unstack(self, axis=0)
            return
        rest = self.aval.shape[1:]
        for start in range(0, length, _BLOCK):
            sizes = (min(_BLOCK, length - start), *rest)
            starts = [np.int32(start), *(np.int32(0) for _ in rest)]
            block = op.dynamic_slice(self, *starts, slice_sizes=sizes)
            yield from op.unstack(block, axis=0)

    __hash__ = None  # type: ignore[assignment]  # arrays compare element by element

    if TYPE_CHECKING:  # attached by library/methods.py

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __lshift__(self, other: Any) -> Any: ...
        def __rshift__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __abs__(self) -> Any: ...


_CONTROL_FLOW = (
    "use olympus.numpy.where to choose between values, olympus.lax.cond or olympus.lax.while_loop "
    "to choose between computations, or make the argument that decides static"
)
_SHAPES = "shapes and Python indices must be known while tracing: make the argument static"
_NUMPY = "use the function of the same name in olympus.numpy, which takes traced arrays"
_ITEM = "return the array from the traced function, and convert the result"


class Tracer(Array):
    """An array whose value is followed by a transformation; `owner` is the trace that made it."""

    __slots__ = ("owner",)
    owner: Trace

    def origin(self) -> str:
        """Where the value comes from, for messages: an argument or an operation and its line."""
        return "a value that a transformation follows"

    @property
    def device(self) -> None:
        """None, the default device: a traced array is nowhere until its program runs."""
        return None

    def _concrete(
        self, wanted: str, hint: str, kind: type[ConcretizationError] = ConcretizationError
    ) -> NoReturn:
        frame = source.user_frame(3)
        place, line = None, ""
        if frame is not None:
            position = source.Source(frame.f_code, frame.f_lasti, "").position()
            place, line = str(position), f": {position.text()}" if position else ""
        where = f", at {place}{line}" if place else ""
        raise kind(
            f"{wanted} of a traced array {self.aval.long_name()} was asked for{where}\n"
            f"  the array is {self.origin()}, and has no value while the function is traced",
            hint=hint,
            location=place,
        )

    def __bool__(self) -> bool:
        self._concrete("the truth value", _CONTROL_FLOW, TracerBoolConversionError)

    def __int__(self) -> int:
        self._concrete("the Python int", _ITEM)

    def __float__(self) -> float:
        self._concrete("the Python float", _ITEM)

    def __complex__(self) -> complex:
        self._concrete("the Python complex", _ITEM)

    def __index__(self) -> int:
        self._concrete("the integer value", _SHAPES, TracerIntegerConversionError)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self._concrete("the NumPy value", _NUMPY, TracerArrayConversionError)

    def __copy__(self) -> Tracer:
        return self  # arrays are immutable, and what follows this one must follow the copy

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def item(self, *args: int) -> Any:
        """Raise ConcretizationError: a traced array has no value."""
        self._concrete("the Python value", _ITEM)

    def tolist(self) -> Any:
        """Raise ConcretizationError: a traced array has no value."""
        self._concrete("the Python value", _ITEM)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval.short_name()}>"


def _aval(x: Array) -> ShapedArray:
    return x.aval


register_aval(Array, _aval)
