"""Errors that need the function of a target name the line and the key of olympus.toml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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


def test_a_value_of_an_option_has_no_line(folder: Path, invoke: Invoke) -> None:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(f"{HEAD}{ARGS}[target.t.static]\nscaled = 2.0\n")
    result = invoke("trace", "t", "--static", "scaled=3.0")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: f has no argument 'scaled'")
    result = invoke("trace", "program.py:f", "--shapes", "z=f32[]")
    assert result.stderr.startswith("error: f has no argument 'z'")
