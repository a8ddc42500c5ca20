"""The laws of the collectives, for every row of their table."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from olympus_core.ir.check import check
from olympus_core.lowering import whole_module as lowering
from olympus_core.lowering.entry import EntryAttributes
from tests.primitives.case import Case
from tests.primitives.cases_collective import AXIS_CASES, SIZE

PAIRS = [pytest.param(c, d, id=f"{c.id}-{d}") for c in AXIS_CASES for d in c.dtypes]
# JAX has no derivative of pmax and pmin under their names
ORACLE = types.SimpleNamespace(
    **vars(jax.lax)
    | {
        "pmax": lambda x, name: jax.lax.all_gather(x, name).max(0),
        "pmin": lambda x, name: jax.lax.all_gather(x, name).min(0),
    }
)
ROWS = [pytest.param(c, id=c.id) for c in AXIS_CASES]


def close(got: Any, want: Any) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def ours(case: Case) -> Callable[..., Any]:
    return functools.partial(case.call, olympus.lax)


def named(fun: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return olympus.vmap(fun, axis_name="i", **options)


def directions(case: Case, seed: int) -> Any:
    shape = np.shape(named(ours(case))(*case.arrays("float32")))
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("case", "dtype"), PAIRS)
def test_value_agrees_with_the_oracle_eager_and_compiled(case: Case, dtype: str) -> None:
    xs = case.arrays(dtype)
    want = jax.vmap(functools.partial(case.call, jax.lax), axis_name="i")(*xs)
    for call in (named(ours(case)), olympus.jit(named(ours(case))), named(olympus.jit(ours(case)))):
        close(call(*xs), want)


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("axis", [1, -1])
def test_the_axis_may_be_any(case: Case, axis: int) -> None:
    (x,) = case.arrays("float32")
    moved = np.moveaxis(x, 0, axis % x.ndim)
    if x.ndim > 1:
        close(named(ours(case), in_axes=axis)(moved), named(ours(case))(x))


@pytest.mark.parametrize("case", ROWS)
def test_forward_derivative_inside_is_the_oracles_outside(case: Case) -> None:
    (x,) = case.arrays("float32")
    t = np.random.default_rng(1).standard_normal(x.shape).astype(np.float32)
    oracle = jax.vmap(functools.partial(case.call, ORACLE), axis_name="i")
    want = jax.jvp(oracle, (x,), (t,))[1]
    close(olympus.jvp(named(ours(case)), (x,), (t,))[1], want)
    inside = named(lambda x, t: olympus.jvp(ours(case), (x,), (t,))[1])
    close(inside(x, t), want)
    close(olympus.jit(inside)(x, t), want)


@pytest.mark.parametrize("case", ROWS)
def test_reverse_derivative_inside_is_the_oracles_outside(case: Case) -> None:
    (x,) = case.arrays("float32")
    ct = directions(case, 2)
    oracle = jax.vmap(functools.partial(case.call, ORACLE), axis_name="i")
    (want,) = jax.vjp(oracle, x)[1](ct)
    close(olympus.vjp(named(ours(case)), x)[1](ct)[0], want)
    inside = named(lambda x, ct: olympus.vjp(ours(case), x)[1](ct)[0])
    close(inside(x, ct), want)
    close(named(olympus.jit(lambda x, ct: olympus.vjp(ours(case), x)[1](ct)[0]))(x, ct), want)


@pytest.mark.parametrize("case", ROWS)
def test_an_axis_without_the_name_is_a_loop(case: Case) -> None:
    (x,) = case.arrays("float32")
    many = np.stack([x, 2 * x, -x])
    want = np.stack([np.asarray(named(ours(case))(row)) for row in many])
    close(olympus.vmap(named(ours(case)))(many), want)
    for place in range(1, x.ndim + 1):  # the other axis mapped first, at each place
        inner = olympus.vmap(ours(case), in_axes=place - 1)
        got = named(inner)(np.moveaxis(many, 0, place))
        close(got, np.moveaxis(want, 0, 1))


@pytest.mark.parametrize("case", ROWS)
def test_an_operand_that_is_not_mapped_is_one_for_each_index(case: Case) -> None:
    (x,) = case.arrays("float32")
    want = named(ours(case))(np.stack([x[0]] * SIZE))
    alone = named(ours(case), in_axes=None, axis_size=SIZE)
    close(alone(x[0]), want)
    close(olympus.jit(alone)(x[0]), want)
    staged = named(olympus.jit(ours(case)), in_axes=None, axis_size=SIZE)
    close(staged(x[0]), want)


@pytest.mark.parametrize("case", ROWS)
def test_lowering_for_replicas_is_golden_and_well_typed(
    case: Case, golden: Callable[[str, str], None]
) -> None:
    (x,) = case.arrays(case.dtypes[0])
    program = olympus.make_olympuspr(ours(case), axis_env=[("i", SIZE)])(x[0])
    check(program)
    assert f" {case.primitive}[" in str(program)
    entry = EntryAttributes("f", axes=(("i", SIZE),))
    module = lowering.lower_module(program, entry)
    golden(f"primitives/{case.id}.txt", f"{program}\n\n{module}")
    proto = olympus.xla_computation(ours(case), axis_env=[("i", SIZE)])(x[0])
    assert proto.as_serialized_hlo_module_proto()
