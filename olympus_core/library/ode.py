"""`olympus.experimental.ode`: ordinary differential equations, with an adjoint derivative.

The steps are those of J. Dormand and P. Prince, "A family of embedded Runge-Kutta formulae" (1980),
with the value in the middle of a step by L. Shampine, "Some practical Runge-Kutta formulas" (1986).
The first step and the control of its size are those of E. Hairer, S. Norsett and G. Wanner,
"Solving Ordinary Differential Equations I", section II.4. The adjoint is that of R. Chen et al.,
"Neural ordinary differential equations" (2018).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.errors import DTypeError
from olympus_core.control.custom_vjp import custom_vjp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.flatten_util import ravel_pytree
from olympus_core.library.lax.control import scan, while_loop
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros, zeros_like
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.elementwise.complex import imag, real
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.linalg.norms import norm as la_norm
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.reductions.statistics import mean
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.ufuncs import maximum, minimum, negative
from olympus_core.transforms.autodiff import vjp
from olympus_core.transforms.closure import closure_convert
from olympus_core.transforms.vmapping import vmap

_ALPHA = np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
_BETA = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_VALUE = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0])
_ERROR = _VALUE - np.array(
    [1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60]
)
_MIDDLE = np.array([
    6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2,
])  # fmt: skip


class _Limits(NamedTuple):
    """The tolerances of a solution, the most steps and the longest one."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float


class _Step(NamedTuple):
    """The end of the last step: value, slope and time, the next step, the polynomial in it."""

    count: Any
    y: Any
    slope: Any
    t: Any
    dt: Any
    before: Any
    polynomial: Any


def _weighted(weights: Any, slopes: list[Any]) -> Any:
    terms = [w * k for w, k in zip(weights, slopes, strict=True) if w]
    return sum(terms[1:], terms[0])


def runge_kutta_step(
    func: Callable[[Any, Any], Any], y0: ArrayLike, f0: ArrayLike, t0: ArrayLike, dt: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """Return the results of one step of `odeint`, of the length `dt` from the time `t0`.

    func: the slope of a value and a time. y0: the value, a vector. f0: the slope at y0. The results
    are the value after the step, the slope there, the estimate of the error, three vectors of the
    shape of y0, and the slopes of the 7 stages, of shape (7, n).

    >>> y1, f1, error, slopes = runge_kutta_step(
    ...     lambda y, t: -y, array([1.0]), array([-1.0]), array(0.0), array(0.1))
    >>> y1
    Array([0.9048375], dtype=float32)
    """
    y, f, t, step = (asarray(x) for x in (y0, f0, t0, dt))
    y1, f1, error, slopes = _runge_kutta(func, y, f, t, step.astype(f.dtype))
    return y1, f1, error, stack(slopes)


def _runge_kutta(f: Any, y: Any, slope: Any, t: Any, dt: Any) -> tuple[Any, Any, Any, list[Any]]:
    """Return the value after a step, the slope there, the estimate of the error, all slopes."""
    slopes = [slope]
    for alpha, beta in zip(_ALPHA, _BETA, strict=True):
        slopes.append(f(y + dt * _weighted(beta, slopes), t + dt * alpha))
    return (
        dt * _weighted(_VALUE, slopes) + y,
        slopes[-1],
        dt * _weighted(_ERROR, slopes),
        slopes,
    )


def mean_error_ratio(
    error_estimate: ArrayLike, rtol: float, atol: float, y0: ArrayLike, y1: ArrayLike
) -> Array:
    """Return the root mean square of the error of a step, in units of its tolerance.

    error_estimate, y0, y1: the error, and the values before and after the step, of one shape.

    >>> mean_error_ratio(array([0.2]), 0.0, 0.1, array([1.0]), array([1.0]))
    Array(2., dtype=float32)
    """
    error = asarray(error_estimate)
    tolerance = atol + rtol * maximum(abs_(y0), abs_(y1))
    ratio = error / asarray(tolerance).astype(error.dtype)
    return sqrt(mean(abs2(ratio)))


def abs2(x: ArrayLike) -> Array:
    """Return the squares of the absolute values, real also for complex values.

    >>> abs2(3 + 4j)
    Array(25., dtype=float32, weak_type=True)
    """
    x = asarray(x)
    squared: Array = real(x) ** 2 + imag(x) ** 2 if dtypes.kind(x.dtype) == "c" else x**2
    return squared


def optimal_step_size(
    last_step: ArrayLike,
    mean_error_ratio: ArrayLike,
    safety: float = 0.9,
    ifactor: float = 10.0,
    dfactor: float = 0.2,
    order: float = 5.0,
) -> Array:
    """Return the length of the next step, for the `mean_error_ratio` of the last one.

    The step grows up to `ifactor` times, or shrinks down to `dfactor` times the last one; an
    accepted step does not shrink the next one.

    >>> optimal_step_size(0.1, 0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    ratio = asarray(mean_error_ratio)
    least = where(ratio < 1, 1.0, dfactor)
    factor = minimum(ifactor, maximum(ratio ** (-1.0 / order) * safety, least))
    return where(ratio == 0, last_step * ifactor, last_step * factor)


def initial_step_size(
    fun: Callable[[Any, Any], Any],
    t0: ArrayLike,
    y0: ArrayLike,
    order: float,
    rtol: float,
    atol: float,
    f0: ArrayLike,
) -> Array:
    """Return the length of the first step, by Hairer's rule for a method of an order.

    fun: the slope of a value and a time. t0, y0: the first time, and the value there, a vector. f0:
    the slope there.

    >>> initial_step_size(lambda y, t: -y, 0.0, array([1.0]), 4, 1e-3, 1e-3, array([-1.0]))
    Array(0.01, dtype=float32)
    """
    y, slope = asarray(y0), asarray(f0)
    dtype = y.dtype
    scale = atol + abs_(y) * rtol
    d0 = la_norm(y / scale.astype(dtype))
    d1 = la_norm(slope / scale.astype(dtype))
    h0 = where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    change = fun(y + h0.astype(dtype) * slope, t0 + h0) - slope
    d2 = la_norm(change / scale.astype(dtype)) / h0
    is_flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    h1 = where(is_flat, maximum(1e-6, h0 * 1e-3), (0.01 / maximum(d1, d2)) ** (1.0 / (order + 1.0)))
    return minimum(100.0 * h0, h1)


def fit_4th_order_polynomial(
    y0: ArrayLike,
    y1: ArrayLike,
    y_mid: ArrayLike,
    dy0: ArrayLike,
    dy1: ArrayLike,
    dt: ArrayLike,
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the coefficients, highest first, of the quartic through three values and two slopes.

    y0, y_mid, y1: the values at the start, in the middle and at the end of a step of length `dt`.
    dy0, dy1: the slopes at the start and at the end. The argument of the polynomial is the share of
    the step.

    >>> [float(x) for x in fit_4th_order_polynomial(0.0, 1.0, 0.5, 1.0, 1.0, 1.0)]
    [0.0, 0.0, 0.0, 1.0, 0.0]
    """
    start, end, middle = asarray(y0), asarray(y1), asarray(y_mid)
    step = asarray(dt).astype(start.dtype)
    d0, d1 = step * dy0, step * dy1
    a = -2.0 * d0 + 2.0 * d1 - 8.0 * start - 8.0 * end + 16.0 * middle
    b = 5.0 * d0 - 3.0 * d1 + 18.0 * start + 14.0 * end - 32.0 * middle
    c = -4.0 * d0 + d1 - 11.0 * start - 5.0 * end + 16.0 * middle
    return a, b, c, d0, start


def interp_fit_dopri(y0: ArrayLike, y1: ArrayLike, k: Any, dt: ArrayLike) -> Array:
    """Return the coefficients, highest first, of the quartic that interpolates a step of `odeint`.

    y0, y1: the values before and after the step of length `dt`, vectors. k: the slopes of its 7
    stages, as `runge_kutta_step` returns them. The result has the shape (5, n).

    >>> interp_fit_dopri(array([0.0]), array([1.0]), ones((7, 1)), 1.0).shape
    (5, 1)
    """
    start = asarray(y0)
    middle = start + asarray(dt).astype(start.dtype) * _weighted(_MIDDLE, list(k))
    return stack(fit_4th_order_polynomial(start, y1, middle, k[0], k[-1], dt))


def ravel_first_arg(
    f: Callable[..., Any], unravel: Callable[[Any], Any], debug_info: Any = None
) -> Callable[..., Array]:
    """Return `f` with a vector as its first argument, and as its result.

    unravel: the function from the vector to the tree that `f` takes. `debug_info` has no effect.

    >>> flat, unravel = flatten_util.ravel_pytree({"a": array([1.0]), "b": array([2.0])})
    >>> ravel_first_arg(lambda y: {"a": -y["a"], "b": y["b"]}, unravel)(flat)
    Array([-1.,  2.], dtype=float32)
    """

    def of_vector(y_flat: Any, *args: Any) -> Array:
        result: Array = ravel_pytree(f(unravel(y_flat), *args))[0]
        return result

    return of_vector


def _advanced(f: Any, limits: _Limits, state: _Step) -> _Step:
    """Return the state after a step, or the same one with a shorter step to try."""
    dt = state.dt.astype(state.y.dtype) if dtypes.kind(state.y.dtype) == "c" else state.dt
    y, slope, error, slopes = _runge_kutta(f, state.y, state.slope, state.t, dt)
    ratio = mean_error_ratio(error, limits.rtol, limits.atol, state.y, y)
    fitted = interp_fit_dopri(state.y, y, slopes, dt)
    following = clip(optimal_step_size(state.dt, ratio), 0.0, limits.hmax).astype(state.dt.dtype)
    done = _Step(state.count + 1, y, slope, state.t + state.dt, following, state.t, fitted)
    again = state._replace(count=state.count + 1, dt=following)
    chosen: _Step = tree.map(lambda a, b: where(ratio <= 1, a, b).astype(b.dtype), done, again)
    return chosen


def _forward(f: Any, limits: _Limits, y0: Any, ts: Any) -> Any:
    """Return the values at times, the first of which has the value `y0`, a vector."""
    slope = f(y0, ts[0])
    step = initial_step_size(f, ts[0], y0, 4, limits.rtol, limits.atol, slope)
    first = clip(step, 0.0, limits.hmax)
    start = _Step(
        *(asarray(0), y0, slope, ts[0], first.astype(ts.dtype), ts[0], stack([y0] * 5)),
    )

    def to_time(state: _Step, target: Any) -> tuple[_Step, Any]:
        end: _Step = while_loop(
            lambda s: (s.t < target) & (s.count < limits.mxstep) & (s.dt > 0),
            lambda s: _advanced(f, limits, s),
            state._replace(count=asarray(0)),
        )
        share = (target - end.before) / where(end.t == end.before, 1, end.t - end.before)
        value = end.polynomial[0]
        for coefficient in end.polynomial[1:]:
            value = value * share.astype(value.dtype) + coefficient
        return end, value

    _, ys = scan(to_time, start, ts[1:])
    return concatenate([y0[None], ys])


def _solve(func: Any, limits: _Limits, y0: Any, ts: Any, *args: Any) -> Any:
    flat, unravel = ravel_pytree(y0)

    of_vector = ravel_first_arg(func, unravel)

    def slopes(y: Any, t: Any) -> Any:
        return of_vector(y, t, *args).astype(flat.dtype)

    return vmap(unravel)(_forward(slopes, limits, flat, ts))


_solution = custom_vjp(_solve, nondiff_argnums=(0, 1))


def _solve_forward(func: Any, limits: _Limits, y0: Any, ts: Any, *args: Any) -> tuple[Any, Any]:
    ys = _solution(func, limits, y0, ts, *args)
    return ys, (ys, ts, args)


def _inner(x: Any, y: Any) -> Any:
    parts = zip(tree.leaves(x), tree.leaves(y), strict=True)
    return sum(sum_(a * b) for a, b in parts)


def _solve_backward(func: Any, limits: _Limits, saved: Any, cotangent: Any) -> Any:
    """Return the cotangents, by the adjoint equation from the last time to the first."""
    ys, ts, args = saved

    def adjoint(augmented: Any, t: Any, *args: Any) -> Any:
        y, y_bar, _, _ = augmented
        slope, pullback = vjp(func, y, -t, *args)
        y_dot, t_dot, *args_dot = pullback(y_bar)
        return tree.map(negative, slope), y_dot, t_dot, tuple(args_dot)

    def at(trees: Any, i: Any) -> Any:
        return tree.map(lambda x: x[i], trees)

    def back(carry: Any, i: Any) -> Any:
        y_bar, t0_bar, args_bar = carry
        g = at(cotangent, i)
        t_bar = _inner(func(at(ys, i), ts[i], *args), g).astype(ts.dtype)
        start = (at(ys, i), y_bar, t0_bar - t_bar, args_bar)
        times = stack([-ts[i], -ts[i - 1]])
        end = at(_solution(adjoint, limits, start, times, *args), 1)
        y_bar = tree.map(operator.add, end[1], at(cotangent, i - 1))
        return (y_bar, end[2], end[3]), t_bar

    zero = (at(cotangent, -1), zeros((), ts.dtype), tree.map(zeros_like, args))
    order = arange(ts.shape[0] - 1, 0, -1)
    (y_bar, t0_bar, args_bar), times_bar = scan(back, zero, order)
    return (y_bar, concatenate([t0_bar[None], times_bar[::-1]]), *args_bar)


_solution.defvjp(_solve_forward, _solve_backward)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: ArrayLike,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """Return the solution of dy/dt = func(y, t, *args) at the times `t`, from y0 at t[0].

    func: a function that returns a tree like y. y0: an array, or a tree of arrays. t: a vector of
    increasing floats. args: more arguments, trees of arrays. rtol, atol: the tolerances of the
    error of a step. mxstep: the most steps between two times. hmax: the longest step.

    The result is y0's tree, with a new first axis for the times. It has reverse derivatives in y0,
    t, args and the values that `func` closes over, which solve the adjoint equation.

    Raises DTypeError for args that are not arrays, or times or a y0 that are not floats.

    >>> odeint(lambda y, t: -y, array(1.0), array([0.0, 1.0, 2.0]))
    Array([1.        , 0.36787933, 0.13533524], dtype=float32)
    """
    for leaf in tree.leaves(args):
        if not isinstance(leaf, (Array, np.ndarray, np.generic, bool, int, float, complex)):
            raise DTypeError(
                "The contents of odeint *args must be arrays or scalars, but got "
                f"{type(leaf).__name__}: {leaf}"
            )
    times = asarray(t)
    if dtypes.kind(times.dtype) != "f":
        raise DTypeError(f"t must be an array of floats, but got {times.dtype.name}")
    start = tree.map(asarray, y0)
    for leaf in tree.leaves(start):
        if dtypes.kind(leaf.dtype) not in "fc":
            raise DTypeError(f"y0 must be arrays of floats, but got {leaf.dtype.name}")
    operands = tree.map(asarray, args)
    converted, consts = closure_convert(func, start, times[0], *operands)
    limits = _Limits(rtol, atol, mxstep, hmax)
    return _solution(converted, limits, start, times, *operands, *consts)
