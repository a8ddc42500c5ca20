"""The results as Markdown tables and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.building import build_title
from benchmarks.cells import MEGA, MICRO, MILLI, ONE, cell, grid
from benchmarks.measure import COST, COST_SIDES, STARTS, Results, is_whole, most_rounds
from benchmarks.pairs import paired_ratio
from benchmarks.programs import PROGRAMS, RUNS
from benchmarks.scaling import SCALING, Scaling
from benchmarks.whole_report import comparisons, tables
from olympus_cli.bench.statistics import Summary, summarize

# measure -> (the label of its row, scale and unit), in the order of the table
STAGES = {
    "both": ("trace + lower", MILLI),
    "trace": ("trace", MILLI),
    "lower": ("lower", MILLI),
    "cpu": ("trace + lower, processor time", MILLI),
    "first": ("first trace + lower in a process", MILLI),
    "start": ("import to first lowered module", MILLI),
    "memory": ("peak memory after lowering", MEGA),
    "ops": ("operations in the lowered module", ONE),
}
IMPORT = {"import": ("import", MILLI), "memory": ("peak memory after import", MEGA)}
_ARGUMENTS = {
    "device": "call x + y, arrays on the device",
    "device/tree": "call x + y, a dict of arrays on the device",
    "device/100": "call x + y, 100 arrays on the device",
    "numpy": "call x + y, NumPy arrays",
    "numpy/tree": "call x + y, a dict of NumPy arrays",
    "numpy/100": "call x + y, 100 NumPy arrays",
    "python": "call x + y, the same Python scalars",
    "fresh": "call x + y, other Python scalars each time",
}
CALL = {
    f"{kind}{form}": (f"{title}{text}", MICRO)
    for kind, title in _ARGUMENTS.items()
    for form, text in (("", ""), ("/jit", ", of `jit`"))
}
RUN_STAGES = {
    "step": ("run", MILLI),
    "cpu": ("run, processor time", MILLI),
    "compile": ("compile", MILLI),
}
HELP = {"wall": ("whole process", MILLI)}
TITLED = {name: (program.title, STAGES) for name, program in PROGRAMS.items()}
TITLED |= {name: (program.title, RUN_STAGES) for name, program in RUNS.items()}
UNTITLED = {"import": IMPORT, "call": CALL, "help": HELP}

# the titles of the two sides of tasks that do not compare olympus and jax
STARTED = {
    COST: COST_SIDES,
    "help": ("`olympus --help`", '`python -c "import click"`'),
    "build": ("`olympus build`", "bare XLA"),
}


@dataclass(frozen=True)
class Row:
    """A row of a table: the medians of both sides with quartiles in `unit`, and their ratio."""

    task: str
    measure: str
    label: str
    unit: str
    ours: Summary
    theirs: Summary
    ratio: Summary


def rows(results: Results) -> list[Row]:
    """Return a Row for every measure of every task with two sides, in the order of the tables."""
    pairs = [task for task in results.samples if not is_whole(task) or task.startswith(STARTS)]
    return [row for task in pairs for row in task_rows(results, task)]


def task_rows(results: Results, task: str) -> Iterator[Row]:
    """Yield the Rows of one task."""
    for measure, (label, (scale, unit)) in labels(task, results.samples[task]).items():
        sides = results.samples[task][measure]
        ours, theirs = ([scale * x for x in sides[side]] for side in ("olympus", "jax"))
        ratio = paired_ratio(ours, theirs)
        yield Row(task, measure, label, unit, summarize(ours), summarize(theirs), ratio)


def labels(task: str, measures: Iterable[str]) -> dict[str, tuple[str, tuple[float, str]]]:
    """Return the label of each measure, its scale and its unit."""
    if task in SCALING:
        return scaling_labels(SCALING[task], measures)
    if task in UNTITLED:
        return UNTITLED[task]
    if task == COST:
        return {name: (f"{PROGRAMS[name].title}: cost", MILLI) for name in measures}
    if task.startswith("build"):
        return {measure: (build_title(task, measure), MILLI) for measure in measures}
    title, stages = TITLED[task]
    return {measure: (f"{title}: {label}", scale) for measure, (label, scale) in stages.items()}


def scaling_labels(
    scaling: Scaling, measures: Iterable[str]
) -> dict[str, tuple[str, tuple[float, str]]]:
    """Return the labels of measures such as `trace/1000`, up to the largest measured size."""
    cells = [measure.split("/") for measure in measures if "/" in measure]
    stages = {
        f"{stage}/{size}": (f"{scaling.title}, {int(size):,} equations: {stage}", MICRO)
        for stage, size in cells
    }
    largest = max(int(size) for _, size in cells)
    growth = f"{scaling.title}: trace + lower at {largest:,} over at {scaling.sizes[0]:,}"
    return stages | {"growth": (growth, ONE)}


def markdown(results: Results, command: str, rounds: int) -> str:
    """Return the tables, the machine, and the command that repeats the measurement."""
    lines = rows(results)
    scaling = [row for row in lines if row.task in SCALING]
    sides = [row for row in lines if not row.task.startswith((*STARTED, *SCALING))]
    parts = [describe(results, command, rounds)]
    if sides:
        parts.append(table(sides, "olympus", "jax"))
    if scaling:
        parts.append(table(scaling, "olympus", "jax", "processor time of an equation"))
    parts += tables(results)
    for start, names in STARTED.items():
        if started := [row for row in lines if row.task.startswith(start)]:
            parts.append(table(started, *names))
    return "\n\n".join(parts) + "\n"


def describe(results: Results, command: str, rounds: int) -> str:
    """Return the machine, the command and the meaning of the figures."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    pairs = f"{rounds} pairs of processes{exceptions(results, rounds)}"
    where = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    ended = (
        f"\nA compilation was ended after {results.limit} s; one that ran out of memory has no "
        "number."
    )
    return (
        f"Measured by `{command}`\n"
        f"on {where}, load {results.load:.1f} before; {versions}.\n"
        f"Medians (and quartiles) over {pairs},\n"
        "the two of a pair run one after the other; the ratio is the median over the pairs."
        f"{ended if results.ended else ''}"
    )


def exceptions(results: Results, rounds: int) -> str:
    """Return the tasks with fewer pairs, in brackets; all tasks of the groups are one item."""
    most = {
        "programs compiled whole, and builds" if is_whole(task) else task: most_rounds(task, rounds)
        for task in results.samples
    }
    fewer = [f"{name}: {count}" for name, count in most.items() if count < rounds]
    return f" ({', '.join(fewer)})" if fewer else ""


def table(lines: list[Row], ours: str, theirs: str, title: str = "") -> str:
    """Return a Markdown table of the Rows."""
    cells = [
        [row.label, cell(row.ours, row.unit), cell(row.theirs, row.unit),
         cell(row.ratio, "", bold=True)]
        for row in lines
    ]  # fmt: skip
    return grid([title, ours, theirs, "ratio"], cells)


def data(results: Results, command: str, rounds: int) -> dict[str, Any]:
    """Return the JSON document: the samples of each process and the rows."""
    return {
        "command": command,
        "rounds": rounds,
        "machine": {
            "cores": os.cpu_count(), "platform": platform.platform(), "load": results.load,
        },
        "versions": results.versions,
        "limit": results.limit,
        "ended": results.ended,
        "samples": results.samples,
        "rows": [asdict(row) for row in rows(results)],
        "comparisons": [asdict(line) for line in comparisons(results)],
    }  # fmt: skip
