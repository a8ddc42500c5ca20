"""Comparisons, logical functions, and tests such as `isnan`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, unary
from olympus_core.library.numpy.creation.fills import full_like
from olympus_core.library.operands import reject_out, scalar, scalar_beside
from olympus_core.library.structural import structural
from olympus_core.primitives.elementwise.arithmetic import abs_p
from olympus_core.primitives.elementwise.conversion import imag_p, real_p
from olympus_core.primitives.elementwise.logic import (
    and_p,
    eq_p,
    ge_p,
    gt_p,
    is_finite_p,
    le_p,
    lt_p,
    ne_p,
    not_p,
    or_p,
    xor_p,
)

_any = "buifc"

equal = binary(
    "equal",
    "Whether x == y.",
    {_any: eq_p.bind, "k": operator.eq},
    example=("equal(asarray([1, 2, 3]), 2)", "Array([False,  True, False], dtype=bool)"),
)
not_equal = binary(
    "not_equal",
    "Whether x != y.",
    {_any: ne_p.bind, "k": operator.ne},
    example=("not_equal(asarray([1, 2, 3]), 2)", "Array([ True, False,  True], dtype=bool)"),
)


def _ordered(compare: Any, strict: Any) -> Callable[[Any, Any], Any]:
    """Order complex values by their real parts, then by their imaginary parts."""

    def operation(x: Any, y: Any) -> Any:
        (x_real, x_imag), (y_real, y_imag) = _parts(x), _parts(y)
        tied = and_p.bind(eq_p.bind(x_real, y_real), compare.bind(x_imag, y_imag))
        return or_p.bind(strict.bind(x_real, y_real), tied)

    return composite()(operation)


def _parts(z: Any) -> tuple[Any, Any]:
    return real_p.bind(z), imag_p.bind(z)


def _comparison(
    name: str, text: str, compare: Any, strict: Any, printed: str
) -> Callable[[ArrayLike, ArrayLike], Array]:
    rows = {"buif": compare.bind, "c": _ordered(compare, strict)}
    summary = f"Whether x {text} y; complex values are in lexicographic order."
    return binary(name, summary, rows, example=(f"{name}(asarray([1, 2, 3]), 2)", printed))


less = _comparison("less", "<", lt_p, lt_p, "Array([ True, False, False], dtype=bool)")
less_equal = _comparison("less_equal", "<=", le_p, lt_p, "Array([ True,  True, False], dtype=bool)")
greater = _comparison("greater", ">", gt_p, gt_p, "Array([False, False,  True], dtype=bool)")
greater_equal = _comparison(
    "greater_equal", ">=", ge_p, gt_p, "Array([False,  True,  True], dtype=bool)"
)


def _nonzero(x: Any) -> Any:
    aval = get_aval(x)
    return x if aval.dtype == dtypes.bool_ else not_equal(x, scalar_beside(x, 0))


def _logical(
    name: str, text: str, primitive: Any, printed: str
) -> Callable[[ArrayLike, ArrayLike], Array]:
    def operation(x: Any, y: Any) -> Any:
        return primitive.bind(_nonzero(x), _nonzero(y))

    summary = f"Whether {text}; a number is true unless it is 0."
    rows = {"b": primitive.bind, "uifc": operation}
    call = f"{name}(asarray([0, 0, 1, 2]), asarray([0, 3, 0, 4]))"
    return binary(name, summary, rows, example=(call, printed))


logical_and = _logical(
    "logical_and", "both are true", and_p, "Array([False, False, False,  True], dtype=bool)"
)
logical_or = _logical(
    "logical_or", "either is true", or_p, "Array([False,  True,  True,  True], dtype=bool)"
)
logical_xor = _logical(
    "logical_xor", "just one is true", xor_p, "Array([False,  True,  True, False], dtype=bool)"
)
logical_not = unary(
    "logical_not",
    "Whether x is false; a number is false where it is 0.",
    {"b": not_p.bind, "uifc": lambda x: equal(x, scalar_beside(x, 0))},
    example=("logical_not(asarray([0, 1, 2]))", "Array([ True, False, False], dtype=bool)"),
)


def _everywhere(value: bool) -> Callable[[Any], Any]:
    return lambda x: full_like(x, value, dtype=bool)


def _of_parts(test: Any, join: Any) -> Callable[[Any], Any]:
    return lambda z: join.bind(*map(test, _parts(z)))


def _isinf(x: Any) -> Any:
    return _is(abs_p.bind(x), float("inf"))


def _is(x: Any, value: float) -> Any:
    """Return where a float is a value; the result is not weakly typed, as in JAX."""
    return eq_p.bind(x, scalar(value, get_aval(x).dtype))


_no, _yes = _everywhere(False), _everywhere(True)
_isfinite = is_finite_p.bind

isnan = structural(every=True)(
    unary(
        "isnan",
        "Whether x is nan.",
        {"uifc": lambda x: ne_p.bind(x, x), "b": _no},
        example=("isnan(asarray([1.0, nan, inf]))", "Array([False,  True, False], dtype=bool)"),
    )
)
isfinite = unary(
    "isfinite",
    "Whether x is neither nan nor infinite.",
    {"f": _isfinite, "c": _of_parts(_isfinite, and_p), "bui": _yes},
    example=("isfinite(asarray([1.0, nan, inf]))", "Array([ True, False, False], dtype=bool)"),
)
isinf = unary(
    "isinf",
    "Whether x is infinite.",
    {"f": _isinf, "c": _of_parts(_isinf, or_p), "bui": _no},
    example=(
        "isinf(asarray([1.0, nan, inf, -inf]))",
        "Array([False, False,  True,  True], dtype=bool)",
    ),
)
_isposinf = unary(
    "isposinf", "Whether x is inf.", {"f": lambda x: _is(x, float("inf")), "bui": _no}
)
_isneginf = unary(
    "isneginf", "Whether x is -inf.", {"f": lambda x: _is(x, -float("inf")), "bui": _no}
)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Return True where x is inf.  Raises DTypeError for complex x; `out` must be None.

    >>> isposinf(asarray([1.0, nan, inf, -inf]))
    Array([False, False,  True, False], dtype=bool)
    """
    reject_out("isposinf", out)
    return _isposinf(x)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Return True where x is -inf.  Raises DTypeError for complex x; `out` must be None.

    >>> isneginf(asarray([1.0, nan, inf, -inf]))
    Array([False, False, False,  True], dtype=bool)
    """
    reject_out("isneginf", out)
    return _isneginf(x)
