"""Queries of dtypes and shapes: limits, promotion, kinds; and constants."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.context import enable_x64, state
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, DTypeError, TypePromotionError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, NestedArrayLike
from olympus_core.library.axes import canonical_axes
from olympus_core.library.public_array import AnyArray

if TYPE_CHECKING:
    import ml_dtypes

ndarray = AnyArray


dtype = np.dtype


newaxis: Final = None


pi, e, euler_gamma = math.pi, math.e, 0.5772156649015329


inf, nan = math.inf, math.nan


class finfo:
    """The limits of a float dtype, or of the parts of a complex one, as scalars of it and ints.

    `dtype` may be an array; then its dtype is used.

    Raises ArgumentError for other dtypes.

    >>> print(finfo("float32").eps)
    1.1920929e-07
    """

    _FLOATS: Final = (
        *("eps", "epsneg", "max", "min", "resolution", "smallest_normal"),
        *("smallest_subnormal", "tiny"),
    )
    _INTS: Final = (
        *("bits", "iexp", "machep", "maxexp", "minexp", "negep", "nexp", "nmant", "precision"),
    )
    dtype: DType
    eps: np.floating[Any]
    epsneg: np.floating[Any]
    max: np.floating[Any]
    min: np.floating[Any]
    resolution: np.floating[Any]
    smallest_normal: np.floating[Any]
    smallest_subnormal: np.floating[Any]
    tiny: np.floating[Any]
    bits: int
    iexp: int
    machep: int
    maxexp: int
    minexp: int
    negep: int
    nexp: int
    nmant: int
    precision: int

    def __init__(self, dtype: ArrayLike | DTypeLike) -> None:
        requested = dtypes.to_real(_dtype_of(dtype))
        if dtypes.kind(requested) != "f":
            raise ArgumentError(f"data type {requested.type} not inexact: finfo takes floats")
        limits = dtypes.finfo(requested)
        self._text = str(limits), repr(limits)
        self.dtype = requested
        for name in self._FLOATS:
            setattr(self, name, getattr(limits, name))
        for name in self._INTS:
            setattr(self, name, int(getattr(limits, name)))

    def __str__(self) -> str:
        return self._text[0]

    def __repr__(self) -> str:
        return self._text[1]


def iinfo(int_type: ArrayLike | DTypeLike) -> ml_dtypes.iinfo:
    """Return the limits of an integer dtype (or an array's) as ints: `bits`, `min`, `max`.

    Raises ArgumentError for other dtypes.

    >>> iinfo("int8").max
    127
    """
    of_number = dtypes.is_python_scalar(int_type)
    requested = np.result_type(int_type) if of_number else _dtype_of(int_type)
    if dtypes.kind(requested) not in "iu":
        raise ArgumentError(f"Invalid integer data type {requested.kind!r}: it is {requested}")
    return dtypes.iinfo(requested)


def _dtype_of(x: Any) -> DType:
    return get_aval(x).dtype if isinstance(x, (Array, np.ndarray, np.generic)) else dtypes.dtype(x)


_WIDE: Final = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
_WEAK: Final[dict[Any, DType]] = {
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}


_KINDS: Final[dict[str, str]] = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _entry(x: Any) -> tuple[DType, builtins.bool]:
    """Return (dtype, True if it is weak) of an array, a scalar, or a name of a dtype."""
    if isinstance(x, type) and x in _WEAK:
        return _WEAK[x], True
    if x is None:
        return dtypes.default_dtype("f"), False
    if (
        isinstance(x, (Array, np.ndarray, np.generic))
        or dtypes.is_python_scalar(x)
        or is_symbolic_dim(x)
    ):
        aval = get_aval(x)
        return aval.dtype, aval.weak_type
    return dtypes.canonicalize(x), False


def _is_key_dtype(x: Any) -> builtins.bool:
    return getattr(x, "type", None) is dtypes.prng_key


@overload
def result_type(
    *args: ArrayLike | DTypeLike | None, return_weak_type_flag: Literal[False] = False
) -> DType: ...
@overload
def result_type(
    *args: ArrayLike | DTypeLike | None, return_weak_type_flag: builtins.bool
) -> DType | tuple[DType, builtins.bool]: ...
def result_type(
    *args: ArrayLike | DTypeLike | None, return_weak_type_flag: builtins.bool = False
) -> DType | tuple[DType, builtins.bool]:
    """Return the dtype that arrays, scalars and dtypes are promoted to when combined.

    With `return_weak_type_flag` return (dtype, True if the result is weakly typed).  Raises
    DTypeError if no dtype holds them, and ArgumentError without arguments.

    >>> result_type("int8", 2.0)
    dtype('float32')
    """
    if not args:
        raise ArgumentError("result_type needs at least one array or dtype")
    of_keys = [d for d in (getattr(x, "dtype", x) for x in args) if _is_key_dtype(d)]
    if of_keys:
        if len(of_keys) < len(args) or len(set(of_keys)) > 1:
            raise TypePromotionError(f"dtypes of keys have no implicit promotion, and got {args}")
        key_dtype: Any = of_keys[0]
        return (key_dtype, False) if return_weak_type_flag else key_dtype
    dtype, weak = dtypes.promote(*map(_entry, args))
    canonical = dtypes.canonicalize(dtype)
    return (canonical, weak) if return_weak_type_flag else canonical


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """Return the dtype that two dtypes are promoted to; `int`, `float`, `complex` are weak.

    Without 64-bit types, it has 64 bits only if one of the two does.

    >>> promote_types("int8", "uint8")
    dtype('int16')
    """
    with enable_x64():  # the types themselves, also if they are not supported now
        entries = _entry(a), _entry(b)
    is_wide = any(dtype in _WIDE for dtype, _ in entries)
    with enable_x64(state.enable_x64 or is_wide):
        return dtypes.promote(*entries)[0]


def can_cast(
    from_: DTypeLike,
    to: DTypeLike,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe",
) -> builtins.bool:
    """Return True if NumPy's rule `casting` allows the conversion from one dtype to another.

    >>> can_cast("int32", "int8")
    False
    """
    return np.can_cast(dtypes.dtype(from_), dtypes.dtype(to), casting=casting)


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> builtins.bool:
    """Return True if a dtype has a kind: a dtype, a name such as "real floating", or a tuple.

    A tuple of kinds matches any of them.  Raises ArgumentError for an unknown name.

    >>> isdtype("int8", ("integral", "bool"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    requested = dtypes.dtype(dtype)
    if isinstance(kind, str) and kind in _KINDS:
        return dtypes.kind(requested) in _KINDS[kind]
    try:
        return requested == dtypes.dtype(kind)
    except DTypeError:
        names = ", ".join(map(repr, _KINDS))
        raise ArgumentError(
            f"{kind!r} is not a kind of dtype; the kinds are {names}, and dtypes"
        ) from None


def isscalar(element: Any) -> builtins.bool:
    """Return True if `element` is a scalar, or an array without dimensions.

    >>> isscalar(asarray(3))
    True
    """
    if isinstance(element, (Array, np.ndarray)):
        return element.ndim == 0
    return np.isscalar(element)


def iterable(y: Any) -> builtins.bool:
    """Return True if `y` can be iterated over; an array without dimensions cannot.

    >>> iterable(asarray([1, 2]))
    True
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


def ndim(a: NestedArrayLike) -> int:
    """Return the number of dimensions of an array or scalar.

    >>> ndim(asarray([[1, 2]]))
    2
    """
    return len(shape_of(a))


def shape(a: NestedArrayLike) -> tuple[int, ...]:
    """Return the shape of an array or scalar.

    >>> shape(asarray([[1, 2]]))
    (1, 2)
    """
    return shape_of(a)


def size(a: NestedArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, or the length along one axis or several.

    >>> size(np.zeros((2, 3)), axis=1)
    3
    """
    full_shape = shape_of(a)
    if axis is None:
        return math.prod(full_shape)
    return math.prod(full_shape[i] for i in canonical_axes(axis, len(full_shape)))
