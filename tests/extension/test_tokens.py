"""Tokens: values of programs that order operations, beside those of JAX."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import jax.extend.core
import jax.interpreters.mlir
import numpy as np
import pytest

import olympus as ox
import olympus.extend.core
import olympus.extend.core.primitives as primitives
import olympus.interpreters.mlir as mlir

BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])
X = np.arange(3, dtype=np.float32)


@BOTH
def test_tokens_are_values_of_programs(jx: Any) -> None:
    core = importlib.import_module(f"{jx.__name__}.extend.core")

    def f(x: Any, token: Any) -> Any:
        first, second = jx.lax.create_token(x), jx.lax.after_all(token, token)
        return x + 1, jx.lax.after_all(first, second)

    token = jx.lax.create_token()
    assert isinstance(token, core.Token)
    assert not isinstance(jx.numpy.zeros((0,), bool), core.Token)
    value, after = jx.jit(f)(X, token)
    np.testing.assert_array_equal(value, X + 1)
    assert isinstance(after, core.Token)
    after.block_until_ready()
    program = jx.make_jaxpr(f)(X, token)
    names = [eqn.primitive.name for eqn in program.jaxpr.eqns]
    assert names == ["create_token", "after_all", "add", "after_all"]
    assert isinstance(program.out_avals[1], core.AbstractToken)
    assert "Tok" in str(program)
    grads = jx.grad(lambda x: (x * f(x, token)[0]).sum())(X)
    np.testing.assert_array_equal(grads, 2 * X + 1)
    np.testing.assert_array_equal(jx.vmap(lambda x: f(x, token)[0])(X), X + 1)


def test_the_types_of_tokens() -> None:
    core = ox.extend.core
    assert core.AbstractToken() is ox.ffi.abstract_token
    assert ox.typeof(ox.lax.create_token()) is ox.ffi.abstract_token
    assert primitives.create_token_p is ox.lax.create_token_p
    assert primitives.after_all_p is ox.lax.after_all_p
    with pytest.raises(TypeError, match="after_all needs tokens"):
        ox.lax.after_all(X)
    text = ox.jit(lambda t: ox.lax.after_all(t, t)).lower(ox.lax.create_token()).as_text()
    assert "stablehlo.optimization_barrier" in text


@BOTH
def test_sets_of_tokens(jx: Any) -> None:
    lowering = importlib.import_module(f"{jx.__name__}.interpreters.mlir")
    ir = lowering.ir
    with lowering.make_ir_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            tokens = lowering.TokenSet.create(["a", "b"])
            assert all(isinstance(token, lowering.Value) for _, token in tokens.items())
            assert tokens.effects() == {"a", "b"} and len(tokens.subset(["b"])) == 1
            others = lowering.TokenSet.create(["b"])
            updated = tokens.update_tokens(others)
            assert updated.get("b") is others.get("b") and updated.get("a") is tokens.get("a")
            if jx is ox:
                assert str(lowering.token_type()) == "!stablehlo.token"
        assert str(module).count("stablehlo.create_token") == 3
    with pytest.raises((KeyError, ValueError)):
        lowering.TokenSet().get("a")


def test_a_lowering_rule_gets_no_tokens() -> None:
    seen = []
    primitive = ox.extend.core.Primitive("seen")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, lambda ctx, x: seen.append(ctx.tokens_in) or [x])
    ox.jit(primitive.bind).lower(X)
    assert len(seen[0]) == 0 and isinstance(seen[0], mlir.TokenSet)
