"""Dtypes: names, kinds, weak types, the promotion lattice, and the x64 switch.

A *weak* type belongs to a value without an explicit dtype (a Python scalar, or a value computed
only from such scalars): it yields to any explicit dtype of the same or a higher kind.  The
lattice is the one of JAX; see JAX's type-promotion page.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import ml_dtypes
import numpy as np

from olympus_core.base import source
from olympus_core.base.context import state
from olympus_core.base.errors import DTypeError, RangeError, TypePromotionError

if TYPE_CHECKING:
    from olympus_core.ir.typing import ArrayLike, DTypeLike
    from olympus_core.library.random.keys import KeyDType

DType = np.dtype[Any]

bool_: Final[DType] = np.dtype(np.bool_)
bfloat16: Final[DType] = np.dtype(ml_dtypes.bfloat16)
float0: Final[DType] = np.dtype([("float0", np.void, 0)])

_ML_FLOATS = {
    "bfloat16": "bf16",
    "float4_e2m1fn": "f4_e2m1fn",
    "float6_e2m3fn": "f6_e2m3fn",
    "float6_e3m2fn": "f6_e3m2fn",
    "float8_e3m4": "f8_e3m4",
    "float8_e4m3": "f8_e4m3",
    "float8_e4m3b11fnuz": "f8_e4m3b11fnuz",
    "float8_e4m3fn": "f8_e4m3fn",
    "float8_e4m3fnuz": "f8_e4m3fnuz",
    "float8_e5m2": "f8_e5m2",
    "float8_e5m2fnuz": "f8_e5m2fnuz",
    "float8_e8m0fnu": "f8_e8m0fnu",
}
_ML_INTS = {"int2": "i2", "int4": "i4", "uint2": "u2", "uint4": "u4"}
_NUMPY = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}


def _ml(names: dict[str, str]) -> dict[DType, str]:
    return {np.dtype(getattr(ml_dtypes, n)): s for n, s in names.items() if hasattr(ml_dtypes, n)}


_SHORT: Final[dict[DType, str]] = {
    **{np.dtype(n): s for n, s in _NUMPY.items()},
    **_ml(_ML_FLOATS),
    **_ml(_ML_INTS),
    float0: "float0",
}
_LONG: Final[dict[DType, str]] = {
    **{np.dtype(n): n for n in _NUMPY},
    **{np.dtype(getattr(ml_dtypes, n)): n for n in _ML_FLOATS | _ML_INTS if hasattr(ml_dtypes, n)},
    float0: "float0",
}
_NAMED: Final[dict[str, DType]] = {name: d for d, name in _LONG.items() if d != float0}
# kind letters: b bool, u unsigned, i signed, f float, c complex, V float0
_KIND: Final[dict[DType, str]] = {
    **{d: d.kind for d in _SHORT},
    **dict.fromkeys(_ml(_ML_FLOATS), "f"),
    **{d: ("u" if s.startswith("u") else "i") for d, s in _ml(_ML_INTS).items()},
}

_X64_TO_X32: Final[dict[DType, DType]] = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}


def short_name(dt: DType) -> str:
    """Return the IR's name of a dtype: `f32` for float32."""
    return _SHORT[dt]


def long_name(dt: DType) -> str:
    """Return the name of a dtype, as NumPy spells it (a table: `np.dtype.name` is slow)."""
    return _LONG[dt]


def register_name(dt: Any, name: str) -> None:
    """Register the name of a dtype of random keys, of kind `k`, in types that users see."""
    _SHORT[dt] = _LONG[dt] = name
    _KIND[dt] = "k"


def array_dtypes() -> list[DType]:
    """Return all dtypes of arrays."""
    return list(_NAMED.values())


def is_custom(dt: DType) -> bool:
    """Return True for a dtype that NumPy itself does not have, such as bfloat16."""
    return _LONG[dt] not in _NUMPY


def kind(dt: DType) -> str:
    """`b`, `u`, `i`, `f` or `c`, and `k` for random keys; custom dtypes have a family's kind."""
    return _KIND[dt]


_PYTHON: Final[dict[Any, DType]] = {
    bool: np.dtype("bool"),
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}


def is_python_scalar(x: Any) -> bool:
    """Return True if `x` is a Python bool, int, float or complex: a value without a dtype.

    Instances of subclasses count, such as a member of an IntEnum; NumPy's floats, which have a
    dtype, do not, though `np.float64` derives from `float`.
    """
    return type(x) in _PYTHON or (
        isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)
    )


def dtype(x: Any) -> DType:
    """Return the `np.dtype` that `x` names: a dtype, a scalar type, or a name such as "bfloat16".

    Raises DTypeError for anything that is not the dtype of an array program.
    """
    if isinstance(x, np.dtype):
        result = x
    elif isinstance(x, str) and x in _NAMED:
        result = _NAMED[x]
    else:
        try:
            result = np.dtype(x if isinstance(x, type) else getattr(x, "dtype", x))
        except (TypeError, ValueError, SyntaxError):  # NumPy reads some strings as Python
            term = f"data type {x!r} not understood"
            if not isinstance(x, str):
                term = f"Cannot interpret '{x}' as a data type"
            raise DTypeError(term, hint=_nearest(x)) from None
    if result not in _SHORT:
        raise DTypeError(
            f"JAX only supports number, bool, and string dtypes, got dtype {result}, which "
            "operations on arrays do not support"
        )
    return result


def _nearest(x: Any) -> str | None:
    """Return the name of a dtype that a text looks like."""
    import difflib  # needed only for an error

    near = difflib.get_close_matches(x, map(str, _SHORT), 1) if isinstance(x, str) else []
    return f"did you mean {near[0]}?" if near else None


def canonicalize(x: Any, *, allow_python: bool = True) -> DType:
    """Return the dtype that `x` names, narrowed to 32 bits unless x64 is enabled."""
    result = x if x.__class__ is np.dtype and x in _SHORT else dtype(x)
    return result if state.enable_x64 else _X64_TO_X32.get(result, result)


def requested(name: str, x: DTypeLike | None, default: DType | None = None) -> DType:
    """Return the dtype that a caller of function `name` requested, or `default` for None.

    The default of `default` is the default float dtype.  Warns (UserWarning) if a 64-bit dtype was
    requested and x64 is not enabled.
    """
    if x is None:
        return default_dtype("f") if default is None else default
    wanted = dtype(x)
    supported = canonicalize(wanted)
    if supported != wanted and not (isinstance(x, type) and x in _PYTHON):
        warnings.warn(
            f"Explicitly requested dtype {wanted} requested in {name} is not available, and "
            f"will be truncated to dtype {supported}: 64-bit dtypes are off; "
            "enable them with olympus.enable_x64 or the environment variable OLYMPUS_ENABLE_X64=1",
            UserWarning,
            stacklevel=source.user_level(),
        )
    return supported


def default_dtype(kind_: str) -> DType:
    """Return the dtype of a Python scalar of kind `b`, `i`, `u`, `f` or `c`."""
    return canonicalize(
        {"b": "bool", "i": "int64", "u": "uint64", "f": "float64"}.get(kind_, "c16")
    )


def scalar_dtype(scalar: type) -> DType:
    """Return the default dtype of `bool`, `int`, `float` or `complex`."""
    return canonicalize(_PYTHON[scalar])


def check_python_int(x: int, dt: DType) -> None:
    """Raise RangeError when the Python int `x` does not fit `dt`, an integer dtype."""
    info = iinfo(dt)
    if not int(info.min) <= x <= int(info.max):
        name = long_name(dt)
        raise RangeError(
            f"Python integer {x} out of bounds for {name}: Python int {x} too large to convert to "
            f"{name}"
        )


# The lattice: edges to the types that a type is promoted to.  Starred types are weak.
_EDGES: Final[dict[str, list[str]]] = {
    "bool": ["i*"],
    "i*": ["u8", "i8"],
    "u8": ["i16", "u16"],
    "i8": ["i16"],
    "u16": ["i32", "u32"],
    "i16": ["i32"],
    "u32": ["i64", "u64"],
    "i32": ["i64"],
    "u64": ["f*"],
    "i64": ["f*"],
    "f*": ["c*", "bf16", "f16", *[s for s in _ML_FLOATS.values() if s != "bf16"]],
    "bf16": ["f32"],
    "f16": ["f32"],
    "f32": ["f64", "c64"],
    "f64": ["c128"],
    "c*": ["c64"],
    "c64": ["c128"],
    "c128": [],
    **{s: [] for s in _ML_FLOATS.values() if s != "bf16"},
}
_NARROW_INTS = {"i2", "i4", "u2", "u4"}
_BY_SHORT: Final[dict[str, DType]] = {s: d for d, s in _SHORT.items()}


@functools.cache
def _above(node: str) -> frozenset[str]:
    if node in _NARROW_INTS:  # they promote only with Python scalars
        return frozenset({node})
    return frozenset({node}).union(*(_above(n) for n in _EDGES[node]))


def _node(dt: DType, weak: bool) -> str:
    if not weak:
        return _SHORT[dt]
    k = _KIND[dt]
    return "bool" if k == "b" else ("i*" if k in "iu" else f"{k}*")


@functools.cache
def _join(nodes: frozenset[str]) -> str:
    concrete = {n for n in nodes if n in _NARROW_INTS}
    if len(concrete) == 1 and nodes - concrete <= {"i*", "bool"}:
        return next(iter(concrete))
    common = frozenset.intersection(*(_above(n) for n in nodes))
    least = [n for n in common if common == _above(n)]
    if len(least) != 1:
        dtypes = [_BY_SHORT[n] for n in sorted(nodes) if n in _BY_SHORT]
        names = ", ".join(sorted(repr(long_name(d)) for d in dtypes))
        narrow = next((rule for d in dtypes if (rule := _explicit_promotion(d))), "")
        raise TypePromotionError(
            f"Input dtypes ({names}) have no available implicit dtype promotion path. {narrow}Cast "
            "one of them with .astype"
        )
    return least[0]


def _explicit_promotion(dt: DType) -> str:
    """Return the sentence on the dtypes of the bits of `dt` that promote with no other, or ""."""
    if _SHORT[dt] in _NARROW_INTS:
        return "2-bit and 4-bit integers do not support implicit promotion. "
    if _EDGES[_SHORT[dt]] or dt.name not in _ML_FLOATS:
        return ""
    return f"{dt.name.removeprefix('float')[0]}-bit floats do not support implicit promotion. "


#: the order of the kinds, in which strict promotion admits weak types of the same or a lesser kind
_STRICT_RANKS: Final = {"i": 0, "u": 0, "f": 1, "c": 2}


def _is_strict(entries: tuple[tuple[DType, bool], ...]) -> bool:
    """Return True for one dtype with weak types of its kind or a lesser one."""
    strong = {d for d, w in entries if not w or d == bool_}
    if len(strong) > 1 or not strong:
        return not strong
    rank = _STRICT_RANKS.get(_KIND[strong.pop()], -1)
    return all(_STRICT_RANKS[_KIND[d]] <= rank for d, w in entries if w)


def _strict_name(dt: DType, weak: bool) -> str:
    """Return the name of a dtype in messages; the name of a weak one is its Python class."""
    if not weak or dt == bool_:
        return long_name(dt)
    return str({"f": float, "c": complex}.get(_KIND[dt], int))


@functools.cache
def _promote(entries: tuple[tuple[DType, bool], ...], strict: bool) -> tuple[DType, bool]:
    if len({d for d, _ in entries}) == 1:
        return entries[0][0], all(w for _, w in entries)
    nodes = frozenset(_node(d, w) for d, w in entries)
    if strict and not _is_strict(entries):
        names = ", ".join(repr(_strict_name(d, w)) for d, w in entries)
        raise TypePromotionError(
            f"Input dtypes ({names}) have no available implicit dtype promotion path when "
            "jax_numpy_dtype_promotion=strict. Cast one of the operands with .astype, or set "
            "jax_numpy_dtype_promotion=standard."
        )
    joined = _join(nodes)
    if joined.endswith("*"):
        kinds = {"i*": "int64", "f*": "float64", "c*": "complex128"}
        return np.dtype(kinds[joined]), True
    return _BY_SHORT[joined], False


def promote(*entries: tuple[DType, bool]) -> tuple[DType, bool]:
    """Return (dtype, True if weak), the least type that values of (dtype, weak) `entries` share.

    Raises DTypeError if they share none, or under strict promotion if dtypes differ.

    >>> promote((np.dtype("int8"), False), (np.dtype("float32"), True))
    (dtype('float32'), True)
    """
    result, weak = _promote(entries, state.numpy_dtype_promotion == "strict")
    return (result if state.enable_x64 else _X64_TO_X32.get(result, result)), weak


_CATEGORIES: Final[dict[Any, str]] = {
    np.generic: "buifcV",
    np.number: "uifc",
    np.integer: "ui",
    np.signedinteger: "i",
    np.unsignedinteger: "u",
    np.inexact: "fc",
    np.floating: "f",
    np.complexfloating: "c",
    np.bool_: "b",
}


class extended(np.generic):
    """The category of dtypes that NumPy does not have."""


class prng_key(extended):
    """The category of the dtypes of random keys."""


def is_sub_dtype(arg1: DTypeLike | KeyDType, arg2: DTypeLike) -> bool:
    """Return True if dtype `arg1` is `arg2`, or in the NumPy category `arg2` such as `np.floating`.

    >>> issubdtype(np.int8, np.integer)
    True
    """
    a, b = arg1, arg2
    a_class, b_class = (x if isinstance(x, type) else getattr(x, "type", None) for x in (a, b))
    if any(isinstance(c, type) and issubclass(c, extended) for c in (a_class, b_class)):
        return isinstance(a_class, type) and isinstance(b, type) and issubclass(a_class, b)
    if isinstance(b, type) and b in _CATEGORIES and b != np.bool_:
        if isinstance(a, type) and a in _CATEGORIES and a != np.bool_:
            return set(_CATEGORIES[a]) <= set(_CATEGORIES[b])
        a_type = a if isinstance(a, np.dtype) else dtype(a)
        return kind(a_type) in _CATEGORIES[b]
    if isinstance(a, type) and a in _CATEGORIES and a != np.bool_:
        return False
    return dtype(a) == dtype(b)


def to_inexact(dt: DType) -> DType:
    """Return `dt` if it is float or complex, otherwise the float of its width, at least 32."""
    if _KIND[dt] in "fc":
        return dt
    return canonicalize("float64" if dt.itemsize == 8 else "float32")


def to_complex(dt: DType) -> DType:
    """Return the complex dtype whose parts can represent values of `dt`."""
    if _KIND[dt] == "c":
        return dt
    wide = dt in (np.dtype("float64"), np.dtype("int64"), np.dtype("uint64"))
    return canonicalize("complex128" if wide else "complex64")


def to_real(dt: DType) -> DType:
    """Return the dtype of the parts of a complex dtype; return other dtypes unchanged."""
    if _KIND[dt] != "c":
        return dt
    return np.dtype("float32") if dt == np.dtype("complex64") else np.dtype("float64")


@overload
def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = False) -> DType: ...
@overload
def canonicalize_dtype(dtype: KeyDType, allow_extended_dtype: Literal[True]) -> KeyDType: ...
def canonicalize_dtype(
    dtype: DTypeLike | KeyDType, allow_extended_dtype: bool = False
) -> DType | KeyDType:
    """Return the dtype that `dtype` names, narrowed to 32 bits unless x64 is enabled.

    With `allow_extended_dtype`, the dtype of random keys is returned unchanged; otherwise it raises
    DTypeError.

    >>> canonicalize_dtype("int64")
    dtype('int32')
    """
    requested: Any = dtype
    kind_ = getattr(requested, "type", None)
    if allow_extended_dtype and isinstance(kind_, type) and issubclass(kind_, extended):
        extended_dtype: KeyDType = requested
        return extended_dtype
    return canonicalize(requested)


def scalar_type_of(x: ArrayLike | DTypeLike) -> type:
    """Return the Python type of scalars of the kind that an array or a dtype has.

    >>> scalar_type_of("int8")
    <class 'int'>
    """
    scalar_types = {"b": bool, "u": int, "i": int, "f": float, "c": complex}
    if is_python_scalar(x):
        return scalar_types[kind(_PYTHON[next(t for t in _PYTHON if isinstance(x, t))])]
    return scalar_types[kind(dtype(x))]


def itemsize_bits(dt: DTypeLike) -> int:
    """Return the size of an element in bits: 4 for int4.

    >>> itemsize_bits("int4")
    4
    """
    requested = dtype(dt)
    if kind(requested) == "b":
        return 8
    return int(
        iinfo(requested).bits
        if kind(requested) in "iu"
        else finfo(requested).bits * (2 if kind(requested) == "c" else 1)
    )


def finfo(dt: DTypeLike) -> ml_dtypes.finfo:
    """Return the machine limits of a float dtype, also of custom floats.

    >>> float(finfo("bfloat16").max)
    3.3895313892515355e+38
    """
    return ml_dtypes.finfo(dtype(dt))


def iinfo(dt: DTypeLike) -> ml_dtypes.iinfo:
    """Return the machine limits of an integer dtype, also of 2- and 4-bit ones.

    >>> int(iinfo("int4").max)
    7
    """
    return ml_dtypes.iinfo(dtype(dt))
