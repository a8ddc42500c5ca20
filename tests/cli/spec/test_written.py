"""Errors that need the function of a target: they name the line and the key of olympus.toml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

PROGRAM = """\
import olympus
import olympus.numpy as np


def f(x, weight, scale=1.0):
    return {"y": x * weight * scale}


def made(n):
    return np.zeros(n)


@olympus.jit
def whole(x):
    return x
"""

HEAD = '[target.t]\nentry = "program.py:f"\n'
ARGS = 'args = { x = "f32[4]", weight = "f32[4]" }\n'
MESH = "mesh = { data = 2 }\n"
SHARDED = (
    'args.x = { shape = "f32[4]", sharding = ["data"] }\nargs.weight = "f32[4]"\nmesh.data = 2\n'
)

CASES = {
    "entry": (
        '[target.t]\nargs = ["f32[4]"]\nentry = "program.py:ff"\n',
        ["olympus.toml:3: target.t.entry: ", "did you mean"],
    ),
    "no argument of a shape": (
        HEAD + 'args.x = "f32[4]"\nargs.wieght = "f32[4]"\n',
        ["olympus.toml:4: target.t.args.wieght: f has no argument 'wieght'", "mean weight?"],
    ),
    "no argument of a static": (
        HEAD + ARGS + "[target.t.static]\nscaled = 2.0\n",
        ["olympus.toml:5: target.t.static.scaled: f has no argument 'scaled'", "mean scale?"],
    ),
    "no argument of a matrix": (
        HEAD + ARGS + "matrix.scales = [1]\n",
        ["olympus.toml:4: target.t.matrix.scales: f has no argument 'scales'", "mean scale?"],
    ),
    "a shape and a static": (
        HEAD + ARGS + "[target.t.static]\nx = 2.0\n",
        ["olympus.toml:5: target.t.static.x: argument 'x' is given both"],
    ),
    "an argument that is missing": (
        HEAD + '\nargs.x = "f32[4]"\n',
        ["olympus.toml:4: target.t.args: f needs argument 'weight'"],
    ),
    "no arguments": (HEAD, ["olympus.toml:1: target.t: f needs arguments 'x', 'weight'"]),
    "too many arguments": (
        HEAD + 'args = ["f32[4]", "f32[4]", "f32[4]", "f32[4]"]\n',
        ["olympus.toml:3: target.t.args: f takes 3 arrays by position; 4 shapes are given"],
    ),
    "a dtype": (
        HEAD + 'args = ["f64[4]", "f32[4]"]\n',
        ["olympus.toml:3: target.t.args: float64[4]: 64-bit dtypes are off"],
    ),
    "donate": (
        HEAD + ARGS + 'donate = ["wieght"]\n',
        ["olympus.toml:4: target.t.donate: donate names 'wieght'", "did you mean weight?"],
    ),
    "a shape of a function": (
        HEAD + 'args.x = { from = "program.py:made", with = { m = 4 } }\nargs.weight = "f32[4]"\n',
        ["olympus.toml:3: target.t.args.x: ", "made has no argument 'm'"],
    ),
    "a function of a shape": (
        HEAD + 'args.weight = "f32[4]"\nargs.x = { from = "program.py:mode" }\n',
        ["olympus.toml:4: target.t.args.x: ", "did you mean made?"],
    ),
    "a function of a static": (
        HEAD + ARGS + 'static.scale = { from = "program.py:mode" }\n',
        ["olympus.toml:4: target.t.static.scale: ", "did you mean made?"],
    ),
    "out-sharding": (
        HEAD + SHARDED + 'out-sharding = { z = ["data"] }\n',
        ["olympus.toml:6: target.t.out-sharding: ", "has the key 'z'"],
    ),
    "mesh": (HEAD + ARGS + MESH, ["olympus.toml:4: target.t.mesh: t has a mesh of 2 devices"]),
}


@pytest.mark.parametrize(("text", "words"), CASES.values(), ids=CASES)
def test_the_key_of_a_target(folder: Path, invoke: Invoke, text: str, words: list[str]) -> None:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(text)
    result = invoke("trace", "t@scales=1" if "matrix" in text else "t")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {words[0]}"), result.stderr
    assert all(word in result.stderr for word in words), result.stderr


INPUTS = {
    "an absent file": (
        'inputs.x = { file = "missing.npz" }',
        ["target.t.inputs.x: ", "missing.npz cannot be read: "],
    ),
    "an absent .safetensors file": (
        'inputs.x = { file = "missing.safetensors" }',
        ["target.t.inputs.x: ", "missing.safetensors cannot be read: "],
    ),
    "no argument": (
        "inputs.wieght = { range = [0, 1] }",
        ["target.t.inputs.wieght: ", "has no such argument", "hint: did you mean weight?"],
    ),
    "no function": (
        'inputs.x = { from = "program.py:mode" }',
        ["target.t.inputs.x: ", "did you mean made?"],
    ),
    "an argument of a function": ('inputs.x = { from = "program.py:made" }', ["inputs.x: {"]),
    "a shape of a function": (
        'inputs.x = { from = "program.py:made", with = { n = 3 } }',
        ["target.t.inputs.x: argument x is float32[4], but program.py:made has float32[3]"],
    ),
    "a range that overflows": (
        "inputs.x = { range = [0, 1e300] }",
        ["target.t.inputs.x: argument x is float32[4], and numbers"],
    ),
}


@pytest.mark.parametrize(("line", "words"), INPUTS.values(), ids=INPUTS)
def test_the_inputs_of_a_target(folder: Path, invoke: Invoke, line: str, words: list[str]) -> None:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(f"{HEAD}{ARGS}{line}\n")
    result = invoke("run", "t")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: olympus.toml:4: target.t.inputs."), result.stderr
    assert all(word in result.stderr for word in words), result.stderr


def test_a_value_of_an_option_has_no_line(folder: Path, invoke: Invoke) -> None:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(f"{HEAD}{ARGS}[target.t.static]\nscaled = 2.0\n")
    result = invoke("trace", "t", "--static", "scaled=3.0")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: f has no argument 'scaled'")
    result = invoke("trace", "program.py:f", "--shapes", "z=f32[]")
    assert result.stderr.startswith("error: f has no argument 'z'")
