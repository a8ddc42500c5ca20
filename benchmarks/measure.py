"""The measurement: it runs the processes of each side of each task, and collects their samples.

Every sample comes from a process of its own. The processes of a task's sides run one after the
other, so that other load of the machine affects all of them. The order is reversed from round to
round, and each round runs all tasks, so that a slow drift affects all of them too.
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

COST = "cost"  # the count of a program's cost and its lowering, both in one process
TASKS = ("import", *PROGRAMS, *RUNS, *SCALING, "call", COST, "help")
LONG = "run_gpt"  # a pair takes a minute
MAX_ROUNDS = {"run": 5, LONG: 2, "scaling": 2, "scaling_grad": 2}  # of long tasks
MAX_WHOLE = 3  # rounds of the tasks that compile whole programs
COST_SIDES = ("cost", "lower")  # its two sides, instead of olympus and jax
STARTS = ("help", "build")  # tasks whose processes are not workers

WORKER = "from benchmarks.worker import main; main()"
FIND = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"

Sides = tuple["Side", "Side"]


class WorkerFailed(Exception):
    """Raised if a measuring process ends with an error; the message contains its stderr."""

    def __init__(self, command: list[str], code: int, text: str) -> None:
        super().__init__(f"{' '.join(command)}\nended with {code}:\n{text}")
        self.code = code


@dataclass(frozen=True)
class Side:
    """A side of the comparison: the import name of a framework, and an interpreter with it."""

    framework: str
    python: str = sys.executable

    def is_installed(self) -> bool:
        """Return True if the interpreter finds the framework, without importing it."""
        command = [self.python, "-c", FIND, self.framework]
        return subprocess.run(command, env=environment(), cwd=ROOT).returncode == 0


@dataclass
class Results:
    """The samples: samples[task][measure][side] is a list with a number for each process.

    ended[task][side] is "time" if XLA took more than `limit` seconds, and "memory" if the machine
    had too little. `load` is the load average at the beginning of the measurement.
    """

    samples: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    ended: dict[str, dict[str, str]] = field(default_factory=dict)
    limit: int = 0
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    def add(self, task: str, side: str, outcome: dict[str, list[float]]) -> None:
        """Add the samples of a process, each measure as its median."""
        measures = self.samples.setdefault(task, {})
        for measure, values in outcome.items():
            sides = measures.setdefault(measure, {})
            sides.setdefault(side, []).append(summarize(values).median)


def is_whole(task: str) -> bool:
    """Return True for a task that compiles a whole program, and for a build."""
    return "/" in task


def sides_of(task: str) -> tuple[str, ...]:
    """Return the sides of a task, OLYMPUS first."""
    if is_whole(task) and not task.startswith(STARTS):
        return of_task(task).sides
    return ("olympus",) if task == COST else ("olympus", "jax")


def most_rounds(task: str, rounds: int) -> int:
    """Return the number of rounds of a task, at most `rounds`."""
    return min(rounds, MAX_WHOLE if is_whole(task) else MAX_ROUNDS.get(task, rounds))


def measure(
    sides: Sides,
    tasks: Sequence[str],
    rounds: int,
    repeat: int,
    log: Callable[[str], None],
    limit: int = 300,
    warms_up: bool = True,
) -> Results:
    """Run `rounds` processes for each side of each task, with `repeat` repetitions in a process.

    With `warms_up`, a round before them is not counted: it writes byte code and fills the page
    cache. For tasks that compile whole programs, it is omitted unless they are first. Long tasks
    have fewer rounds, and a side that takes more than `limit` seconds to compile, or too much
    memory, is not run again.
    Raises WorkerFailed.
    """
    results = Results(limit=limit)
    with TemporaryDirectory(prefix="olympus-benchmarks-") as folder:
        for number in range(0 if warms_up else 1, rounds + 1):
            for task in tasks:
                is_warm = number == 0 and is_whole(task) and task != tasks[0]
                if is_warm or number > most_rounds(task, rounds):
                    continue
                log(f"round {number} of {rounds}: {task}")
                worker = Worker(sides, task, repeat if number else 1, limit, Path(folder))
                measure_round(results, worker, number)
    return results


@dataclass(frozen=True)
class Worker:
    """The inputs of the process of a side of a task."""

    sides: Sides
    task: str
    repeat: int
    limit: int
    folder: Path


def measure_round(results: Results, worker: Worker, number: int) -> None:
    """Run a process for each side of the task, and add its samples to `results` after round 0."""
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
            for name, cost_side in zip(("olympus", "jax"), COST_SIDES, strict=True):
                results.add(task, name, outcome["samples"][cost_side])
        elif number:
            results.add(task, side, outcome["samples"])


def run_task(worker: Worker, side: str) -> dict[str, Any]:
    """Run one process of a side, and return its samples and versions."""
    if worker.task.startswith(STARTS):
        command = start_command(worker, side)
        if worker.task.startswith("build"):
            return (build_outcome if side == "olympus" else bare_outcome)(command, spawn)
        start = time.perf_counter()
        spawn(command)
        return {"samples": {"wall": [time.perf_counter() - start]}, "versions": {}}
    framework = worker.sides[0 if SIDES[side][0] == "olympus" else 1]
    numbers = str(worker.repeat), str(worker.limit)
    arguments = [framework.framework, worker.task, *numbers, side]
    outcome: dict[str, Any] = json.loads(
        spawn([framework.python, "-c", WORKER, *arguments]).splitlines()[-1]
    )
    return outcome


def start_command(worker: Worker, side: str) -> list[str]:
    """Return the command of a side of a task that measures a whole process."""
    python, task = worker.sides[0].python, worker.task
    if task == "help":
        return help_command(python) if side == "olympus" else [python, "-c", "import click"]
    if side == "olympus":
        return build_command(task, python, worker.folder)
    return bare_command(task, python, worker.folder, spawn)


def help_command(python: str) -> list[str]:
    """Return `olympus --help`, by the script of the interpreter if it exists, or by its module."""
    script = Path(python).with_name("olympus")
    return [str(script), "--help"] if script.exists() else [python, "-m", "olympus_cli", "--help"]


def spawn(command: list[str]) -> str:
    """Run `command` in the repository's root and return its stdout; raises WorkerFailed."""
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise WorkerFailed(command, done.returncode, done.stderr)
    return done.stdout


def environment() -> dict[str, str]:
    """Return the environment of both sides: this checkout first on the path, only the CPU.

    Byte code is written, as for installed packages. No compilation uses a stored result.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    others = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**others, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "OLYMPUS_CACHE_DIR": ""}
