"""Discrete distributions, drawn from probabilities: `bernoulli`, `categorical` and others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, get_aval, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, DTypeError, IndexingError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.shape import reshape, transpose
from olympus_core.library.lax.sort import top_k
from olympus_core.library.promotion import broadcast_to, convert, promote_inexact
from olympus_core.library.random.continuous import gumbel_formula
from olympus_core.library.random.keys import KeyLike, one_key
from olympus_core.library.random.uniform import (
    constant,
    dtype_text,
    fit_shape,
    float_dtype,
    random_signs,
    result_shape,
    unit_floats,
)
from olympus_core.primitives.joining import unstack_p
from olympus_core.primitives.reduction import argmax_p


def bernoulli_bools(key: Any, p: Any, shape: Shape, dtype: DType, mode: str = "low") -> Array:
    """Return True where uniform floats of `dtype`, of two words in `mode` "high", are below p."""
    if shape_of(p):
        p = broadcast_to(p, shape)
    if mode == "low":
        return lax.lt(unit_floats(key, shape, dtype), p)
    high, low = unstack_p.bind(unit_floats(key, (2, *shape), dtype), axis=0)
    fine = lax.mul(low, constant(2.0 ** -int(dtypes.finfo(dtype).nmant), dtype))
    return lax.lt(fine, lax.sub(p, high))


@composite(static_argnames=("shape", "mode"))
def _bernoulli(key: Any, p: Any, shape: Shape, mode: str) -> Array:
    dtype = get_aval(p).dtype
    return bernoulli_bools(key, convert(p, dtype), shape, dtype, mode)


@out_sharded
def bernoulli(
    key: KeyLike,
    p: ArrayLike = 0.5,
    shape: ShapeLike | None = None,
    mode: str = "low",
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return bools that are True with probability p; by default of p's shape.

    `mode` "high" draws twice the bits, for tiny p.  Raises DTypeError for a p that is not a float.

    >>> bernoulli(key(0), 0.5, (2,)).dtype
    dtype('bool')
    """
    if mode not in ("low", "high"):
        raise ArgumentError(f"got {mode=}, expected 'high' or 'low' for bernoulli")
    words, aval = one_key("bernoulli", key), get_aval(p)
    if dtypes.kind(aval.dtype) != "f":
        raise DTypeError(
            "bernoulli probability `p` must have a floating dtype, got "
            f"{dtypes.long_name(aval.dtype)}"
        )
    return _bernoulli(words, p, shape=result_shape("bernoulli", shape, p), mode=mode)


_rademacher = composite(static_argnames=("shape", "dtype"))(random_signs)


@out_sharded
def rademacher(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """-1 or 1, with equal probability; the default dtype is the default integer.

    >>> abs(rademacher(key(0), (3,)))
    Array([1, 1, 1], dtype=int32)
    """
    words, shape = one_key("rademacher", key), result_shape("rademacher", shape)
    dtype = dtypes.requested("rademacher", dtype, dtypes.default_dtype("i"))
    return _rademacher(words, shape=shape, dtype=dtype)


@composite(static_argnames=("shape", "dtype"))
def _geometric(key: Any, p: Any, shape: Shape, dtype: DType) -> Array:
    (p,) = promote_inexact(p)
    own = get_aval(p).dtype
    u = unit_floats(key, shape, own)
    unit = constant(1, own)
    u = lax.select(lax.eq(u, constant(0, own)), broadcast_to(unit, shape), u)
    log_failure = lax.log1p(lax.neg(p))
    if shape_of(log_failure):
        log_failure = broadcast_to(log_failure, shape)
    tries = lax.add(lax.floor(lax.div(lax.log(u), log_failure)), unit)
    return convert(tries, dtype)


@out_sharded
def geometric(
    key: KeyLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Integers >= 1 of probability (1 - p)**(k - 1) * p: the number of tries to the first success.

    Raises ArgumentError (a ValueError) for a dtype that is not an integer.

    >>> geometric(key(0), 0.5, (2, 3)).shape
    (2, 3)
    """
    words, shape = one_key("geometric", key), result_shape("geometric", shape, p)
    return _geometric(words, p, shape=shape, dtype=integer_dtype("geometric", dtype))


def integer_dtype(name: str, dtype: DTypeLike | None) -> DType:
    """Return the dtype of samples, default integer by default; raise ArgumentError for others."""
    result = dtypes.requested(name, dtype, dtypes.default_dtype("i"))
    if dtypes.kind(result) not in "iu":
        raise ArgumentError(dtype_text(name, result, "iu"))
    return result


@composite(static_argnames=("shape", "axis", "mode"))
def _with_replacement(key: Any, logits: Any, shape: Shape, axis: int, mode: str | None) -> Array:
    """Return the index of the greatest logit after Gumbel noise; `axis` is negative."""
    aval = get_aval(logits)
    prefix, batch = shape[: len(shape) - aval.ndim + 1], shape[len(shape) - aval.ndim + 1 :]
    at = axis % aval.ndim
    full = (*prefix, *batch[:at], aval.shape[at], *batch[at:])
    noise = gumbel_formula(mode)(key, full, aval.dtype)
    noisy = lax.add(noise, broadcast_to(logits, full))
    dtype = dtypes.default_dtype("i")
    return argmax_p.bind(noisy, axes=(len(prefix) + at,), index_dtype=dtype)


@composite(static_argnames=("shape", "axis", "mode"))
def _without_replacement(key: Any, logits: Any, shape: Shape, axis: int, mode: str | None) -> Array:
    """Return the indices of the greatest logits after Gumbel noise."""
    aval = get_aval(logits)
    noisy = lax.add(gumbel_formula(mode)(key, aval.shape, aval.dtype), logits)
    at = axis % aval.ndim
    count = math.prod(shape[: len(shape) - aval.ndim + 1])
    if count > aval.shape[at]:
        raise ArgumentError(
            f"categorical: Number of samples without replacement ({count}) cannot exceed number of "
            f"categories ({aval.shape[at]})"
        )
    last = transpose(noisy, (*(i for i in range(aval.ndim) if i != at), at))
    _, indices = top_k(last, count)
    return reshape(indices, shape, (aval.ndim - 1, *range(aval.ndim - 1)))


@out_sharded
def categorical(
    key: KeyLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ShapeLike | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Indices along `axis`, with probabilities softmax(logits, axis), by the Gumbel-max trick.

    The result has the shape of `logits` without `axis`, or `shape`, which must end in one that
    matches it.  Without `replace`, the leading part of `shape` draws distinct indices.

    >>> int(categorical(key(0), numpy.array([0.0, 100.0])))
    1
    """
    words, aval = one_key("categorical", key), get_aval(logits)
    if not aval.shape or not -aval.ndim <= axis < aval.ndim:
        raise IndexingError(
            f"categorical: axis {axis} is out of bounds for an array of type {aval.long_name()}"
        )
    dtype = float_dtype("categorical", aval.dtype)
    batch = tuple(np.delete(aval.shape, axis).tolist())
    shape = fit_shape("categorical", batch if shape is None else shape, batch)
    sample = _with_replacement if replace else _without_replacement
    return sample(
        words, convert(logits, dtype), shape=shape, axis=axis % aval.ndim - aval.ndim, mode=mode
    )
