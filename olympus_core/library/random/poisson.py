"""Poisson samples: by counting products of uniform variables, or for a large rate by rejection."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.avals import Shape
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import while_loop
from olympus_core.library.numpy.creation.fills import full
from olympus_core.library.numpy.reductions.sums import any as any_of
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import broadcast_to, convert, vary_together
from olympus_core.library.random.discrete import integer_dtype
from olympus_core.library.random.generators import subkeys
from olympus_core.library.random.keys import KeyArray, KeyLike, one_key
from olympus_core.library.random.uniform import result_shape, unit_floats

FLOAT32 = np.dtype("float32")


def _knuth(key: Any, lam: Any, shape: Shape, dtype: DType) -> Any:
    """Return the number, minus one, of uniform variables whose product falls below exp(-lam).

    Knuth, "The Art of Computer Programming", volume 2, 3.4.1.
    """

    def continues(state: Any) -> Any:
        key, k, log_product = state
        key, u_key = subkeys(key)
        k = lax.select(log_product > -lam, k + 1, k)
        return key, k, log_product + lax.log(unit_floats(u_key, shape, FLOAT32))

    start = (key, full(shape, 0, dtype), full(shape, 0, FLOAT32))
    return while_loop(lambda s: any_of(s[2] > -lam), continues, vary_together(start, lam))[1] - 1


def _rejection(key: Any, lam: Any, shape: Shape, dtype: DType) -> Any:
    """Draw by rejection.

    Hormann, "The transformed rejection method for generating Poisson random variables", 1993.
    """
    log_lam, own = lax.log(lam), lam.dtype
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha, v_r = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)

    def continues(state: Any) -> Any:
        key, result, is_done = state
        key, u_key, v_key = subkeys(key, 3)
        u = unit_floats(u_key, shape, own) - 0.5
        v = unit_floats(v_key, shape, own)
        us = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / us + b) * u + lam + 0.43)
        s = lax.log(v * inverse_alpha / (a / (us * us) + b))
        t = -lam + k * log_lam - lax.lgamma(k + 1)
        is_outside = (k < 0) | ((us < 0.013) & (v > us))
        accept = ((us >= 0.07) & (v <= v_r)) | (~is_outside & (s <= t))
        return key, lax.select(accept, k, result), is_done | accept

    start = (key, full(shape, -1, own), full(shape, False, np.dtype("bool")))
    return convert(
        while_loop(lambda s: any_of(~s[2]), continues, vary_together(start, lam))[1], dtype
    )


@composite(static_argnames=("shape", "dtype"))
def _poisson(key: Any, lam: Any, shape: Shape, dtype: DType) -> Array:
    lam = broadcast_to(convert(lam, FLOAT32), shape)
    is_small = lax.ne(lam, lam) | (lam < 10)
    small = _knuth(key, where(is_small, lam, 0.0), shape, dtype)
    large = _rejection(key, where(is_small, 1e5, lam), shape, dtype)
    return where(lam == 0, 0, lax.select(is_small, small, large))


@out_sharded
def poisson(
    key: KeyLike,
    lam: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return integers >= 0 of probability lam**k * exp(-lam) / k!, for lam >= 0.

    Raises ArgumentError (a ValueError) for a dtype that is not an integer, and UnsupportedError
    for a key of another implementation than threefry2x32, as in JAX.

    >>> poisson(key(0), array([1.0, 2.0])).shape
    (2,)
    """
    words, shape = one_key("poisson", key), result_shape("poisson", shape, lam)
    if words.__class__ is KeyArray:
        raise UnsupportedError(
            f"`poisson` is only implemented for the threefry2x32 RNG, not {words.impl}"
        )
    return _poisson(words, lam, shape=shape, dtype=integer_dtype("poisson", dtype))
