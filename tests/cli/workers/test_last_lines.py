"""A fatal signal during tracing: the message has the last line of the user's code that ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Invoke

HELPER = """\
import ctypes


def crash(x):
    ctypes.string_at(0)
    return x
"""

PROGRAM = """\
import ctypes

import helper
import olympus
import olympus.numpy as np


def in_helper(x):
    return helper.crash(np.sin(x))


@olympus.jit
def inner(x):
    y = np.tanh(x)
    ctypes.string_at(0)
    return y


def in_jit(x):
    return inner(x) + 1


@olympus.jit
def middle(x):
    return helper.crash(x * 2)


def in_helper_of_jit(x):
    return middle(x) + 1


def in_loop(x):
    return olympus.lax.fori_loop(0, 3, lambda i, y: helper.crash(y), x)
"""

LINES = {
    "in_helper": "helper.py:5",
    "in_jit": "program.py:15",
    "in_helper_of_jit": "helper.py:5",
    "in_loop": "helper.py:5",
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("command", ["trace", "lower"])
def test_the_last_line_is_named(folder: Path, invoke: Invoke, command: str, name: str) -> None:
    (folder / "helper.py").write_text(HELPER)
    (folder / "program.py").write_text(PROGRAM)
    result = invoke(command, f"program.py:{name}", "--shapes", "f32[4]")
    assert result.exit_code == 4, result.output
    assert "was ended by SIGSEGV (stage: trace)" in result.stderr
    assert f"\n  {LINES[name]}\n    ctypes.string_at(0)\n" in result.stderr
