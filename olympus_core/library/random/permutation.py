"""Permutations of a population's elements, and random choices of elements.

A shuffle sorts by random words, repeatedly until equal words no longer matter.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, get_aval
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys
from olympus_core.library.axes import one_axis
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.reduction import cumsum
from olympus_core.library.lax.shape import reshape
from olympus_core.library.lax.sort import sort_key_val, top_k
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.indexing.taking import take
from olympus_core.library.numpy.sorting.searching import searchsorted
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.library.random.continuous import gumbel_formula
from olympus_core.library.random.generators import random_bits, subkeys
from olympus_core.library.random.keys import KeyArray, KeyLike, one_key
from olympus_core.library.random.uniform import randint, unit_floats


def _count(x: Any) -> int:
    """Return the size of a population that is given as an int."""
    if isinstance(x, (float, np.floating)):
        return int(x)  # as JAX rounds it
    return x if is_symbolic_dim(x) else operator.index(x)


def _take(x: Array, indices: Array, axis: int) -> Array:
    """Return elements along `axis` at indices that are within bounds."""
    at = x.at[(*(slice(None),) * axis, indices)]
    return at.get(mode="promise_in_bounds", wrap_negative_indices=False)


@composite(static_argnames=("axis",))
def _shuffle(key: Any, x: Array, axis: int) -> Array:
    """Return the elements of each line along `axis` in random order.

    The sort uses three times as many random bits as distinct keys of all elements need.
    """
    size = get_aval(x).size
    # a symbolic size has at most 2**31 elements
    most = 2**31 if is_symbolic_dim(size) else max(1, size)
    rounds = math.ceil(3 * math.log(most) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, word_key = subkeys(key)
        words = random_bits(word_key, 32, get_aval(x).shape)
        _, x = sort_key_val(words, x, axis)
    return x


@out_sharded
def permutation(
    key: KeyLike,
    x: ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return `x` with its slices along `axis` in random order; an int x means arange(x).

    With `independent` the elements of each line along `axis` get a separate order.

    Raises DTypeError for a scalar that is not an int, ShapeError for an axis that x does not have.

    >>> permutation(key(0), 3).shape
    (3,)
    """
    words = one_key("permutation", key)
    aval = get_aval(x)
    axis = one_axis("permutation", aval.ndim or 1, axis)
    if not aval.shape:
        if dtypes.kind(aval.dtype) not in "iu":
            raise DTypeError(
                "x must be an integer or at least 1-dimensional: permutation got "
                f"{aval.long_name()}"
            )
        return _shuffle(words, arange(_count(x)), axis=0)
    if independent or aval.ndim == 1:
        return _shuffle(words, asarray(x), axis=axis)
    order = _shuffle(words, arange(aval.shape[axis]), axis=0)
    return _take(asarray(x), order, axis)


def choice(
    key: KeyLike,
    a: ArrayOrKeys,
    shape: Sequence[int] = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Return `shape` slices of the array `a` along `axis`; for an int `a`, ints below it.

    `p` has the probabilities of the slices, by default equal.  `mode` is that of `gumbel`, which
    draws without `replace` by `p`.

    Raises ArgumentError (a ValueError) for too few slices, ShapeError for a `p` that does not
    match.

    >>> choice(key(0), array([7, 7, 7]), (2,))
    Array([7, 7], dtype=int32)
    """
    words = one_key("choice", key)
    if not isinstance(shape, Sequence):
        raise ArgumentError(f"shape argument of choice must be a sequence, got {shape!r:.80}")
    if isinstance(a, KeyArray):
        axis = one_axis("choice", a.ndim, axis)
        return take(a, choice(key, a.shape[axis], shape, replace, p, mode=mode), axis)
    shape, population = canonical_shape(shape), None if not get_aval(a).shape else asarray(a)
    if population is None:
        count = _count(a)
    else:
        axis = one_axis("choice", population.ndim, axis)
        count = population.shape[axis]
    draws = math.prod(shape)
    if not draws:
        return zeros(shape, get_aval(a).dtype)
    if count <= 0:
        raise ArgumentError("choice: a must be greater than 0 unless no samples are taken")
    if not replace and draws > count:
        raise ArgumentError(
            f"choice: Cannot take a larger sample (size {draws}) than population (size {count}) "
            "when 'replace=False'"
        )
    if p is None and not replace:
        shuffled = permutation(words, count if population is None else population, axis)
        picked = shuffled[(*(slice(None),) * (0 if population is None else axis), slice(draws))]
    else:
        picked = _indices(words, count, shape, replace, p, mode)
        picked = picked if population is None else _take(population, picked, axis)
    if population is None:
        return reshape(picked, shape)
    return reshape(picked, (*population.shape[:axis], *shape, *population.shape[axis + 1 :]))


def _indices(key: Any, count: int, shape: Shape, replace: bool, p: Any, mode: str | None) -> Array:
    """Return indices below `count`, drawn with replacement or by the probabilities p."""
    if p is None:
        return randint(key, shape, 0, count)
    (p,) = promote_inexact(p)
    if get_aval(p).shape != (count,):
        raise ShapeError(
            "choice: p must be None or a 1D vector with the same size as a.shape[axis]. p has "
            f"shape {get_aval(p).shape} and a.shape[axis] is {count}."
        )
    if replace:
        return _by_inversion(key, p, shape=shape)
    return _by_noise(key, p, draws=math.prod(shape), mode=mode)


@composite(static_argnames=("shape",))
def _by_inversion(key: Any, p: Any, shape: Shape) -> Array:
    total = cumsum(p)
    u = 1 - unit_floats(key, shape, get_aval(p).dtype)
    return convert(searchsorted(total, total[-1] * u), dtypes.default_dtype("i"))


@composite(static_argnames=("draws", "mode"))
def _by_noise(key: Any, p: Any, draws: int, mode: str | None) -> Array:
    noise = gumbel_formula(mode)(key, get_aval(p).shape, get_aval(p).dtype)
    _, indices = top_k(noise + lax.log(p), draws)
    return convert(indices, dtypes.default_dtype("i"))
