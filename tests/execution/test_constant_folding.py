"""Operations on large constants are evaluated when a program is lowered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus_core.execution.constant_folding import folded
from tests.artifact.bundles import struct

W = np.random.default_rng(0).standard_normal((32, 64)).astype("float32")

#: Functions of an array, with the number of equations that are left.
CASES = {
    "transposed": (lambda x: x @ W.T, 1),
    "reshaped": (lambda x: x @ jnp.reshape(W, (64, 32)), 1),
    "element by element": (lambda x: x @ jnp.exp(-2.0 * jnp.asarray(W.T)), 1),
    "compared": (lambda x: x[0] * jnp.where(jnp.asarray(W[0]) > 0, 1.0, 2.0).sum(), None),
    "larger": (lambda x: x[:, :, None] + jnp.broadcast_to(jnp.asarray(W)[0], (8, 1, 64)), None),
    "an argument": (lambda x: jnp.exp(x) @ jnp.exp(x.T), None),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_whole_program(name: str) -> None:
    function, count = CASES[name]
    traced = olympus.jit(function).trace(struct(8, 64))
    program = folded(traced.olympuspr, 16)
    if count is not None:
        assert [eqn.primitive.name for eqn in program.eqns] == ["dot_general"]
    again = olympus.stages.Traced(traced.signature, program)
    x = np.random.default_rng(1).standard_normal((8, 64)).astype("float32")
    np.testing.assert_allclose(again.lower().compile()(x), olympus.jit(function)(x), rtol=1e-5)


def test_products_and_small_constants_are_not_evaluated() -> None:
    def f(x: Any) -> Any:
        return x * lax.dot(jnp.asarray(W), jnp.asarray(W.T)).sum()

    program = olympus.jit(f).trace(1.0).olympuspr
    assert "dot_general" in [eqn.primitive.name for eqn in folded(program, 16).eqns]
    assert len(folded(program, 2**20).eqns) == len(folded(program, 16, evaluates=False).eqns)


def test_unused_constants_are_removed() -> None:
    def f(x: Any) -> Any:
        _ = jnp.asarray(W) * x
        return x

    assert folded(olympus.jit(f).trace(1.0).olympuspr, 16).consts == ()


def test_checks_of_calls_do_not_apply() -> None:
    table = np.where(W > 2, np.nan, W)
    traced = olympus.jit(lambda x: x @ jnp.exp(jnp.asarray(table.T))).trace(struct(8, 64))
    expected = [x.tobytes() for x in folded(traced.olympuspr, 16).consts]
    again = traced.olympuspr.replace()
    with (
        olympus.debug_nans(),
        olympus.no_execution(),
        olympus.transfer_guard("disallow"),
    ):
        assert [x.tobytes() for x in folded(again, 16).consts] == expected
