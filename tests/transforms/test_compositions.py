"""Transformations drawn at random and composed three deep agree with the oracle's."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import olympus
from tests.day import diagonals
from tests.drawn import examples

MATRIX = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.7]])
POINT = np.array([0.3, -0.7, 1.1])


@pytest.fixture(autouse=True, scope="module")
def x64():
    with olympus.enable_x64(True), jax.enable_x64(True):
        yield


FUNCTIONS = {
    "product": lambda ox, x: ox.numpy.sin(x) * x,
    "layer": lambda ox, x: ox.numpy.tanh(MATRIX @ x),
    "rational": lambda ox, x: x / (1 + x**2),
    "softmax": lambda ox, x: ox.nn.softmax(x) * x,
    "dot": lambda ox, x: (x @ x) * ox.numpy.exp(-x),
    "where": lambda ox, x: ox.numpy.where(x > 0, x**3, ox.numpy.cos(x)),
    "cumsum": lambda ox, x: ox.numpy.cumsum(x) * x[::-1],
    "logsumexp": lambda ox, x: ox.nn.logsumexp(x) + x * ox.numpy.max(x),
    "gather": lambda ox, x: x[np.array([2, 0, 2])] * x,
    "update": lambda ox, x: ox.numpy.zeros(3).at[1:].add(x[:2] * x[1:]) + ox.numpy.sort(x),
    "gelu": lambda ox, x: ox.nn.gelu(x @ MATRIX),
    "calls": lambda ox, x: _calls(ox, x),
    "recurrence": lambda ox, x: ox.lax.scan(
        lambda c, y: (ox.numpy.sin(c) * y + c, c * y), x, x * MATRIX
    )[1].sum(1),
    "branches": lambda ox, x: ox.lax.cond(x[0] > 0, lambda v: (v * v, v), lambda v: (v, v), x)[0],
    "solve": lambda ox, x: ox.numpy.linalg.solve(3 * ox.numpy.eye(3) + MATRIX * x, x),
}


def _calls(ox: Any, x: Any) -> Any:
    """Calls of nested programs, one of which closes over what the other gives."""
    product, total = ox.jit(lambda a, b: (a * b, a + b))(x, MATRIX @ x)
    return ox.jit(lambda a: a * product)(total)


def _custom_jvp(ox: Any, f: Any) -> Any:
    wrapped = ox.custom_jvp(f)
    wrapped.defjvp(lambda p, t: ox.jvp(f, p, t))
    return wrapped


def _custom_vjp(ox: Any, f: Any) -> Any:
    wrapped = ox.custom_vjp(f)
    wrapped.defvjp(lambda x: (f(x), x), lambda x, ct: ox.vjp(f, x)[1](ct))
    return wrapped


def _scan(ox: Any, f: Any) -> Any:
    return lambda x: ox.lax.scan(lambda c, y: (f(c) + y, c), x, MATRIX[:2])[1].sum(0)


def _while(ox: Any, f: Any) -> Any:
    def loop(x):
        start = (0, x)
        return ox.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), start)[1]

    return loop


TRANSFORMS = {
    "jit": lambda ox, f: ox.jit(f),
    "grad": lambda ox, f: ox.grad(lambda x: ox.numpy.sum(f(x) * MATRIX[0])),
    "jvp": lambda ox, f: lambda x: ox.jvp(f, (x,), (ox.numpy.cos(x),))[1],
    "vjp": lambda ox, f: lambda x: ox.vjp(f, x)[1](ox.numpy.sin(x))[0],
    "linearize": lambda ox, f: lambda x: ox.linearize(f, x)[1](x),
    "vmap": lambda ox, f: lambda x: ox.vmap(f)(ox.numpy.stack([x, 2 * x])).sum(0),
    "vmap_columns": lambda ox, f: lambda x: ox.vmap(f, 1, 1)(x[:, None] * MATRIX).mean(1),
    "checkpoint": lambda ox, f: ox.checkpoint(f),
    "scan": _scan,
    "cond": lambda ox, f: lambda x: ox.lax.cond(x.sum() > 0, f, lambda y: y * f(y), x),
    "fori": lambda ox, f: lambda x: ox.lax.fori_loop(0, 2, lambda i, c: f(c) * 0.5, x),
    "custom_jvp": _custom_jvp,
    "jacfwd": lambda ox, f: lambda x: ox.jacfwd(f)(x).sum(0),
    "jacrev": lambda ox, f: lambda x: ox.jacrev(f)(x).sum(1),
}
LAST = TRANSFORMS | {
    "hessian": lambda ox, f: lambda x: ox.hessian(lambda y: ox.numpy.sum(f(y)))(x),
}
FORWARD = ["jit", "jvp", "vmap", "checkpoint", "linearize", "jacfwd"]
REVERSE = ["jit", "grad", "vjp", "vmap", "checkpoint", "jacrev", "scan"]


def compare(function: str, names: list[str], inner: Any = None) -> None:
    def build(ox: Any) -> Any:
        def f(x):
            return FUNCTIONS[function](ox, x)

        f = f if inner is None else inner(ox, f)
        for name in names:
            f = LAST[name](ox, f)
        return f

    want = np.asarray(jax.jit(build(jax))(POINT))
    got = np.asarray(olympus.jit(build(olympus))(POINT))
    assert got.dtype == want.dtype
    scale = max(1.0, float(np.max(np.abs(want))))
    np.testing.assert_allclose(got / scale, want / scale, rtol=1e-9, atol=1e-10)


slow = examples(20, suppress_health_check=list(HealthCheck))


@slow
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=2, max_size=2),
    st.sampled_from(sorted(LAST)),
)
def test_three_transformations_in_any_order(function, first, last):
    compare(function, [*first, last])


@examples(12, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["layer", "rational", "softmax"]),
    st.lists(st.sampled_from(FORWARD), min_size=2, max_size=3),
)
def test_forward_mode_goes_through_while_loops(function, names):
    compare(function, names, _while)


@examples(12, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["layer", "dot", "gelu"]),
    st.lists(st.sampled_from(REVERSE), min_size=2, max_size=3),
)
def test_reverse_mode_goes_through_custom_vjp(function, names):
    compare(function, names, _custom_vjp)


@pytest.mark.parametrize(("name", "function"), diagonals(sorted(LAST), sorted(FUNCTIONS), 3))
def test_each_transformation_of_each_function_eagerly(function, name):
    f = LAST[name](olympus, lambda x: FUNCTIONS[function](olympus, x))
    want = LAST[name](jax, lambda x: FUNCTIONS[function](jax, x))
    np.testing.assert_allclose(
        np.asarray(f(POINT)), np.asarray(jax.jit(want)(POINT)), rtol=1e-9, atol=1e-9
    )
