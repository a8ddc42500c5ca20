"""Elementwise operations in float64.

The basic ones are rounded once, and allowed two ulps.  Other functions are allowed several ulps of
the result, and what a change of the operands by as much makes of it, as their implementations
reduce and round their arguments: XLA's accuracies are similar (its documentation of
`ResultAccuracy`, and the tables of `exhaustive_unary_test` in XLA's tests).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.verification.floats import format_of, is_inexact
from olympus_core.verification.reference.rule import Array, Call, Rule, moves

_BASIC = 2.0
_FUNCTION = 32.0  # ulps, of float32 and float64
_NARROW = 4.0  # ulps, of narrower floats: they are computed in float32, and rounded


def _full(call: Call) -> list[Array]:
    """Return the operands at the shape of the result."""
    return [np.broadcast_to(x, call.out.shape) if not x.shape else x for x in call.operands]


def _basic_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype):
        return [0.0]
    return [2 * _BASIC * roundoff * np.abs(values[0])]


def _basic(function: Callable[..., Array]) -> Rule:
    def value(call: Call) -> list[Array]:
        return [function(*_full(call))]

    return Rule(value, _basic_error)


def _exact(function: Callable[..., Array], continuous: bool = True) -> Rule:
    return Rule(lambda call: [function(*_full(call))], continuous=continuous)


def _function(function: Callable[..., Any], absolute: float = 0.0) -> Rule:
    """Return the rule of a function that is not correctly rounded.

    `absolute` is its error near its zeros, in ulps of 1.
    """

    def value(call: Call) -> list[Array]:
        return [np.asarray(function(*_full(call)))]

    def error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
        allowed = _NARROW if format_of(call.out.dtype).mantissa < 20 else _FUNCTION
        total = 2 * allowed * roundoff * np.abs(values[0])
        full = _full(call)
        for i, x in enumerate(full):
            if not is_inexact(x.dtype):
                continue
            for sign in (1, -1):
                moved = [*full]
                moved[i] = x * (1 + 4 * sign * roundoff)
                change = np.abs(np.asarray(function(*moved)) - values[0])
                total = total + np.where(np.isfinite(change), change, 0)
        if absolute:
            total = total + absolute * roundoff * np.maximum(1, np.abs(full[-1]))
        return [total]

    return Rule(value, error)


def _special(name: str) -> Callable[..., Any]:
    def function(*args: Array) -> Any:
        # imported when a program has such a function: it takes 0.2 s
        return getattr(importlib.import_module("scipy.special"), name)(*args)

    return function


def _divide(x: Array, y: Array) -> Array:
    """Divide; integers toward zero, and by zero to all ones, as XLA does."""
    if is_inexact(x.dtype):
        return np.divide(x, y)
    safe = np.where(y == 0, y.dtype.type(1), y)
    quotient = np.floor_divide(x, safe)
    remainder = x - quotient * safe
    towards = quotient + ((remainder != 0) & ((x < 0) != (safe < 0))).astype(x.dtype)
    return np.where(y == 0, np.invert(np.zeros_like(x)), towards)


def _remainder(x: Array, y: Array) -> Array:
    if is_inexact(x.dtype):
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y)))


def _extremum(
    is_extreme: Callable[[Array, Array], Any], real_extremum: Any
) -> Callable[..., Array]:
    def function(x: Array, y: Array) -> Array:
        if dtypes.kind(x.dtype) != "c":
            return np.asarray(real_extremum(x, y))
        x_is_extreme = np.where(
            x.real == y.real, is_extreme(x.imag, y.imag), is_extreme(x.real, y.real)
        )
        return np.where(x_is_extreme, x, y)

    return function


_maximum = _extremum(np.greater, np.maximum)
_minimum = _extremum(np.less, np.minimum)


def _sign(x: Array) -> Array:
    if dtypes.kind(x.dtype) != "c":
        return np.asarray(np.sign(x))
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


def _round(call: Call) -> Array:
    (x,) = _full(call)
    if call.params["rounding_method"] == 1:
        return np.rint(x)
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _integer_pow(call: Call) -> list[Array]:
    (x,), y = _full(call), call.params["y"]
    if y >= 0 or is_inexact(x.dtype):
        return [np.asarray(x ** x.dtype.type(y) if y >= 0 else 1 / x ** (-y))]
    return [_divide(np.ones_like(x), np.asarray(x ** x.dtype.type(-y)))]


def _integer_pow_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    """Return the error of one rounding for each product, and of its factors: at most |y| + 1."""
    if not is_inexact(call.out.dtype):
        return [0.0]
    return [2 * (abs(call.params["y"]) + 2) * roundoff * np.abs(values[0])]


def _power(x: Array, y: Array) -> Array:
    if is_inexact(x.dtype):
        return np.asarray(np.power(x, y if is_inexact(y.dtype) else y.astype(np.float64)))
    negative = y < 0
    result = np.power(x, np.where(negative, 0, y).astype(x.dtype))
    odd = (y & y.dtype.type(1)) != 0
    unit = np.where(x == 1, 1, np.where((x + x.dtype.type(1) == 0) & (x != 0), 0, 2))
    below = np.where(unit == 1, 1, np.where(unit == 0, np.where(odd, x, 1), 0)).astype(x.dtype)
    return np.where(negative, below, result)


def _logistic(x: Array) -> Array:
    if dtypes.kind(x.dtype) == "c":
        return 1 / (1 + np.exp(-x))
    return np.asarray(_special("expit")(x))


def _convert(call: Call) -> Array:
    (x,), new_dtype = call.operands, call.params["new_dtype"]
    if dtypes.kind(x.dtype) == "c" and dtypes.kind(new_dtype) != "c":
        x = x.real
    if dtypes.kind(new_dtype) in "fc":
        return x.astype(np.complex128 if dtypes.kind(new_dtype) == "c" else np.float64)
    if new_dtype == np.bool_:
        return np.asarray(x != 0)
    if not is_inexact(x.dtype):
        return x.astype(new_dtype)
    info = dtypes.iinfo(new_dtype)  # XLA saturates, and converts NaN to 0
    low, high = int(info.min), int(info.max)
    truncated = np.trunc(np.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = np.where((truncated >= low) & (truncated < float(high)), truncated, 0).astype(np.int64)
    if new_dtype.itemsize == 8 and dtypes.kind(new_dtype) == "u":
        inside = np.where((truncated >= low) & (truncated < float(high)), truncated, 0).astype(
            np.uint64
        )
    converted = inside.astype(new_dtype)
    converted = np.where(truncated >= float(high), np.asarray(high).astype(new_dtype), converted)
    return np.where(truncated < low, np.asarray(low).astype(new_dtype), converted).astype(new_dtype)


def _convert_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    """Return the error of one rounding to a narrower float or from an integer.

    The next number is allowed too.
    """
    return [2 * roundoff * np.abs(values[0]) if is_inexact(call.out.dtype) else 0.0]


def _reduce_precision_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    return [2.0 ** -call.params["mantissa_bits"] * np.abs(values[0])]


def _shift(function: Callable[[Array, Array], Array], fill: Callable[[Array], Array]) -> Any:
    def shifted(x: Array, y: Array) -> Array:
        bits = dtypes.iinfo(x.dtype).bits
        count = y.astype(np.int64)
        outside = (count < 0) | (count >= bits)
        inside = np.where(outside, 0, count).astype(x.dtype)
        return np.where(outside, fill(x), function(x, inside))

    return shifted


def _zeros(x: Array) -> Array:
    return np.zeros_like(x)


def _logical_right(x: Array, y: Array) -> Array:
    unsigned = f"u{x.dtype.name.lstrip('u')}"
    shifted = np.right_shift(x.astype(unsigned), y.astype(unsigned))
    return np.asarray(shifted.astype(x.dtype))


def _bits(x: Array) -> Array:
    """Return the bits of each integer, least significant first, along a new last axis."""
    width = dtypes.iinfo(x.dtype).bits
    places = np.arange(width, dtype=np.uint64)
    raw = np.ascontiguousarray(x).view(f"uint{x.dtype.itemsize * 8}").astype(np.uint64)
    return np.asarray((raw.reshape(x.shape)[..., None] >> places) & np.uint64(1))


def _leading_zeros(x: Array) -> Array:
    bits = _bits(x)[..., ::-1]
    first = np.argmax(bits, axis=-1)
    return np.asarray(np.where(bits.any(axis=-1), first, bits.shape[-1]), x.dtype)


def _select(call: Call) -> Array:
    index, *cases = call.operands
    cases = [np.broadcast_to(c, call.out.shape) for c in cases]
    place = np.clip(np.broadcast_to(index, call.out.shape).astype(np.int64), 0, len(cases) - 1)
    return np.asarray(np.choose(place, cases)) if len(cases) < 32 else _choose(place, cases)


def _choose(place: Array, cases: Sequence[Array]) -> Array:
    return np.asarray(np.take_along_axis(np.stack(cases), place[None], 0)[0])


def _compared(function: Callable[[Array, Array], Any]) -> Rule:
    return _exact(lambda x, y: np.asarray(function(x, y)))


def _same(call: Call) -> Array:
    return _full(call)[0]


ELEMENTWISE: dict[str, Rule] = {
    "add": _basic(np.add)._replace(adds=True),
    "add_any": _basic(np.add)._replace(adds=True),
    "sub": _basic(np.subtract)._replace(adds=True),
    "mul": _basic(np.multiply),
    "square": _basic(np.square),
    "div": _basic(_divide),
    "sqrt": _basic(np.sqrt),
    "rem": _exact(_remainder, continuous=False),
    "neg": _exact(np.negative),
    "abs": _basic(np.abs),
    "sign": Rule(lambda call: [_sign(*_full(call))], _basic_error, continuous=False),
    "floor": _exact(np.floor, continuous=False),
    "ceil": _exact(np.ceil, continuous=False),
    "round": Rule(lambda call: [_round(call)], continuous=False),
    "max": _exact(_maximum),
    "min": _exact(_minimum),
    "relu": _exact(lambda x: _maximum(x, np.zeros_like(x))),
    "integer_pow": Rule(_integer_pow, _integer_pow_error),
    "pow": _function(_power),
    "rsqrt": _function(lambda x: 1 / np.sqrt(x)),
    "cbrt": _function(np.cbrt),
    "exp": _function(np.exp)._replace(is_exponential=True),
    "exp2": _function(np.exp2)._replace(is_exponential=True),
    "expm1": _function(np.expm1)._replace(is_exponential=True),
    "log": _function(np.log),
    "log1p": _function(np.log1p),
    "logistic": _function(_logistic)._replace(is_exponential=True),
    "sin": _function(np.sin),
    "cos": _function(np.cos),
    "tan": _function(np.tan),
    "asin": _function(np.arcsin),
    "acos": _function(np.arccos),
    "atan": _function(np.arctan),
    "atan2": _function(np.arctan2),
    "sinh": _function(np.sinh)._replace(is_exponential=True),
    "cosh": _function(np.cosh)._replace(is_exponential=True),
    "tanh": _function(np.tanh),
    "asinh": _function(np.arcsinh),
    "acosh": _function(np.arccosh),
    "atanh": _function(np.arctanh),
    "erf": _function(_special("erf")),
    "erfc": _function(_special("erfc"))._replace(is_exponential=True),
    "erf_inv": _function(_special("erfinv")),
    "lgamma": _function(_special("gammaln"), absolute=64),
    "digamma": _function(_special("digamma"), absolute=64),
    "convert_element_type": Rule(lambda call: [_convert(call)], _convert_error),
    "reduce_precision": Rule(lambda call: [_same(call)], _reduce_precision_error),
    "real": _exact(np.real),
    "imag": _exact(np.imag),
    "conj": _exact(np.conj),
    "complex": _exact(lambda x, y: x + 1j * y),
    "stop_gradient": moves(_same),
    "name": moves(_same),
    "copy": moves(_same),
    "is_finite": _exact(np.isfinite),
    "eq": _compared(np.equal),
    "ne": _compared(np.not_equal),
    "lt": _compared(np.less),
    "le": _compared(np.less_equal),
    "gt": _compared(np.greater),
    "ge": _compared(np.greater_equal),
    "not": _exact(np.invert),
    "and": _exact(np.bitwise_and),
    "or": _exact(np.bitwise_or),
    "xor": _exact(np.bitwise_xor),
    "shift_left": _exact(_shift(np.left_shift, _zeros)),
    "shift_right_logical": _exact(_shift(_logical_right, _zeros)),
    "shift_right_arithmetic": _exact(
        _shift(np.right_shift, lambda x: np.where(x < 0, ~_zeros(x), _zeros(x)))
    ),
    "population_count": _exact(lambda x: _bits(x).sum(axis=-1).astype(x.dtype)),
    "clz": _exact(_leading_zeros),
    "select_n": moves(_select),
    "clamp": _exact(lambda low, x, high: np.minimum(np.maximum(low, x), high)),
}
