"""Gamma samples, and samples of distributions that are computed from them.

Gamma variables are drawn by the rejection method of Marsaglia and Tsang, "A simple method for
generating gamma variables" (2000), for all elements together: each has its own key, and keeps
its values once it has accepted them.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import Shape, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ShapeError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import map as map_
from olympus_core.library.lax.control import while_loop
from olympus_core.library.lax.shape import reshape
from olympus_core.library.numpy.creation.fills import full
from olympus_core.library.numpy.reductions.sums import any as any_of
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import broadcast_to, convert, vary_together
from olympus_core.library.random.continuous import exponential_floats
from olympus_core.library.random.draw import draw
from olympus_core.library.random.generators import random_split, subkeys
from olympus_core.library.random.keys import KeyArray, KeyLike
from olympus_core.library.random.normal import normal_floats
from olympus_core.library.random.uniform import (
    constant,
    fit_shape,
    random_signs,
    unit_floats,
)
from olympus_core.library.softmax import softmax
from olympus_core.library.special.lax import random_gamma_grad


class _Candidate(NamedTuple):
    """A squared normal variable, its cube term, a uniform variable, and the key of each element."""

    keys: Any
    x2: Any
    v: Any
    u: Any


def _split_each(keys: Any, num: int) -> list[Any]:
    """Split each key into `num` new keys, as `num` arrays of keys."""
    return subkeys(keys, num, axis=1)


def _replace(mask: Any, replacement: Any, value: Any) -> Any:
    """Select the trees of arrays `replacement` where `mask`, a bool for each row, else `value`."""

    def select(x: Any, y: Any) -> Any:
        return lax.select(_column(mask, x.shape) if x.ndim == 2 else mask, x, y)

    return tree.map(select, replacement, value)


def _column(mask: Any, shape: Shape) -> Any:
    return broadcast_to(reshape(mask, (*mask.shape, 1)), shape)


def _positive_cube_root(keys: Any, c: Any) -> tuple[Any, Any]:
    """Return normal x, and v = 1 + c * x, drawn until v is positive."""

    def continues(state: Any) -> Any:
        keys, _, v = state
        next_keys, x_keys = _split_each(keys, 2)
        x = normal_floats(x_keys, (), c.dtype)
        return _replace(v <= 0, (next_keys, x, 1 + x * c), state)

    start = (keys, full(c.shape, 0, c.dtype), full(c.shape, -1, c.dtype))
    _, x, v = while_loop(lambda state: any_of(state[2] <= 0), continues, vary_together(start, c))
    return x, v


def _accepted(keys: Any, d: Any, c: Any) -> Any:
    """Return the accepted v of each element."""

    def is_rejected(s: _Candidate) -> Any:
        is_outside = s.u >= 1 - 0.0331 * (s.x2 * s.x2)
        return is_outside & (lax.log(s.u) >= s.x2 * 0.5 + d * ((1 - s.v) + lax.log(s.v)))

    def continues(state: _Candidate) -> _Candidate:
        next_keys, x_keys, u_keys = _split_each(state.keys, 3)
        x, v = _positive_cube_root(x_keys, c)
        u = unit_floats(u_keys, (), c.dtype)
        candidate = _Candidate(next_keys, x * x, v * v * v, u)
        result: _Candidate = _replace(is_rejected(state), candidate, state)
        return result

    zeros = full(d.shape, 0, d.dtype)
    start = _Candidate(keys, zeros, zeros + 1, zeros + 2)
    return while_loop(lambda s: any_of(is_rejected(s)), continues, vary_together(start, d, c)).v


def _gamma(key: Any, a: Any, shape: Shape, dtype: DType, log_space: bool) -> Any:
    """Samples (or their logarithms) of Gamma(a); below 1, of Gamma(a + 1) * u**(1 / a)."""
    count = math.prod(shape)
    if not count:
        return full(shape, 0, dtype)
    a = reshape(broadcast_to(a, shape), (count,))
    return reshape(_drawn(random_split(key, (count,)), a, dtype, log_space), shape)


@functools.partial(custom_jvp, nondiff_argnums=(2, 3))
def _drawn(keys: Any, a: Any, dtype: DType, log_space: bool) -> Any:
    """Return a sample for each key and parameter."""
    if keys.__class__ is not KeyArray:
        return _samples(keys, a, dtype, log_space)

    def one(element: Any) -> Any:  # a batch of keys of rbg would draw by its first key
        key, a = element
        single = key.with_data(reshape(key.data, (1, *key.data.shape)))
        return reshape(_samples(single, reshape(a, (1,)), dtype, log_space), ())

    return map_(one, (keys, a))


@_drawn.defjvp
def _implicit(dtype: DType, log_space: bool, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The derivative at constant probability: the accepted candidates depend on the parameter too.

    M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", 2018.
    """
    (keys, a), (_, da) = primals, tangents
    sample = _drawn(keys, a, dtype, log_space)
    wide = dtype if dtype.itemsize >= 4 else np.dtype("float32")
    x = convert(sample, wide)
    if log_space:
        x = lax.exp(x)
        x = where(x == 0, constant(dtypes.finfo(wide).tiny, wide), x)
    slope = random_gamma_grad(convert(a, wide), x)
    slope = slope / x if log_space else slope
    return sample, convert(slope, dtype) * da


def _samples(keys: Any, a: Any, dtype: DType, log_space: bool) -> Any:
    """Return a sample for each key and parameter."""
    keys, boost_keys = _split_each(keys, 2)
    is_large = a >= 1
    third = constant(1 / 3, dtype)
    d = lax.select(is_large, a, a + 1) - third
    v = _accepted(keys, d, third / lax.sqrt(d))
    if log_space:
        log_u = lax.neg(exponential_floats(boost_keys, (), dtype))
        boost = where(is_large | (log_u == 0), 0, log_u * (1 / a))
        return lax.log(d) + lax.log(v) + boost
    u = 1 - unit_floats(boost_keys, (), dtype)
    return d * v * where(is_large, 1, lax.pow(u, 1 / a))


def gamma_floats(key: Any, a: Any, shape: Shape, dtype: DType) -> Any:
    """Compute `gamma`."""
    return _gamma(key, a, shape, dtype, False)


def loggamma_floats(key: Any, a: Any, shape: Shape, dtype: DType) -> Any:
    """Compute `loggamma`."""
    return _gamma(key, a, shape, dtype, True)


@out_sharded
def gamma(
    key: KeyLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats >= 0 of density x**(a - 1) * exp(-x) / gamma(a), for a > 0.

    >>> gamma(key(0), array([1.0, 2.0])).shape
    (2,)
    """
    return draw("gamma", gamma_floats, key, shape, dtype, a)


@out_sharded
def loggamma(
    key: KeyLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return logarithms of gamma samples, exact near 0.

    >>> loggamma(key(0), array([1.0, 2.0])).shape
    (2,)
    """
    return draw("loggamma", loggamma_floats, key, shape, dtype, a)


def _beta(key: Any, a: Any, b: Any, shape: Shape, dtype: DType) -> Any:
    x, y = (loggamma_floats(k, p, shape, dtype) for k, p in zip(subkeys(key), (a, b), strict=True))
    larger = lax.max(x, y)
    x, y = lax.exp(x - larger), lax.exp(y - larger)
    return x / (x + y)


@out_sharded
def beta(
    key: KeyLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats in [0, 1] of density proportional to x**(a - 1) * (1 - x)**(b - 1).

    >>> beta(key(0), 2.0, 3.0, (2, 3)).shape
    (2, 3)
    """
    return draw("beta", _beta, key, shape, dtype, a, b)


def _dirichlet(key: Any, alpha: Any, shape: Shape, dtype: DType) -> Any:
    return softmax(loggamma_floats(key, alpha, shape, dtype), -1)


@out_sharded
def dirichlet(
    key: KeyLike,
    alpha: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return points of the simplex of density proportional to the product of x**(alpha - 1).

    `alpha` has the concentrations along its last axis; `shape` is that of the result without it.
    Raises ShapeError for a scalar `alpha`.

    >>> dirichlet(key(0), array([1.0, 1.0, 1.0]), (2,)).shape
    (2, 3)
    """
    concentrations = shape_of(alpha)
    if not concentrations:
        raise ShapeError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    batch = concentrations[:-1] if shape is None else shape
    full_shape = (*fit_shape("dirichlet", batch, concentrations[:-1]), concentrations[-1])
    return draw("dirichlet", _dirichlet, key, full_shape, dtype, alpha)


def _chisquare(key: Any, df: Any, shape: Shape, dtype: DType) -> Any:
    return 2 * lax.exp(loggamma_floats(key, df / constant(2, dtype), shape, dtype))


@out_sharded
def chisquare(
    key: KeyLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats >= 0 of the chi-square distribution of `df` degrees of freedom.

    >>> chisquare(key(0), array([1.0, 2.0])).shape
    (2,)
    """
    return draw("chisquare", _chisquare, key, shape, dtype, df)


def _f(key: Any, dfnum: Any, dfden: Any, shape: Shape, dtype: DType) -> Any:
    den_key, num_key = subkeys(key)
    num = _chisquare(num_key, dfnum, shape, dtype) / dfnum
    return num / (_chisquare(den_key, dfden, shape, dtype) / dfden)


@out_sharded
def f(
    key: KeyLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Floats >= 0 of the F distribution: the ratio of two chi-square samples over their degrees.

    >>> f(key(0), 2.0, 3.0, (2, 3)).shape
    (2, 3)
    """
    return draw("f", _f, key, shape, dtype, dfnum, dfden)


def _t(key: Any, df: Any, shape: Shape, dtype: DType) -> Any:
    normal_key, gamma_key = subkeys(key)
    half = df / constant(2, dtype)
    return normal_floats(normal_key, shape, dtype) * lax.sqrt(
        half / gamma_floats(gamma_key, half, shape, dtype)
    )


@out_sharded
def t(
    key: KeyLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of Student's t distribution of `df` degrees of freedom.

    >>> t(key(0), 3.0, (2, 3)).shape
    (2, 3)
    """
    return draw("t", _t, key, shape, dtype, df)


def _generalized_normal(key: Any, p: Any, shape: Shape, dtype: DType) -> Any:
    gamma_key, sign_key = subkeys(key)
    power = 1 / p
    size = gamma_floats(gamma_key, power, shape, dtype)
    return random_signs(sign_key, shape, dtype) * size**power


@out_sharded
def generalized_normal(
    key: KeyLike,
    p: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return floats of density proportional to exp(-|x|**p).

    >>> generalized_normal(key(0), 2.0, (2, 3)).shape
    (2, 3)
    """
    return draw("generalized_normal", _generalized_normal, key, shape, dtype, p)


def _ball(key: Any, p: Any, shape: Shape, dtype: DType) -> Any:
    normal_key, radius_key = subkeys(key)
    x = _generalized_normal(normal_key, p, shape, dtype)
    e = exponential_floats(radius_key, shape[:-1], dtype)
    length = ((lax.abs(x) ** p).sum(-1) + e) ** (1 / p)
    return x / reshape(length, (*shape[:-1], 1))


@out_sharded
def ball(
    key: KeyLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return points of the unit ball of the p-norm in `d` dimensions, drawn evenly.

    By Barthe, Guedon, Mendelson and Naor, "A probabilistic approach to the geometry of the
    l_p^n-ball" (2005).

    >>> ball(key(0), 3, shape=(2,)).shape
    (2, 3)
    """
    return draw("ball", _ball, key, (*fit_shape("ball", shape), operator.index(d)), dtype, p)
