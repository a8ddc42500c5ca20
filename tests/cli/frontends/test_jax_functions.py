"""Targets whose function is one of JAX."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

NET = """
import functools

import jax
import jax.numpy as jnp


def init(layers=3):
    keys = jax.random.split(jax.random.key(0), layers)
    return [{"w": jax.random.normal(k, (8, 8))} for k in keys]


def loss(params, x, scale=1.0):
    for p in params:
        x = jnp.tanh(x @ p["w"])
    return (x * scale).sum()


@jax.jit
def step(params, x):
    grads = jax.grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


@functools.partial(jax.jit, static_argnames="n")
def power(x, n):
    return x**n


def wrong(x):
    return jnp.zeros(3) + x.no_name


def mismatched(x):
    return jnp.sin(x) @ jnp.ones(4)


def twice(x):
    print("twice")
    return 2 * x


def calling(x):
    jax.debug.print("x has {} elements", x.size, ordered=True)
    return jax.pure_callback(twice, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
"""
TOML = """
[target.step]
entry = "net:step"
args.params = { from = "net:init", with = { layers = 2 } }
args.x = "f32[4,8]"
donate = ["params"]

[target.loss]
entry = "net:loss"
args.params = { from = "net:init" }
args.x = "f32[4,8]"
static.scale = 2.0

[target.power]
entry = "net:power"
args.x = "f32[4]"
static.n = 3
"""


@pytest.fixture
def net(project: Path) -> Path:
    (project / "net.py").write_text(NET)
    (project / "olympus.toml").write_text(TOML)
    return project


def test_targets_of_jax_are_built_and_are_fresh_then(net: Path, invoke: Invoke) -> None:
    result = invoke("build")
    assert result.exit_code == 0, result.stderr
    assert invoke("build").stdout.count("fresh") == 3
    document = json.loads(invoke("trace", "step", "--json").stdout)
    names = [argument["name"] for argument in document["arguments"]]
    assert names == ["params[0]['w']", "params[1]['w']", "x"]
    results = [result["name"] for result in document["results"]]
    assert results == ["result[0]['w']", "result[1]['w']"]


def test_costs_are_at_the_lines_of_the_program(net: Path, invoke: Invoke) -> None:
    result = invoke("cost", "loss")
    assert result.exit_code == 0, result.stderr
    assert "net.py:16" in result.stdout
    assert 'x = jnp.tanh(x @ p["w"])' in result.stdout


def test_verify_agrees(net: Path, invoke: Invoke) -> None:
    for target in ("loss", "power", "step"):
        result = invoke("verify", target)
        assert result.exit_code == 0, result.output


def test_an_error_of_the_function_has_its_line(net: Path, invoke: Invoke) -> None:
    result = invoke("trace", "net:wrong", "--shapes", "f32[3]")
    assert result.exit_code == 3
    assert "wrong raised AttributeError while it was traced" in result.stderr
    assert "net.py:31" in result.stderr


def test_an_error_of_jax_is_not_due_to_an_array_of_olympus(net: Path, invoke: Invoke) -> None:
    result = invoke("trace", "net:mismatched", "--shapes", "f32[3]")
    assert result.exit_code == 3
    assert "mismatched raised TypeError while it was traced: dot_general" in result.stderr
    assert "hint" not in result.stderr


def test_the_frontend_is_chosen_by_a_key(net: Path, invoke: Invoke) -> None:
    target = '[target.t]\nentry = "net:loss"\nargs = ["f32[8]"]\nfrontend = "{}"\n'
    (net / "net.py").write_text(
        "import jax.numpy as jnp\n\n\ndef loss(x):\n    return jnp.sin(x)\n"
    )
    for frontend, code in (("jax", 0), ("auto", 0), ("olympus", 3)):
        (net / "olympus.toml").write_text(target.format(frontend))
        assert invoke("trace", "t").exit_code == code, frontend
    (net / "olympus.toml").write_text(target.format("tensorflow"))
    result = invoke("trace", "t")
    assert result.exit_code == 2
    assert "target.t.frontend" in result.stderr


def test_the_functions_that_a_program_calls_are_those_of_jax(net: Path, invoke: Invoke) -> None:
    (net / "olympus.toml").write_text('[target.t]\nentry = "net:calling"\nargs = ["f32[4]"]\n')
    assert invoke("build").exit_code == 0
    calls = invoke("inspect", "build/t/t.olympus").stdout
    assert "debug.print('x has {} elements'), net:twice" in calls
    for command in (("run",), ("verify",), ("bench", "--rounds", "1", "--time-limit", "1")):
        result = invoke(command[0], "t", *command[1:])
        assert result.exit_code == 0, result.stderr
    assert invoke("profile", "t").exit_code == 0
    assert invoke("run", "build/t/t.olympus").exit_code != 0
