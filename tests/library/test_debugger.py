"""The command line of `debug.breakpoint`, beside JAX's."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import jax
import pytest

import olympus as ox

#: commands, each with a line of the answer that both have
COMMANDS = {
    "p y": "Array(2., dtype=float32",
    "pp x": "Array(1., dtype=float32",
    "p x + 1": "Array(2., dtype=float32",
    "y": "Array(2., dtype=float32",
    "p name": "'a name'",
    "p nosuch": "*** NameError: name 'nosuch' is not defined",
    "list": "\n->          package.debug.breakpoint(stdin=",
    "l": "test_debugger.py(",
    "where": "Traceback:",
    "bt": 'test_debugger.py", line ',
    "up": "-> ",
    "help": "Documented commands",
}


def in_a_function(package: Any, commands: str, transform: Callable[[Any], Any]) -> str:
    """Return what a breakpoint prints for commands."""
    out = io.StringIO()
    name, unordered = "a name", {1: 2, "a": 3}

    def f(x: Any) -> Any:
        y = x * 2
        package.debug.breakpoint(stdin=io.StringIO(commands), stdout=out, num_frames=3)
        return y, name, unordered

    transform(lambda x: f(x)[0])(package.numpy.float32(1))
    package.effects_barrier()
    return out.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command: str) -> None:
    for package in (ox, jax):
        text = in_a_function(package, f"{command}\nc\n", package.jit)
        assert text.startswith("Entering jdb:\n(jdb) ") and text.endswith("(jdb) ")
        assert COMMANDS[command] in text


def test_frames() -> None:
    text = in_a_function(ox, "up\nup\nup\nd\nd\nd\n\nc\n", ox.jit)
    assert text.count("At topmost frame.") == 1 and text.count("At bottommost frame.") == 1
    assert text.count("\n-> ") == 4


def test_under_transformations() -> None:
    def mapped(f: Any) -> Any:
        return lambda x: ox.vmap(f)(ox.numpy.stack([x, x + 1]))

    assert in_a_function(ox, "p y\nc\np y\nc\n", mapped).count("Entering jdb:") == 2
    looped = lambda f: lambda x: ox.lax.fori_loop(0, 2, lambda i, c: f(c), x)  # noqa: E731
    text = in_a_function(ox, "p y\nc\np y\nc\n", looped)
    assert "Array(2." in text and "Array(4." in text
    assert "Array(2." in in_a_function(ox, "p y\nc\n", ox.grad)


def test_quitting_ends_the_program() -> None:
    for commands in ("q\n", "quit\n", ""):
        with pytest.raises(ox.errors.CallbackError, match="the user quit at a breakpoint"):
            in_a_function(ox, commands, ox.jit)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "web"}, "has the backend 'cli'"),
        ({"token": 1}, "takes no token"),
        ({"num_frames": 0}, "num_frames of 1 or more"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ox.debug.breakpoint(**options)
