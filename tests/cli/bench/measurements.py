"""Measurements with fixed figures, and options to measure programs briefly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from olympus_cli.bench.compare.comparing import Compared, Rounds, compare
from olympus_cli.bench.measure.conditions import host
from olympus_cli.bench.measurement import Measured, Metric
from olympus_cli.spec.bench import BenchSpec

MACHINE = {**host(), "device": "cpu"}


def measured(target: str = "f", *, factor: float = 1.0, **metrics_in_seconds: float) -> Measured:
    """A measurement of a process with steady calls of `factor` ms, and other metrics in seconds."""
    samples = tuple(factor * 1e-3 * x for x in (1.0, 1.01, 0.99, 1.0))
    metrics = {"steady-call": Metric("s", "lower", samples, 4)}
    named = {name.replace("_", "-"): value for name, value in metrics_in_seconds.items()}
    metrics |= {name: Metric("s", "lower", (value,)) for name, value in named.items()}
    versions = {"olympus": "1"}
    return Measured(target, "m:f", "cpu", metrics, MACHINE, {"load": 0.5}, versions, "abc")


class World:
    """Rounds of two sides: measurement `i` uses factor `i`; later ones use the last factor."""

    def __init__(self, factors: Sequence[float], **others: float) -> None:
        self.requested_rounds: list[int] = []
        self._factors, self._others = list(factors), others

    def measure(self, rounds: int) -> Rounds:
        self.requested_rounds.append(rounds)
        factor = self._factors.pop(0) if len(self._factors) > 1 else self._factors[0]
        spread = (0.995, 1.0, 1.005, 1.0, 1.0)[:rounds]
        ours = [measured(factor=factor * x, **self._others) for x in spread]
        return ours, [measured(compile=0.1) for _ in range(rounds)]


def against(
    world: World, *, paired: bool = True, spec: BenchSpec | None = None, gates: int = 1
) -> Compared:
    spec = spec or BenchSpec()
    return compare("main", world.measure, paired=paired, spec=spec, gates=gates, rounds=5)


PROGRAM = """\
import olympus.numpy as np


def forward(x):
    return np.tanh(x @ x)


def heavy(x):
    for _ in range(40):
        x = np.tanh(x @ x)
    return x
"""


QUICK = ("--time-limit", "0.1", "--rounds", "3")


def target(name: str, entry: str) -> str:
    return f'[target.{name}]\nentry = "program:{entry}"\nargs = {{ x = "f32[128,128]" }}\n'


def olympus(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process, which forks its workers: they start sooner."""
    command = [sys.executable, "-m", "olympus_cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
