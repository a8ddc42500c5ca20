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
    rule: Rule, call: Call, expected: Sequence[Array], place: int, result: Array
) -> tuple[Array, Any] | None:
    """Return the excess error of result number `place` over the reference, and the allowed error.

    Return None if all elements agree. Integers and bools agree if they are equal. Floats agree
    within the rule's error, two roundings, and the hardware's treatment of numbers near zero.
    """
    reference = np.asarray(expected[place])
    if not is_inexact(result.dtype):
        excess = _exact_excess(result, reference)
        allowed: Any = 0.0
    else:
        info = format_of(result.dtype)
        close = _excess(
            result, reference, 2 * info.roundoff * np.abs(reference) + 2 * info.floor, info
        )
        if not close.any():
            return None
        errors = rule.error(call, expected, info.roundoff) if rule.error else [0.0] * len(expected)
        allowed = _allowed(errors[place], reference, info)
        excess = _excess(result, reference, allowed, info)
    if excess.any() and _has_subnormals(call):
        excess = np.minimum(excess, _flushed_excess(rule, call, place, result, allowed))
    return (excess, allowed) if excess.any() else None


def _allowed(error: Any, reference: Array, info: Format) -> Any:
    roundings = 2 * info.roundoff * np.abs(reference) + 2 * info.floor
    return np.nan_to_num(np.asarray(error) + roundings, nan=0.0, posinf=math.inf)


def _exact_excess(result: Array, reference: Array) -> Array:
    return np.asarray(result != reference).astype(np.float64)


def _excess(result: Array, reference: Array, allowed: Any, info: Format) -> Array:
    """Return the error of each element beyond the allowed one; infinite for a wrong NaN or inf."""
    value = widened(result)
    error = np.abs(value - reference)
    agree = (value == reference) | (np.isnan(value) & np.isnan(reference)) | (error <= allowed)
    # it is rounded to infinity, or is the largest number
    beyond = np.abs(reference) + allowed > info.largest
    agree |= beyond & (np.isinf(value) | (np.abs(value) >= info.largest * (1 - 4 * info.roundoff)))
    agree |= (np.isnan(value) & beyond) if np.iscomplexobj(value) else False
    if result.dtype.kind != "c" and not _has_infinity(result.dtype):
        agree |= beyond & np.isnan(value)
    excess = np.where(agree, 0.0, np.where(np.isfinite(error), error - allowed, math.inf))
    return np.asarray(np.nan_to_num(excess, nan=math.inf, posinf=math.inf))


def _has_infinity(dtype: np.dtype[Any]) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.asarray(np.inf).astype(dtype)))


def _has_subnormals(call: Call) -> bool:
    return any(
        is_inexact(x.dtype)
        and bool(np.any((x != 0) & (np.abs(widened(x)) < format_of(x.dtype).normal)))
        for x in call.natives
    )


def _flushed_excess(rule: Rule, call: Call, place: int, result: Array, allowed: Any) -> Array:
    """Return the excess if subnormal operands are flushed to zero, as the hardware may do."""
    operands = [
        np.where(np.abs(wide) < format_of(x.dtype).normal, 0 * wide, wide)
        if is_inexact(x.dtype)
        else wide
        for x, wide in zip(call.natives, call.operands, strict=True)
    ]
    reference = np.asarray(rule.value(call._replace(operands=operands))[place])
    if not is_inexact(result.dtype):
        return _exact_excess(result, reference)
    return _excess(result, reference, allowed, format_of(result.dtype))


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
