"""The pass that makes XLA compute residual sums once: values, kernels, and where it is off."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.execution.residual_sums import with_sums_computed_once
from olympus_core.ir.check import check
from olympus_core.transforms.evaluate import evaluate
from tests.execution.test_channels_last import traced, weights

jnp = ox.numpy
X = np.random.default_rng(0).standard_normal((64, 32)).astype("float32")
WEIGHTS = [weights(32, 32) + i for i in range(4)]


def layers(x: Any) -> Any:
    for weight in WEIGHTS:
        x = ox.nn.relu(x + jnp.tanh(x @ weight) * 0.5)
    return x


def names(program: Any) -> list[str]:
    return [eqn.primitive.name for eqn in program.eqns]


def test_each_sum_is_in_one_kernel() -> None:
    text = ox.jit(layers).lower(X).compile().as_text()
    entry = text[text.index("ENTRY") :]
    assert len(re.findall("fusion|call", entry)) > 3
    most = max(line.count("f32[64,32]") for line in text.splitlines() if " (param" in line)
    assert most <= 3  # the array, the term that is added, and the result


def test_nan_stays_and_values_are_the_same() -> None:
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    x = np.array([special] * 6, "float32")

    def sums(x: Any) -> Any:
        low = jnp.maximum(x + x.T, -1.0)
        high = ox.nn.relu(low * 2 + x)
        return low, high, low + high

    program = traced(sums, x)
    changed = with_sums_computed_once(program)
    check(changed)
    assert names(changed).count("select_n") == 2
    for a, b in zip(evaluate(changed, [x]), evaluate(program, [x]), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: (lambda y: (y, y * 2))(jnp.maximum(x + x[::-1], np.float32(np.nan))),
        lambda x: ox.nn.relu(x + x @ WEIGHTS[0]),  # one reader
        lambda x: (ox.nn.relu(x @ WEIGHTS[0] + X[0]), ox.nn.relu(x @ WEIGHTS[0] + X[0]) + x),
        lambda x: jnp.maximum(x + jnp.sin(x), jnp.cos(x)) @ WEIGHTS[0] + x,
        lambda x: x @ WEIGHTS[0],
    ],
)
def test_other_programs_are_unchanged(fun: Any) -> None:
    program = traced(fun, X)
    assert with_sums_computed_once(program) is program


def test_integers_stay() -> None:
    x = np.arange(12, dtype="int32").reshape(3, 4)
    program = traced(lambda x: (ox.nn.relu(x + x[::-1]), ox.nn.relu(x + x[::-1]) * x), x)
    assert with_sums_computed_once(program) is program


def test_the_equations_keep_the_line_of_the_maximum() -> None:
    program = traced(layers, X)
    lines = {e.source.position() for e in program.eqns if e.primitive.name == "relu"}
    changed = with_sums_computed_once(program).eqns
    assert {e.source.position() for e in changed if e.primitive.name == "select_n"} == lines
