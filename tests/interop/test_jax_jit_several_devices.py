"""`olympus.interop.jax.jit` on several devices of one process gives what `jax.jit` gives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from olympus.interop.jax import jit

P = jax.sharding.PartitionSpec
AUTO = (jax.sharding.AxisType.Auto,) * 2
MESH = jax.make_mesh((2, 4), ("x", "y"), axis_types=AUTO)
EXPLICIT = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal((8, 8)).astype(np.float32) for _ in range(2))


def named(*spec: Any, mesh: Any = MESH) -> Any:
    return jax.sharding.NamedSharding(mesh, P(*spec))


def layer(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


def constrained(x: Any, w: Any) -> Any:
    return jax.lax.with_sharding_constraint(layer(x, w), named("x", "y")) * 2


def mapped(x: Any, w: Any) -> Any:
    def body(x: Any, w: Any) -> Any:
        return jax.lax.psum(layer(x, w), "y") * (1 + jax.lax.axis_index("x"))

    return jax.shard_map(body, mesh=MESH, in_specs=(P("x"), P()), out_specs=P("x"))(x, w)


def sorted_rows(x: Any, w: Any) -> Any:
    """A function with an operation that OLYMPUS has another form of, on one device."""
    return jnp.sort(jnp.tile(x @ w, (100, 100)), axis=-1)


def gradient(x: Any, w: Any) -> Any:
    return jax.grad(lambda w: jnp.sum(layer(layer(x, w), w) ** 2))(w)


FUNCTIONS = [
    pytest.param(f, marks=[pytest.mark.night] * (f is sorted_rows))  # its sorts take long
    for f in (layer, constrained, mapped, sorted_rows, gradient)
]
OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "in": {"in_shardings": (named("x"), named(None, "y"))},
    "out": {"out_shardings": named("y")},
    "both": {"in_shardings": (named("x", "y"), None), "out_shardings": named(None, "x")},
    "donated": {"in_shardings": (named("x"), named()), "donate_argnums": 0},
    "as_is": {"in_shardings": (named("x"), named()), "as_is": True},
    "raised": {"in_shardings": (named("x"), named()), "as_is": False},
}


def check_same(mine: Any, oracle: Any) -> None:
    assert jax.tree.structure(mine) == jax.tree.structure(oracle)
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(oracle), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.sharding.is_equivalent_to(b.sharding, a.ndim)
        assert [s.index for s in a.addressable_shards] == [s.index for s in b.addressable_shards]


def both(fun: Callable[..., Any], options: dict[str, Any]) -> tuple[Any, Any]:
    theirs = {name: value for name, value in options.items() if name != "as_is"}
    return jit(fun, **options), jax.jit(fun, **theirs)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("fun", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_and_shardings_are_those_of_jax(fun: Any, options: str) -> None:
    mine, oracle = both(fun, OPTIONS[options])
    check_same(mine(X, W), oracle(X, W))


@pytest.mark.parametrize("fun", FUNCTIONS, ids=lambda f: f.__name__)
def test_committed_arrays_keep_their_devices(fun: Any) -> None:
    x, w = jax.device_put(X, named("x", "y")), jax.device_put(W, named("y"))
    mine, oracle = both(fun, {})
    check_same(mine(x, w), oracle(x, w))


def test_donated_arrays_are_deleted_as_by_jax() -> None:
    options = {"donate_argnames": "x", "out_shardings": named("x")}
    shards = []
    for call in both(lambda x, w: x + w, options):
        x = jax.device_put(X, named("x"))
        before = {shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards}
        result = call(x, W)
        assert x.is_deleted()
        after = {shard.data.unsafe_buffer_pointer() for shard in result.addressable_shards}
        shards.append(before == after)
    assert shards[0] == shards[1]


def test_static_arguments_and_keywords() -> None:
    def fun(x: Any, n: int, *, activation: str) -> Any:
        for _ in range(n):
            x = getattr(jnp, activation)(x)
        return {"y": x, "sum": x.sum()}

    options = {
        "static_argnums": 1,
        "static_argnames": "activation",
        "out_shardings": {"y": named("x"), "sum": named()},
    }
    mine, oracle = both(fun, options)
    for n, name in ((1, "tanh"), (3, "sin"), (3, "cos")):
        check_same(mine(X, n, activation=name), oracle(X, n, activation=name))


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "grad": lambda f: jax.grad(lambda w: f(X, w).sum())(W),
    "vmap": lambda f: jax.vmap(lambda w: f(X, w))(np.stack([W, X])),
    "jit": lambda f: jax.jit(functools.partial(f, X))(W),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_derivatives_and_batches_are_those_of_jax(name: str) -> None:
    mine, oracle = both(constrained, {"in_shardings": (named("x"), named())})
    transformed = TRANSFORMED[name]
    np.testing.assert_allclose(transformed(mine), transformed(oracle), rtol=1e-6)


def test_axes_with_types_of_arrays() -> None:
    """Along explicit axes the types of arrays have shardings."""
    with jax.set_mesh(EXPLICIT):
        x = jax.device_put(X, named("x", mesh=EXPLICIT))
        w = jax.device_put(W, named(None, "y", mesh=EXPLICIT))
        mine, oracle = both(layer, {})
        check_same(mine(x, w), oracle(x, w))
        assert jax.typeof(mine(x, w)) == jax.typeof(oracle(x, w))


def test_a_mesh_of_the_context() -> None:
    def fun(x: Any, w: Any) -> Any:
        return jax.lax.with_sharding_constraint(x @ w, P("x", "y"))

    with jax.set_mesh(MESH):
        mine, oracle = both(fun, {"out_shardings": P("x")})
        check_same(mine(X, W), oracle(X, W))


def test_errors_are_those_of_jax() -> None:
    for call in both(layer, {"in_shardings": (named("x"), None)}):
        with pytest.raises(ValueError, match="divi"):
            call(X[:7], W)
    x = jax.device_put(X, named("y"))
    for call in both(layer, {"in_shardings": (named("x"), None)}):
        with pytest.raises(ValueError, match=r"incompatible|does not match"):
            call(x, W)
