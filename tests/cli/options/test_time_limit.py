"""`--time-limit` of the commands that read programs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus_cli.main import COMMANDS

Invoke = Callable[..., Result]

SLOW = """
import time


def slow(x):
    time.sleep(600)
    return x
"""


#: The commands that neither trace a program nor give one to the compiler.
WITHOUT_PROGRAMS = {
    *("init", "list", "clean", "inspect", "sign", "history", "devices", "schema", "completion"),
    *("cache", "doctor"),
}


def test_a_command_that_reads_programs_has_both_limits() -> None:
    for name in COMMANDS.keys() - WITHOUT_PROGRAMS:
        command = importlib.import_module(f"olympus_cli.commands.{name}").command
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--time-limit", "--memory-limit"} <= options, name


@pytest.mark.parametrize(
    "command",
    [
        *("trace", "lower", "cost", "run", "profile", "verify", "diff slow:slow"),
        "shard --mesh data=2",
    ],
)
def test_a_command_ends_a_program_after_the_time_limit(
    command: str, folder: Path, invoke: Invoke
) -> None:
    (folder / "slow.py").write_text(SLOW)
    result = invoke(*command.split(), "slow:slow", "--shapes", "f32[2]", "--time-limit", "0.2")
    assert result.exit_code == 4
    assert "the time limit of 0.2 s has passed (stage: trace)" in result.stderr


def test_a_reference_of_verify_has_the_time_limit_too(folder: Path, invoke: Invoke) -> None:
    (folder / "slow.py").write_text(SLOW)
    shapes = ("--shapes", "f32[2]", "--time-limit", "0.2", "--against", "interpreter")
    result = invoke("verify", "slow:slow", *shapes)
    assert result.exit_code == 4
    assert "the time limit of 0.2 s has passed (stage: lower)" in result.stderr


@pytest.mark.parametrize(("command", "code"), [("check", 4), ("explain", 0)])
def test_a_target_that_exceeds_the_time_limit_is_reported(
    command: str, code: int, folder: Path, invoke: Invoke
) -> None:
    (folder / "slow.py").write_text(SLOW)
    budget = "[target.slow.budget]\nflops = 1\n"
    (folder / "olympus.toml").write_text(
        f'[target.slow]\nentry = "slow:slow"\nargs.x = "f32[2]"\n{budget}'
    )
    result = invoke(command, "--time-limit", "0.2")
    assert result.exit_code == code
    assert "the time limit of 0.2 s has passed (stage: trace)" in result.output
