"""Questions about dtypes and shapes: limits, promotion, kinds; and constants."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.context import enable_x64
from olympus_core.dtypes import DType
from olympus_core.errors import ArgumentError, DTypeError
from olympus_core.library.axes import canonical_axes
from olympus_core.library.typing import ArrayLike, DTypeLike, NestedArrayLike
from olympus_core.tracer import Array

if TYPE_CHECKING:
    import ml_dtypes

__all__ = [
    "can_cast",
    "dtype",
    "e",
    "euler_gamma",
    "finfo",
    "iinfo",
    "inf",
    "isdtype",
    "isscalar",
    "iterable",
    "nan",
    "ndarray",
    "ndim",
    "newaxis",
    "pi",
    "promote_types",
    "result_type",
    "shape",
    "size",
]

ndarray = Array


dtype = np.dtype


newaxis: Final = None


pi, e, euler_gamma = math.pi, math.e, 0.5772156649015329


inf, nan = math.inf, math.nan


class finfo:
    """The limits of a float dtype, or of the parts of a complex one, as Python floats and ints.

    `dtype` may be an array, whose dtype counts.  Python floats are weakly typed: they do not
    change the dtype of an array that they meet.  Raises DTypeError for other dtypes.

    >>> finfo("float32").eps
    1.1920928955078125e-07
    """

    _FLOATS: Final = (
        *("eps", "epsneg", "max", "min", "resolution", "smallest_normal"),
        *("smallest_subnormal", "tiny"),
    )
    _INTS: Final = (
        *("bits", "iexp", "machep", "maxexp", "minexp", "negep", "nexp", "nmant", "precision"),
    )
    dtype: DType
    eps: float
    epsneg: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    smallest_subnormal: float
    tiny: float
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
        asked = dtypes.to_real(_dtype_of(dtype))
        if dtypes.kind(asked) != "f":
            raise DTypeError(f"finfo takes float and complex dtypes, and got {asked}")
        limits = dtypes.finfo(asked)
        self._text = str(limits), repr(limits)
        self.dtype = asked
        for name in self._FLOATS:
            setattr(self, name, float(getattr(limits, name)))
        for name in self._INTS:
            setattr(self, name, int(getattr(limits, name)))

    def __str__(self) -> str:
        return self._text[0]

    def __repr__(self) -> str:
        return self._text[1]


def iinfo(dtype: ArrayLike | DTypeLike) -> ml_dtypes.iinfo:
    """The limits of an integer dtype (or of an array's) as Python ints: `bits`, `min`, `max`.

    Raises DTypeError for other dtypes.

    >>> iinfo("int8").max
    127
    """
    asked = _dtype_of(dtype)
    if dtypes.kind(asked) not in "iu":
        raise DTypeError(f"iinfo takes integer dtypes, and got {asked}")
    return dtypes.iinfo(asked)


def _dtype_of(x: Any) -> DType:
    return get_aval(x).dtype if isinstance(x, (Array, np.ndarray, np.generic)) else dtypes.dtype(x)


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
    """The dtype, and whether it is weak, of an array, a scalar, or what names a dtype."""
    if isinstance(x, type) and x in _WEAK:
        return _WEAK[x], True
    if x is None:
        return dtypes.default_dtype("f"), False
    if isinstance(x, (Array, np.ndarray, np.generic)) or dtypes.is_python_scalar(x):
        aval = get_aval(x)
        return aval.dtype, aval.weak_type
    return dtypes.canonicalize(x), False


def result_type(*args: ArrayLike | DTypeLike | None) -> DType:
    """The dtype that arrays, scalars and dtypes are promoted to when they meet.

    Raises DTypeError where there is none, and ArgumentError for no arguments.

    >>> result_type("int8", 2.0)
    dtype('float32')
    """
    if not args:
        raise ArgumentError("result_type needs at least one array or dtype")
    return dtypes.canonicalize(dtypes.promote(*map(_entry, args))[0])


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """The dtype that values of two dtypes are promoted to; `int`, `float`, `complex` are weak.

    >>> promote_types("int8", "uint8")
    dtype('int16')
    """
    with enable_x64():  # of types, rather than of the values that there can be
        return dtypes.promote(_entry(a), _entry(b))[0]


def can_cast(
    from_: DTypeLike,
    to: DTypeLike,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe",
) -> builtins.bool:
    """Whether NumPy's rule `casting` lets values of one dtype become another."""
    return np.can_cast(dtypes.dtype(from_), dtypes.dtype(to), casting=casting)


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> builtins.bool:
    """Whether a dtype is of a kind: a dtype, a name such as "real floating", or a tuple of these.

    Raises ArgumentError for a name that is not a kind.

    >>> isdtype("int8", ("integral", "bool"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    asked = dtypes.dtype(dtype)
    if isinstance(kind, str) and kind in _KINDS:
        return dtypes.kind(asked) in _KINDS[kind]
    try:
        return asked == dtypes.dtype(kind)
    except DTypeError:
        names = ", ".join(map(repr, _KINDS))
        raise ArgumentError(
            f"{kind!r} is not a kind of dtype; there are {names}, and dtypes"
        ) from None


def isscalar(element: Any) -> builtins.bool:
    """Whether `element` is a scalar, or an array without dimensions."""
    if isinstance(element, (Array, np.ndarray)):
        return element.ndim == 0
    return np.isscalar(element)


def iterable(y: Any) -> builtins.bool:
    """Whether `y` can be iterated over: not so an array without dimensions."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


def ndim(a: NestedArrayLike) -> int:
    """The number of dimensions of an array or scalar."""
    return len(shape_of(a))


def shape(a: NestedArrayLike) -> tuple[int, ...]:
    """The shape of an array or scalar."""
    return shape_of(a)


def size(a: NestedArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, or the length along one axis or several.

    >>> size(np.zeros((2, 3)), axis=1)
    3
    """
    whole = shape_of(a)
    if axis is None:
        return math.prod(whole)
    return math.prod(whole[i] for i in canonical_axes(axis, len(whole)))
