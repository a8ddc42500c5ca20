"""`env` and `x64` of a target: they hold while its module is imported, and end with its process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import olympus
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.resolve import Request
from tests.cli.conftest import Invoke

MODEL = """
import os

import numpy as onp
import olympus.numpy as np

SCALE = float(os.environ.get("SCALE", "1"))
WIDE = np.asarray(onp.zeros(1)).dtype


def f(x):
    return x * (SCALE + float(os.environ.get("OFFSET", "0")))


def wide(x):
    assert x.dtype == WIDE, WIDE
    return np.sin(x) + 1
"""

TOML = """
[target.plain]
entry = "variables:f"
args.x = "f32[2]"

[target.scaled]
entry = "variables:f"
args.x = "f32[2]"
env = { SCALE = "{scale}", OFFSET = "0.5" }
matrix.scale = [2, 3]

[target.wide]
entry = "variables:wide"
args.x = "f64[2]"
x64 = true
inputs.x = { range = [0, 1] }
"""

JAX = """
import jax
import jax.numpy as jnp


@jax.jit
def g(x):
    return x * jnp.float64(1.5)
"""


@pytest.fixture
def variables(folder: Path) -> Path:
    (folder / "variables.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def program_of(invoke: Invoke, name: str) -> str:
    result = invoke("trace", name)
    assert result.exit_code == 0, result.stderr
    return str(result.stdout)


def test_variables_are_set_before_the_module_is_imported(variables: Path, invoke: Invoke) -> None:
    assert "1.0" in program_of(invoke, "plain")
    assert "2.5" in program_of(invoke, "scaled@scale=2")
    assert "3.5" in program_of(invoke, "scaled@scale=3")
    assert "SCALE" not in os.environ


def test_targets_with_other_variables_are_built_in_one_command(
    variables: Path, invoke: Invoke
) -> None:
    result = invoke("build", "plain", "scaled", "--json")
    assert result.exit_code == 0, result.stderr
    texts = {
        name: (variables / "build" / name / "program.olympuspr").read_text()
        for name in ("plain", "scaled@scale=2", "scaled@scale=3")
    }
    assert [text for text in ("1.0", "2.5", "3.5") if text not in "".join(texts.values())] == []
    (variables / "olympus.toml").write_text(TOML.replace('OFFSET = "0.5"', 'OFFSET = "0.75"'))
    statuses = json.loads(invoke("build", "plain", "scaled", "--json").stdout)
    assert "3.75" in (variables / "build/scaled@scale=3/program.olympuspr").read_text()
    assert {case["target"]: case["status"] for case in statuses["targets"]} == {
        "plain": "fresh",
        "scaled@scale=2": "built",
        "scaled@scale=3": "built",
    }


def test_flags_of_the_compiler_are_part_of_the_key(
    variables: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert invoke("build", "plain").exit_code == 0
    text = TOML.replace(
        'entry = "variables:f"', 'entry = "variables:f"\nenv = { XLA_FLAGS = "{}" }', 1
    )
    flags = "--xla_cpu_enable_fast_math=true"
    (variables / "olympus.toml").write_text(text.replace("{}", flags))
    result = invoke("build", "plain")
    assert f"XLA_FLAGS: none -> {flags}" in result.stdout
    assert invoke("build", "plain", "--frozen").exit_code == 0
    (variables / "olympus.toml").write_text(text.replace("{}", "--no-such-flag"))
    result = invoke("build", "plain")
    assert result.exit_code == 4 and "Unknown flag in XLA_FLAGS: --no-such-flag" in result.stderr


def test_a_target_with_x64_keeps_64_bits_in_every_command(variables: Path, invoke: Invoke) -> None:
    for command in (("build",), ("run",), ("verify",), ("bench", "--time-limit", "0.05")):
        result = invoke(command[0], "wide", *command[1:])
        assert result.exit_code == 0, (command, result.stderr)
    assert "f64[2]" in program_of(invoke, "wide")
    assert invoke("run", "build/wide/wide.olympus").exit_code == 0
    (variables / "olympus.toml").write_text(TOML.replace("x64 = true", "x64 = false"))
    result = invoke("trace", "wide")
    assert result.exit_code == 2
    assert "hint: write x64 = true in the target" in result.stderr
    assert not olympus.config.x64_enabled


def test_x64_switches_jax_too(folder: Path, invoke: Invoke) -> None:
    (folder / "functions.py").write_text(JAX)
    target = '[target.g]\nentry = "functions:g"\nargs.x = "f64[2]"\nx64 = true\n'
    (folder / "olympus.toml").write_text(target)
    assert "f64[2]" in program_of(invoke, "g")


def test_a_process_has_the_environment_of_its_last_target(
    variables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALE", "9")
    load_target(Request("scaled@scale=2").spec())
    assert (os.environ["SCALE"], os.environ["OFFSET"]) == ("2", "0.5")
    load_target(Request("wide").spec())
    assert (os.environ["SCALE"], "OFFSET" in os.environ) == ("9", False)
    assert (olympus.config.x64_enabled, os.environ["JAX_ENABLE_X64"]) == (True, "true")
    load_target(Request("plain").spec())
    assert (olympus.config.x64_enabled, "JAX_ENABLE_X64" in os.environ) == (False, False)
