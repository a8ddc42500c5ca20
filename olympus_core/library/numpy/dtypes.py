"""The dtypes of `olympus.numpy`: scalar types, categories, limits, promotion, constants.

A scalar type such as `float32` is a dtype wherever one is asked for, and makes an array of that
dtype when called.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.dtypes import DType, finfo, iinfo
from olympus_core.dtypes import is_sub_dtype as issubdtype
from olympus_core.errors import DTypeError
from olympus_core.library.axes import canonical_axes
from olympus_core.library.numpy.creation import asarray
from olympus_core.tracer import Array

__all__ = [
    "ScalarType",
    "bfloat16",
    "bool",
    "bool_",
    "can_cast",
    "cdouble",
    "complex128",
    "complex64",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "e",
    "euler_gamma",
    "finfo",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float_",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "inf",
    "int16",
    "int32",
    "int4",
    "int64",
    "int8",
    "int_",
    "integer",
    "isdtype",
    "isscalar",
    "issubdtype",
    "iterable",
    "nan",
    "ndarray",
    "ndim",
    "newaxis",
    "number",
    "pi",
    "promote_types",
    "result_type",
    "shape",
    "signedinteger",
    "single",
    "size",
    "uint",
    "uint16",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
    "unsignedinteger",
]


_bool = builtins.bool


class ScalarType:
    """A dtype that makes arrays: `float32(x)` is `asarray(x, dtype=float32)`."""

    __slots__ = ("dtype",)
    dtype: DType

    def __init__(self, name: str) -> None:
        self.dtype = np.dtype(getattr(ml_dtypes, name, name))

    def __call__(self, x: Any = 0) -> Array:
        return asarray(x, dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ScalarType):
            return self.dtype == other.dtype
        return other is self.dtype.type or (isinstance(other, np.dtype) and other == self.dtype)

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __repr__(self) -> str:
        return f"<dtype olympus.numpy.{dtypes.long_name(self.dtype)}>"

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.dtype.type)


bool_ = ScalarType("bool")
int4, int8, int16, int32, int64 = map(ScalarType, "int4 int8 int16 int32 int64".split())
uint4, uint8, uint16, uint32, uint64 = map(ScalarType, "uint4 uint8 uint16 uint32 uint64".split())
bfloat16, float16, float32, float64 = map(ScalarType, "bfloat16 float16 float32 float64".split())
complex64, complex128 = ScalarType("complex64"), ScalarType("complex128")
float4_e2m1fn = ScalarType("float4_e2m1fn")
float6_e2m3fn = ScalarType("float6_e2m3fn")
float6_e3m2fn = ScalarType("float6_e3m2fn")
float8_e3m4 = ScalarType("float8_e3m4")
float8_e4m3 = ScalarType("float8_e4m3")
float8_e4m3b11fnuz = ScalarType("float8_e4m3b11fnuz")
float8_e4m3fn = ScalarType("float8_e4m3fn")
float8_e4m3fnuz = ScalarType("float8_e4m3fnuz")
float8_e5m2 = ScalarType("float8_e5m2")
float8_e5m2fnuz = ScalarType("float8_e5m2fnuz")
float8_e8m0fnu = ScalarType("float8_e8m0fnu")
int_, uint, float_, complex_ = int64, uint64, float64, complex128
single, double, csingle, cdouble = float32, float64, complex64, complex128


bool = bool_
number, integer, inexact = np.number, np.integer, np.inexact
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger
floating, complexfloating, generic = np.floating, np.complexfloating, np.generic
ndarray = Array
dtype = np.dtype
newaxis: Final = None
pi, e, euler_gamma = math.pi, math.e, 0.5772156649015329
inf, nan = math.inf, math.nan

_Entry = tuple[DType, _bool]
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


def _entry(x: Any) -> _Entry:
    """The dtype, and whether it is weak, of an array, a scalar, or what names a dtype."""
    if isinstance(x, type) and x in _WEAK:
        return _WEAK[x], True
    if x is None:
        return dtypes.default_dtype("f"), False
    if isinstance(x, (Array, np.ndarray, np.generic)) or dtypes.is_python_scalar(x):
        aval = get_aval(x)
        return aval.dtype, aval.weak_type
    return dtypes.canonicalize(x), False


def result_type(*args: Any) -> DType:
    """The dtype that arrays, scalars and dtypes are promoted to when they meet.

    Raises DTypeError where there is none, and ValueError for no arguments.

    >>> result_type("int8", 2.0)
    dtype('float32')
    """
    if not args:
        raise ValueError("result_type needs at least one array or dtype")
    return dtypes.canonicalize(dtypes.promote(*map(_entry, args))[0])


def promote_types(a: Any, b: Any) -> DType:
    """The dtype that values of two dtypes are promoted to; `int`, `float`, `complex` are weak.

    >>> promote_types("int8", "uint8")
    dtype('int16')
    """
    with dtypes.enable_x64():  # of types, rather than of the values that there can be
        return dtypes.promote(_entry(a), _entry(b))[0]


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> _bool:
    """Whether NumPy's rule `casting` lets values of one dtype become another."""
    return np.can_cast(dtypes.dtype(from_), dtypes.dtype(to), casting=casting)


def isdtype(dtype: Any, kind: Any) -> _bool:
    """Whether a dtype is of a kind: a dtype, a name such as "real floating", or a tuple of these.

    Raises ValueError for a name that is no kind.

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
        raise ValueError(f"{kind!r} is no kind of dtype; there are {names}, and dtypes") from None


def isscalar(element: Any) -> _bool:
    """Whether `element` is a scalar, or an array without dimensions."""
    if isinstance(element, (Array, np.ndarray)):
        return element.ndim == 0
    return np.isscalar(element)


def iterable(y: Any) -> _bool:
    """Whether `y` can be iterated over: not so an array without dimensions."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


def ndim(a: Any) -> int:
    """The number of dimensions of an array or scalar."""
    return len(shape_of(a))


def shape(a: Any) -> tuple[int, ...]:
    """The shape of an array or scalar."""
    return shape_of(a)


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, or the length along one axis or several.

    >>> size(np.zeros((2, 3)), axis=1)
    3
    """
    whole = shape_of(a)
    if axis is None:
        return math.prod(whole)
    return math.prod(whole[i] for i in canonical_axes(axis, len(whole)))
