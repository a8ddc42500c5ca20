"""Rounding: to integers, to decimals, and to a whole part and a fraction."""

from __future__ import annotations

from functools import partial
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import unary
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import divide, multiply, subtract
from olympus_core.library.numpy.elementwise.logic import isinf, less
from olympus_core.library.operands import choose
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import ceil_p, floor_p, round_p
from olympus_core.primitives.elementwise.conversion import complex_p, imag_p, real_p

_to_even = partial(round_p.bind, rounding_method=1)

floor = unary(
    "floor",
    "The next integer down.",
    {"f": floor_p.bind, "bui": asarray},
    example=("floor(asarray([1.7, -1.2]))", "Array([ 1., -2.], dtype=float32)"),
)
ceil = unary(
    "ceil",
    "The next integer up.",
    {"f": ceil_p.bind, "bui": asarray},
    example=("ceil(asarray([1.7, -1.2]))", "Array([ 2., -1.], dtype=float32)"),
)


def _truncated(x: Any) -> Any:
    return choose("trunc", less(x, 0), ceil_p.bind(x), floor_p.bind(x))


trunc = unary(
    "trunc",
    "The next integer towards 0.",
    {"f": _truncated, "bui": asarray},
    example=("trunc(asarray([1.7, -1.2]))", "Array([ 1., -1.], dtype=float32)"),
)


def _of_parts(function: Any, z: Any) -> Any:
    return complex_p.bind(function(real_p.bind(z)), function(imag_p.bind(z)))


def _strong_inexact(x: Any) -> list[Any]:
    """Return the operand as inexact; integers in the default dtype, strongly typed, as in JAX."""
    if dtypes.kind(get_aval(x).dtype) in "bui":
        return [convert(x, dtypes.default_dtype("f"))]
    return promote_inexact(x)


rint = unary(
    "rint",
    "The nearest integer, halves to the even one.",
    {"f": _to_even, "c": partial(_of_parts, _to_even)},
    _strong_inexact,
    example=("rint(asarray([0.5, 1.5, 2.4]))", "Array([0., 2., 2.], dtype=float32)"),
)


@composite(static_argnames=("decimals",))
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Round each element to the nearest multiple of 10**-decimals, halves to the even one.

    Integers are unchanged.  Raises UnsupportedError for integers with negative
    `decimals`, DTypeError for bools.

    >>> round(asarray([1.25, 2.5]), 1)
    Array([1.2, 2.5], dtype=float32)
    """
    check_arrays("round", a)
    kind = dtypes.kind(get_aval(a).dtype)
    if kind in "ui" and decimals >= 0:
        return asarray(a)
    if kind in "ui":
        raise UnsupportedError(
            f"integer round not implemented for decimals < 0: they are {decimals}",
            hint="round a float: x.astype(float)",
        )
    if kind not in "fc":
        raise DTypeError(f"round takes numbers, and got {get_aval(a).long_name()}")
    result: Array = (
        _of_parts(partial(_round, decimals=decimals), a) if kind == "c" else _round(a, decimals)
    )
    return result


def _round(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return _to_even(x)
    aval = get_aval(x)
    wide = convert(x, dtypes.canonicalize("float32")) if aval.dtype.itemsize < 4 else x
    factor = 10.0**decimals
    return convert(divide(_to_even(multiply(wide, factor)), factor), aval.dtype, aval.weak_type)


around = round


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Return (fraction, whole) of each element, both with its sign; their sum is `x`.

    >>> modf(2.5)
    (Array(0.5, dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_arrays("modf", x)
    (x,) = promote_inexact(x)
    whole = trunc(x)
    return choose("modf", isinf(x), 0, subtract(x, whole)), whole
