"""`python -m benchmarks`: measure OLYMPUS and JAX, and print Markdown tables.

Options write JSON and a chart. Exit codes: 0 for a complete measurement, 1 if a measuring process
failed, 2 for wrong usage or a missing framework.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.building import build_tasks
from benchmarks.deep import (
    LAYERS,
    SHORT_LAYERS,
    SHORT_WIDTHS,
    WIDTHS,
    depth_tasks,
    model_tasks,
    repeats_tasks,
)
from benchmarks.estimates import LOOPS, estimates, estimates_markdown
from benchmarks.measure import LONG, TASKS, Side, WorkerFailed, measure
from benchmarks.plot import draw, is_available, is_drawn
from benchmarks.report import data, markdown
from benchmarks.scaling import WHOLE

#: The tasks without another side, with the examples that they measure; None is all.
ESTIMATES = {"estimate": None, "estimate-loops": LOOPS}
GROUPS = ("depth", "models", "repeats", "build")  # groups of tasks that compile a whole program
ROUNDS, SHORT_ROUNDS = 7, 1
REPEAT, SHORT_REPEAT = WHOLE, 3  # repetitions of trace and lower within one process
BUSY = 0.5  # above this load average, the error is larger than the quartiles


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the tasks of the arguments, print the tables and return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    options = parser().parse_args(argv)
    tasks = chosen_tasks(options)
    if options.plot and not any(map(is_drawn, tasks)):
        log("error: --plot draws scaling, scaling_grad and depth, and --only names none of them")
        return 2
    if options.plot and not is_available():
        log("error: --plot needs matplotlib: pip install '.[bench]'")
        return 2
    rounds = options.repeat or (SHORT_ROUNDS if options.short else ROUNDS)
    repeat = SHORT_REPEAT if options.short else REPEAT
    sides = (Side("olympus", options.python), Side("jax", options.jax_python))
    for side in sides:
        if not side.is_installed():
            log(f"error: {side.python} has no {side.framework}: pip install '.[test]'")
            return 2
    if os.getloadavg()[0] > BUSY:
        log("warning: other programs use this machine, so the times are less accurate")
    for name, examples in ESTIMATES.items():
        if name in (options.only or ()):
            print(estimates_markdown(estimates(log, options.short, examples)), end="")
    if not tasks:
        return 0
    try:
        results = measure(
            sides, tasks, rounds, repeat, log, options.limit, warms_up=not options.short
        )
    except WorkerFailed as failure:
        log(f"error: {failure}")
        return 1
    command = shlex.join(["python", "-m", "benchmarks", *argv])
    print(markdown(results, command, rounds), end="")
    if options.json:
        options.json.write_text(json.dumps(data(results, command, rounds), indent=1) + "\n")
    if options.plot:
        draw(results, options.plot)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser("python -m benchmarks", description=main.__doc__)
    add = result.add_argument
    add("--short", action="store_true",
        help="test the benchmarks: few repetitions, small programs")  # fmt: skip
    add("--only", type=task_list, metavar="TASK,...",
        help=f"the tasks, of {', '.join((*TASKS, *GROUPS, *ESTIMATES))} "
        "(default: all but the last two)")  # fmt: skip
    add("--layers", type=numbers, metavar="N,...",
        help=f"the numbers of layers of depth (default: {comma(LAYERS)})")  # fmt: skip
    add("--widths", type=numbers, metavar="N,...",
        help=f"the widths of depth (default: {comma(WIDTHS)})")  # fmt: skip
    add("--limit", type=positive, default=300, metavar="SECONDS",
        help="the limit of a compilation in the groups (default: 300)")  # fmt: skip
    add("--repeat", type=positive, metavar="N", help=f"pairs of processes (default: {ROUNDS})")
    add("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    add("--plot", type=Path, metavar="FILE.svg", help="also draw the results of scaling or depth")
    add("--python", default=sys.executable, help="the interpreter with olympus")
    add("--jax-python", default=sys.executable, metavar="PYTHON", help="the one with jax")
    return result


def chosen_tasks(options: argparse.Namespace) -> list[str]:
    """Return the selected tasks; a group is replaced by its tasks."""
    short = options.short
    layers = options.layers or (SHORT_LAYERS if short else LAYERS)
    widths = options.widths or (SHORT_WIDTHS if short else WIDTHS)
    groups = {
        "depth": depth_tasks(layers, widths, short),
        "models": model_tasks(short),
        "repeats": repeats_tasks(short),
        "build": build_tasks(short),
    }
    groups |= {name: [] for name in ESTIMATES}
    every = [task for task in (*TASKS, *GROUPS) if not (short and task == LONG)]
    return [task for name in options.only or every for task in groups.get(name, [name])]


def task_list(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of tasks and groups."""
    tasks, known = tuple(text.split(",")), (*TASKS, *GROUPS, *ESTIMATES)
    for task in tasks:
        if task not in known:
            raise argparse.ArgumentTypeError(f"no task {task!r}; tasks are {', '.join(known)}")
    return tasks


def numbers(text: str) -> tuple[int, ...]:
    """Parse a comma-separated list of positive numbers."""
    return tuple(map(positive, text.split(",")))


def comma(values: Sequence[int]) -> str:
    """Return the numbers as a comma-separated list."""
    return ",".join(map(str, values))


def positive(text: str) -> int:
    """Parse a positive integer."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a positive whole number is needed, got {text!r}")
    return int(text)


def log(message: str) -> None:
    """Print a message to stderr; stdout has only the tables."""
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
