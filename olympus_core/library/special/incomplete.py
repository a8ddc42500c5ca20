"""Regularized incomplete gamma and beta functions, with their derivatives in every argument.

Both are integrals of a function whose logarithm is concave: of t^a exp(-t) in log t, and of
t^a (1 - t)^b in log(t / (1 - t)).  The code integrates the part in which the integrand decreases
from its boundary.  It is scaled by the distance over which it decreases to 1/e, and summed at
fixed nodes by the double exponential rule for such integrands, s = exp(u - exp(-u)) (Takahasi and
Mori, "Double exponential formulas for numerical integration", 1974).  The nodes are fixed, so
the derivative of the sum in a parameter is as exact as the sum.  In x, the derivative is the
integrand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import get_aval
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.control.custom_rules import SymbolicZero
from olympus_core.library.lax.annotations import stop_gradient
from olympus_core.library.numpy.creation.fills import ones_like, zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import abs, maximum, minimum
from olympus_core.library.numpy.elementwise.exponential import exp, expm1, log, log1p, sqrt
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.primitives.elementwise.transcendental import lgamma_p
from olympus_core.transforms.autodiff import jvp

Fall = Callable[[Any], Any]

_COUNTS = {"float32": 72, "float64": 136}
_LARGE = 20.0  # above it, Stirling's series for the gamma function is exact to rounding


def _nodes(dtype: Any) -> tuple[Any, Any]:
    """Return nodes and weights for integrals over s > 0 of functions that decrease as exp(-s)."""
    u, step = np.linspace(-3.6, 4.2, _COUNTS[str(dtype)], retstep=True)
    nodes = np.exp(u - np.exp(-u))
    weights = step * nodes * (1 + np.exp(-u))
    return nodes.astype(dtype), weights.astype(dtype)


def _integral(fall: Fall, scale: Any) -> Any:
    """Return the integral of exp(-fall(s)) over s > 0, where `fall` is about 1 at `scale`."""
    nodes, weights = _nodes(get_aval(scale).dtype)
    scale = scale[..., None]
    return sum_(exp(-fall(scale * nodes)) * (scale * weights), axis=-1)


def _unit_fall(fall: Fall, slope: Fall, start: Any) -> Any:
    """Return the s at which the convex function `fall` is 1, by Newton's method."""
    for _ in range(5):
        start = maximum(start - (fall(start) - 1) / slope(start), np.finfo(start.dtype).tiny)
    return start


def _first_scale(slope: Any, curvature: Any) -> Any:
    """Return the s at which slope * s + curvature * s^2 / 2 is 1."""
    return 2 / (slope + sqrt(slope * slope + 2 * curvature))


def _log_ratio(x: Any, y: Any) -> Any:
    """Return log(x / y), without cancellation for close x and y."""
    is_near = abs(x - y) < y / 4
    return where(is_near, log1p(where(is_near, (x - y) / y, 0.0)), log(x / y))


def _stirling_rest(z: Any) -> Any:
    """Return log gamma(z) - ((z - 1/2) log(z) - z + log(2 pi) / 2): for large z, its series."""
    is_large = z > _LARGE
    big, small = where(is_large, z, _LARGE), where(is_large, 1.0, z)
    r = 1 / (big * big)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r / 1680))) / big
    small_result = (
        lgamma_p.bind(small) - (small - 0.5) * log(small) + small - 0.5 * np.log(2 * np.pi)
    )
    return where(is_large, series, small_result)


def _log_gamma_density(a: Any, x: Any) -> Any:
    """Return log of x^a exp(-x) / gamma(a), with Stirling's large terms cancelled."""
    return a * _log_ratio(x, a) - (x - a) + 0.5 * log(a / (2 * np.pi)) - _stirling_rest(a)


def _gamma_sum(a: Any, x: Any) -> tuple[Any, Any]:
    """Return (P, Q) for finite a > 0 and x > 0: the integral below x or above it, and 1 - it."""
    below = (x <= a) | (x < 1)
    a_low, x_low = where(below, a, 1.0), where(below, x, 0.5)
    a_high, x_high = where(below, 1.0, a), where(below, 2.0, x)
    of_low = _integral(*_gamma_below(a_low, x_low))
    of_high = _integral(*_gamma_above(a_high, x_high))
    incomplete = where(below, of_low, of_high) * exp(_log_gamma_density(a, x))
    return where(below, incomplete, 1 - incomplete), where(below, 1 - incomplete, incomplete)


def _gamma_below(a: Any, x: Any) -> tuple[Fall, Any]:
    """Return the decrease of log of t^a exp(-t) from x down, by log(x / t); and the scale."""
    b, y = stop_gradient(a), stop_gradient(x)
    start = maximum(_first_scale(abs(b - y), y), 1 / b)
    scale = _unit_fall(lambda s: b * s + y * expm1(-s), lambda s: b - y * exp(-s), start)
    a, x = a[..., None], x[..., None]
    return lambda s: a * s + x * expm1(-s), scale


def _gamma_above(a: Any, x: Any) -> tuple[Fall, Any]:
    """Return the decrease of log of t^a exp(-t) from x >= 1 up, by log(t / x); and the scale."""
    b, y = stop_gradient(a), stop_gradient(x)
    start = _first_scale(y - b, y)
    scale = minimum(start, log1p((1 + b * start) / y))
    a, x = a[..., None], x[..., None]
    return lambda s: x * expm1(s) - a * s, scale


def _log_gamma_of_more_than_one(a: Any) -> Any:
    """Return log gamma(1 + a) for 0 <= a <= 1/4, exact for small a, by its Taylor series.

    The series is that of DLMF 5.7.3, with zeta(k) - 1 by the formula of Euler and Maclaurin.
    """
    k, n = np.arange(2.0, 20.0), 200.0
    tail = n / (k - 1) + 0.5 + k / (12 * n) - k * (k + 1) * (k + 2) / (720 * n**3)
    zeta = sum(m**-k for m in np.arange(2.0, n)) + n**-k * tail
    coefficients = [1 - np.euler_gamma, *(np.where(k % 2, -1, 1) * zeta / k)]
    total = zeros_like(a)
    for c in reversed(coefficients):
        total = (total + float(c)) * a
    return total - log1p(a)


def _gamma_above_near_zero(a: Any, x: Any) -> Any:
    """Return Q for a <= 1/4 and x <= 1, about a E1(x): 1 - P would lose its digits.

    P is x^a / gamma(1 + a) times 1 + rest (DLMF 8.7.1); both factors are computed less 1.
    """
    first = expm1(a * log(x) - _log_gamma_of_more_than_one(a))
    term, series = -x, -x / (a + 1)
    for k in range(2, 20):
        term = term * (-x / k)
        series = series + term / (a + k)
    return -first - (1 + first) * a * series


def _gamma_values(a: Any, x: Any) -> tuple[Any, Any]:
    inside = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
    lower, upper = _gamma_sum(where(inside, a, 1.0), where(inside, x, 1.0))
    near_zero = inside & (a <= 0.25) & (x <= 1)
    least = _gamma_above_near_zero(where(near_zero, a, 0.25), where(near_zero, x, 1.0))
    upper = where(near_zero, least, upper)
    is_one = (a == 0) & (x > 0) | (a >= 0) & (a < np.inf) & (x == np.inf)
    zero = (a > 0) & (x == 0) | (a == np.inf) & (x >= 0) & (x < np.inf)
    edge = where(is_one, 1.0, where(zero, 0.0, np.nan))
    return where(inside, lower, edge), where(inside, upper, 1 - edge)


gamma_parts = custom_jvp(_gamma_values)


@functools.partial(gamma_parts.defjvp, symbolic_zeros=True)
def _gamma_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (a, x), (t_a, t_x) = primals, tangents
    total = zeros_like(x)
    if not isinstance(t_x, SymbolicZero):
        total = total + t_x * gamma_density(a, x)
    if not isinstance(t_a, SymbolicZero):
        total = total + t_a * gamma_slope(a, x)
    return gamma_parts(a, x), (total, -total)


def gamma_density(a: Any, x: Any) -> Any:
    """Return the derivative of P in x, x^(a - 1) exp(-x) / gamma(a); nan where P is."""
    inside = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
    b, y = where(inside, a, 1.0), where(inside, x, 1.0)
    at_zero = where(a < 1, np.inf, where(a > 1, 0.0, 1.0))
    edge = where((a >= 0) & (x > 0), 0.0, where((a > 0) & (x == 0), at_zero, np.nan))
    return where(inside, exp(_log_gamma_density(b, y)) / y, edge)


def gamma_slope(a: Any, x: Any) -> Any:
    """Return the derivative of P in a; 0 where x is 0 or infinite, nan where P is."""
    inside = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
    b, y = where(inside, a, 1.0), where(inside, x, 1.0)
    slope = jvp(lambda b: _gamma_sum(b, y)[0], (b,), (ones_like(b),))[1]
    return where(inside, slope, where((a >= 0) & (x >= 0), 0.0, np.nan))


def _beta_sum(a: Any, b: Any, x: Any) -> Any:
    """Return I for a, b > 0 and 0 < x < 1: the integral below x, or 1 - the one above it."""
    below = x * (a + b) <= a
    first, second = where(below, a, b), where(below, b, a)
    # for the mirrored integral, 1 - x is the boundary
    argument, complement = where(below, x, 1 - x), where(below, 1 - x, x)
    incomplete = _integral(*_beta_below(first, second, argument, complement)) * exp(
        _log_beta_density(a, b, x)
    )
    return where(below, incomplete, 1 - incomplete)


def _log_beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return log of x^a (1 - x)^b / beta(a, b), with Stirling's large terms cancelled."""
    total = a + b
    main = a * _log_ratio(x, a / total) + b * _log_complement(x, a / total, b / total)
    correction = _stirling_rest(total) - _stirling_rest(a) - _stirling_rest(b)
    return main + 0.5 * log(a / total * b / (2 * np.pi)) + correction


def _log_complement(x: Any, p: Any, q: Any) -> Any:
    """Return log((1 - x) / q) with q = 1 - p, without cancellation if they are close."""
    is_near = abs(p - x) < q / 4
    return where(is_near, log1p(where(is_near, (p - x) / q, 0.0)), log1p(-x) - log(q))


def _beta_below(a: Any, b: Any, x: Any, complement: Any) -> tuple[Fall, Any]:
    """Return the decrease of log of t^a (1 - t)^b from x down, by log(t / (1 - t)); and the scale.

    With t / (1 - t) = x / rest * exp(-s), 1 - t is rest / (rest + x exp(-s)).
    """

    def fall_of(a: Any, b: Any, x: Any) -> Fall:
        return lambda s: a * s + (a + b) * log1p(x * expm1(-s))

    c, d, y, z = (stop_gradient(v) for v in (a, b, x, complement))
    start = maximum(_first_scale(c * z - d * y, (c + d) * y * z), 1 / c)

    def slope(s: Any) -> Any:
        t = y * exp(-s) / (z + y * exp(-s))
        return c * (1 - t) - d * t

    scale = _unit_fall(fall_of(c, d, y), slope, start)
    return fall_of(a[..., None], b[..., None], x[..., None]), scale


def _beta_value(a: Any, b: Any, x: Any) -> Any:
    inside, (c, d, y) = _beta_inside(a, b, x)
    zero = (x == 0) | (x < 1) & ((b == 0) | (a == np.inf))
    is_one = (x == 1) | (x > 0) & ((a == 0) | (b == np.inf))
    valid = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1)
    valid = valid & ((a > 0) | (b > 0)) & ((a < np.inf) | (b < np.inf))
    edge = where(valid & zero, 0.0, where(valid & is_one, 1.0, np.nan))
    return where(inside, _beta_sum(c, d, y), edge)


def _beta_inside(a: Any, b: Any, x: Any) -> tuple[Any, tuple[Any, Any, Any]]:
    """Return a mask of the integrals in (0, 1), and arguments with valid values elsewhere."""
    inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x > 0) & (x < 1)
    return inside, (where(inside, a, 1.0), where(inside, b, 1.0), where(inside, x, 0.5))


beta_below = custom_jvp(_beta_value)


@functools.partial(beta_below.defjvp, symbolic_zeros=True)
def _beta_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    a, b, x = primals
    inside, (c, d, y) = _beta_inside(a, b, x)
    value = beta_below(a, b, x)
    total = zeros_like(x)
    if not isinstance(tangents[2], SymbolicZero):
        density = exp(_log_beta_density(c, d, y)) / (y * (1 - y))
        total = total + tangents[2] * where(inside, density, _beta_edge_density(a, b, x))
    tangent_values = [zeros_like(x) if isinstance(t, SymbolicZero) else t for t in tangents[:2]]
    if not all(isinstance(t, SymbolicZero) for t in tangents[:2]):
        slope = jvp(lambda c, d: _beta_sum(c, d, y), (c, d), tuple(tangent_values))[1]
        total = total + where(inside, slope, where(isnan(value), np.nan, 0.0))
    return value, total


def _beta_edge_density(a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of I in x where x is 0 or 1."""
    power, other_exponent = where(x == 0, a, b), where(x == 0, b, a)
    at_end = where(power < 1, np.inf, where(power > 1, 0.0, other_exponent))
    return where(((x == 0) | (x == 1)) & (a > 0) & (b > 0), at_end, np.nan)
