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

#: The tasks that measure on this CPU alone, with the examples that they take; None is all.
ESTIMATES = {"estimate": None, "estimate-loops": LOOPS}
GROUPS = ("depth", "models", "repeats", "build")  # of tasks that compile a program whole
ROUNDS, SHORT_ROUNDS = 7, 1
REPEAT, SHORT_REPEAT = WHOLE, 3  # repetitions of trace and lower within one process
BUSY = 0.5  # a load average above it costs more than the quartiles show


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what the arguments ask for, print the tables and return the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    options = parser().parse_args(argv)
    tasks = chosen_tasks(options)
    if options.plot and not any(map(is_drawn, tasks)):
        say("error: --plot draws scaling, scaling_grad and depth, and --only leaves them out")
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
    for name, examples in ESTIMATES.items():
        if name in (options.only or ()):
            print(estimates_markdown(estimates(say, options.short, examples)), end="")
    if not tasks:
        return 0
    try:
        results = measure(sides, tasks, rounds, repeat, say, options.limit)
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
    add("--short", action="store_true",
        help="few repetitions, small programs: to see that it works")  # fmt: skip
    add("--only", type=task_list, metavar="TASK,...",
        help=f"of {', '.join((*TASKS, *GROUPS, *ESTIMATES))} "
        "(default: all but the last two)")  # fmt: skip
    add("--layers", type=numbers, metavar="N,...",
        help=f"the numbers of layers of depth (default: {comma(LAYERS)})")  # fmt: skip
    add("--widths", type=numbers, metavar="N,...",
        help=f"the widths of depth (default: {comma(WIDTHS)})")  # fmt: skip
    add("--limit", type=positive, default=300, metavar="SECONDS",
        help="the most that XLA may take for a program of the groups (default: 300)")  # fmt: skip
    add("--repeat", type=positive, metavar="N", help=f"pairs of processes (default: {ROUNDS})")
    add("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    add("--plot", type=Path, metavar="FILE.svg", help="also draw what scaling or depth measures")
    add("--python", default=sys.executable, help="the interpreter that has olympus")
    add("--jax-python", default=sys.executable, metavar="PYTHON", help="the one that has jax")
    return result


def chosen_tasks(options: argparse.Namespace) -> list[str]:
    """The tasks that the options ask for, a group as all the tasks that it stands for."""
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
    """The tasks and groups named in a comma-separated list."""
    tasks, known = tuple(text.split(",")), (*TASKS, *GROUPS, *ESTIMATES)
    for task in tasks:
        if task not in known:
            raise argparse.ArgumentTypeError(f"no task {task!r}; there are {', '.join(known)}")
    return tasks


def numbers(text: str) -> tuple[int, ...]:
    """The positive numbers in a comma-separated list."""
    return tuple(map(positive, text.split(",")))


def comma(values: Sequence[int]) -> str:
    """Numbers as an option takes them."""
    return ",".join(map(str, values))


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
