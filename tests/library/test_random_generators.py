"""Generators of random numbers other than the usual one agree with JAX, bit by bit."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from tests.day import diagonals
from tests.library.oracle import Row, check, row

PACKAGE = {ox.numpy: ox, jax.numpy: jax}
CHANCES = np.asarray([0.1, 0.2, 0.3, 0.4], np.float32)
LOGITS = np.log(np.asarray([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], np.float32))
OTHERS = ("rbg", "unsafe_rbg", "threefry4x32", "philox2x32", "philox4x32")
WORDS = {"philox2x32": 1, "philox4x32": 2}


def of(impl: str, name: str, call: Callable[[Any, Any], Any], rtol: float = 0) -> Row:
    """Return a row that calls a function of `random` and of a key of an implementation."""

    def run(jnp: Any) -> Any:
        random = PACKAGE[jnp].random
        return call(random, random.key(7, impl=impl))

    return row(f"{impl} {name}", run, rtol=rtol, atol=rtol)


def data(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda r, k: r.key_data(call(r, k))


def vmapped(random: Any, call: Callable[[Any], Any], *args: Any) -> Any:
    return {ox.random: ox, jax.random: jax}[random].vmap(call)(*args)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "key": data(lambda r, k: k),
    "split": data(lambda r, k: r.split(k)),
    "split of a shape": data(lambda r, k: r.split(k, (2, 3))),
    "fold_in": data(lambda r, k: r.fold_in(k, 12345)),
    "split of a split": data(lambda r, k: r.split(r.split(k, 3)[1])),
    **{f"bits {d}": lambda r, k, d=d: r.bits(k, (5,), d) for d in ("uint8", "uint16", "uint32")},
    "uniform": lambda r, k: r.uniform(k, (2, 3)),
    "uniform of half floats": lambda r, k: r.uniform(k, (5,), "bfloat16"),
    "randint": lambda r, k: r.randint(k, (4,), 0, 100),
    "permutation": lambda r, k: r.permutation(k, 10),
    "choice": lambda r, k: r.choice(k, 10, (3,), False),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (10,)),
    "categorical": lambda r, k: r.categorical(k, LOGITS),
    "split by vmap": data(lambda r, k: vmapped(r, r.split, r.split(k, 3))),
    "bits by vmap": lambda r, k: vmapped(r, r.bits, r.split(k, 3)),
    "fold_in by vmap": data(
        lambda r, k: vmapped(r, lambda i: r.fold_in(k, i), np.arange(3, dtype=np.uint32))
    ),
}
CLOSE: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda r, k: r.normal(k, (4,)),
    "gamma": lambda r, k: r.gamma(k, np.asarray([0.1, 0.9, 1, 2.5, 50], np.float32)),
    "loggamma": lambda r, k: r.loggamma(k, np.asarray([0.1, 3], np.float32), (2, 2)),
    "binomial": lambda r, k: r.binomial(k, 10, 0.3, (5,)),
    "multinomial": lambda r, k: r.multinomial(k, 20.0, CHANCES),
    "orthogonal": lambda r, k: r.orthogonal(k, 3),
}


@pytest.mark.parametrize("impl", OTHERS)
def test_other_generators_give_the_bits_of_jax(impl: str) -> None:
    rows = [of(impl, name, call) for name, call in CALLS.items()]
    check(rows)
    check(rows[:6], jit=False)


@pytest.mark.parametrize(("name", "impl"), diagonals(CLOSE, OTHERS, 5))
def test_samples_from_the_bits_of_other_generators_are_those_of_jax(name: str, impl: str) -> None:
    check([of(impl, name, CLOSE[name], 1e-5)])


@pytest.mark.parametrize("impl", OTHERS)
def test_keys_of_other_generators(impl: str) -> None:
    key, theirs = ox.random.key(3, impl=impl), jax.random.key(3, impl=impl)
    assert str(key.dtype) == str(theirs.dtype)
    assert key.dtype == ox.random.key_dtype(impl) != ox.random.key_dtype()
    assert ox.random.key_impl(key) == impl == str(jax.random.key_impl(theirs))
    words = WORDS.get(impl, 4)
    assert (key.nbytes, key.itemsize) == (4 * words, 4 * words)
    wrapped = ox.random.wrap_key_data(ox.random.key_data(key), impl=impl)
    assert wrapped == key
    keys = ox.random.split(key, (2, 3))
    assert keys.shape == (2, 3) and keys[0, 1].impl == impl and keys.size == 6
    assert ox.numpy.concatenate([keys, keys]).impl == impl
    raw = ox.random.PRNGKey(3, impl=impl)
    np.testing.assert_array_equal(raw, jax.random.PRNGKey(3, impl=impl))
    assert ox.jit(lambda k: ox.random.split(k)[0])(key).impl == impl
    with pytest.raises(TypeError):
        ox.random.wrap_key_data(np.zeros(3, np.uint32), impl=impl)
    with pytest.raises(TypeError):
        ox.random.wrap_key_data(np.zeros(4, np.uint32))


def test_the_first_of_many_states_generates_the_bits_as_in_jax() -> None:
    keys = np.arange(12, dtype=np.uint32).reshape(3, 4)

    def run(m: Any, keys: Any) -> Any:
        lax = PACKAGE[m].lax
        one = PACKAGE[m].vmap(lambda k: lax.rng_bit_generator(k, (2,)))(keys)
        last = PACKAGE[m].vmap(lambda k: lax.rng_bit_generator(k, (5,), "uint8"), 1)(keys.T)
        return [*one, *last]

    check([row("states", run, keys)])


def test_poisson_needs_a_key_of_threefry() -> None:
    for random in (ox.random, jax.random):
        with pytest.raises(NotImplementedError, match="only implemented for"):
            random.poisson(random.key(0, impl="rbg"), 3.0)


def test_a_raw_key_of_four_words_is_of_rbg() -> None:
    raw, typed = ox.random.PRNGKey(3, impl="rbg"), ox.random.key(3, impl="rbg")
    np.testing.assert_array_equal(ox.random.uniform(raw), ox.random.uniform(typed))
    expected = ox.random.key_data(ox.random.split(typed))
    np.testing.assert_array_equal(ox.random.split(raw), expected)


def test_a_generator_with_a_state_draws_as_in_jax() -> None:
    drawn: list[list[Any]] = []
    for package in (ox, jax):
        module = importlib.import_module(f"{package.__name__}.experimental.random")
        rng = module.stateful_rng(42)
        values = [
            package.random.key_data(rng.key()),
            package.random.key_data(rng.key((2,))),
            rng.random(),
            rng.random((2,), dtype="float16"),
            rng.uniform(1, np.float32([2, 3])),
            rng.normal(np.ones(3, np.float32), 2.0, size=(2, 3)),
            rng.integers(10, size=3),
            rng.integers(3, 5),
            package.vmap(lambda x: x.random())(rng.split(2)),
            *(x.random(3) for x in rng.spawn(2)),
            package.jit(lambda x: x.random(2))(rng),
            package.jit(lambda m=module: m.stateful_rng(7, impl="rbg").random(2))(),
        ]
        drawn.append([np.asarray(x) for x in values])
        assert module.stateful_rng().random() != module.stateful_rng().random()
        for seed in (package.random.key(1), np.arange(3)):
            with pytest.raises(TypeError, match=r"scalar seed|a PRNG key"):
                module.stateful_rng(seed)
    for mine, theirs in zip(*drawn, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
