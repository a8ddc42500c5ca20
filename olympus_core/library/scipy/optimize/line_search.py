"""A step along a direction that meets the strong Wolfe conditions.

The algorithm is that of J. Nocedal and S. Wright, "Numerical Optimization" (2006), algorithms 3.5
(bracket) and 3.6 (zoom), with cubic and quadratic interpolation within the bracket.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from olympus_core.base import dtypes, tree
from olympus_core.library.lax.control import while_loop
from olympus_core.library.lax.dot import Precision
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones_like, zeros, zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import sign
from olympus_core.library.numpy.elementwise.complex import real
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.products.matmul import dot
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.ufuncs import maximum, minimum
from olympus_core.transforms.autodiff import value_and_grad

#: the factors of the conditions of sufficient decrease, and of curvature
_DECREASE, _CURVATURE = 1e-4, 0.9
#: the distances from the ends of a bracket, as shares of it, of an interpolated step
_CUBIC_MARGIN, _QUADRATIC_MARGIN = 0.2, 0.1
_MOST_ZOOMS = 30


class Point(NamedTuple):
    """A step `a`, the value of the function there, its slope along the direction, its gradient."""

    a: Any
    value: Any
    slope: Any
    gradient: Any


class LineSearchResults(NamedTuple):
    """The step `a_k`, the value and gradient there, and the counts of evaluations.

    status: 0 for success, 1 if the bracket became too small, 3 after `maxiter` steps.
    """

    failed: Any
    nit: Any
    nfev: Any
    ngev: Any
    k: Any
    a_k: Any
    f_k: Any
    g_k: Any
    status: Any


class _Line(NamedTuple):
    """The function along the direction, and the conditions on a step."""

    at: Callable[[Any], Point]
    start: Point

    def is_too_high(self, p: Point) -> Any:
        return p.value > self.start.value + _DECREASE * p.a * self.start.slope

    def is_flat(self, p: Point) -> Any:
        return abs_(p.slope) <= -_CURVATURE * self.start.slope


class _Zoom(NamedTuple):
    """A bracket from `low`, the better end, to `high`, and the last point that was replaced."""

    done: Any
    failed: Any
    count: Any
    low: Point
    high: Point
    last: Point
    best: Point


def choose(condition: Any, one: Any, other: Any) -> Any:
    """Return the tree `one` where a scalar condition is true, else the tree `other`."""
    return tree.map(lambda x, y: where(condition, x, y), one, other)


def _cubic_step(low: Point, high: Point, last: Point) -> Any:
    """Return the minimum of the cubic through a value and slope and two more values."""
    b, c = high.a - low.a, last.a - low.a
    rise_b = high.value - low.value - low.slope * b
    rise_c = last.value - low.value - low.slope * c
    scale = (b * c) ** 2 * (b - c)
    cubic = (c**2 * rise_b - b**2 * rise_c) / scale
    square = (b**3 * rise_c - c**3 * rise_b) / scale
    return low.a + (-square + sqrt(square * square - 3 * cubic * low.slope)) / (3 * cubic)


def _quadratic_step(low: Point, high: Point) -> Any:
    b = high.a - low.a
    return low.a - low.slope / (2 * (high.value - low.value - low.slope * b) / b**2)


def _next_step(z: _Zoom) -> Any:
    """Return the step to try within the bracket."""
    width = z.high.a - z.low.a
    left, right = minimum(z.low.a, z.high.a), maximum(z.low.a, z.high.a)
    cubic, quadratic = _cubic_step(z.low, z.high, z.last), _quadratic_step(z.low, z.high)

    def is_inside(step: Any, margin: float) -> Any:
        return (step > left + margin * width) & (step < right - margin * width)

    fallback = where(is_inside(quadratic, _QUADRATIC_MARGIN), quadratic, (z.low.a + z.high.a) / 2)
    return where((z.count > 0) & is_inside(cubic, _CUBIC_MARGIN), cubic, fallback)


def _zoom_step(line: _Line, z: _Zoom) -> _Zoom:
    width = z.high.a - z.low.a
    least = 1e-5 if dtypes.finfo(width.dtype).bits < 64 else 1e-10
    p = line.at(_next_step(z))
    is_worse = line.is_too_high(p) | (p.value >= z.low.value)
    is_best = ~is_worse & line.is_flat(p)
    turns = ~is_worse & ~is_best & (p.slope * width >= 0)
    last = choose(is_worse | turns, z.high, z.low)
    high = choose(is_worse, p, choose(turns, z.low, z.high))
    return _Zoom(
        done=z.done | is_best,
        failed=z.failed | (width <= least) | (z.count + 1 >= _MOST_ZOOMS),
        count=z.count + 1,
        low=choose(is_worse | is_best, z.low, p),
        high=choose(is_best, z.high, high),
        last=choose(is_best, z.last, last),
        best=choose(is_best, p, z.best),
    )


def _zoomed(line: _Line, low: Point, high: Point, is_needed: Any) -> _Zoom:
    """Return the zoom into a bracket, which does nothing unless it is needed."""
    middle = Point((low.a + high.a) / 2, (low.value + high.value) / 2, low.slope, low.gradient)
    no = zeros((), bool)
    best = Point(ones_like(low.a), low.value, low.slope, line.start.gradient)
    start = _Zoom(no, no, asarray(0), low, high, middle, best)
    found: _Zoom = while_loop(
        lambda z: ~z.done & ~z.failed & is_needed, lambda z: _zoom_step(line, z), start
    )
    return found


class _Bracket(NamedTuple):
    """The state of the search for a bracket."""

    done: Any
    failed: Any
    count: Any
    evaluations: Any
    previous: Point
    best: Point


def _bracket_step(line: _Line, first: Any, b: _Bracket) -> _Bracket:
    p = line.at(where(b.count == 1, first, b.previous.a * 2))
    is_past = line.is_too_high(p) | ((p.value >= b.previous.value) & (b.count > 1))
    is_best = ~is_past & line.is_flat(p)
    rises = ~is_past & ~is_best & (p.slope >= 0)
    z = _zoomed(
        line, choose(is_past, b.previous, p), choose(is_past, p, b.previous), is_past | rises
    )
    return _Bracket(
        done=b.done | is_past | is_best | rises,
        failed=b.failed | ((is_past | rises) & z.failed),
        count=b.count + 1,
        evaluations=b.evaluations + 1 + z.count,
        previous=p,
        best=choose(is_past | rises, z.best, choose(is_best, p, b.best)),
    )


def line_search(
    f: Callable[[Any], Any],
    xk: Any,
    pk: Any,
    old_fval: Any,
    old_old_fval: Any | None,
    gfk: Any,
    maxiter: int = 20,
) -> LineSearchResults:
    """Return a step from `xk` along `pk`; old_fval and gfk are the value and gradient at xk.

    old_old_fval: the value before, from which the first step is estimated, or None for 1.
    """
    slope = real(dot(gfk, pk, precision=Precision.HIGHEST))

    def at(a: Any) -> Point:
        a = a.astype(slope.dtype)
        value, gradient = value_and_grad(f)(xk + a * pk)
        along = real(dot(gradient, pk, precision=Precision.HIGHEST))
        return Point(
            *(a, value.astype(old_fval.dtype), along.astype(slope.dtype)),
            gradient.astype(gfk.dtype),
        )

    first = ones_like(slope)
    if old_old_fval is not None:
        estimate = 1.01 * 2 * (old_fval - old_old_fval) / slope
        first = where(estimate > 1, 1.0, estimate).astype(slope.dtype)
    start = Point(zeros_like(slope), old_fval, slope, gfk)
    line, no = _Line(at, start), zeros((), bool)
    one = asarray(1)
    b: _Bracket = while_loop(
        lambda b: ~b.done & ~b.failed & (b.count <= maxiter),
        lambda b: _bracket_step(line, first, b),
        _Bracket(no, no, one, one - 1, start, start),
    )
    status = where(b.failed, 1, where(b.count > maxiter, 3, 0))
    step = b.best.a
    if dtypes.finfo(step.dtype).bits < 64:  # a step that changes x also in single precision
        step = where(abs_(step) < 1e-8, sign(step) * 1e-8, step).astype(step.dtype)
    return LineSearchResults(
        *(b.failed | ~b.done, b.count - 1, b.evaluations, b.evaluations, b.count),
        *(step, b.best.value, b.best.gradient, status),
    )
