"""Ctrl-C, which a terminal sends to all processes of a command, during a comparison in turns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = """\
import olympus.numpy as np

with open("imported", "a") as file:  # a process of ours has begun
    file.write("1")


def forward(x):
    return np.tanh(x @ x)
"""
TARGET = '[target.f]\nentry = "program:forward"\nargs = { x = "f32[64,64]" }\n'


FORMS = ("--output", "json", "--output", "junit=bench.xml")
LONG = ("--rounds", "90", "--time-limit", "9")


def with_mark(mark: str) -> list[str]:
    """The command lines of the processes with `mark` in their first environment."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                lines.append((process / "cmdline").read_text())
        except OSError:  # it has ended, or belongs to another user
            continue
    return lines


def test_an_interrupted_comparison_shows_its_rounds_and_leaves_no_process(
    folder: Path, started: Callable[..., subprocess.Popen[str]]
) -> None:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "olympus.toml").write_text(TARGET)
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    options = {"env": {**os.environ, "OLYMPUS_TEST_MARK": mark}, "stdout": subprocess.PIPE}
    command = [sys.executable, "-m", "olympus_cli"]
    assert subprocess.run([*command, "build"], **options, check=False).returncode == 0  # type: ignore[call-overload]
    (folder / "imported").unlink()
    process = started(
        [*command, "bench", "f", "--baseline", "build/f/f.olympus", *FORMS, *LONG],
        **options,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (folder / "imported").exists() or (folder / "imported").stat().st_size < 3:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    data, talk = process.communicate(timeout=120)
    assert process.returncode == 130, talk
    assert with_mark(mark) == []
    (comparison,) = json.loads(data)["comparisons"]
    ours, theirs = comparison["rounds"]
    assert (
        ours == theirs >= 1
    )  # the third round starts after the second, or, in turns, after the first
    metric = comparison["metrics"]["steady-call"]
    assert (metric["verdict"]["word"], metric["fails"]) == ("inconclusive", False)
    assert metric["before"] > 0 and metric["now"] > 0
    rounds = f"{ours} round{'' if ours == 1 else 's'}"
    assert f"steady-call and steady-cpu are inconclusive: interrupted after {rounds}\n" in talk
    assert f"the measuring was interrupted (whole rounds: {ours})" in talk
    assert talk.endswith("\ninterrupted\n")
    assert f"interrupted after {rounds}" in (folder / "bench.xml").read_text()
