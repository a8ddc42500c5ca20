"""Continuous distributions drawn by a formula of one uniform or normal variable.

Samples of a distribution with a scale and a location come from the standard one by scaling.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.promotion import broadcast_shapes
from olympus_core.library.random.draw import draw
from olympus_core.library.random.generators import subkeys
from olympus_core.library.random.keys import KeyLike
from olympus_core.library.random.normal import normal_floats
from olympus_core.library.random.uniform import constant, uniform_floats, unit_floats
from olympus_core.primitives.joining import unstack_p


def exponential_floats(key: Any, shape: Shape, dtype: DType) -> Array:
    """Compute `exponential` as -log(1 - u), as u can be 0 and cannot be 1."""
    return lax.neg(lax.log1p(lax.neg(unit_floats(key, shape, dtype))))


@out_sharded
def exponential(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats >= 0 of density exp(-x), as an array of shape `shape`.

    Raises ArgumentError (a ValueError) for a dtype that is not a float.

    >>> exponential(key(0), (2, 3)).shape
    (2, 3)
    """
    return draw("exponential", exponential_floats, key, shape, dtype)


def _laplace(key: Any, shape: Shape, dtype: DType) -> Any:
    least = constant(-1.0 + float(dtypes.finfo(dtype).epsneg), dtype)
    u = uniform_floats(key, shape, dtype, least, 1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@out_sharded
def laplace(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of density exp(-|x|) / 2, as an array of shape `shape`.

    Raises ArgumentError (a ValueError) for a dtype that is not a float.

    >>> laplace(key(0), (2, 3)).shape
    (2, 3)
    """
    return draw("laplace", _laplace, key, shape, dtype)


def _above_zero(key: Any, shape: Shape, dtype: DType, least: str) -> Any:
    return uniform_floats(key, shape, dtype, constant(getattr(dtypes.finfo(dtype), least), dtype))


def _logistic(key: Any, shape: Shape, dtype: DType) -> Any:
    u = _above_zero(key, shape, dtype, "tiny")
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@out_sharded
def logistic(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of density exp(-x) / (1 + exp(-x))**2, as an array of shape `shape`.

    Raises ArgumentError (a ValueError) for a dtype that is not a float.

    >>> logistic(key(0), (2, 3)).shape
    (2, 3)
    """
    return draw("logistic", _logistic, key, shape, dtype)


def _cauchy(key: Any, shape: Shape, dtype: DType) -> Any:
    u = _above_zero(key, shape, dtype, "eps")
    return lax.tan(lax.mul(constant(np.pi, dtype), lax.sub(u, constant(0.5, dtype))))


@out_sharded
def cauchy(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of density 1 / (pi * (x**2 + 1)), as an array of shape `shape`.

    Raises ArgumentError (a ValueError) for a dtype that is not a float.

    >>> cauchy(key(0), (2, 3)).shape
    (2, 3)
    """
    return draw("cauchy", _cauchy, key, shape, dtype)


def gumbel_floats(key: Any, shape: Shape, dtype: DType) -> Any:
    """Compute `gumbel` as -log(-log u)."""
    u = _above_zero(key, shape, dtype, "tiny")
    return lax.neg(lax.log(lax.neg(lax.log(u))))


def gumbel_high(key: Any, shape: Shape, dtype: DType) -> Any:
    """Compute `gumbel` from two uniform draws: the second extends a small first one."""
    info = dtypes.finfo(dtype)
    high, low = unstack_p.bind(unit_floats(key, (2, *shape), dtype), axis=0)
    fine = lax.mul(low, constant(2.0 ** -int(info.nmant), dtype))
    fine = lax.add(lax.add(high, fine), constant(info.tiny, dtype))
    u = lax.select(lax.ge(high, constant(0.5, dtype)), high, fine)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(u)))))


def gumbel_formula(mode: str | None) -> Callable[..., Array]:
    """Return the formula for a `mode`; raise ArgumentError (a ValueError) for an unknown one."""
    if mode not in (None, "low", "high"):
        raise ArgumentError(
            f"Must provide valid mode for gumbel got: {mode}: the modes are 'low' and 'high'"
        )
    return gumbel_high if mode == "high" else gumbel_floats


@out_sharded
def gumbel(
    key: KeyLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of density exp(-x - exp(-x)), as an array of shape `shape`.

    With `mode` "high" twice the bits are drawn, so that the greatest float32 is about 32, not 16.
    The default, None, is "low". Raises ArgumentError (a ValueError) for another mode, and for a
    dtype that is not a float.

    >>> gumbel(key(0), (2, 3)).shape
    (2, 3)
    """
    return draw("gumbel", gumbel_formula(mode), key, shape, dtype)


def _pareto(key: Any, b: Any, shape: Shape, dtype: DType) -> Any:
    return lax.exp(lax.div(exponential_floats(key, shape, dtype), b))


@out_sharded
def pareto(
    key: KeyLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats >= 1 of density b / x**(b + 1).

    `shape` is the shape of the result, by default that of the broadcast parameters. Raises
    ShapeError for parameters that do not broadcast to it, TypePromotionError for complex ones,
    ArgumentError (a ValueError) for a dtype that is not a float.

    >>> pareto(key(0), array([1.0, 2.0])).shape
    (2,)
    """
    return draw("pareto", _pareto, key, shape, dtype, b)


def _rayleigh(key: Any, scale: Any, shape: Shape, dtype: DType) -> Any:
    u = unit_floats(key, shape, dtype)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), constant(-2, dtype))))


@out_sharded
def rayleigh(
    key: KeyLike,
    scale: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats >= 0 of density x / scale**2 * exp(-x**2 / (2 * scale**2)).

    `shape` is the shape of the result, by default that of the broadcast parameters. Raises
    ShapeError for parameters that do not broadcast to it, TypePromotionError for complex ones,
    ArgumentError (a ValueError) for a dtype that is not a float.

    >>> rayleigh(key(0), array([1.0, 2.0])).shape
    (2,)
    """
    return draw("rayleigh", _rayleigh, key, shape, dtype, scale)


def _weibull(key: Any, scale: Any, concentration: Any, shape: Shape, dtype: DType) -> Any:
    power = lax.div(constant(1, dtype), concentration)
    return lax.mul(lax.pow(exponential_floats(key, shape, dtype), power), scale)


def weibull_min(
    key: KeyLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Return floats >= 0 of density c / scale * (x / scale)**(c - 1) * exp(-(x / scale)**c).

    c is `concentration`. The result has the shape to which `shape` and the parameters broadcast.
    Raises ShapeError if they do not, TypePromotionError for complex parameters, ArgumentError (a
    ValueError) for a dtype that is not a float.

    >>> weibull_min(key(0), 1.0, array([1.0, 2.0])).shape
    (2,)
    """
    shape = broadcast_shapes(canonical_shape(shape), shape_of(scale), shape_of(concentration))
    return draw("weibull_min", _weibull, key, shape, dtype, scale, concentration)


def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape, dtype: DType) -> Any:
    rise, fall, width = lax.sub(mode, left), lax.sub(right, mode), lax.sub(right, left)
    u = unit_floats(key, shape, dtype)
    below = lax.sqrt(lax.mul(lax.mul(u, width), rise))
    above = lax.sqrt(lax.mul(lax.mul(lax.sub(constant(1, dtype), u), width), fall))
    is_below = lax.lt(u, lax.div(rise, width))
    return lax.select(is_below, lax.add(left, below), lax.sub(right, above))


@out_sharded
def triangular(
    key: KeyLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats in [left, right], whose density rises to `mode` and falls from there.

    `shape` is the shape of the result, by default that of the broadcast parameters. Raises
    ShapeError for parameters that do not broadcast to it, TypePromotionError for complex ones,
    ArgumentError (a ValueError) for a dtype that is not a float.

    >>> triangular(key(0), 0.0, array([0.5, 0.8]), 1.0).shape
    (2,)
    """
    return draw("triangular", _triangular, key, shape, dtype, left, mode, right)


def _wald(key: Any, mean: Any, shape: Shape, dtype: DType) -> Any:
    normal_key, uniform_key = subkeys(key)
    number = functools.partial(constant, dtype=dtype)
    y = lax.square(normal_floats(normal_key, shape, dtype))
    square = lax.square(mean)
    root = lax.add(lax.mul(lax.mul(number(4), mean), y), lax.mul(square, lax.square(y)))
    root = lax.mul(lax.mul(mean, number(0.5)), lax.sqrt(root))
    x = lax.sub(lax.add(mean, lax.mul(lax.mul(square, y), number(0.5))), root)
    u = unit_floats(uniform_key, shape, dtype)
    is_x = lax.le(u, lax.div(mean, lax.add(mean, x)))
    return lax.select(is_x, x, lax.div(square, x))


@out_sharded
def wald(
    key: KeyLike,
    mean: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats > 0 of the inverse Gaussian distribution with a given mean and scale 1.

    By Michael, Schucany and Haas, "Generating random variates using transformations with multiple
    roots", The American Statistician 30(2), 1976.

    `shape` is the shape of the result, by default that of the broadcast parameters. Raises
    ShapeError for parameters that do not broadcast to it, TypePromotionError for complex ones,
    ArgumentError (a ValueError) for a dtype that is not a float.

    >>> wald(key(0), array([1.0, 2.0])).shape
    (2,)
    """
    return draw("wald", _wald, key, shape, dtype, mean)
