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
_ORDER = 5


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


def _error_ratio(error: Any, limits: _Limits, y0: Any, y1: Any) -> Any:
    tolerance = limits.atol + limits.rtol * maximum(abs_(y0), abs_(y1))
    ratio = error / tolerance.astype(y0.dtype)
    return sqrt(mean(_squared(ratio)))


def _squared(x: Any) -> Any:
    return real(x) ** 2 + imag(x) ** 2 if dtypes.kind(x.dtype) == "c" else x * x


def _next_step(dt: Any, ratio: Any) -> Any:
    """Return the length of the next step: up to 10 times, or down to a fifth of the last one."""
    least = where(ratio < 1, 1.0, 0.2)
    factor = minimum(10.0, maximum(ratio ** (-1.0 / _ORDER) * 0.9, least))
    return where(ratio == 0, dt * 10.0, dt * factor)


def _first_step(f: Any, t0: Any, y0: Any, limits: _Limits, slope: Any) -> Any:
    """Return the length of the first step, by Hairer's rule for a method of order 4."""
    dtype = y0.dtype
    scale = limits.atol + abs_(y0) * limits.rtol
    d0 = la_norm(y0 / scale.astype(dtype))
    d1 = la_norm(slope / scale.astype(dtype))
    h0 = where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    d2 = la_norm((f(y0 + h0.astype(dtype) * slope, t0 + h0) - slope) / scale.astype(dtype)) / h0
    is_flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    h1 = where(is_flat, maximum(1e-6, h0 * 1e-3), (0.01 / maximum(d1, d2)) ** (1.0 / _ORDER))
    return minimum(100.0 * h0, h1)


def _polynomial(y0: Any, y1: Any, middle: Any, slope0: Any, slope1: Any, dt: Any) -> Any:
    """Return the coefficients, highest first, of the quartic through three values and two slopes.

    Its argument is the share of the step.
    """
    d0, d1 = dt * slope0, dt * slope1
    a = -2 * d0 + 2 * d1 - 8 * y0 - 8 * y1 + 16 * middle
    b = 5 * d0 - 3 * d1 + 18 * y0 + 14 * y1 - 32 * middle
    c = -4 * d0 + d1 - 11 * y0 - 5 * y1 + 16 * middle
    return stack([a, b, c, d0, y0])


def _advanced(f: Any, limits: _Limits, state: _Step) -> _Step:
    """Return the state after a step, or the same one with a shorter step to try."""
    dt = state.dt.astype(state.y.dtype) if dtypes.kind(state.y.dtype) == "c" else state.dt
    y, slope, error, slopes = _runge_kutta(f, state.y, state.slope, state.t, dt)
    ratio = _error_ratio(error, limits, state.y, y)
    middle = state.y + dt * _weighted(_MIDDLE, slopes)
    fitted = _polynomial(state.y, y, middle, state.slope, slope, dt)
    following = clip(_next_step(state.dt, ratio), 0.0, limits.hmax).astype(state.dt.dtype)
    done = _Step(state.count + 1, y, slope, state.t + state.dt, following, state.t, fitted)
    again = state._replace(count=state.count + 1, dt=following)
    chosen: _Step = tree.map(lambda a, b: where(ratio <= 1, a, b).astype(b.dtype), done, again)
    return chosen


def _forward(f: Any, limits: _Limits, y0: Any, ts: Any) -> Any:
    """Return the values at times, the first of which has the value `y0`, a vector."""
    slope = f(y0, ts[0])
    first = clip(_first_step(f, ts[0], y0, limits, slope), 0.0, limits.hmax)
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

    def slopes(y: Any, t: Any) -> Any:
        return ravel_pytree(func(unravel(y), t, *args))[0].astype(flat.dtype)

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

    Raises DTypeError for args that are not arrays, or times that are not floats.

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
    operands = tree.map(asarray, args)
    converted, consts = closure_convert(func, start, times[0], *operands)
    limits = _Limits(rtol, atol, mxstep, hmax)
    return _solution(converted, limits, start, times, *operands, *consts)
