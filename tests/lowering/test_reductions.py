"""Reductions of integers, which one kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus as ox
import olympus.numpy as op
from olympus import lax
from olympus.interop.jax import jit


def drawn(*shape: int, dtype: str = "int32") -> Any:
    return np.random.default_rng(len(shape)).integers(-90, 90, shape).astype(dtype)


def joint(text: str) -> int:
    """The number of reductions of two arrays."""
    return sum("across dimensions" in x and x.count(" init:") == 2 for x in text.splitlines())


@pytest.mark.parametrize(
    ("fun", "args", "count"),
    [
        (lambda x: (x > 0).any(-1), [drawn(4, 40)], 1),
        (lambda x: (x > 0).all(), [drawn(40, 4)], 1),
        (lambda x: x.sum((0, 2)), [drawn(3, 4, 40)], 1),
        (lambda x: (x.max(-1), x.min(-1)), [drawn(4, 40, dtype="uint16")], 2),
        (lambda x: x.prod(-1), [drawn(4, 40, dtype="int64")], 1),
        (lambda x: op.bitwise_xor.reduce(x, axis=1), [drawn(4, 40, dtype="int8")], 1),
        (lambda x: lax.reduce(x, np.int32(7), lax.add, (1,)), [drawn(4, 40)], 1),
        (lambda x: x.sum(0), [drawn(40, 1)], 1),  # the last axis has one element
        (lambda x: ox.jit(lambda x: x.max(-1))(x) + x.max(-1), [drawn(4, 40)], 2),
        (lambda x: ox.lax.cond(x[0, 0] > 0, lambda: x.sum(), lambda: x.max()), [drawn(4, 40)], 2),
    ],
    ids=[
        *["any", "all", "sum", "extrema", "product", "xor", "given start", "one column"],
        *["function", "branches"],
    ],
)
def test_long_reductions_of_integers_are_joint(
    fun: Callable[..., Any], args: list[Any], count: int
) -> None:
    lowered = ox.jit(fun).lower(*args)
    assert joint(lowered.as_text()) == count
    assert joint(ox.jit(fun).trace(*args).lower(lowering_platforms="gpu").as_text()) == 0
    with ox.disable_jit():
        expected = fun(*map(op.asarray, args))
    for found, value in zip(
        ox.tree.leaves(lowered.compile()(*args)), ox.tree.leaves(expected), strict=True
    ):
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (lambda x: x.sum(-1), [drawn(4, 40).astype("float32")]),
        (lambda x: x.sum(-1), [drawn(4, 32)]),  # one step
        (lambda x: x.sum(0), [drawn(40, 4)]),
        (lambda x: x.sum(), [drawn(2**18)]),  # several processors are faster
        (lambda x: lax.reduce(x, np.int32(0), lambda a, b: a + b + 1, (1,)), [drawn(4, 40)]),
        (lambda x: lax.reduce(x, np.int32(0), lax.sub, (1,)), [drawn(4, 40)]),
        (lambda x: x.sum(-1), [drawn(0, 40)]),
    ],
    ids=["floats", "short", "first axis", "one sum", "function", "difference", "empty"],
)
def test_others_have_one_array(fun: Callable[..., Any], args: list[Any]) -> None:
    lowered = ox.jit(fun).lower(*args)
    assert joint(lowered.as_text()) == 0
    with ox.disable_jit():
        np.testing.assert_array_equal(lowered.compile()(*args), fun(op.asarray(args[0])))


def test_the_keys_of_argmax_are_reduced_jointly() -> None:
    x = drawn(32, 40).astype("float32")
    lowered = ox.jit(lambda x: x.argmax(-1)).lower(x)
    assert "(tensor<32x40xi64>, tensor<32x40xi64>, tensor<i64>, tensor<i64>)" in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(x), x.argmax(-1))


def test_the_sum_of_many_columns_is_joint() -> None:
    x = ox.ShapeDtypeStruct((64, 2**18), "int32")
    assert joint(ox.jit(lambda x: x.sum(-1)).lower(x).as_text()) == 1


def test_a_joint_reduction_is_one_kernel_with_its_operand() -> None:
    def fun(x: Any) -> Any:
        return jnp.isnan(x).any(-1)

    x = drawn(64, 128).astype("float32")
    theirs, ours = (j(fun).lower(x).compile().as_text() for j in (jax.jit, jit))
    assert theirs.count("reduce-window(") > ours.count("reduce-window(") == 0
    assert ours.count(" fusion(") == 1


def test_costs_are_those_of_one_array() -> None:
    traced = ox.jit(lambda x: x.sum(-1)).trace(drawn(64, 128))
    lowered, for_gpu = traced.lower(), traced.lower(lowering_platforms="gpu")
    assert joint(lowered.as_text()) == 1
    assert str(lowered.cost()) == str(for_gpu.cost())


@pytest.mark.parametrize("as_is", [False, True])
def test_a_program_of_jax_has_them(as_is: bool) -> None:
    x = drawn(8, 300)

    def fun(x: Any) -> Any:
        return jax.lax.while_loop(lambda v: (v > 0).any(), lambda v: v - 1, x), jax.lax.map(
            lambda v: v.max(), x
        )

    ours = jit(fun, as_is=as_is)
    assert joint(ours.lower(x).as_text()) == (0 if as_is else 2)
    for found, expected in zip(ours(x), jax.jit(fun)(x), strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("axes", [0, 1, (0, 1)])
def test_floats_are_cut_before_the_extremum_of_bytes(axes: Any) -> None:
    """XLA's library of reductions rounds them."""
    x = np.linspace(-7.7, 5.7, 700 * 400, dtype="float32").reshape(700, 400)
    found = ox.jit(lambda x: (x.astype("int8").max(axes), x.astype("int8").min(axes)))(x)
    for value, expected in zip(
        found, (x.astype("int8").max(axes), x.astype("int8").min(axes)), strict=True
    ):
        np.testing.assert_array_equal(value, expected)
