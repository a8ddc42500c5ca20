"""Normal samples, and samples of distributions that are computed from them.

A standard normal float is sqrt(2) * erf_inv(u) for u drawn evenly from (-1, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.annotations import stop_gradient
from olympus_core.library.promotion import broadcast_shapes
from olympus_core.library.random.draw import draw
from olympus_core.library.random.generators import subkeys
from olympus_core.library.random.keys import KeyLike
from olympus_core.library.random.uniform import (
    constant,
    random_signs,
    uniform_floats,
)
from olympus_core.primitives.reduction import reduce_sum_p

_ONE = np.float32(1.0)


def normal_floats(key: Any, shape: Shape, dtype: DType) -> Array:
    """Compute `normal`."""
    if dtypes.kind(dtype) == "c":
        return _normal_complex(key, shape, dtype)
    one = constant(1, dtype)
    least = np.nextafter(-one, constant(0, dtype))
    u = uniform_floats(key, shape, dtype, least, one)
    return lax.mul(constant(np.sqrt(2), dtype), lax.erf_inv(u))


def _normal_complex(key: Any, shape: Shape, dtype: DType) -> Array:
    real_dtype = dtypes.to_real(dtype)
    real, imag = (normal_floats(k, shape, real_dtype) for k in subkeys(key))
    return lax.div(lax.complex(real, imag), constant(np.sqrt(2), dtype))


@out_sharded
def normal(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of density exp(-x**2 / 2) / sqrt(2 * pi); complex ones have variance 1 too.

    Raises ArgumentError (a ValueError) for a dtype that is neither float nor complex.

    >>> normal(key(0), (2, 3)).shape
    (2, 3)
    """
    return draw("normal", normal_floats, key, shape, dtype, kinds="fc")


def _truncated(key: Any, lower: Any, upper: Any, shape: Shape, dtype: DType) -> Any:
    root = constant(np.sqrt(2), dtype)
    low, high = (lax.erf(lax.div(x, root)) for x in (lower, upper))
    x = lax.mul(root, lax.erf_inv(uniform_floats(key, shape, dtype, low, high)))
    infinity = constant(np.inf, dtype)
    lower, upper = stop_gradient((lower, upper))  # nextafter has no derivative
    smallest, largest = lax.nextafter(lower, infinity), lax.nextafter(upper, -infinity)
    return lax.min(lax.max(x, smallest), largest)


@out_sharded
def truncated_normal(
    key: KeyLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of the normal distribution conditioned on (lower, upper).

    >>> truncated_normal(key(0), -1.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    return draw("truncated_normal", _truncated, key, shape, dtype, lower, upper)


def _lognormal(key: Any, sigma: Any, shape: Shape, dtype: DType) -> Any:
    return lax.exp(lax.mul(normal_floats(key, shape, dtype), sigma))


@out_sharded
def lognormal(
    key: KeyLike,
    sigma: ArrayLike = _ONE,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """exp(sigma * x) for normal x.

    >>> lognormal(key(0), shape=(2, 3)).shape
    (2, 3)
    """
    return draw("lognormal", _lognormal, key, shape, dtype, sigma, kinds="fc")


def _maxwell(key: Any, shape: Shape, dtype: DType) -> Any:
    squares = lax.square(normal_floats(key, (*shape, 3), dtype))
    return lax.sqrt(reduce_sum_p.bind(squares, axes=(len(shape),)))


@out_sharded
def maxwell(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Floats >= 0 of density sqrt(2 / pi) * x**2 * exp(-x**2 / 2): lengths of normal vectors.

    >>> maxwell(key(0), (2, 3)).shape
    (2, 3)
    """
    return draw("maxwell", _maxwell, key, shape, dtype)


def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Shape, dtype: DType) -> Any:
    maxwell_key, sign_key = subkeys(key)
    signs = random_signs(sign_key, shape, dtype)
    signed = lax.mul(signs, _maxwell(maxwell_key, shape, dtype))
    return lax.add(lax.mul(signed, scale), loc)


def double_sided_maxwell(
    key: KeyLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Maxwell floats of either sign, times `scale`, plus `loc`.

    The result has the shape `shape` followed by that of the parameters.

    >>> double_sided_maxwell(key(0), 0.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    parameters = broadcast_shapes(shape_of(loc), shape_of(scale))
    full = (*(canonical_shape(shape) or parameters), *parameters)
    return draw("double_sided_maxwell", _double_sided_maxwell, key, full, dtype, loc, scale)
