"""`python -m benchmarks`. In: the command line. Out: Markdown; on request JSON and a picture.

Exit codes: 0 measured, 1 a measuring process failed, 2 wrong usage or a framework is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import SHORT_TASKS, TASKS, Side, WorkerFailed, measure
from benchmarks.plot import draw, is_available
from benchmarks.report import data, markdown
from benchmarks.scaling import SCALING, WHOLE

ROUNDS, SHORT_ROUNDS = 7, 1
REPEAT, SHORT_REPEAT = WHOLE, 3  # repetitions of trace and lower within one process
BUSY = 0.5  # a load average above it costs more than the quartiles show


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what the arguments ask for, print the tables and return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    options = parser().parse_args(argv)
    tasks = options.only or (SHORT_TASKS if options.short else TASKS)
    if options.plot and not set(SCALING).intersection(tasks):
        say(f"error: --plot draws {' and '.join(SCALING)}, and --only leaves them out")
        return 2
    if options.plot and not is_available():
        say("error: --plot needs matplotlib; pip install '.[bench]' brings it")
        return 2
    rounds = options.repeat or (SHORT_ROUNDS if options.short else ROUNDS)
    repeat = SHORT_REPEAT if options.short else REPEAT
    sides = (Side("olympus", options.python), Side("jax", options.jax_python))
    for side in sides:
        if not side.is_installed():
            say(f"error: {side.python} has no {side.framework}; pip install '.[test]' brings both")
            return 2
    if os.getloadavg()[0] > BUSY:
        say("warning: other programs keep this machine busy; the numbers will suffer")
    try:
        results = measure(sides, tasks, rounds, repeat, say)
    except WorkerFailed as failure:
        say(f"error: {failure}")
        return 1
    command = shlex.join(["python", "-m", "benchmarks", *argv])
    print(markdown(results, command, rounds), end="")
    if options.json:
        options.json.write_text(json.dumps(data(results, command, rounds), indent=1) + "\n")
    if options.plot:
        draw(results, options.plot)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    result = argparse.ArgumentParser("python -m benchmarks", description=main.__doc__)
    add = result.add_argument
    add("--short", action="store_true", help="few repetitions, no run_gpt: to see that it works")
    add("--only", type=task_list, metavar="TASK,...",
        help=f"of {', '.join(TASKS)} (default: all)")  # fmt: skip
    add("--repeat", type=positive, metavar="N", help=f"pairs of processes (default: {ROUNDS})")
    add("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    add("--plot", type=Path, metavar="FILE.svg", help="also draw the cost of an equation")
    add("--python", default=sys.executable, help="the interpreter that has olympus")
    add("--jax-python", default=sys.executable, metavar="PYTHON", help="the one that has jax")
    return result


def task_list(text: str) -> tuple[str, ...]:
    """The tasks named in a comma-separated list."""
    tasks = tuple(text.split(","))
    for task in tasks:
        if task not in TASKS:
            raise argparse.ArgumentTypeError(f"no task {task!r}; there are {', '.join(TASKS)}")
    return tasks


def positive(text: str) -> int:
    """A number of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a positive whole number is needed, got {text!r}")
    return int(text)


def say(message: str) -> None:
    """Talk goes to stderr; stdout carries the tables alone."""
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
