"""Functions of JAX, traced for types and compiled by OLYMPUS."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus
from olympus.errors import UsageError
from olympus.interop.jax import named_leaves, result_types, trace
from tests.raising.test_raising import all_eqns

Struct = olympus.ShapeDtypeStruct
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
PARAMS = {"w": np.full((4, 4), 0.5, np.float32), "b": np.ones(4, np.float32)}
TYPES = {name: Struct(x.shape, x.dtype) for name, x in PARAMS.items()}


def f(params: Any, x: Any, n: int, *, scale: Any = 1.0) -> Any:
    for _ in range(n):
        x = jnp.tanh(x @ params["w"] + params["b"])
    return {"y": x * scale, "pair": (x.sum(), x)}


def test_the_result_has_the_trees_and_names_of_the_function() -> None:
    traced = trace(f, [TYPES, Struct((3, 4), "float32"), 2], static_argnums=2)
    assert traced.fun_name == "f"
    assert traced.arg_names == ("params['b']", "params['w']", "x")
    assert traced.result_names == ("result['pair'][0]", "result['pair'][1]", "result['y']")
    got = traced.lower().compile()(PARAMS, X)
    want = f(PARAMS, X, 2)
    np.testing.assert_allclose(got["y"], want["y"], rtol=1e-6)
    np.testing.assert_allclose(got["pair"][0], want["pair"][0], rtol=1e-5)


def test_arguments_by_name_and_statics_by_name() -> None:
    kwargs = {"n": 1, "scale": Struct((), "float32")}
    traced = trace(f, [TYPES, Struct((3, 4), "float32")], kwargs, static_argnames="n")
    assert traced.arg_names[-1] == "scale"
    got = traced.lower().compile()(PARAMS, X, scale=np.float32(2))
    np.testing.assert_allclose(got["y"], f(PARAMS, X, 1, scale=2)["y"], rtol=1e-6)


def test_unused_arguments_are_arguments() -> None:
    traced = trace(lambda x, y: x, [Struct((2,), "int32"), Struct((3,), "int32")])
    assert traced.arg_names == ("x", "y")
    assert np.asarray(traced.lower().compile()(np.arange(2), np.arange(3))).tolist() == [0, 1]


def test_donations_are_those_of_the_request_and_of_the_jit() -> None:
    x = Struct((3,), "float32")
    assert trace(jnp.sin, [x], donate_argnums=0).donate_argnums == (0,)
    traced = trace(jnp.add, [x, x]).with_donations([1])
    assert traced.donate_argnums == (1,)
    assert "tf.aliasing_output" in traced.lower().as_text()
    own = jax.jit(lambda x, y, *, z: (x + y, z + 1, y), donate_argnums=0, donate_argnames="z")
    assert trace(own, [x, x], {"z": x}).donate_argnums == (0, 2)
    assert trace(own, [x, x], {"z": x}, donate_argnums=1).donate_argnums == (0, 1, 2)


def test_a_jitted_function_with_statics_is_traced() -> None:
    jitted = jax.jit(f, static_argnames="n")
    traced = trace(jitted, [TYPES, Struct((3, 4), "float32")], {"n": 1}, static_argnames="n")
    assert traced.fun_name == "f"
    assert traced.arg_names == ("params['b']", "params['w']", "x")


def test_a_container_that_only_jax_knows_is_flat() -> None:
    class Box:
        def __init__(self, x: Any) -> None:
            self.x = x

    jax.tree_util.register_pytree_node(Box, lambda b: ((b.x,), None), lambda _, xs: Box(*xs))
    traced = trace(lambda b, y: Box(b.x + y), [Box(Struct((2,), "int32")), Struct((), "int32")])
    assert len(traced.arg_names) == 2
    (out,) = traced.lower().compile()(np.arange(2, dtype=np.int32), np.int32(3))
    assert np.asarray(out).tolist() == [3, 4]


def test_typed_keys_are_keys_in_the_function_and_bits_in_the_program() -> None:
    types = result_types(lambda: {"key": jax.random.key(0), "x": jnp.zeros((2, 3))})
    assert types["x"] == Struct((2, 3), "float32")
    traced = trace(lambda s: jax.random.normal(s["key"]) + s["x"], [types])
    assert traced.arg_names == ("s['key']", "s['x']")
    assert [str(x.dtype) for x in traced.arguments] == ["uint32", "float32"]


def test_a_leaf_that_is_no_array_is_a_constant() -> None:
    types = result_types(lambda: {"activation": jnp.tanh, "w": jnp.zeros(3), "name": "net"})
    traced = trace(lambda net: (net["activation"](net["w"]), net["activation"]), [types])
    assert traced.arg_names == ("net['w']",)
    assert traced.result_names == ("result[0]",)
    (result,) = traced.lower().compile()(np.arange(3, dtype=np.float32))
    np.testing.assert_allclose(result, np.tanh(np.arange(3)), rtol=1e-6)


def test_leaves_have_the_names_of_arguments() -> None:
    state = {"key": jax.random.key(0), "x": [jnp.ones(2), 1.0], "activation": jnp.tanh}
    assert [name for name, _ in named_leaves(state)] == ["['key']", "['x'][0]", "['x'][1]"]
    assert named_leaves(state)[0][1].dtype == jnp.uint32


def test_each_platform_has_its_own_module() -> None:
    traced = trace(jnp.linalg.cholesky, [Struct((3, 3), "float32")])
    assert "lapack" in traced.lower().as_text()
    assert "lapack" not in traced.lower(olympus.target("gpu", "h200")).as_text()
    assert "lapack" not in traced.lower(lowering_platforms="cuda").as_text()


def test_as_is_is_the_module_of_jax() -> None:
    traced = trace(lambda x: (jnp.sin(x), x)[1], [Struct((3,), "float32")], as_is=True)
    with pytest.raises(UsageError, match="is compiled unchanged"):
        _ = traced.olympuspr


def test_errors_of_the_function_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: x * (1 // 0), [Struct((), "float32")])


def test_a_deep_program_has_its_repeated_blocks() -> None:
    def deep(params: Any, x: Any) -> Any:
        for p in params:
            x = jnp.tanh(x @ p["w"] + p["b"])
        return (x**2).sum()

    traced = trace(jax.grad(deep), [[TYPES] * 12, Struct((3, 4), "float32")])
    assert not [e for e in all_eqns(traced.olympuspr) if e.primitive.name == "opaque"]
    got = traced.lower().compile()([PARAMS] * 12, X)
    want = jax.grad(deep)([PARAMS] * 12, X)
    for a, b in zip(jax.tree.leaves(want), olympus.tree.leaves(got), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
