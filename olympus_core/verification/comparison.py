"""Two results of a program compared, with tolerances that rounding explains."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.verification.findings import Element, worst
from olympus_core.verification.floats import format_of, is_inexact, shares_digits, ulps
from olympus_core.verification.values import Array, TrackedValue, widened

#: steps of its own dtype that a result may differ by, however exact the runs happen to be
ULPS = 32.0
#: The allowed multiple of the spread of the three runs.
SPREAD = 16.0


class Tolerance(NamedTuple):
    """A user's tolerance: |got - expected| <= atol + rtol |expected|, or a number of `ulps`.

    If all three are None, the difference that `explained` returns is allowed.
    """

    rtol: float | None = None
    atol: float | None = None
    ulps: float | None = None

    @property
    def is_given(self) -> bool:
        """True if any of the three is given."""
        return any(x is not None for x in self)


class Comparison(NamedTuple):
    """The distance of a result from another: the number of wrong elements, and the worst of them.

    `error` is the largest absolute error of all elements. `ulps` is the largest distance in steps
    of the dtype of the elements with `shares_digits`; None if elements differ and none has it.
    `element` is the worst of the elements that differ by too much, or None.
    """

    size: int
    mismatches: int
    ulps: float | None
    error: float
    element: Element | None


def explained(value: TrackedValue) -> Array | float:
    """Return the difference that rounding explains, for each element of a value.

    It is 16 times the largest difference from float64 of three runs, plus 32 steps of the dtype.
    The runs are the program's own, operation by operation, and two with random rounding errors
    (Parker, Monte Carlo Arithmetic, 1997). Integers and bools must be equal.
    """
    if not is_inexact(value.dtype):
        return 0.0
    info = format_of(value.dtype)
    size = np.abs(np.nan_to_num(value.wide, posinf=0.0, neginf=0.0))
    steps_error: Array = 2 * ULPS * info.roundoff * size
    return steps_error + (SPREAD * value.spread() + 2 * info.floor)


def compare(
    got: Array, want: Array, allowed: Any, tolerance: Tolerance | None = None
) -> Comparison:
    """Compare two arrays of one shape; `want` may be wider than `got`.

    NaNs agree with NaNs and infinities with those of their sign; zeros of both signs are equal. A
    given `tolerance` replaces the `allowed` error.

    >>> compare(np.float32([1, 2]), np.float32([1, 2.5]), allowed=0.1).mismatches
    1
    >>> compare(np.float32([1, 2]), np.float32([1, 2.5]), 0.1, Tolerance(atol=1.0)).mismatches
    0
    """
    got, want = np.asarray(got), np.asarray(want)
    if not got.size:
        return Comparison(0, 0, 0.0, 0.0, None)
    with np.errstate(all="ignore"):
        steps = ulps(got, want.astype(got.dtype))
        wide_result, wide_expected = widened(got), widened(want)
        if dtypes.kind(got.dtype) in "biu":
            error = steps
            agree = got == want
        else:
            error = np.abs(wide_result - wide_expected)
            agree = (wide_result == wide_expected) | (
                np.isnan(wide_result) & np.isnan(wide_expected)
            )
            if tolerance is not None and tolerance.is_given:
                allowed = (tolerance.atol or 0.0) + (tolerance.rtol or 0.0) * np.abs(wide_expected)
                agree |= steps <= (tolerance.ulps if tolerance.ulps is not None else -1.0)
            agree |= error <= allowed
            agree |= _is_explained_overflow(got, wide_expected, allowed)
    finite = np.where(np.isfinite(error), error, np.where(agree, 0.0, math.inf))
    mismatches = int(agree.size - np.count_nonzero(agree))
    element = None
    if mismatches:
        ratio = finite / np.maximum(np.broadcast_to(allowed, got.shape), 1e-300)
        excess = np.where(agree, -1.0, np.nan_to_num(ratio, nan=math.inf, posinf=math.inf))
        element = worst(got, want, excess, allowed)
    far = _greatest(steps, shares_digits(got, want))
    return Comparison(int(got.size), mismatches, far, float(np.max(finite)), element)


def _greatest(steps: Array, useful: Array) -> float | None:
    """Return the most steps of the elements where they are `useful`; 0 if all elements agree."""
    counted = steps[useful & np.isfinite(steps)]
    if counted.size and (farthest := float(counted.max())):
        return farthest
    return None if steps[~useful].any() else 0.0


def _is_explained_overflow(result: Array, expected: Array, allowed: Any) -> Any:
    """Return True where a result is infinite and the other so large that rounding explains it."""
    info = format_of(result.dtype)
    return (
        np.isinf(widened(result))
        & (np.abs(expected) + allowed > info.largest)
        & np.isfinite(expected)
    )
