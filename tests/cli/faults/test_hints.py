"""Hints name options of the command, and lines of olympus.toml for a target."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import Result

from olympus_cli.main import COMMANDS

Invoke = Callable[..., Result]

PROGRAM = """\
from dataclasses import dataclass

import olympus
import olympus.numpy as jnp


@dataclass(frozen=True)
class Config:
    rate: float


def needs(x):
    return x * 2


def size(n):
    return jnp.zeros(n)


def index(n):
    return [1.0, 2.0][n]


@olympus.jit
def plain(x):
    return x


fixed = olympus.jit(lambda n: jnp.zeros(n), static_argnames="n")


def configured(x, config: Config):
    return x * config.rate


def search(x):
    return olympus.lax.while_loop(lambda c: c[0] < 9, lambda c: c * c, x)
"""

#: The table of a target after its entry, and the function of the entry.
MISTAKES = {
    "no argument": ("needs", ""),
    "a traced size": ("size", 'args.n = "i32[]"'),
    "a traced index": ("index", 'args.n = "i32[]"'),
    "a shape for a static": ("fixed", 'args.n = "i32[]"'),
    "no table": ("configured", 'args.x = "f32[2]"\nstatic.config = 3'),
    "a backend as a device": ("needs", 'args.x = "f32[2]"\nbackends = ["gpu:cpu"]'),
    "a size as a text": ("needs", 'args.x = "f32[n+]"'),
    "a stale line": ("search", 'args.x = "f32[2]"\ntrips = { "m.py:1" = 3 }\nbudget.flops = 1'),
}
#: Commands that take a target; each fails before it compiles.
OF_TARGETS = ("trace", "lower", "compile", "build", "run", "cost", "check", "verify", "bench")
COUNTING = ("compile", "build", "cost", "check", "bench")  # they count the cost of loops
CASES = [
    (mistake, command)
    for mistake in MISTAKES
    for command in (COUNTING if mistake == "a stale line" else OF_TARGETS)
]


def options_of(command: str) -> set[str]:
    click_command: click.Command = import_module(f"olympus_cli.commands.{command}").command
    return {
        name for option in click_command.params for name in (*option.opts, *option.secondary_opts)
    }


def unknown_options(hint: str, command: str) -> Iterator[str]:
    """Yield each option in a hint that neither `command` nor the command named before it has."""
    current = command
    for word in re.findall(r"olympus [a-z]+|(?<![\w-])--?[a-z][a-z-]*", hint):
        if word.startswith("olympus "):
            current = word.split()[1]
        elif current in COMMANDS and word not in options_of(current):
            yield word


def hint_of(result: Result) -> str:
    return " ".join(result.stderr.partition("hint: ")[2].split())


@pytest.fixture
def work(folder: Path) -> Path:
    """The working directory with the program."""
    (folder / "m.py").write_text(PROGRAM)
    return folder


def test_an_option_of_another_command_is_found() -> None:
    assert list(unknown_options("--shapes x gives it", "build")) == ["--shapes"]
    assert list(unknown_options("olympus lower --shapes x gives it", "build")) == []
    assert list(unknown_options("--shapes x gives it", "lower")) == []


@pytest.mark.parametrize(("mistake", "command"), CASES)
def test_a_hint_of_a_target_names_options_of_the_command(
    work: Path, invoke: Invoke, mistake: str, command: str
) -> None:
    function, table = MISTAKES[mistake]
    (work / "olympus.toml").write_text(f'[target.t]\nentry = "m.py:{function}"\n{table}\n')
    result = invoke(command, "t")
    assert result.exit_code in (2, 3), result.output
    hint = hint_of(result)
    assert hint, result.output
    assert list(unknown_options(hint, command)) == []


def test_the_line_for_an_argument_works(work: Path, invoke: Invoke) -> None:
    head = '[target.t]\nentry = "m.py:needs"\n'
    (work / "olympus.toml").write_text(head)
    line, _, value = hint_of(invoke("lower", "t")).partition(" in [target.t] gives a shape, ")
    assert value.startswith("static.x = 3 in [target.t]")
    (work / "olympus.toml").write_text(f"{head}{line}\n")
    assert invoke("lower", "t").exit_code == 0


def test_the_argument_is_added_to_an_existing_table_or_array(work: Path, invoke: Invoke) -> None:
    (work / "m.py").write_text("def f(x, y):\n    return x + y\n")
    head = '[target.t]\nentry = "m.py:f"\n'
    for args, form in [
        ('{ x = "f32[2]" }', 'y = "f32[8,128]" in the table args of [target.t]'),
        ('["f32[2]"]', '"f32[8,128]" in the array args of [target.t]'),
    ]:
        (work / "olympus.toml").write_text(f"{head}args = {args}\n")
        assert hint_of(invoke("lower", "t")).startswith(form)


def test_a_static_that_is_no_table_has_the_form_in_the_hint(work: Path, invoke: Invoke) -> None:
    call = ("lower", "m.py:configured", "--shapes", "x=f32[2]", "--static")
    result = invoke(*call, "config=3")
    assert result.exit_code == 2
    assert "'config' must be a table with the fields of Config; got 3" in result.stderr
    *_, written = shlex.split(hint_of(result))
    assert invoke(*call, written).exit_code == 0
    (work / "m.py").write_text("def f(x, n: tuple[int, ...] | None):\n    return x\n")
    call = ("lower", "m.py:f", "--shapes", "x=f32[2]", "--static")
    result = invoke(*call, "n=3")
    assert result.exit_code == 2
    assert "'n' must be an array; got 3" in result.stderr
    *_, written = shlex.split(hint_of(result))
    assert invoke(*call, written).exit_code == 0
    (work / "m.py").write_text("def f(x, n: tuple[int, ...] | int):\n    return x\n")
    assert invoke(*call, "n=3").exit_code == 0


def test_trips_are_checked_before_the_compilation(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(*_args: object) -> None:
        raise AssertionError("the program was compiled")

    monkeypatch.setattr("olympus_cli.program.stages.Program.compile", compiled)
    (work / "olympus.toml").write_text(
        '[target.t]\nentry = "m.py:search"\nargs.x = "f32[2]"\n'
        'budget = { peak-memory = "1 MiB" }\n[target.t.trips]\n"m.py:37" = 3\n"m.py:1" = 3\n'
    )
    for command in ("check", "build", "bench", "cost"):
        result = invoke(command, "t")
        assert result.exit_code == 2, result.output
        shown = " ".join(result.stderr.split())
        assert "trips names 'm.py:1', where the program has no loop" in shown
        assert "olympus.toml:7: target.t.trips.m.py:1: " in shown
    (work / "olympus.toml").write_text('[target.t]\nentry = "m.py:search"\nargs.x = "f32[2]"\n')
    option = invoke("cost", "t", "--trips", "m.py:2=3")
    assert option.exit_code == 2
    assert "error: trips names 'm.py:2', where the program has no loop" in option.stderr
