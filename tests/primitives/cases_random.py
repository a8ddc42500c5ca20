"""Rows of the random primitives: olympus.random beside olympus.lax, jax.random beside jax.lax."""

from __future__ import annotations

from typing import Any

import jax
import jax.extend.random

import olympus
from olympus_core.primitives.random import random_bits_p, random_fold_in_p, random_split_p
from olympus_core.primitives.threefry import threefry2x32_p
from tests.primitives.case import Case, arg

__all__ = ["CASES"]

KEY = arg(2, high=2**32 - 1, dtype="uint32")
KEYS = arg(3, 2, high=2**32 - 1, dtype="uint32")


def _random(lax: Any) -> Any:
    return olympus.random if lax is olympus.lax else jax.random


def _bits_of_each(lax: Any, keys: Any) -> Any:
    if lax is olympus.lax:
        return random_bits_p.bind(keys, bit_width=32, shape=(2, 2))
    return jax.vmap(lambda k: jax.random.bits(k, (2, 2)))(keys)


def _split_each(lax: Any, keys: Any) -> Any:
    if lax is olympus.lax:
        return random_split_p.bind(keys, shape=(2,))
    return jax.vmap(jax.random.split)(keys)


def _fold_into_each(lax: Any, keys: Any, data: Any) -> Any:
    if lax is olympus.lax:
        return random_fold_in_p.bind(keys, data)
    return jax.vmap(jax.random.fold_in)(keys, data)


def _hash(lax: Any, *words: Any) -> Any:
    mine = lax is olympus.lax
    return (threefry2x32_p if mine else jax.extend.random.threefry2x32_p).bind(*words)


def _word(*shape: int) -> Any:
    return arg(*shape, high=2**32 - 1, dtype="uint32")


CASES: list[Case] = [
    Case("threefry2x32", _hash, (_word(), _word(), _word(3), _word(3)), ("uint32",)),
    Case(
        "threefry2x32",
        _hash,
        (_word(2, 1), _word(2, 1)) + (_word(1, 3),) * 2,
        ("uint32",),
        "keys",
    ),
    Case(
        "rng_bit_generator",
        lambda lax, k: lax.rng_bit_generator(k, (2, 3)),
        (arg(4, high=2**32 - 1, dtype="uint32"),),
        ("uint32",),
    ),
    Case(
        "rng_bit_generator",
        lambda lax, k: lax.rng_bit_generator(k, (5,), "uint8", lax.RandomAlgorithm.RNG_PHILOX),
        (arg(4, high=2**32 - 1, dtype="uint32"),),
        ("uint32",),
        "philox",
    ),
    Case("random_seed", lambda lax, s: _random(lax).PRNGKey(s), (arg(),), ("int32", "uint8")),
    Case("random_split", lambda lax, k: _random(lax).split(k, (3, 2)), (KEY,), ("uint32",)),
    Case("random_split", _split_each, (KEYS,), ("uint32",), "batched"),
    Case(
        "random_fold_in",
        lambda lax, k, d: _random(lax).fold_in(k, d),
        (KEY, arg(high=2**32 - 1, dtype="uint32")),
        ("uint32",),
    ),
    Case(
        "random_fold_in",
        _fold_into_each,
        (KEYS, arg(3, high=2**32 - 1, dtype="uint32")),
        ("uint32",),
        "batched",
    ),
    Case("random_bits", lambda lax, k: _random(lax).bits(k, (2, 3)), (KEY,), ("uint32",)),
    Case("random_bits", lambda lax, k: _random(lax).bits(k), (KEY,), ("uint32",), "scalar"),
    Case(
        "random_bits",
        lambda lax, k: _random(lax).bits(k, (4,), "uint8"),
        (KEY,),
        ("uint32",),
        "bytes",
    ),
    Case("random_bits", _bits_of_each, (KEYS,), ("uint32",), "batched"),
]
