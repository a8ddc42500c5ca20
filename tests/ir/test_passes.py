"""Passes over the IR that a user wrote for JAX: the same source reads, counts and rewrites both."""

from __future__ import annotations

import collections

import jax
import jax.extend.core
import numpy as np
import pytest

import olympus
import olympus.extend.core

BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
X = np.linspace(0.1, 0.8, 6, dtype=np.float32)


def inverse(ox, fun):
    """The inverse of a chain of invertible functions, by interpreting its program backwards."""
    core = ox.extend.core
    rules = {
        ox.lax.exp_p: ox.numpy.log,
        ox.lax.tanh_p: ox.numpy.arctanh,
        ox.lax.neg_p: ox.numpy.negative,
    }

    def wrapped(*args):
        closed = ox.make_jaxpr(fun)(*args)
        return inverse_program(closed.jaxpr, closed.literals, *args)[0]

    def inverse_program(jaxpr, consts, *args):
        env = {}

        def read(var):
            return var.val if type(var) is core.Literal else env[var]

        env.update(zip(jaxpr.outvars, args, strict=True))
        env.update(zip(jaxpr.constvars, consts, strict=True))
        for eqn in jaxpr.eqns[::-1]:
            if eqn.primitive not in rules:
                raise NotImplementedError(f"{eqn.primitive} has no inverse")
            (value,) = map(read, eqn.outvars)
            (var,) = eqn.invars
            env[var] = rules[eqn.primitive](value)
        return [read(v) for v in jaxpr.invars]

    return wrapped


@BOTH
def test_an_interpreter_that_inverts(ox):
    def f(x):
        return ox.numpy.exp(-ox.numpy.tanh(x))

    back = inverse(ox, f)
    np.testing.assert_allclose(back(f(X)), X, rtol=1e-4)
    np.testing.assert_allclose(ox.jit(ox.vmap(back))(f(X)), X, rtol=1e-4)
    assert np.isfinite(ox.grad(lambda y: back(y).sum())(f(X))).all()
    with pytest.raises(NotImplementedError, match="sin"):
        inverse(ox, ox.numpy.sin)(X)


def evaluate(ox, closed, *args):
    """Evaluate a program one equation at a time."""
    core, env = ox.extend.core, {}

    def read(var):
        return var.val if isinstance(var, core.Literal) else env[var]

    env.update(zip(closed.jaxpr.invars, args, strict=True))
    env.update(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    for eqn in closed.jaxpr.eqns:
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        for var, value in zip(
            eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True
        ):
            env[var] = value
    return [read(v) for v in closed.jaxpr.outvars]


def many(ox):
    weights = ox.numpy.asarray(X)

    def f(x):
        y = ox.jit(lambda v: ox.numpy.sin(v) * 2.0)(x) + weights
        y, ys = ox.lax.scan(lambda c, w: (c * w, c.sum()), y, weights[:3])
        y = ox.lax.while_loop(lambda c: c.sum() < 100.0, lambda c: c * 2.0 + 1.0, y)
        return ox.lax.cond(ys.sum() > 0, lambda a: a, lambda a: -a, y), ys

    return f


@BOTH
def test_an_interpreter_that_evaluates(ox):
    f = many(ox)
    closed = ox.make_jaxpr(f)(X)
    for found in (
        evaluate(ox, closed, X),
        ox.core.eval_jaxpr(closed.jaxpr, closed.consts, X),
        ox.extend.core.jaxpr_as_fun(closed)(X),
        ox.jit(lambda x: evaluate(ox, closed, x))(X),
    ):
        for got, want in zip(found, f(X), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5)


def counts(ox, jaxpr, found):
    """The number of occurrences of each operation in a program and its nested programs."""
    for eqn in jaxpr.eqns:
        found[eqn.primitive.name] += 1
        for inner in ox.extend.core.jaxprs_in_params(eqn.params):
            counts(ox, getattr(inner, "jaxpr", inner), found)
    return found


def counts_by_class(ox, jaxpr, found):
    """The same, by looking for programs as many a pass does."""
    core = ox.extend.core
    for eqn in jaxpr.eqns:
        found[eqn.primitive.name] += 1
        for value in eqn.params.values():
            for each in value if isinstance(value, (tuple, list)) else [value]:
                if isinstance(each, core.ClosedJaxpr):
                    counts_by_class(ox, each.jaxpr, found)
                elif isinstance(each, core.Jaxpr):
                    counts_by_class(ox, each, found)
    return found


@BOTH
def test_a_counter_of_operations(ox):
    closed = ox.make_jaxpr(many(ox))(X)
    found = counts(ox, closed.jaxpr, collections.Counter())
    assert found == counts_by_class(ox, closed.jaxpr, collections.Counter())
    assert (found["sin"], found["scan"], found["while"], found["cond"]) == (1, 1, 1, 1)
    assert found["neg"] == 1
    assert found["mul"] == 3
    assert sum(1 for _ in ox.extend.core.subjaxprs(closed.jaxpr)) == 6


@BOTH
def test_programs_in_parameters_have_the_oracles_names(ox):
    closed = ox.make_jaxpr(many(ox))(X)
    named = {eqn.primitive.name: eqn for eqn in closed.eqns}
    assert [e.primitive.name for e in named["jit"].params["jaxpr"].eqns] == ["sin", "mul"]
    assert named["scan"].params["jaxpr"].eqns[0].primitive.name == "mul"
    assert named["while"].params["cond_jaxpr"].out_avals[0].dtype == bool
    assert "body_jaxpr" in named["while"].params
    assert named["while"].params.get("body_jaxpr").eqns
    assert "jaxpr" not in named["while"].params
    assert len(named["cond"].params["branches"]) == 2
    with pytest.raises(KeyError):
        named["scan"].params["consts"]


def substitute(ox, closed, old, new):
    """The program with one operation in the place of another."""
    eqns = [e.replace(primitive=new) if e.primitive is old else e for e in closed.jaxpr.eqns]
    core, jaxpr = ox.extend.core, closed.jaxpr.replace(eqns=eqns)
    return core.ClosedJaxpr(jaxpr, closed.consts)


@BOTH
def test_a_pass_that_substitutes(ox):
    closed = ox.make_jaxpr(lambda x: ox.numpy.sin(x) * 2 + ox.numpy.cos(x))(X)
    substituted = substitute(ox, closed, ox.lax.sin_p, ox.lax.tanh_p)
    ox.extend.core.check_jaxpr(substituted.jaxpr)
    (found,) = ox.jit(ox.extend.core.jaxpr_as_fun(substituted))(X)
    np.testing.assert_allclose(found, np.tanh(X) * 2 + np.cos(X), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:core.Jaxpr is missing:DeprecationWarning")
@BOTH
def test_a_program_built_by_hand(ox):
    core = ox.extend.core
    aval = ox.core.ShapedArray((6,), np.float32)
    a, b, c = core.Var(aval), core.Var(aval), core.Var(aval)
    eqns = [
        core.new_jaxpr_eqn([a], [b], ox.lax.neg_p, {}, set()),
        core.new_jaxpr_eqn([b, a], [c], ox.lax.mul_p, {}, set()),
    ]
    jaxpr = core.Jaxpr([], [a], [c], eqns)
    (found,) = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, []))(X)
    np.testing.assert_allclose(found, -X * X, rtol=1e-5)
    assert isinstance(jaxpr, core.Jaxpr)


@BOTH
def test_the_fields_of_programs_and_equations(ox):
    weights = ox.numpy.asarray(X)

    def f(x):
        with ox.named_scope("inner"):
            return ox.numpy.sin(x) + weights

    closed = ox.make_jaxpr(f)(X)
    assert [v.aval for v in closed.jaxpr.invars] == list(closed.in_avals)
    assert [v.aval for v in closed.jaxpr.outvars] == list(closed.out_avals)
    assert [v.aval.shape for v in closed.jaxpr.constvars] == [(6,)]
    assert list(closed.consts) == list(closed.literals)
    assert not closed.effects and not closed.jaxpr.effects
    sin, add = closed.eqns
    assert sin.outvars[0] in add.invars
    assert set(add.invars) == {sin.outvars[0], closed.jaxpr.constvars[0]}
    assert str(sin.source_info.name_stack) == "inner"
    assert not sin.effects
    assert add.params == {}


def test_a_program_of_shapes_is_traced_under_the_oracles_name():
    traced = olympus.jit(lambda x: x + 1).trace(1.0)
    assert traced.jaxpr is traced.olympuspr.jaxpr is traced.jaxpr.jaxpr
    assert traced.jaxpr.eqns == [*traced.olympuspr.eqns]
