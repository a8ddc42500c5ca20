"""Repeated blocks: a program computes the same with them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus as ox
from olympus_core.blocks.outline import blocks
from tests.blocks.networks import (
    X,
    assert_close,
    assert_same_operations,
    forward,
    layer,
    params,
    step,
)
from tests.drawn import examples

jnp = ox.numpy


@pytest.mark.parametrize("fun", [forward, step], ids=["forward", "step"])
def test_every_bit_is_equal_operation_by_operation(fun: Any) -> None:
    assert blocks(assert_same_operations(fun, params(5), X))


def test_compiled_values_agree() -> None:
    assert_close(forward, params(6), X)
    assert_close(step, params(6), X)


_UNARY = ("tanh", "sin", "abs", "exp2", "square", "floor")


@st.composite
def networks(draw: Any) -> Any:
    """A layer of random operations, how often it is repeated, and what is between."""
    names = (*_UNARY, "dot", "mix", "mask", "sum", "aside", "shared", "turned", "several")
    ops = draw(st.lists(st.sampled_from(names), min_size=4, max_size=14))
    layers = draw(st.integers(3, 7))
    between = draw(st.sampled_from(("nothing", "constant", "every second", "skip")))
    derived = draw(st.booleans())

    def fun(ws: Any, x: Any) -> Any:
        first, side, shared = x, x * 0.5, jnp.exp(x * 0.1)
        for i, w in enumerate(ws):
            y = x
            for op in ops:
                if op == "dot":
                    y = y @ w
                elif op == "aside":
                    side = side + (y * 2.0 + 1.0)
                elif op == "shared":
                    y = y * jnp.cos(shared) + side * 0.01
                elif op == "turned":
                    y = (y.T @ w).T
                elif op == "several":
                    y = (y + 1.0) * y - jnp.maximum(y, 0.1)
                elif op == "mix":
                    y = y * 0.5 + x
                elif op == "mask":
                    y = jnp.where(jnp.tril(jnp.ones(y.shape, bool)), y, 0.25)
                elif op == "sum":
                    y = y - jnp.sum(y, axis=1, keepdims=True) / 16
                else:
                    y = getattr(jnp, op)(y)
            x = y @ w * 0.5
            if between == "constant":
                x = x * (i + 1.0)
            elif between == "every second" and i % 2:
                x = jnp.cos(x)
            elif between == "skip":
                x = x + first
        return x + side

    if not derived:
        return fun, layers
    return (lambda ws, x: ox.grad(lambda ws: jnp.sum(jnp.tanh(fun(ws, x))))(ws)), layers


@examples(33)
@given(networks())
def test_random_networks_keep_every_bit(drawn: Any) -> None:
    fun, layers = drawn
    rng = np.random.default_rng(1)
    ws = [(rng.standard_normal((6, 6)) / 3).astype(np.float32) for _ in range(layers)]
    x = rng.standard_normal((6, 6)).astype(np.float32)
    assert_same_operations(fun, ws, x)


def test_a_value_is_either_saved_or_recomputed() -> None:
    """The values that a derivative reads are chains of cheap operations of several lengths."""

    def other(w: Any, x: Any) -> Any:
        y = (x + 1.0) * x - jnp.maximum(x, 0.1)
        y = y - jnp.sum(y, axis=1, keepdims=True) / 16
        return ((jnp.tanh(jnp.exp(-y * y)).T @ w).T) @ w * 0.5

    def network(ws: Any, x: Any) -> Any:
        first, side, shared = x, x * 0.5, jnp.exp(x * 0.1)

        def wave(w: Any, x: Any) -> Any:
            y = jnp.sin(x) * jnp.cos(shared) + side * 0.01
            y = jnp.tanh(jnp.sin(y))
            y = jnp.exp(-y * y) * jnp.cos(shared) + side * 0.01
            y = y @ w
            y = jnp.exp(-y * y)
            return ((y + 1.0) * y - jnp.maximum(y, 0.1)) @ w * 0.5

        outputs = []
        for i, (w, each) in enumerate(zip(ws, (wave, other, other, *[wave] * 4), strict=True)):
            x = each(w, x)
            outputs += [x] if i == 3 else []
            x = jnp.cos(x) if i == 5 else x
        return sum(jnp.sum(jnp.tanh(y)) for y in (x + first, *outputs, side))

    ws = [p["q"] for p in params(7)]
    assert blocks(assert_same_operations(ox.grad(network), ws, X.T @ X))


def _internals(ps: Any, x: Any) -> Any:
    outputs = []
    for p in ps:
        y = layer(p, x)
        x = layer(p, y)
        outputs += [y, x]
    return outputs[::3], outputs[1], outputs[1], x


def _keys(ps: Any, x: Any) -> Any:
    key = ox.random.key(1)
    for i, p in enumerate(ps):
        key, sub = ox.random.split(key)
        x = layer(p, x) * ox.random.bernoulli(sub, 0.9, x.shape)
        x = x + ox.random.normal(ox.random.fold_in(key, i), x.shape) * 0.1
    return x


def _integers(ps: Any, x: Any) -> Any:
    n = (x * 100).astype("int32")
    for p in ps:
        w = (p["q"] * 10).astype("int32")
        for _ in range(8):
            n = jnp.where(n % 3 == 0, n // 2, n * 3 + 1) & 0xFFFF
        n = (n @ w) % 1000
    return n


def _empty(ps: Any, x: Any) -> Any:
    return forward(ps, x[:0]), forward(ps, x)


def _barrier(ps: Any, x: Any) -> Any:
    for p in ps:
        x = ox.lax.optimization_barrier(layer(p, x))
    return x


def _branches(ps: Any, x: Any) -> Any:
    return ox.lax.cond(x[0, 0] > 0, lambda x: forward(ps, x), lambda x: forward(ps[::-1], x), x)


def _irregular(ps: Any, x: Any) -> Any:
    for i, p in zip((0, 1, 1, 0, 0, 1, 0, 1, 1, 0), ps * 2, strict=True):
        x = layer(p, x) if i else jnp.sin(ox.nn.softmax(x @ p["k"])) @ p["v"] + ox.nn.gelu(x)
    return x


@pytest.mark.parametrize(
    "fun", [_internals, _keys, _integers, _empty, _barrier, _branches, _irregular]
)
def test_programs_of_many_kinds_agree(fun: Any) -> None:
    assert blocks(assert_same_operations(fun, params(5), X))
    assert_close(fun, params(5), X)


def test_donated_arguments_are_donated() -> None:
    compiled = ox.jit(step, donate_argnums=0).trace(params(5), X).lower().compile()
    assert "may-alias" in compiled.as_text() or "must-alias" in compiled.as_text()
    arrays = ox.tree.map(ox.device_put, params(5))
    _, after = compiled(arrays, X)
    assert all(x.is_deleted() for x in ox.tree.leaves(arrays))
    want = ox.jit(step).trace(params(5), X).lower(repeats="off").compile()(params(5), X)[1]
    for a, b in zip(ox.tree.leaves(after), ox.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_threads_share_a_program_with_blocks() -> None:
    compiled = ox.jit(step).trace(params(5), X).lower().compile()
    want = float(compiled(params(5), X)[0])
    got: list[float] = []
    threads = [
        threading.Thread(target=lambda: got.append(float(compiled(params(5), X)[0])))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [want] * 8
