"""The cost of straight-line programs of floats is exactly the count of XLA."""

from __future__ import annotations

import functools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus as ox
import olympus.numpy as jnp
from olympus import lax
from tests.drawn import examples

UNARY = (
    *(jnp.exp, jnp.log, jnp.tanh, jnp.sin, jnp.cos, jnp.sqrt, lax.rsqrt, lax.logistic, lax.erf),
    *(jnp.abs, jnp.negative, jnp.floor, jnp.sign, lax.expm1, lax.log1p, lax.cbrt, jnp.isfinite),
    *(lax.round, lax.is_finite, lax.square),
)
BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, lax.max, lax.min, lax.rem),
    *(lax.pow, lax.atan2, lax.gt, lax.eq),
)
REDUCTIONS = (jnp.sum, jnp.prod, jnp.max, jnp.min)


def unary(draw, x):
    return draw(st.sampled_from(UNARY))(x)


def binary(draw, x):
    return draw(st.sampled_from(BINARY))(x, x * x)


def chosen(draw, x):
    return lax.select(x > x * x, x, -x)


def clamped(draw, x):
    return lax.clamp(-x, x, x * x)


def reduced(draw, x):
    axes = draw(st.sets(st.integers(0, x.ndim - 1), min_size=1)) if x.ndim else ()
    return draw(st.sampled_from(REDUCTIONS))(x, axis=tuple(axes)) if axes else x


def multiplied(draw, x):
    rows = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
    return lax.dot_general(rows, rows, (((1,), (1,)), ((), ())))


def converted(draw, x):
    return x.astype(draw(st.sampled_from(["bfloat16", "float16", "float32"])))


def moved(draw, x):
    ways = [
        lambda x: x.reshape(-1),
        lambda x: lax.rev(x, tuple(range(x.ndim))),
        lambda x: lax.broadcast(x, (2,)),
        lambda x: lax.concatenate([x, x], 0) if x.ndim else x,
        lambda x: lax.slice(x, (0,) * x.ndim, tuple(max(1, n - 1) for n in x.shape)),
        lambda x: lax.reduce_precision(x, 5, 5),
    ]
    return draw(st.sampled_from(ways))(x)


STEPS = (unary, binary, chosen, clamped, reduced, multiplied, converted, moved)
#: The steps whose bytes XLA counts as written; it rewrites the others first.
BYTES = (unary, binary, chosen, reduced, multiplied, converted)


def program(draw, steps):
    plan = draw(st.lists(st.sampled_from(steps), min_size=1, max_size=7))

    def f(x):
        for step in plan:
            x = step(draw, x)
            if x.dtype == bool:
                x = x.astype("float32")
        return x

    return f


@pytest.mark.parametrize(("steps", "compares_bytes"), [(STEPS, False), (BYTES, True)])
@given(data=st.data())
@examples(40)
def test_the_cost_of_drawn_programs_is_the_count_of_xla(steps, compares_bytes, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    traced = ox.jit(program(data.draw, steps)).trace(ox.ShapeDtypeStruct(shape, "float32"))
    lowered = traced.lower(repeats="off")
    figures, xla = lowered.cost(), lowered.cost_analysis()
    assert figures.unknown == ()
    assert figures.flops == xla.get("flops", 0), traced.olympuspr
    assert figures.transcendentals == xla.get("transcendentals", 0), traced.olympuspr
    if compares_bytes:
        assert figures.bytes == xla.get("bytes accessed", 0), traced.olympuspr


def test_the_optimized_program_of_products_has_the_counted_flops():
    """XLA's count of an optimized program is the same if XLA removes no operation."""

    def f(x, ws):
        return functools.reduce(lambda x, w: x @ w, ws, x)

    args = ox.ShapeDtypeStruct((8, 32), "float32"), [ox.ShapeDtypeStruct((32, 32), "float32")] * 3
    compiled = ox.jit(f).trace(*args).lower(repeats="off").compile()
    assert compiled.cost().flops == compiled.cost_analysis()["flops"] == 3 * 2 * 8 * 32 * 32
