"""The operations of the generators of random keys: seed, split, fold in, and draw bits.

Keys of Threefry are arrays of words, of which the operations are primitives.  Keys of `rbg` and
`unsafe_rbg` are `KeyArray`s of four words: bits come from `rng_bit_generator`.  `rbg` splits and
folds as two keys of Threefry, and `unsafe_rbg` by bits of the generator.  The other implementations
have functions of words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.base.avals import Shape, get_aval, shape_of, shaped
from olympus_core.base.context import state
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.library.lax.random import rng_bit_generator
from olympus_core.library.lax.shape import reshape
from olympus_core.library.promotion import convert
from olympus_core.library.random import paired
from olympus_core.library.random.implementations import KeyFunctions
from olympus_core.library.random.keys import UINT32, KeyArray, KeyDType
from olympus_core.primitives.elementwise.logic import xor_p
from olympus_core.primitives.joining import concatenate_p, unstack_p
from olympus_core.primitives.random import (
    random_bits_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
)
from olympus_core.primitives.shape import transpose_p
from olympus_core.transforms.vmapping import vmap

#: the draws of four words that `unsafe_rbg` uses as one hash
_ROUNDS = 10


def random_seed(seed: Any, impl: str) -> Array:
    """Return the words of the key of an integer."""
    if (functions := KeyDType(impl).functions) is not None:
        return _flat(functions.seed(seed), functions, ())
    words: Array = random_seed_p.bind(seed)
    if impl == "threefry2x32":
        return words
    doubled: Array = concatenate_p.bind(words, words, dimension=get_aval(words).ndim - 1)
    return doubled


def random_bits(key: Any, width: int, shape: Shape) -> Array:
    """Return unsigned integers of `width` bits, of the shape of the keys and then `shape`."""
    if key.__class__ is not KeyArray:
        if not state.threefry_partitionable:
            return _of_each_key(key, lambda words: paired.random_bits(words, width, shape))
        drawn: Array = random_bits_p.bind(key, bit_width=width, shape=shape)
        return drawn
    if (functions := key.dtype.functions) is not None:
        draw = functions.random_bits
        return _each(key, lambda words: draw(_shaped(words, functions), width, shape))
    dtype = np.dtype(f"uint{width}")
    return _each(key, lambda words: rng_bit_generator(words, shape, dtype)[1])


def random_split(key: Any, shape: Shape) -> Any:
    """Return new keys, of the shape of the keys and then `shape`."""
    if key.__class__ is not KeyArray:
        return _split(key, shape)
    if (functions := key.dtype.functions) is not None:
        new = functions.split
        return key.with_data(
            _each(key, lambda words: _flat(new(_shaped(words, functions), shape), functions, shape))
        )
    split = _split_by_bits if key.impl == "unsafe_rbg" else _split_halves
    return key.with_data(_each(key, lambda words: split(words, shape)))


def random_fold_in(key: Any, data: Any) -> Any:
    """Return the key of a single key and a word."""
    word = convert(data, UINT32)
    if key.__class__ is not KeyArray:
        return random_fold_in_p.bind(key, word)
    if (functions := key.dtype.functions) is not None:
        words = functions.fold_in(_shaped(key.data, functions), word)
        return key.with_data(_flat(words, functions, ()))
    if key.impl == "unsafe_rbg":
        seed = random_seed(word, key.impl)
        rows = rng_bit_generator(seed, (_ROUNDS, 4), UINT32)[1]
        return key.with_data(xor_p.bind(key.data, rows[-1]))
    halves = reshape(key.data, (2, 2))
    folded = vmap(lambda half: random_fold_in_p.bind(half, word))(halves)
    return key.with_data(reshape(folded, (4,)))


def subkeys(key: Any, num: int = 2, axis: int = 0) -> list[Any]:
    """Return `num` new keys of a key, or with `axis` 1 of each key of a vector."""
    keys = random_split(key, (num,))
    if keys.__class__ is not KeyArray:
        unstacked: list[Any] = unstack_p.bind(keys, axis=axis)
        return unstacked
    return [keys.with_data(words) for words in unstack_p.bind(keys.data, axis=axis)]


def _shaped(words: Any, functions: KeyFunctions) -> Array:
    """Return the words of one key in the shape that a user's functions have."""
    return reshape(words, functions.key_shape)


def _flat(words: Any, functions: KeyFunctions, shape: Shape) -> Array:
    """Return the words of keys of the shape `shape` along one axis; raise for another shape."""
    aval = get_aval(words)
    expected = (*shape, *functions.key_shape)
    if aval.shape != expected or aval.dtype != UINT32:
        raise ShapeError(
            "an implementation of keys must return words of type "
            f"{shaped(expected, UINT32).long_name()}, and returned {aval.long_name()}"
        )
    return reshape(words, (*shape, math.prod(functions.key_shape)))


def _each(key: KeyArray, function: Callable[[Any], Array]) -> Array:
    for _ in key.shape:
        function = vmap(function)
    return function(key.data)


def _of_each_key(keys: Any, function: Callable[[Any], Array]) -> Array:
    for _ in shape_of(keys)[:-1]:
        function = vmap(function)
    return function(keys)


def _split(keys: Any, shape: Shape) -> Any:
    """Return new keys of keys of Threefry, which are words."""
    if state.threefry_partitionable:
        return random_split_p.bind(keys, shape=shape)
    return _of_each_key(keys, lambda words: paired.random_split(words, shape))


def _split_halves(words: Any, shape: Shape) -> Array:
    split = _split(reshape(words, (2, 2)), shape)
    rank = len(shape_of(split))
    order = (*range(1, rank - 1), 0, rank - 1)
    return reshape(transpose_p.bind(split, permutation=order), (*shape, 4))


def _split_by_bits(words: Any, shape: Shape) -> Array:
    count = math.prod(shape)
    rows = rng_bit_generator(words, (_ROUNDS * count, 4), UINT32)[1]
    return reshape(rows[::_ROUNDS], (*shape, 4))
