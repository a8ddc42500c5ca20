"""Exponentials, logarithms and roots; integers become floats."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.control.custom_rules import SymbolicZero
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, inexact, unary
from olympus_core.library.numpy.elementwise.arithmetic import (
    add,
    divide,
    maximum,
    multiply,
    subtract,
)
from olympus_core.library.numpy.elementwise.logic import equal, greater_equal, isnan
from olympus_core.library.operands import choose, scalar_beside
from olympus_core.library.promotion import promote_inexact
from olympus_core.primitives.elementwise.arithmetic import (
    abs_p,
    cbrt_p,
    div_p,
    floor_p,
    neg_p,
    sqrt_p,
)
from olympus_core.primitives.elementwise.base import elementwise_constant
from olympus_core.primitives.elementwise.conversion import complex_p, imag_p, real_p
from olympus_core.primitives.elementwise.transcendental import (
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log_p,
)

exp = inexact(
    "exp",
    "e ** x.",
    exp_p,
    example=("exp(asarray([0, 1, 2]))", "Array([1.       , 2.7182817, 7.389056 ], dtype=float32)"),
)
exp2 = inexact(
    "exp2",
    "2 ** x.",
    exp2_p,
    example=("exp2(asarray([-1, 0, 3]))", "Array([0.5, 1. , 8. ], dtype=float32)"),
)
expm1 = inexact(
    "expm1",
    "e ** x - 1, exact near 0.",
    expm1_p,
    example=(
        "expm1(asarray([1e-10, 1.0]))",
        "Array([1.0000000e-10, 1.7182817e+00], dtype=float32)",
    ),
)
log = inexact(
    "log",
    "The natural logarithm.",
    log_p,
    example=(
        "log(asarray([0.0, 1.0, 10.0]))",
        "Array([     -inf, 0.       , 2.3025851], dtype=float32)",
    ),
)
log1p = inexact(
    "log1p",
    "The natural logarithm of 1 + x, exact near 0.",
    log1p_p,
    example=("log1p(asarray([1e-10, 1.0]))", "Array([1.000000e-10, 6.931472e-01], dtype=float32)"),
)
sqrt = inexact(
    "sqrt",
    "The square root; of a negative float, nan.",
    sqrt_p,
    example=(
        "sqrt(asarray([4.0, 2.0, -1.0]))",
        "Array([2.       , 1.4142135,       nan], dtype=float32)",
    ),
)
cbrt = inexact(
    "cbrt",
    "The cube root.",
    cbrt_p,
    "f",
    example=("cbrt(asarray([27, -8]))", "Array([ 3., -2.], dtype=float32)"),
)


def _log_to(base: int) -> Any:
    def logarithm(x: Any) -> Any:
        value = log_p.bind(x)
        if dtypes.kind(get_aval(x).dtype) != "c":
            return div_p.bind(value, elementwise_constant(x, math.log(base)))
        # by parts: a complex division would give nan for a 0 beside an infinity
        components = real_p.bind(value), imag_p.bind(value)
        divisor = elementwise_constant(components[0], math.log(base))
        return complex_p.bind(*(div_p.bind(component, divisor) for component in components))

    return logarithm


log2 = unary(
    "log2",
    "The logarithm to base 2.",
    {"fc": _log_to(2)},
    promote_inexact,
    example=("log2(asarray([1, 8]))", "Array([0., 3.], dtype=float32)"),
)
log10 = unary(
    "log10",
    "The logarithm to base 10.",
    {"fc": _log_to(10)},
    promote_inexact,
    example=("log10(asarray([1, 1000]))", "Array([0., 3.], dtype=float32)"),
)


def _weight(x: Any, total: Any) -> Any:
    """Return e**(x - total), with infinities replaced by 0: the logarithm's derivative in x."""
    return exp_p.bind(subtract(_no_infinity(x), _no_infinity(total)))


def _no_infinity(x: Any) -> Any:
    real = real_p.bind(x) if dtypes.kind(get_aval(x).dtype) == "c" else x
    return choose("logaddexp", equal(real, math.inf), 0, x)


def _weighted(function: Any) -> Any:
    """Return the function with a tangent rule: the derivative of max itself is 1/2 at ties."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        total = function(*primals)
        pairs = zip(primals, tangents, strict=True)
        shares = [
            multiply(t, _weight(x, total)) for x, t in pairs if not isinstance(t, SymbolicZero)
        ]
        return total, functools.reduce(add, shares)

    function.defjvp(rule, symbolic_zeros=True)
    return composite()(function)


@_weighted
@custom_jvp
def _logaddexp(x: Any, y: Any) -> Any:
    difference = subtract(x, y)  # nan where both are the same infinity
    larger = maximum(x, y)
    gained = log1p_p.bind(exp_p.bind(neg_p.bind(abs_p.bind(difference))))
    return choose("logaddexp", isnan(difference), add(x, y), add(larger, gained))


@_weighted
@custom_jvp
def _complex_logaddexp(x: Any, y: Any) -> Any:
    first = greater_equal(real_p.bind(x), real_p.bind(y))
    larger, smaller = choose("logaddexp", first, x, y), choose("logaddexp", first, y, x)
    difference = subtract(smaller, larger)
    total = add(larger, log1p_p.bind(exp_p.bind(difference)))
    angle = _wrapped(imag_p.bind(total))
    total = complex_p.bind(real_p.bind(total), angle)
    return choose("logaddexp", isnan(difference), add(x, y), total)


def _wrapped(angle: Any) -> Any:
    """Return the equivalent angle in [-pi, pi)."""
    turns = floor_p.bind(divide(add(angle, math.pi), 2 * math.pi))
    return subtract(angle, multiply(turns, 2 * math.pi))


_LOG2 = math.log(2)


@composite()
def _logaddexp2(x: Any, y: Any) -> Any:
    is_complex = dtypes.kind(get_aval(x).dtype) == "c"
    total = (_complex_logaddexp if is_complex else _logaddexp)(
        multiply(x, _LOG2), multiply(y, _LOG2)
    )
    return divide(total, scalar_beside(total, _LOG2))


logaddexp = binary(
    "logaddexp",
    "log(e**x + e**y), without overflow.",
    {"f": _logaddexp, "c": _complex_logaddexp},
    promote_inexact,
    example=(
        "logaddexp(asarray([0.0, 200.0]), asarray([0.0, 200.0]))",
        "Array([  0.6931472, 200.69315  ], dtype=float32)",
    ),
)
logaddexp2 = binary(
    "logaddexp2",
    "log2(2**x + 2**y), without overflow.",
    {"fc": _logaddexp2},
    promote_inexact,
    example=(
        "logaddexp2(asarray([0.0, 200.0]), asarray([0.0, 200.0]))",
        "Array([  1., 201.], dtype=float32)",
    ),
)
