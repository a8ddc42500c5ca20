"""Binomial and multinomial samples: by sums of geometric variables, or for many by rejection."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.avals import Shape, get_aval, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import scan, while_loop
from olympus_core.library.lax.reduction import cumsum
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.sums import any as any_of
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import broadcast_to, convert, promote_inexact, vary_together
from olympus_core.library.random.generators import random_split, subkeys
from olympus_core.library.random.keys import KeyLike, one_key
from olympus_core.library.random.uniform import (
    fit_shape,
    float_dtype,
    result_shape,
    unit_floats,
)

# log(k!) less its Stirling approximation, for k from 0 to 9
_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: Any) -> Any:
    """log(k!) less its Stirling approximation: from a table, above 9 by the series."""
    next_k = clip(k, 0.0, 9.0) + 1
    square = next_k * next_k
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / next_k
    table = asarray(np.asarray(_STIRLING_TAIL, k.dtype))
    at = table.at[convert(lax.floor(clip(k, 0.0, 9.0)), np.dtype("int32"))]
    exact = at.get(mode="promise_in_bounds", wrap_negative_indices=False)
    return lax.select(k <= 9, exact, series)


def _inversion(key: Any, count: Any, p: Any, shape: Shape) -> Any:
    """Return the number of successes in `count` tries, as sums of geometric variables."""
    log_failure, own = lax.log1p(-p), p.dtype

    def continues(state: Any) -> Any:
        key, successes, tries = state
        draw_key, key = subkeys(key)
        successes = lax.select(tries <= count, successes + 1, successes)
        step = lax.ceil(lax.log(unit_floats(draw_key, shape, own)) / log_failure)
        return key, successes, tries + step

    zeros = full(shape, 0, own)
    start = vary_together((key, zeros, zeros), count, p)
    return while_loop(lambda s: any_of(s[2] <= count), continues, start)[1] - 1


def _rejection(key: Any, count: Any, p: Any, shape: Shape) -> Any:
    """Draw by Hormann's BTRS: "The generation of binomial random variates" (1993)."""
    own, failure = p.dtype, 1 - p
    deviation = lax.sqrt(count * p * failure)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre, odds = count * p + 0.5, p / failure
    v_r, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
    mode = lax.floor((count + 1) * p)

    def bound(k: Any) -> Any:
        """Return the logarithm of k's probability over the mode's."""
        rest, rest_mode = count - k + 1, count - mode + 1
        return (
            (mode + 0.5) * lax.log((mode + 1) / (odds * rest_mode))
            + (count + 1) * lax.log(rest_mode / rest)
            + (k + 0.5) * lax.log(odds * rest / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )

    def continues(state: Any) -> Any:
        key, result, is_done = state
        key, u_key, v_key = subkeys(key, 3)
        u, v = unit_floats(u_key, shape, own) - 0.5, unit_floats(v_key, shape, own)
        us = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / us + b) * u + centre)
        log_v = lax.log(v * alpha / (a / (us * us) + b))
        is_outside = (k < 0) | (k > count)
        accept = ((us >= 0.07) & (v <= v_r)) | (~is_outside & (log_v <= bound(k)))
        return key, lax.select(accept, k, result), is_done | accept

    start = (key, full(shape, -1, own), full(shape, False, np.dtype("bool")))
    return while_loop(lambda s: any_of(~s[2]), continues, vary_together(start, count, p))[1]


@composite(static_argnames=("shape", "dtype"))
def _binomial(key: Any, n: Any, p: Any, shape: Shape, dtype: DType) -> Array:
    (p,) = promote_inexact(p)
    own = get_aval(p).dtype
    p, n = broadcast_to(p, shape), broadcast_to(convert(n, own), shape)
    is_rare = p < 0.5
    q = lax.select(is_rare, p, 1 - p)  # swap success and failure, so that the successes are rare
    is_no_chance, is_no_count = lax.ne(q, q) | (q < 0), lax.ne(n, n) | (n < 0)
    is_endless = lax.eq(lax.abs(n), np.asarray(np.inf, own)[()])
    q = where(is_no_chance, 0.01, q)
    is_small, count = is_no_count | (n * q <= 10), lax.floor(n)
    small = _inversion(key, where(is_small, count, 0), q, shape)
    large = _rejection(key, where(is_small, 1e4, count), where(is_small, 0.5, q), shape)
    samples = convert(lax.select(is_small, small, large), dtype)
    is_invalid = is_no_chance | is_no_count
    samples = where(is_invalid, np.nan, where(is_endless, np.inf, samples))
    is_direct = is_rare | is_no_count | lax.ne(p, p) | is_endless
    return lax.select(is_direct, samples, convert(count, dtype) - samples)


def binomial(
    key: KeyLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return floats with whole values: the number of successes among n tries of probability p.

    The result for an invalid n or p is NaN.  Raises ArgumentError (a ValueError) for a dtype that
    is not a float.

    >>> binomial(key(0), 10, 0.5, (2, 3)).shape
    (2, 3)
    """
    words, shape = one_key("binomial", key), result_shape("binomial", shape, n, p)
    return _binomial(words, n, p, shape=shape, dtype=float_dtype("binomial", dtype))


@composite(static_argnames=("shape", "dtype", "unroll"))
def _multinomial(key: Any, n: Any, p: Any, shape: Shape, dtype: DType, unroll: int | bool) -> Array:
    n, p = promote_inexact(n, p)
    *batch, outcomes = shape
    chances = moveaxis(broadcast_to(p, shape), -1, 0)
    remaining_chance = cumsum(chances, 0, reverse=True)
    ratios = clip(chances / where(remaining_chance == 0, 1, remaining_chance), 0, 1)

    def draw(remaining_trials: Any, step: Any) -> tuple[Any, Any]:
        ratio, key = step
        count = _binomial(
            key, remaining_trials, ratio, shape=tuple(batch), dtype=remaining_trials.dtype
        )
        return remaining_trials - count, count

    keys = random_split(key, (outcomes,))
    _, counts = scan(draw, broadcast_to(n, tuple(batch)), (ratios, keys), unroll=unroll)
    return convert(moveaxis(counts, 0, -1), dtype)


def multinomial(
    key: KeyLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Return floats with whole values: the counts of the outcomes of n draws with probabilities p.

    The outcomes are along the last axis of p, and of the result; `shape` is the shape of the
    result, by default p's, and n broadcasts to it without its last axis.  `unroll` is that of the
    `lax.scan` over the outcomes.  Raises ShapeError for parameters that do not match, ArgumentError
    (a ValueError) for a dtype that is not a float.

    >>> multinomial(key(0), 10, array([0.5, 0.5])).sum()
    Array(10., dtype=float32)
    """
    words, chances = one_key("multinomial", key), shape_of(p)
    if not chances:
        raise ShapeError("multinomial: axis -1 is out of bounds for array of dimension 0, p")
    shape = fit_shape("multinomial", chances if shape is None else shape, chances)
    fit_shape("multinomial", shape[:-1], shape_of(n))
    target_dtype = float_dtype("multinomial", dtype)
    return _multinomial(words, n, p, shape=shape, dtype=target_dtype, unroll=unroll)
