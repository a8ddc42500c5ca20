"""Fixed runs and figures, and commits of a project."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.history.points import Figure, Run
from tests.cli.conftest import Invoke

PROGRAM = """\
import olympus.numpy as np


def f(x):
    return np.tanh(x) * 2.0
"""


TOML = """\
[target.f]
entry = "m:f"
args = ["f32[64]"]

[target.f.budget]
flops = "1 MFLOP"
"""


MACHINE = {"processor": "a"}


MEASURED = Measured(
    target="f",
    entry="m:f",
    backend="cpu",
    metrics={
        "steady-call": Metric("s", "lower", (1.0, 3.0, 2.0)),
        "skipped": Metric("s", "lower", ()),
    },
    machine=MACHINE,
    conditions={},
    versions={"olympus": "1"},
    fingerprint="0" * 64,
)


def git(folder: Path, *arguments: str, **environment: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments],
        cwd=folder, env={**os.environ, **environment}, check=True, capture_output=True,
    )  # fmt: skip


def commit(folder: Path, day: int) -> None:
    date = f"2026-01-{day:02}T12:00:00Z"
    git(folder, "add", "m.py", "olympus.toml")
    dates = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    git(folder, "commit", "--quiet", "--allow-empty", "-m", f"day {day}", **dates)


def run(day: int, **facts: Any) -> Run:
    time = f"2026-01-{day:02}T12:00:00.000000Z"
    usual = {"command": "bench", "commit": f"{day:040x}", "commit_time": time, "host": "h"}
    return Run(time=time, **{**usual, **facts})


def flops(value: float, **facts: Any) -> Figure:
    return Figure(**{"target": "f", "backend": "cpu", "metric": "flops", "unit": "FLOP",
                     "value": value, **facts})  # fmt: skip


def steady(value: float, **facts: Any) -> Figure:
    usual = {"metric": "steady-call", "unit": "s", "count": 20}
    return flops(value, **{**usual, "low": 0.9 * value, "high": 1.1 * value, **facts})


def document(invoke: Invoke, *arguments: str) -> Any:
    result = invoke("history", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def history(work: Path) -> Path:
    return work / "build" / "history.sqlite"
