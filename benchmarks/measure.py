"""Running the workers. In: two interpreters and some tasks. Out: samples, one a process.

Every sample comes from a process of its own, and the processes of a task's sides run one right
after the other, so that whatever else the machine does meets all. The order is reversed from round
to round, and the rounds go through all tasks before they repeat one, which spreads slow drift over
all.
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
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.building import bare_command, bare_outcome, build_command, build_outcome
from benchmarks.deep import SIDES, of_task
from benchmarks.programs import PROGRAMS, ROOT, RUNS
from benchmarks.scaling import SCALING
from benchmarks.whole import ended_by
from olympus_cli.bench.statistics import summarize

COST = "cost"  # counting what a program costs beside lowering it, both in one process
TASKS = ("import", *PROGRAMS, *RUNS, *SCALING, "call", COST, "help")
LONG = "run_gpt"  # which takes a minute a pair
MOST_ROUNDS = {"run": 5, LONG: 2, "scaling": 2, "scaling_grad": 2}  # of tasks that take long
MOST_WHOLE = 3  # rounds of the tasks that compile programs whole
COST_SIDES = ("cost", "lower")  # its two sides, in the places of olympus and jax
STARTS = ("help", "build")  # tasks whose processes are not workers

WORKER = "from benchmarks.worker import main; main()"
FIND = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"

Sides = tuple["Side", "Side"]


class WorkerFailed(Exception):
    """A measuring process ended with an error; the message holds what it wrote."""

    def __init__(self, command: list[str], code: int, text: str) -> None:
        super().__init__(f"{' '.join(command)}\nended with {code}:\n{text}")
        self.code = code


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
    """samples[task][measure][side] is a list of one number a process.

    ended[task][side] is "time" where XLA took more than `limit` seconds, and "memory" where the
    machine had too little. `load` is its load average when the measurement began: what others do.
    """

    samples: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    ended: dict[str, dict[str, str]] = field(default_factory=dict)
    limit: int = 0
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    def add(self, task: str, side: str, outcome: dict[str, list[float]]) -> None:
        """Keep a process's samples, each measure reduced to its median in that process."""
        measures = self.samples.setdefault(task, {})
        for measure, values in outcome.items():
            sides = measures.setdefault(measure, {})
            sides.setdefault(side, []).append(summarize(values).median)


def is_whole(task: str) -> bool:
    """Whether a task compiles a program whole, or is a build: the long ones, of several sides."""
    return "/" in task


def sides_of(task: str) -> tuple[str, ...]:
    """The sides of a task, ours first."""
    if is_whole(task) and not task.startswith(STARTS):
        return of_task(task).sides
    return ("olympus",) if task == COST else ("olympus", "jax")


def most_rounds(task: str, rounds: int) -> int:
    """How many of `rounds` a task takes part in."""
    return min(rounds, MOST_WHOLE if is_whole(task) else MOST_ROUNDS.get(task, rounds))


def measure(
    sides: Sides,
    tasks: Sequence[str],
    rounds: int,
    repeat: int,
    say: Callable[[str], None],
    limit: int = 300,
) -> Results:
    """`rounds` processes for each side of each task, with `repeat` repetitions within a process.

    A first round is thrown away: it writes byte code and fills the page cache, which the tasks that
    compile programs whole need for the first of all tasks at most. Some tasks drop out of later
    rounds, and a side that takes more than `limit` seconds to compile, or too much memory, is not
    tried again. Raises WorkerFailed.
    """
    results = Results(limit=limit)
    with TemporaryDirectory(prefix="olympus-benchmarks-") as folder:
        for number in range(rounds + 1):
            for task in tasks:
                is_warm = number == 0 and is_whole(task) and task != tasks[0]
                if is_warm or number > most_rounds(task, rounds):
                    continue
                say(f"round {number} of {rounds}: {task}")
                worker = Worker(sides, task, repeat if number else 1, limit, Path(folder))
                measure_round(results, worker, number)
    return results


@dataclass(frozen=True)
class Worker:
    """What a process of any side of a task needs to know."""

    sides: Sides
    task: str
    repeat: int
    limit: int
    folder: Path


def measure_round(results: Results, worker: Worker, number: int) -> None:
    """One process for each side of the worker's task, added to `results` after round 0."""
    task = worker.task
    for side in sides_of(task)[:: 1 if number % 2 else -1]:
        if side in results.ended.get(task, ()):
            continue
        try:
            outcome = run_task(worker, side)
        except WorkerFailed as failure:
            reason = ended_by(failure.code) if is_whole(task) else None
            if reason is None:
                raise
            results.ended.setdefault(task, {})[side] = reason
            results.samples.setdefault(task, {})
            continue
        results.versions |= outcome["versions"]
        if number and task == COST:
            for name, what in zip(("olympus", "jax"), COST_SIDES, strict=True):
                results.add(task, name, outcome["samples"][what])
        elif number:
            results.add(task, side, outcome["samples"])


def run_task(worker: Worker, side: str) -> dict[str, Any]:
    """The samples and versions that one process of a side reports."""
    if worker.task.startswith(STARTS):
        command = start_command(worker, side)
        if worker.task.startswith("build"):
            return (build_outcome if side == "olympus" else bare_outcome)(command, spawn)
        start = time.perf_counter()
        spawn(command)
        return {"samples": {"wall": [time.perf_counter() - start]}, "versions": {}}
    runs_on = worker.sides[0 if SIDES[side][0] == "olympus" else 1]
    numbers = str(worker.repeat), str(worker.limit)
    arguments = [runs_on.framework, worker.task, *numbers, side]
    outcome: dict[str, Any] = json.loads(
        spawn([runs_on.python, "-c", WORKER, *arguments]).splitlines()[-1]
    )
    return outcome


def start_command(worker: Worker, side: str) -> list[str]:
    """What is started for a side of a task that times a whole process; ours is "olympus"."""
    python, task = worker.sides[0].python, worker.task
    if task == "help":
        return help_command(python) if side == "olympus" else [python, "-c", "import click"]
    if side == "olympus":
        return build_command(task, python, worker.folder)
    return bare_command(task, python, worker.folder, spawn)


def help_command(python: str) -> list[str]:
    """`olympus --help` through the console script beside the interpreter, else by module name."""
    script = Path(python).with_name("olympus")
    return [str(script), "--help"] if script.exists() else [python, "-m", "olympus_cli", "--help"]


def spawn(command: list[str]) -> str:
    """What `command` prints, run in the repository's root; raises WorkerFailed."""
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise WorkerFailed(command, done.returncode, done.stderr)
    return done.stdout


def environment() -> dict[str, str]:
    """The same for both sides: this checkout first on the path, and no search for accelerators.

    Byte code is written, as where packages are installed.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
