"""The allowed distance of a result from the reference, and the size of a rounding error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.verification.floats import Format, format_of, is_inexact
from olympus_core.verification.reference import Call, Rule
from olympus_core.verification.values import Array, TrackedValue, widened


def disagreement(
    rule: Rule, call: Call, expected: Sequence[Array], place: int, got: Array
) -> tuple[Array, Any] | None:
    """Return the excess error of result number `place` over the reference, and the allowed error.

    Return None if all elements agree. Integers and bools agree if they are equal. Floats agree
    within the rule's error, two roundings, and the hardware's treatment of numbers near zero.
    """
    want = np.asarray(expected[place])
    if not is_inexact(got.dtype):
        excess = _exact_excess(got, want)
        allowed: Any = 0.0
    else:
        info = format_of(got.dtype)
        close = _excess(got, want, 2 * info.roundoff * np.abs(want) + 2 * info.floor, info)
        if not close.any():
            return None
        errors = rule.error(call, expected, info.roundoff) if rule.error else [0.0] * len(expected)
        allowed = _allowed(errors[place], want, info)
        excess = _excess(got, want, allowed, info)
    if excess.any() and _has_subnormals(call):
        excess = np.minimum(excess, _flushed_excess(rule, call, place, got, allowed))
    return (excess, allowed) if excess.any() else None


def _allowed(error: Any, want: Array, info: Format) -> Any:
    own = 2 * info.roundoff * np.abs(want) + 2 * info.floor
    return np.nan_to_num(np.asarray(error) + own, nan=0.0, posinf=math.inf)


def _exact_excess(got: Array, want: Array) -> Array:
    return np.asarray(got != want).astype(np.float64)


def _excess(got: Array, want: Array, allowed: Any, info: Format) -> Array:
    """Return the error of each element beyond the allowed one; infinite for a wrong NaN or inf."""
    own = widened(got)
    error = np.abs(own - want)
    agree = (own == want) | (np.isnan(own) & np.isnan(want)) | (error <= allowed)
    # it is rounded to infinity, or is the largest number
    beyond = np.abs(want) + allowed > info.largest
    agree |= beyond & (np.isinf(own) | (np.abs(own) >= info.largest * (1 - 4 * info.roundoff)))
    agree |= (np.isnan(own) & beyond) if np.iscomplexobj(own) else False
    if got.dtype.kind != "c" and not _has_infinity(got.dtype):
        agree |= beyond & np.isnan(own)
    found = np.where(agree, 0.0, np.where(np.isfinite(error), error - allowed, math.inf))
    return np.asarray(np.nan_to_num(found, nan=math.inf, posinf=math.inf))


def _has_infinity(dtype: np.dtype[Any]) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.asarray(np.inf).astype(dtype)))


def _has_subnormals(call: Call) -> bool:
    return any(
        is_inexact(x.dtype)
        and bool(np.any((x != 0) & (np.abs(widened(x)) < format_of(x.dtype).normal)))
        for x in call.natives
    )


def _flushed_excess(rule: Rule, call: Call, place: int, got: Array, allowed: Any) -> Array:
    """Return the excess if subnormal operands are flushed to zero, as the hardware may do."""
    operands = [
        np.where(np.abs(wide) < format_of(x.dtype).normal, 0 * wide, wide)
        if is_inexact(x.dtype)
        else wide
        for x, wide in zip(call.natives, call.operands, strict=True)
    ]
    want = np.asarray(rule.value(call._replace(operands=operands))[place])
    if not is_inexact(got.dtype):
        return _exact_excess(got, want)
    return _excess(got, want, allowed, format_of(got.dtype))


def noise_scale(
    rule: Rule | None, call: Call, values: Sequence[TrackedValue], result: Array
) -> Any:
    """Return the factor of a unit roundoff in the random error of an operation.

    A rounding has an error of u times the result. The roundings of a sum of n terms are assumed
    independent, so that their error grows with the root of n (Higham and Mary, SIAM Journal on
    Scientific Computing 41, 2019), in units of the partial sums.
    """
    if rule is not None and not rule.sums:
        return 2 * np.abs(result)
    if rule is None:
        return 8 * _rms(result)
    terms = rule.terms(call)
    factors = [_rms(v.wide) for v in values if is_inexact(v.dtype)]
    typical = math.prod(factors) if rule.products else max(factors, default=0.0)
    return np.abs(result) + math.sqrt(terms) * max(_rms(result), math.sqrt(terms) * typical)


def _rms(x: Array) -> float:
    finite = np.abs(x[np.isfinite(x)])
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
