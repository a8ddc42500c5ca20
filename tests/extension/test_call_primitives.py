"""Primitives that call a program, with the rules of its operations."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.extend.core.primitives
import numpy as np
import pytest

import olympus as ox
import olympus.extend.core.primitives as primitives
import olympus.extend.linear_util as lu
import olympus.interpreters.ad as ad

core = ox.extend.core
X = np.arange(1.0, 4.0, dtype=np.float32)
Y = np.asarray([0.5, -1.0, 2.0], np.float32)


def product(jx: Any, x: Any, y: Any) -> Any:
    return jx.numpy.sin(x) * y, y + X


def called(prim: Any) -> Any:
    """The function as a call of its program, which closes over an array."""
    program = ox.make_jaxpr(functools.partial(product, ox))(X, Y)

    def f(x: Any, y: Any) -> Any:
        return prim.bind(x, y, call_jaxpr=program)

    return f


@pytest.mark.parametrize("late", [True, False])
def test_a_call_has_the_rules_of_its_program(late: bool) -> None:
    f = called(core.create_call_primitive("mine", inline_jax_late=late))
    wanted = functools.partial(product, jax)
    for run in (f, ox.jit(f)):
        for x, want in zip(run(X, Y), wanted(X, Y), strict=True):
            np.testing.assert_allclose(x, want, rtol=1e-6)
    primals, tangents = ox.jvp(f, (X, Y), (Y, X))
    for mine, want in zip(
        [*primals, *tangents], sum(jax.jvp(wanted, (X, Y), (Y, X)), ()), strict=True
    ):
        np.testing.assert_allclose(mine, want, rtol=1e-5)
    mine = ox.jit(ox.grad(lambda x, y: f(x, y)[0].sum(), (0, 1)))(X, Y)
    theirs = jax.grad(lambda x, y: wanted(x, y)[0].sum(), (0, 1))(X, Y)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    rows = np.stack([X, Y])
    for a, b in zip(
        ox.vmap(f, (0, None))(rows, Y), jax.vmap(wanted, (0, None))(rows, Y), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_call_in_a_program() -> None:
    f = called(core.create_call_primitive("mine", inline_jax_late=False))
    (eqn,) = ox.make_jaxpr(f)(X, Y).jaxpr.eqns
    assert eqn.primitive.name == "mine"
    assert [e.primitive.name for e in eqn.params["call_jaxpr"].eqns] == ["sin", "mul", "add"]
    assert "call @mine" in ox.jit(f).lower(X, Y).as_text()
    late = called(core.create_call_primitive("mine"))
    assert "@mine" not in ox.jit(late).lower(X, Y).as_text()
    program = ox.make_jaxpr(f)(X, Y)
    params = eqn.primitive.get_bind_params(eqn.params)
    outs = eqn.primitive.bind(*program.consts, X, Y, **params)
    np.testing.assert_allclose(outs[0], np.sin(X) * Y, rtol=1e-6)
    with pytest.raises(ValueError, match="needs the program to call"):
        eqn.primitive.bind(X)


def test_a_transpose_of_the_user_and_that_of_the_program() -> None:
    linear = ox.make_jaxpr(lambda x, y: x * y)(X, Y)
    prim = core.Primitive("tripled")

    def rule(ct: Any, *args: Any, call_jaxpr: Any) -> Any:
        shares = core.eval_jaxpr_transpose(prim, ct, *args, call_jaxpr=call_jaxpr)
        return [None if x is None else 3 * x for x in shares]

    core.register_call_primitive_rules(prim, "tripled", rule)
    gradient = ox.grad(lambda x: prim.bind(x, Y, call_jaxpr=linear)[0].sum())(X)
    np.testing.assert_allclose(gradient, 3 * Y)
    operands = ad.UndefinedPrimal(ox.typeof(X)), Y
    share, none = core.eval_jaxpr_transpose(prim, [X], *operands, call_jaxpr=linear)
    np.testing.assert_allclose(share, X * Y)
    assert none is None


def test_calls_of_functions() -> None:
    def f(x: Any) -> Any:
        return primitives.call_p.bind(x, subfuns=(lu.wrap_init(lambda x: [ox.numpy.sin(x)]),))[0]

    assert isinstance(primitives.call_p, core.CallPrimitive)
    np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(ox.grad(lambda x: f(x).sum())(X), np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(ox.vmap(f)(X), np.sin(X), rtol=1e-6)
    (eqn,) = ox.make_jaxpr(f)(X).jaxpr.eqns
    assert eqn.primitive is primitives.call_p
    assert [e.primitive.name for e in eqn.params["call_jaxpr"].eqns] == ["sin"]


def test_the_linear_operation_of_custom_vjp() -> None:
    programs = []
    for jx, lin in ((ox, primitives.custom_lin_p), (jax, jax.extend.core.primitives.custom_lin_p)):
        f = jx.custom_vjp(lambda x: x * x)
        f.defvjp(lambda x: (x * x, x), lambda r, g: (2 * r * g,))
        program = jx.make_jaxpr(lambda t, f=f, jx=jx: jx.linearize(f, 2.0)[1](t))(1.0)
        programs.append([eqn.primitive is lin for eqn in program.jaxpr.eqns])
    assert sum(programs[0]) == sum(programs[1]) == 1
