"""`--time-limit` of the commands that read programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

SLOW = """
import time


def slow(x):
    time.sleep(600)
    return x
"""


@pytest.mark.parametrize(
    "command", ["trace", "lower", "cost", "run", "profile", "verify", "diff slow:slow"]
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


def test_a_check_has_the_time_limit(folder: Path, invoke: Invoke) -> None:
    (folder / "slow.py").write_text(SLOW)
    budget = "[target.slow.budget]\nflops = 1\n"
    (folder / "olympus.toml").write_text(
        f'[target.slow]\nentry = "slow:slow"\nargs.x = "f32[2]"\n{budget}'
    )
    result = invoke("check", "--time-limit", "0.2")
    assert result.exit_code == 4
    assert "the time limit of 0.2 s has passed (stage: trace)" in result.stderr
