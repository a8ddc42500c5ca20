"""Caches: which calls trace and compile once, which again, and which objects are freed."""

from __future__ import annotations

import functools
import gc
import logging
import weakref

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import DTypeError, UsageError

X = np.arange(3.0, dtype=np.float32)


def double(x):
    return 2 * x


def add(x, y):
    return x + y


def below_nine(x):
    return x < 9


def step(carry, x):
    return carry + x, carry


def counted(i, x):
    return i * x


def swapped(x, y):
    return 2 * y, x


CONTROL = {
    "scan": lambda: lax.scan(step, 0.0, X),
    "while_loop": lambda: lax.while_loop(below_nine, double, 1),
    "fori_loop": lambda: lax.fori_loop(0, 3, counted, 1),
    "fori_loop of arrays": lambda: lax.fori_loop(jnp.int32(0), jnp.int32(3), counted, 1),
    "map": lambda: lax.map(double, X),
    "cond": lambda: lax.cond(True, double, abs, 1.0),
    "cond of closures": lambda: lax.cond(True, CLOSURES[0], CLOSURES[1], 1.0),
    "switch": lambda: lax.switch(1, (double, abs, double), 1.0),
    "checkpoint": lambda: olympus.checkpoint(double)(1.0),
    "reduce": lambda: lax.reduce((X, X), (0.0, 0.0), lambda_of_pairs, (0,)),
    "vmap of a rule": lambda: olympus.vmap(olympus.nn.relu)(X),
}


def lambda_of_pairs(a, b):
    return a[0] + b[0], a[1] * b[0] + b[1]


def _closures():
    a, b = jnp.ones(2), jnp.zeros(3)
    return (lambda x: x * a.sum() + b.sum()), (lambda x: x - b.sum())


CLOSURES = _closures()


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_on_the_same_functions_compiles_once(name, caplog):
    first = CONTROL[name]()
    with olympus.log_compiles(), caplog.at_level(logging.WARNING, "olympus"):
        again = CONTROL[name]()
    assert caplog.messages == []
    assert str(first) == str(again)


def test_a_body_is_staged_anew_where_the_surroundings_differ():
    with olympus.enable_x64():
        (end, _) = lax.scan(step, 0.0, X.astype(np.float64))
    assert end.dtype == np.float64
    assert lax.scan(step, 0.0, X)[0].dtype == np.float32
    lax.map(both, X)
    with olympus.numpy_dtype_promotion("strict"), pytest.raises(DTypeError):
        lax.map(both, X)


def both(x):
    return x + np.int32(1)


def test_a_body_that_closes_over_a_traced_value_is_staged_anew():
    def outer(scale):
        def scaled(x):
            return scale * x

        return lax.map(scaled, X) + olympus.vmap(lambda y: lax.map(scaled, X) * y)(X).sum()

    got = olympus.grad(lambda s: outer(s).sum())(2.0)
    assert float(got) == 3.0 + 27.0
    assert float(olympus.jit(lambda s: outer(s).sum())(2.0)) == 6.0 + 54.0


def test_equal_bodies_of_equal_scopes_carry_their_scope():
    def scoped(name):
        with olympus.named_scope(name):
            return lax.map(double, X)

    text = olympus.jit(lambda: (scoped("a"), scoped("b"))).lower().as_text(debug_info=True)
    assert "/a/" in text and "/b/" in text


class Token:
    pass


def _differentiate() -> weakref.ref[Token]:
    token = Token()

    @olympus.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, (token, x)[1]), lambda x, g: (g * x,))
    olympus.grad(f)(3.0)
    olympus.vmap(olympus.grad(f))(X)
    return weakref.ref(token)


def test_functions_with_rules_are_let_go():
    reference = _differentiate()
    gc.collect()
    assert reference() is None


def _control() -> weakref.ref:
    def body(x):
        return x * 3

    lax.map(body, X)
    lax.cond(True, body, abs, 1.0)
    lax.fori_loop(0, 3, lambda i, x: body(x), 1.0)
    return weakref.ref(body)


def test_functions_of_control_flow_are_let_go():
    reference = _control()
    gc.collect()
    assert reference() is None


def test_static_values_are_compared_bit_by_bit():
    sign = olympus.jit(lambda x, s: x + (1 if np.signbit(s) else 2), static_argnums=1)
    assert [int(sign(0, s)) for s in (0.0, -0.0, 0.0)] == [2, 1, 2]
    first = olympus.jit(lambda x, s: x + s[0], static_argnums=1)
    dtypes = [str(first(1, (s,)).dtype) for s in (1, 1.0, True, 1j)]
    assert dtypes == ["int32", "float32", "int32", "complex64"]
    times = olympus.jit(lambda x, s: x * s, static_argnums=1)
    assert times(1, np.float32(2)).dtype == np.float32
    assert times(1, np.int8(2)).dtype == np.int8
    traces = []
    nan = olympus.jit(lambda x, s: traces.append(s) or x, static_argnums=1)
    assert [float(nan(1.0, float("nan"))) for _ in range(2)] == [1.0, 1.0]
    assert len(traces) == 1


def test_fill_values_are_compared_bit_by_bit():
    def filled(value):
        return jnp.take(X, 7, mode="fill", fill_value=value)

    assert np.signbit([filled(-0.0), filled(0.0)]).tolist() == [True, False]
    both = olympus.jit(lambda: (filled(0.0), filled(-0.0)))()
    assert np.signbit(both).tolist() == [False, True]


def test_strict_promotion_is_part_of_what_a_program_is_traced_for():
    added = olympus.jit(add)
    x, i = jnp.ones(2, "float32"), jnp.ones(2, "int32")
    added(x, i)
    with olympus.numpy_dtype_promotion("strict"), pytest.raises(DTypeError):
        added(x, i)


def test_an_array_closed_over_has_its_value_at_tracing():
    constant = np.ones(3, np.float32)
    added = olympus.jit(lambda x: x + constant)
    traced = added.trace(0.0)
    assert added(0.0).tolist() == [1, 1, 1]
    constant[:] = 5
    assert added(0.0).tolist() == [1, 1, 1]
    assert traced.lower().compile()(0.0).tolist() == [1, 1, 1]
    assert olympus.jit(lambda x: x + constant)(0.0).tolist() == [5, 5, 5]


STAGES = {
    "call, lower": lambda f: (f(1.0), f.lower(1.0)),
    "lower, call": lambda f: (f.lower(1.0).compile()(1.0), f(1.0)),
    "lower, lower": lambda f: (f.lower(1.0), f.lower(1.0)),
    "call, trace": lambda f: (f(1.0), f.trace(1.0)),
    "eval_shape, call": lambda f: (f.eval_shape(1.0), f(1.0)),
    "other types": lambda f: (f.lower(1.0), f.lower(1), f(1), f(np.ones(2))),
    "cleared": lambda f: (f.lower(1.0), f.clear_cache(), f.lower(1.0)),
}


@pytest.mark.parametrize("name", STAGES)
def test_calls_and_stages_share_their_programs(name):
    def count(package):
        traces = []

        def double(x):
            traces.append(x)
            return x * 2

        STAGES[name](package.jit(double))
        return len(traces)

    assert count(olympus) == count(jax)


@pytest.mark.parametrize(
    "options",
    [{"donate_argnums": 0}, {"keep_unused": True}, {"inline": True}, {"static_argnums": 1}],
)
def test_functions_with_other_options_share_traces_as_in_jax(options):
    def count(package):
        traces = []

        def double(x, n=2):
            traces.append(x)
            return x * n

        results = [jit(double)(package.numpy.ones(2)) for jit in (
            package.jit, functools.partial(package.jit, **options), package.jit,
        )]  # fmt: skip
        return len(traces), list(map(np.ndarray.tolist, map(np.asarray, results)))

    assert count(olympus) == count(jax)


def test_programs_that_close_over_one_array_share_it():
    constant = np.arange(100, dtype=np.float32)
    parts = [olympus.jit(lambda x, k=k: (x * k * constant).sum()) for k in range(3)]
    program = olympus.jit(lambda x: sum(part(x) for part in parts)).trace(1.0).olympuspr
    assert len(program.consts) == 1


def test_donation_counts_positions_and_not_leaves():
    last = olympus.jit(lambda a, b, c: c + 1, donate_argnums=2)
    x = jnp.ones(3)
    assert last(None, (), x).tolist() == [2, 2, 2]
    assert x.is_deleted()


def test_an_array_cannot_be_donated_twice():
    both = olympus.jit(swapped, donate_argnums=(0, 1)).lower(X, X).compile()
    x = jnp.asarray(X)
    with pytest.raises(UsageError, match="one array was passed for two arguments"):
        both(x, x)


def test_the_error_of_a_64_bit_program_names_the_actual_types():
    with olympus.enable_x64():
        added = olympus.jit(add).lower(np.ones(2), np.ones(2)).compile()
        assert added(np.ones(2), np.ones(2)).dtype == np.float64
    with pytest.raises(TypeError) as raised:
        added(np.ones(2), np.ones(3))
    assert "'x'" not in str(raised.value)
    assert "Argument 'y' compiled with float64[2] and called with" in str(raised.value)


def test_the_jits_of_one_function_share_their_programs() -> None:
    def counts(jx):
        traced: list[str] = []

        def f(x, n=2):
            traced.append(str(x))
            return x * n

        for x in (4.0, 5.0, np.ones(3, np.float32), 6.0):
            jx.jit(f)(x)
        jx.jit(f, static_argnames="n")(4.0, n=3)
        jx.jit(f, static_argnames="n")(5.0, n=3)
        jx.clear_caches()
        jx.jit(f)(4.0)
        return traced

    assert counts(olympus) == counts(jax)
