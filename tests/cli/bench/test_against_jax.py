"""`olympus bench --against jax`: a JAX function compiled by OLYMPUS and by JAX, in turns."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

NET = """
import jax
import jax.numpy as jnp


@jax.jit
def step(params, x):
    grads = jax.grad(lambda p: jnp.tanh(x @ p["w"]).sum())(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def double(x):
    return x * 2
"""
TOML = """
[target.step]
entry = "net:step"
args = { params = { w = "f32[4,4]" }, x = "f32[2,4]" }
donate = ["params"]

[target.sharded]
entry = "net:step"
mesh = { data = 2, model = 4 }
donate = ["params"]
out-sharding = ["", "model"]

[target.sharded.args]
params = { w = { shape = "f32[4,4]", sharding = ["", "model"] } }
x = { shape = "f32[2,4]", sharding = ["data"] }

[target.double]
entry = "net:double"
args = ["f32[3]"]
"""
EFFORT = ("--rounds", "1", "--time-limit", "0.2")


@pytest.fixture
def net(project: Path) -> Path:
    (project / "net.py").write_text(NET)
    (project / "olympus.toml").write_text(TOML)
    return project


def comparison(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    (found,) = json.loads(result.stdout)["comparisons"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("target", ["step", "sharded"])
def test_all_stages_of_both_sides_are_measured(target: str, net: Path, invoke: Invoke) -> None:
    """Both sides run `sharded` on eight devices."""
    compared = comparison(invoke("bench", target, "--against", "jax", *EFFORT, "--json"))
    assert compared["baseline"] == "jax" and compared["interleaved"]
    assert compared["rounds"] == [1, 1]
    assert {"trace", "lower", "compile", "first-call", "steady-call"} <= {*compared["metrics"]}
    for metric in compared["metrics"].values():
        assert metric["before"] > 0 and metric["now"] > 0
        assert not metric["gate"] and not metric["fails"]
    assert compared["notes"] == []


def test_the_comparison_is_a_table(net: Path, invoke: Invoke) -> None:
    result = invoke("bench", "step", "--against", "jax", *EFFORT)
    assert result.exit_code == 0, result.stderr
    assert "step against jax, in turns" in result.stdout
    assert re.search(r"metric +jax +olympus +ratio", result.stdout)
    assert "donated arguments are copied" in result.stdout


def test_a_threshold_makes_it_a_gate(net: Path, invoke: Invoke) -> None:
    threshold = ("--threshold", "99%")
    compared = comparison(
        invoke("bench", "step", "--against", "jax", *EFFORT, *threshold, "--json")
    )
    gates = [name for name, metric in compared["metrics"].items() if metric["gate"]]
    assert gates == ["steady-call", "steady-cpu"]


def test_a_function_that_olympus_traces_needs_the_key(net: Path, invoke: Invoke) -> None:
    command = ("bench", "double", "--against", "jax", *EFFORT)
    result = invoke(*command)
    assert result.exit_code == 2
    assert "--against jax needs a JAX function, and target 'double' has double" in result.stderr
    (net / "olympus.toml").write_text(TOML + 'frontend = "jax"\n')
    assert (
        comparison(invoke(*command, "--json"))["metrics"]["compile"]["verdict"]["word"]
        == "inconclusive"
    )


def test_a_file_and_another_function_are_errors(net: Path, invoke: Invoke) -> None:
    (net / "m.mlir").write_text("")
    for entry in ("m.mlir", "m.olympus"):
        result = invoke("bench", entry, "--against", "jax")
        assert result.exit_code == 2, result.stderr
        assert "--against jax needs a JAX function" in result.stderr
    result = invoke("bench", "model:add", "--shapes", "f32[2], f32[2]", "--against", "jax")
    assert result.exit_code == 2
    assert "--against jax needs a JAX function, and target 'add' has add" in result.stderr
