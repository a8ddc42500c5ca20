"""Array and Tracer, the classes of the user's values.

`Array` is the type of every array value, on a device or traced.  Its properties are here; its
operators and methods are the library's functions, which `library/methods.py` attaches by a table.
A `Tracer` is an Array whose value a transformation follows; using it as a Python value is the
most common mistake of users, and this module raises the errors for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from olympus_core.base import source
from olympus_core.base.avals import Shape, ShapedArray, register_aval
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    concrete_value_expected,
)
from olympus_core.ir.conversions import remedy
from olympus_core.ir.primitive import op

if TYPE_CHECKING:
    from types import ModuleType

    from olympus_core.ir.trace import Trace
    from olympus_core.ir.typing import ArrayLike, ArraysOrKeys, DTypeLike, IndexLike, ShapeLike
    from olympus_core.library.axes import Axis
    from olympus_core.library.explicit import OutSharding
    from olympus_core.library.lax.dot import PrecisionLike
    from olympus_core.library.numpy.indexing.at import IndexUpdateHelper
    from olympus_core.xla import Device

# The number of elements of an array that iteration reads together: the time that XLA needs grows
# faster than the number of a program's results.
_BLOCK = 128


class Array:
    """The type of every array, on a device or traced."""

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
        """True if the dtype yields to an explicit one in promotion."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object, an array of 0 dimensions")
        return self.aval.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        return self._rows()

    def _rows(self) -> Iterator[Array]:
        """Yield the elements along the first axis lazily: a block takes one or two operations."""
        length = operator.index(self.aval.shape[0])
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

    if TYPE_CHECKING:
        # attributes that library/methods.py attaches, with the parameters of the functions
        def __add__(self, other: ArrayLike, /) -> Array: ...
        def __radd__(self, other: ArrayLike, /) -> Array: ...
        def __sub__(self, other: ArrayLike, /) -> Array: ...
        def __rsub__(self, other: ArrayLike, /) -> Array: ...
        def __mul__(self, other: ArrayLike, /) -> Array: ...
        def __rmul__(self, other: ArrayLike, /) -> Array: ...
        def __truediv__(self, other: ArrayLike, /) -> Array: ...
        def __rtruediv__(self, other: ArrayLike, /) -> Array: ...
        def __floordiv__(self, other: ArrayLike, /) -> Array: ...
        def __rfloordiv__(self, other: ArrayLike, /) -> Array: ...
        def __mod__(self, other: ArrayLike, /) -> Array: ...
        def __rmod__(self, other: ArrayLike, /) -> Array: ...
        def __divmod__(self, other: ArrayLike, /) -> tuple[Array, Array]: ...
        def __rdivmod__(self, other: ArrayLike, /) -> tuple[Array, Array]: ...
        def __pow__(self, other: ArrayLike, /) -> Array: ...
        def __rpow__(self, other: ArrayLike, /) -> Array: ...
        def __matmul__(self, other: ArrayLike, /) -> Array: ...
        def __rmatmul__(self, other: ArrayLike, /) -> Array: ...
        def __and__(self, other: ArrayLike, /) -> Array: ...
        def __rand__(self, other: ArrayLike, /) -> Array: ...
        def __or__(self, other: ArrayLike, /) -> Array: ...
        def __ror__(self, other: ArrayLike, /) -> Array: ...
        def __xor__(self, other: ArrayLike, /) -> Array: ...
        def __rxor__(self, other: ArrayLike, /) -> Array: ...
        def __lshift__(self, other: ArrayLike, /) -> Array: ...
        def __rlshift__(self, other: ArrayLike, /) -> Array: ...
        def __rshift__(self, other: ArrayLike, /) -> Array: ...
        def __rrshift__(self, other: ArrayLike, /) -> Array: ...
        def __eq__(self, other: ArrayLike, /) -> Array: ...  # type: ignore[override]
        def __ne__(self, other: ArrayLike, /) -> Array: ...  # type: ignore[override]
        def __lt__(self, other: ArrayLike, /) -> Array: ...
        def __le__(self, other: ArrayLike, /) -> Array: ...
        def __gt__(self, other: ArrayLike, /) -> Array: ...
        def __ge__(self, other: ArrayLike, /) -> Array: ...
        def __abs__(self) -> Array: ...
        def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType: ...
        def __contains__(self, value: ArrayLike) -> bool: ...
        def __getitem__(self, index: IndexLike) -> Array: ...
        def __invert__(self) -> Array: ...
        def __neg__(self) -> Array: ...
        def __pos__(self) -> Array: ...
        def __round__(self, ndigits: int | None = None) -> Array: ...
        def all(
            self,
            axis: Axis = None,
            out: None = None,
            keepdims: bool = False,
            *,
            where: ArrayLike | None = None,
        ) -> Array: ...
        def any(
            self,
            axis: Axis = None,
            out: None = None,
            keepdims: bool = False,
            *,
            where: ArrayLike | None = None,
        ) -> Array: ...
        def argmax(
            self, axis: int | None = None, out: None = None, keepdims: bool | None = None
        ) -> Array: ...
        def argmin(
            self, axis: int | None = None, out: None = None, keepdims: bool | None = None
        ) -> Array: ...
        def argpartition(self, kth: int, axis: int = -1) -> Array: ...
        def argsort(
            self,
            axis: int | None = -1,
            *,
            kind: None = None,
            order: None = None,
            stable: bool = True,
            descending: bool = False,
            dtype: DTypeLike | None = None,
        ) -> Array: ...
        def astype(
            self, dtype: DTypeLike | None, /, *, copy: bool = False, device: Device | None = None
        ) -> Array: ...
        def choose(self, choices: ArraysOrKeys, out: None = None, mode: str = "raise") -> Array: ...
        def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array: ...
        def compress(
            self,
            condition: ArrayLike,
            axis: int | None = None,
            *,
            size: int | None = None,
            fill_value: ArrayLike = 0,
            out: None = None,
        ) -> Array: ...
        def conj(self) -> Array: ...
        def conjugate(self) -> Array: ...
        def copy(self, order: str | None = None) -> Array: ...
        def cumprod(
            self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
        ) -> Array: ...
        def cumsum(
            self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
        ) -> Array: ...
        def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array: ...
        def dot(
            self,
            b: ArrayLike,
            *,
            precision: PrecisionLike = None,
            preferred_element_type: DTypeLike | None = None,
            out_sharding: OutSharding = None,
        ) -> Array: ...
        def flatten(self, order: str = "C") -> Array: ...
        def max(
            self,
            axis: Axis = None,
            out: None = None,
            keepdims: bool = False,
            initial: ArrayLike | None = None,
            where: ArrayLike | None = None,
        ) -> Array: ...
        def mean(
            self,
            axis: Axis = None,
            dtype: DTypeLike | None = None,
            out: None = None,
            keepdims: bool = False,
            *,
            where: ArrayLike | None = None,
        ) -> Array: ...
        def min(
            self,
            axis: Axis = None,
            out: None = None,
            keepdims: bool = False,
            initial: ArrayLike | None = None,
            where: ArrayLike | None = None,
        ) -> Array: ...
        def nonzero(
            self,
            *,
            size: int | None = None,
            fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
        ) -> tuple[Array, ...]: ...
        def partition(self, kth: int, axis: int = -1) -> Array: ...
        def prod(
            self,
            axis: Axis = None,
            dtype: DTypeLike | None = None,
            out: None = None,
            keepdims: bool = False,
            initial: ArrayLike | None = None,
            where: ArrayLike | None = None,
            promote_integers: bool = True,
        ) -> Array: ...
        def ptp(self, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array: ...
        def ravel(self, order: str = "C", *, out_sharding: OutSharding = None) -> Array: ...
        def repeat(
            self,
            repeats: ArrayLike | Sequence[int],
            axis: int | None = None,
            *,
            total_repeat_length: int | None = None,
            out_sharding: OutSharding = None,
        ) -> Array: ...
        def reshape(
            self,
            *args: ShapeLike,
            order: str = "C",
            copy: bool | None = None,
            out_sharding: OutSharding = None,
        ) -> Array: ...
        def round(self, decimals: int = 0, out: None = None) -> Array: ...
        def searchsorted(
            self,
            v: ArrayLike,
            side: str = "left",
            sorter: ArrayLike | None = None,
            *,
            method: str = "scan",
        ) -> Array: ...
        def sort(
            self,
            axis: int | None = -1,
            *,
            kind: None = None,
            order: None = None,
            stable: bool = True,
            descending: bool = False,
        ) -> Array: ...
        def squeeze(self, axis: int | Sequence[int] | None = None) -> Array: ...
        def std(
            self,
            axis: Axis = None,
            dtype: DTypeLike | None = None,
            out: None = None,
            ddof: int = 0,
            keepdims: bool = False,
            *,
            where: ArrayLike | None = None,
            mean: ArrayLike | None = None,
            correction: ArrayLike | None = None,
        ) -> Array: ...
        def sum(
            self,
            axis: Axis = None,
            dtype: DTypeLike | None = None,
            out: None = None,
            keepdims: bool = False,
            initial: ArrayLike | None = None,
            where: ArrayLike | None = None,
            promote_integers: bool = True,
        ) -> Array: ...
        def swapaxes(self, axis1: int, axis2: int) -> Array: ...
        def take(
            self,
            indices: ArrayLike,
            axis: int | None = None,
            out: None = None,
            mode: str | None = None,
            unique_indices: bool = False,
            indices_are_sorted: bool = False,
            fill_value: ArrayLike | None = None,
        ) -> Array: ...
        def to_device(self, device: Device | None, /, *, stream: None = None) -> Array: ...
        def trace(
            self,
            offset: ArrayLike = 0,
            axis1: int = 0,
            axis2: int = 1,
            dtype: DTypeLike | None = None,
            out: None = None,
        ) -> Array: ...
        def transpose(self, *args: int | Sequence[int] | None) -> Array: ...
        def var(
            self,
            axis: Axis = None,
            dtype: DTypeLike | None = None,
            out: None = None,
            ddof: int = 0,
            keepdims: bool = False,
            *,
            where: ArrayLike | None = None,
            mean: ArrayLike | None = None,
            correction: ArrayLike | None = None,
        ) -> Array: ...
        def view(self, dtype: DTypeLike | None = None, type: None = None) -> Array: ...
        @property
        def T(self) -> Array: ...
        @property
        def at(self) -> IndexUpdateHelper: ...
        @property
        def flat(self) -> NoReturn: ...
        @property
        def imag(self) -> Array: ...
        @property
        def mT(self) -> Array: ...
        @property
        def real(self) -> Array: ...

        # attributes of arrays on a device (device_array.py); most of them raise an error while
        # tracing
        @property
        def device(self) -> Device | None: ...
        def devices(self) -> set[Device]: ...
        def numpy(self) -> np.ndarray[Any, Any]: ...
        def block_until_ready(self) -> Array: ...
        def delete(self) -> None: ...
        def is_deleted(self) -> bool: ...
        def item(self, *args: int) -> Any: ...
        def byteswap(self) -> Array: ...
        def tobytes(self, order: Literal["K", "A", "C", "F"] | None = "C") -> bytes: ...
        def tolist(self) -> Any: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __complex__(self) -> complex: ...
        def __index__(self) -> int: ...
        def __dlpack__(
            self,
            *,
            stream: Any = None,
            max_version: tuple[int, int] | None = None,
            dl_device: tuple[Any, int] | None = None,
            copy: bool | None = None,
        ) -> Any: ...
        def __dlpack_device__(self) -> tuple[int, int]: ...
        def __array__(
            self, dtype: DTypeLike | None = None, copy: bool | None = None
        ) -> np.ndarray[Any, Any]: ...


_CONTROL_FLOW = (
    "use olympus.numpy.where to choose between values, olympus.lax.cond or olympus.lax.while_loop "
    "to choose between computations, or make the argument that decides static"
)
_TEXT = "return the array from the traced function, and format the result"


class Tracer(Array):
    """An array whose value a transformation follows; `owner` is the trace that created it."""

    __slots__ = ("owner",)
    owner: Trace

    def origin(self) -> str:
        """The origin of the value, for messages: an argument or an operation and its line."""
        return "a value that a transformation follows"

    @property
    def device(self) -> None:
        """None, the default device: a traced array has no device until its program runs."""
        return None

    @property
    def sharding(self) -> NoReturn:
        """Raise AttributeError: a traced array has no placement."""
        raise AttributeError(
            "The 'sharding' attribute is not available on traced array with shape "
            f"{self.aval.long_name()}. To query sharding information on tracers, use "
            "olympus.typeof(x)."
        )

    def argument(self) -> str | None:
        """Return the name of the argument, if the value is one, or None."""
        return None

    def dependence(self) -> str:
        """Return the text with the arguments that the value depends on, for messages."""
        return ""

    def known_value(self) -> np.ndarray[Any, Any] | None:
        """Return the value if it can be computed while the function is traced, or None."""
        return None

    def _convert(
        self,
        wanted: str,
        conversion: str,
        kind: type[ConcretizationTypeError] = ConcretizationTypeError,
    ) -> NoReturn:
        """Raise the error for a conversion, with the hint for the expression that needs it.

        `wanted` is the request: the start of the message, or the value that was requested.
        """
        hint = remedy(conversion, source.user_frame(3), self.argument())
        self._concrete(wanted, hint, kind, 4)

    def _concrete(
        self,
        wanted: str,
        hint: str,
        kind: type[ConcretizationTypeError] = ConcretizationTypeError,
        depth: int = 3,
    ) -> NoReturn:
        frame = source.user_frame(depth)
        place, line = None, ""
        if frame is not None:
            position = source.Source(frame.f_code, frame.f_lasti, "").position()
            place, line = str(position), f": {position.text()}" if position else ""
        where = f", at {place}{line}" if place else ""
        origin = self.origin().removesuffix(where)
        array = f"traced array with shape {self.aval.long_name()}"
        reason = f"  the array is {origin}, and has no value while the function is traced"
        reason += self.dependence()
        if kind is ConcretizationTypeError:
            message = f"{array}: {wanted} was requested{where}\n{reason}"
            raise concrete_value_expected(message, hint=hint, location=place)
        raise kind(f"{wanted} {array}{where}\n{reason}", hint=hint, location=place)

    def __bool__(self) -> bool:
        if (value := self.known_value()) is not None:
            return bool(value)
        if self.aval.ndim and self.aval.size != 1:
            count = (
                "an empty array" if self.aval.size == 0 else "an array with more than one element"
            )
            term = f"The truth value of {count} is ambiguous. Use a.any() or a.all():"
            self._concrete(term, _CONTROL_FLOW, TracerBoolConversionError)
        self._concrete("Attempted boolean conversion of", _CONTROL_FLOW, TracerBoolConversionError)

    def __int__(self) -> int:
        if (value := self.known_value()) is not None:
            return int(value)
        self._convert("the Python int", "int")

    def __float__(self) -> float:
        if (value := self.known_value()) is not None:
            return float(value)
        self._convert("the Python float", "float")

    def __complex__(self) -> complex:
        self._convert("the Python complex", "complex")

    def __index__(self) -> int:
        if self.aval.shape or self.aval.dtype.kind not in "iu":
            self._convert(
                "Only integer scalar arrays can be converted to a scalar index:",
                "index",
                TracerIntegerConversionError,
            )
        self._convert("The __index__() method was called on", "index", TracerIntegerConversionError)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if (value := self.known_value()) is not None:
            return np.asarray(value, dtype)
        self._convert(
            "The numpy.ndarray conversion method __array__() was called on",
            "array",
            TracerArrayConversionError,
        )

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        self._concrete(
            "unsupported format string passed to Tracer.__format__: the text in the format "
            f"{spec!r}",
            _TEXT,
        )

    def __copy__(self) -> Tracer:
        return self  # arrays are immutable, and a trace must follow the copy like the original

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def item(self, *args: int) -> Any:
        """Return the only element if it is known; raise ConcretizationTypeError otherwise."""
        if (value := self.known_value()) is not None:
            return value.item(*args)
        self._convert("the Python value", "item")

    def tolist(self) -> Any:
        """Raise ConcretizationTypeError: a traced array has no value."""
        self._convert("the Python value", "item")

    def __repr__(self) -> str:
        return f"JitTracer({self.aval})"

    def __init_subclass__(cls, **options: Any) -> None:
        """Name every class of tracers `olympus.core.Tracer`, which Python's own errors show."""
        super().__init_subclass__(**options)
        cls.__name__ = cls.__qualname__ = "Tracer"
        cls.__module__ = "olympus.core"


def _concrete_method(name: str) -> Callable[..., NoReturn]:
    def method(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
        called = f"The {name}() method was called on traced array with shape"
        self._concrete(f"{called} {self.aval.long_name()}, and a concrete array", _DEVICES)

    method.__name__ = name
    method.__doc__ = "Raise ConcretizationTypeError: a traced array has no value."
    return method


def _concrete_property(name: str) -> property:
    is_attribute = name in ("addressable_shards", "committed")
    what = f"'{name}' attribute is not available" if is_attribute else f"{name} property was called"

    def get(self: Tracer) -> NoReturn:
        called = f"The {what} on traced array with shape"
        self._concrete(f"{called} {self.aval.long_name()}, and a concrete array", _DEVICES)

    return property(get, doc="Raise ConcretizationTypeError: a traced array has no value.")


_DEVICES = "use the result of the program, which is on devices, outside of the traced function"
for _name in (
    *("__dlpack__", "__reduce__", "addressable_data", "delete", "devices", "is_deleted"),
    *("on_device_size_in_bytes", "tobytes", "unsafe_buffer_pointer"),
):
    setattr(Tracer, _name, _concrete_method(_name))
for _name in (
    *("addressable_shards", "committed", "global_shards", "is_fully_addressable"),
    *("is_fully_replicated", "traceback"),
):
    setattr(Tracer, _name, _concrete_property(_name))


def _aval(x: Array) -> ShapedArray:
    return x.aval


register_aval(Array, _aval)
