"""Running the workers. In: two sides and some tasks. Out: samples, one list entry a process.

Every sample comes from a process of its own, and the two processes of a pair run one right after
the other, so that whatever else the machine does meets both. The side that goes first alternates,
and the rounds go through all tasks before they repeat one, which spreads slow drift over all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.programs import PROGRAMS, ROOT, RUNS
from benchmarks.scaling import SCALING
from olympus_cli.bench.statistics import summarize

TASKS = ("import", *PROGRAMS, *RUNS, *SCALING, "call", "help")
SHORT_TASKS = tuple(task for task in TASKS if task != "run_gpt")  # which takes a minute a pair
MOST_ROUNDS = {"run": 5, "run_gpt": 2, "scaling": 2, "scaling_grad": 2}  # of tasks that take long

WORKER = "from benchmarks.worker import main; main()"
FIND = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"


class WorkerFailed(Exception):
    """A measuring process ended with an error; the message holds what it wrote."""


@dataclass(frozen=True)
class Side:
    """One of the two compared: an import name, and the interpreter that has it."""

    framework: str
    python: str = sys.executable

    def is_installed(self) -> bool:
        """Whether the interpreter finds the framework, without importing it."""
        command = [self.python, "-c", FIND, self.framework]
        return subprocess.run(command, env=environment(), cwd=ROOT).returncode == 0


@dataclass
class Results:
    """samples[task][measure] holds a list of one number a process for each of the two sides.

    `load` is the machine's load average when the measurement began: what others do with it.
    """

    samples: dict[str, dict[str, tuple[list[float], list[float]]]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    def add(self, task: str, side: int, outcome: dict[str, list[float]]) -> None:
        """Keep a process's samples, each measure reduced to its median in that process."""
        measures = self.samples.setdefault(task, {})
        for measure, values in outcome.items():
            measures.setdefault(measure, ([], []))[side].append(summarize(values).median)


def measure(
    sides: tuple[Side, Side],
    tasks: Sequence[str],
    rounds: int,
    repeat: int,
    say: Callable[[str], None],
) -> Results:
    """`rounds` pairs of processes for each task, with `repeat` repetitions within a process.

    Tasks in MOST_ROUNDS drop out of later rounds. A first round is thrown away: it writes byte
    code and fills the page cache. Raises WorkerFailed.
    """
    results = Results()
    for number in range(rounds + 1):
        for task in tasks:
            if number > MOST_ROUNDS.get(task, rounds):
                continue
            say(f"round {number} of {rounds}: {task}")
            for side in (0, 1) if number % 2 else (1, 0):
                outcome = run_task(sides, side, task, repeat if number else 1)
                results.versions |= outcome["versions"]
                if number:
                    results.add(task, side, outcome["samples"])
    return results


def run_task(sides: tuple[Side, Side], side: int, task: str, repeat: int) -> dict[str, Any]:
    """The samples and versions that one process of `task` reports."""
    python, framework = sides[side].python, sides[side].framework
    if task == "help":
        command = help_command(python) if side == 0 else [sides[0].python, "-c", "import click"]
        start = time.perf_counter()
        spawn(command)
        return {"samples": {"wall": [time.perf_counter() - start]}, "versions": {}}
    outcome: dict[str, Any] = json.loads(
        spawn([python, "-c", WORKER, framework, task, str(repeat)]).splitlines()[-1]
    )
    return outcome


def help_command(python: str) -> list[str]:
    """`olympus --help` through the console script beside the interpreter, else by module name."""
    script = Path(python).with_name("olympus")
    return [str(script), "--help"] if script.exists() else [python, "-m", "olympus_cli", "--help"]


def spawn(command: list[str]) -> str:
    """What `command` prints, run in the repository's root; raises WorkerFailed."""
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise WorkerFailed(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def environment() -> dict[str, str]:
    """The same for both sides: this checkout first on the path, and no search for accelerators."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
