"""The hypergeometric functions of `olympus.scipy.special`, by their series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.control import while_loop
from olympus_core.library.numpy.creation.fills import ones_like
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.elementwise.rounding import floor
from olympus_core.library.numpy.reductions.sums import any as any_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import (
    broadcast_shapes,
    broadcast_to,
    check_arrays,
    convert,
    promote_inexact,
)
from olympus_core.library.scipy.special.gamma import gammaln, gammasgn
from olympus_core.primitives.elementwise.base import check_kinds
from olympus_core.transforms.autodiff import jvp

_MOST_TERMS = 10_000
#: beyond this size of the argument the series of `hyp1f1` needs many terms
_LARGE = 50.0


def _summed(next_term: Callable[[Any, Any], Any], like: Any) -> Any:
    """Return the sum of a series whose first term is 1, up to the precision of the dtype.

    `next_term` takes the number of a term and the term.
    """
    precision = float(dtypes.finfo(get_aval(like).dtype).eps)

    def goes_on(state: Any) -> Any:
        number, term, total = state
        return (number < _MOST_TERMS) & any_(abs(term) > precision * abs(total))

    def step(state: Any) -> Any:
        number, term, total = state
        term = next_term(convert(number, get_aval(like).dtype), term)
        return number + 1, term, total + term

    return while_loop(goes_on, step, (0, ones_like(like), ones_like(like)))[2]


def _is_pole(v: Any) -> Any:
    """Return True for 0, -1, -2, ...: the poles of the gamma function."""
    return (v <= 0) & (v == floor(v))


def _kummer_series(a: Any, b: Any, x: Any) -> Any:
    """Return the sum over k of (a)_k x^k / ((b)_k k!), DLMF 13.2.2."""
    return _summed(lambda k, term: term * (a + k) / (b + k) * x / (k + 1), x)


def _asymptotic(a: Any, b: Any, x: Any) -> Any:
    """Return the sum over k of (a)_k (b)_k / (k! x^k), while the terms decrease."""

    def next_term(k: Any, term: Any) -> Any:
        following = term * (a + k) * (b + k) / ((k + 1) * x)
        return where(abs(following) < abs(term), following, 0)

    return _summed(next_term, x)


def _confluent(a: Any, b: Any, x: Any) -> Any:
    """1F1: the series, by Kummer's transformation (DLMF 13.2.39) if x < 0, or DLMF 13.7.2."""
    is_whole = _is_pole(a)  # the series is a polynomial
    is_large = (abs(x) > _LARGE) & ~is_whole & ~((x < 0) & _is_pole(b - a))
    near = where(is_large, 1, x)
    turned = (near < 0) & ~is_whole
    series = _kummer_series(where(turned, b - a, a), b, where(turned, -near, near))
    series = where(turned, exp(where(turned, near, 0)), 1) * series
    far = where(is_large, x, _LARGE)
    up = far > 0
    size = abs(far)
    top = where(up, a, b - a)
    power = where(up, far + (a - b) * log(size), -a * log(size))
    scale = gammasgn(b) * gammasgn(top) * exp(gammaln(b) - gammaln(top) + power)
    tail = _asymptotic(where(up, b - a, a), where(up, 1 - a, a - b + 1), size)
    return where(is_large, scale * tail, series)


def _gauss(a: Any, b: Any, c: Any, x: Any) -> Any:
    """2F1: the series DLMF 15.2.1, by Pfaff's transformation (DLMF 15.8.1) if x < -1/2."""
    is_polynomial = _is_pole(a) | _is_pole(b)
    turned = (x < -0.5) & ~is_polynomial
    outside = (x >= 1) & ~is_polynomial
    safe = where(outside, 0.5, x)
    argument = where(turned, safe / (safe - 1), safe)
    other = where(turned, c - b, b)
    series = _summed(
        lambda k, term: term * (a + k) * (other + k) / ((c + k) * (k + 1)) * argument, x
    )
    series = where(turned, exp(-a * log(where(turned, 1 - safe, 1))), 1) * series
    sums = c, c - a - b, c - a, c - b
    signs = gammasgn(sums[0]) * gammasgn(sums[1]) * gammasgn(sums[2]) * gammasgn(sums[3])
    size = gammaln(sums[0]) + gammaln(sums[1]) - gammaln(sums[2]) - gammaln(sums[3])
    limit = gammasgn(c) * gammasgn(a + b - c) * gammasgn(a) * gammasgn(b) * float("inf")
    at_one = where(sums[1] > 0, signs * exp(size), limit)  # DLMF 15.4.20 and 15.4.23
    return where(outside, where(x == 1, at_one, float("inf")), series)


def _slope(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return the rule of the derivative with respect to one parameter: that of the series."""

    def rule(tangent: Any, out: Any, *operands: Any) -> Any:
        def of_one(v: Any) -> Any:
            return function(*operands[:place], v, *operands[place + 1 :])

        value = operands[place]
        return tangent * jvp(of_one, (value,), (ones_like(value),))[1]

    return rule


@custom_jvp
def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    return _confluent(a, b, x)


@custom_jvp
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    return _gauss(a, b, c, x)


_hyp1f1.defjvps(
    _slope(_confluent, 0),
    _slope(_confluent, 1),
    lambda t, out, a, b, x: t * (a / b) * _hyp1f1(a + 1, b + 1, x),  # DLMF 13.3.15
)
_hyp2f1.defjvps(
    *(_slope(_gauss, i) for i in range(3)),
    lambda t, out, a, b, c, x: t * (a * b / c) * _hyp2f1(a + 1, b + 1, c + 1, x),  # DLMF 15.5.1
)


def _in_floats(name: str, function: Callable[..., Any], *operands: Any) -> Array:
    check_arrays(name, *operands)
    values = promote_inexact(*operands)
    avals = [get_aval(v) for v in values]
    check_kinds(name, "f", avals[0])
    dtype = avals[0].dtype
    wide = dtypes.dtype("float32") if dtype.itemsize < 4 else dtype
    shape = broadcast_shapes(*(v.shape for v in avals))
    out = function(*(broadcast_to(convert(v, wide), shape) for v in values))
    result: Array = convert(out, dtype, all(v.weak_type for v in avals))
    return result


@composite()
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return Kummer's confluent hypergeometric function 1F1(a; b; x) of real arguments.

    a, b, x: floats of shapes that broadcast; integers become floats.  It has derivatives in all of
    them, and those of every order in `x`.  Cancellation costs digits if `a` and `b` are large and
    of different signs.

    Raises DTypeError for complex values.

    >>> hyp1f1(1.0, 2.0, 1.0)
    Array(1.7182815, dtype=float32, weak_type=True)
    """
    return _in_floats("hyp1f1", _hyp1f1, a, b, x)


@composite()
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Return the hypergeometric function 2F1(a, b; c; x) of real arguments, for x <= 1.

    a, b, c, x: floats of shapes that broadcast; integers become floats.  It is inf for x > 1,
    unless `a` or `b` is an integer of at most 0.  It has derivatives in all of them, and those of
    every order in `x`.  The series converges slowly as `x` approaches 1 or -inf.

    Raises DTypeError for complex values.

    >>> hyp2f1(1.0, 1.0, 2.0, 0.5)
    Array(1.3862944, dtype=float32, weak_type=True)
    """
    return _in_floats("hyp2f1", _hyp2f1, a, b, c, x)
