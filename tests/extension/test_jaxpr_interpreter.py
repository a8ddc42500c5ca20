"""An interpreter of programs as JAX's documentation writes it, and what it reads."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import jax.extend.backend
import jax.extend.source_info_util
import numpy as np
import pytest

import olympus as ox
import olympus.extend.backend
import olympus.extend.core
import olympus.extend.source_info_util

X = np.arange(1.0, 4.0, dtype=np.float32)
BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])


def run(jx: Any, closed: Any, *args: Any) -> tuple[list[Any], list[str]]:
    """The results of a program, and the scopes of its equations."""
    core = importlib.import_module(f"{jx.__name__}.extend.core")
    info = importlib.import_module(f"{jx.__name__}.extend.source_info_util")
    jaxpr, scopes = closed.jaxpr, []
    env = dict(zip(jaxpr.invars, args, strict=True))
    env |= dict(zip(jaxpr.constvars, closed.consts, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, core.Literal) else env[atom]

    for eqn in jaxpr.eqns:
        params = eqn.primitive.get_bind_params(eqn.params)
        scope = info.current_name_stack() + eqn.source_info.name_stack
        with info.user_context(eqn.source_info.traceback, name_stack=scope), eqn.ctx.manager:
            outs = eqn.primitive.bind(*map(read, eqn.invars), **params)
        scopes.append(info.summarize(eqn.source_info).rpartition("(")[2])
        outs = outs if eqn.primitive.multiple_results else [outs]
        env |= dict(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars], scopes


@BOTH
def test_an_interpreter_of_programs(jx: Any) -> None:
    def f(x: Any) -> Any:
        return jx.lax.cond(x[0] > 0, lambda x: jx.numpy.sin(x) * X, lambda x: x, x).sum()

    closed = jx.make_jaxpr(f)(X)
    (result,), scopes = run(jx, closed, X)
    np.testing.assert_allclose(result, np.sum(np.sin(X) * X), rtol=1e-6)
    assert set(scopes) == {"f)"} or all("f)" in scope for scope in scopes)


@BOTH
def test_rules_of_a_primitive_of_the_core(jx: Any) -> None:
    aval = importlib.import_module(f"{jx.__name__}.core").ShapedArray((3,), np.dtype("float32"))
    out, effects = jx.lax.neg_p.abstract_eval(aval)
    assert (out.shape, out.dtype, set(effects)) == ((3,), np.dtype("float32"), set())
    np.testing.assert_array_equal(jx.lax.neg_p.impl(X), -X)
    outs, _ = jx.lax.cumsum_p.abstract_eval(aval, axis=0, reverse=False)
    assert outs.shape == (3,)


@BOTH
def test_the_runtime(jx: Any) -> None:
    backend = importlib.import_module(f"{jx.__name__}.extend.backend")
    assert backend.get_backend().platform == "cpu"
    assert backend.get_backend("cpu") is backend.backends()["cpu"]
    assert backend.get_default_device() == jx.devices()[0]


def test_name_scopes() -> None:
    info = olympus.extend.source_info_util
    with info.extend_name_stack("outer"):
        assert info.current_name_stack() == "outer"
        with info.reset_name_stack():
            assert info.current_name_stack() == ""
        with info.set_name_stack("other"):
            assert info.current_name_stack() == "other"
    assert info.new_name_stack("x") == "x"
    assert info.summarize(info.new_source_info()) == ""
    theirs = jax.extend.source_info_util
    assert theirs.summarize(theirs.new_source_info()) == ""
    assert "test_name_scopes" in info.summarize(info.current())
    olympus.extend.backend.clear_in_memory_compilation_cache()
    olympus.extend.backend.clear_backends()
    assert float(ox.jit(lambda x: x + 1)(1.0)) == 2.0
