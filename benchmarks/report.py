"""Results as text and data. In: Results. Out: Markdown tables for the README, and plain JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.measure import MOST_ROUNDS, Results
from benchmarks.programs import PROGRAMS, RUNS
from benchmarks.scaling import SCALING, Scaling
from olympus_cli.bench.statistics import Summary, paired_ratio, summarize

MILLI, MICRO, MEGA, ONE = (1e3, "ms"), (1e6, "µs"), (1e-6, "MB"), (1.0, "")

# measure -> (what the row is called, scale and unit), in the order of the table
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
CALL = {
    "device": ("call x + y, arrays on the device", MICRO),
    "numpy": ("call x + y, NumPy arrays", MICRO),
    "python": ("call x + y, the same Python scalars", MICRO),
    "fresh": ("call x + y, other Python scalars each time", MICRO),
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


@dataclass(frozen=True)
class Row:
    """One line of a table: the two sides' medians with quartiles in `unit`, and their ratio."""

    task: str
    measure: str
    label: str
    unit: str
    ours: Summary
    theirs: Summary
    ratio: Summary


def rows(results: Results) -> list[Row]:
    """A Row for every measure of every task, in the order that they are shown."""
    return [row for task in results.samples for row in task_rows(results, task)]


def task_rows(results: Results, task: str) -> Iterator[Row]:
    """The Rows of one task."""
    for measure, (label, (scale, unit)) in labels(task, results.samples[task]).items():
        ours, theirs = ([scale * x for x in side] for side in results.samples[task][measure])
        ratio = paired_ratio(ours, theirs)
        yield Row(task, measure, label, unit, summarize(ours), summarize(theirs), ratio)


def labels(task: str, measures: Iterable[str]) -> dict[str, tuple[str, tuple[float, str]]]:
    """What the row of each measure is called, its scale and its unit."""
    if task in SCALING:
        return scaling_labels(SCALING[task], measures)
    if task in UNTITLED:
        return UNTITLED[task]
    title, stages = TITLED[task]
    return {measure: (f"{title}: {label}", scale) for measure, (label, scale) in stages.items()}


def scaling_labels(
    scaling: Scaling, measures: Iterable[str]
) -> dict[str, tuple[str, tuple[float, str]]]:
    """The same for measures such as `trace/1000`, which were measured up to some size."""
    cells = [measure.split("/") for measure in measures if "/" in measure]
    found = {
        f"{stage}/{size}": (f"{scaling.title}, {int(size):,} equations: {stage}", MICRO)
        for stage, size in cells
    }
    largest = max(int(size) for _, size in cells)
    growth = f"{scaling.title}: trace + lower at {largest:,} over at {scaling.sizes[0]:,}"
    return found | {"growth": (growth, ONE)}


def markdown(results: Results, command: str, rounds: int) -> str:
    """The tables, what they were measured on, and the command that measures them again."""
    lines = rows(results)
    scaling = [row for row in lines if row.task in SCALING]
    starts = [row for row in lines if row.task == "help"]
    sides = [row for row in lines if row.task not in ("help", *SCALING)]
    parts = [describe(results, command, rounds)]
    if sides:
        parts.append(table(sides, "olympus", "jax"))
    if scaling:
        parts.append(table(scaling, "olympus", "jax", "processor time of an equation"))
    if starts:
        parts.append(table(starts, "`olympus --help`", '`python -c "import click"`'))
    return "\n\n".join(parts) + "\n"


def describe(results: Results, command: str, rounds: int) -> str:
    """Where the numbers come from and how to read them."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    pairs = f"{rounds} pairs of processes{exceptions(results, rounds)}"
    where = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    return (
        f"Measured by `{command}`\n"
        f"on {where}, load {results.load:.1f} before; {versions}.\n"
        f"Medians (and quartiles) over {pairs},\n"
        "the two of a pair run one after the other; the ratio is the median over the pairs."
    )


def exceptions(results: Results, rounds: int) -> str:
    """The tasks that were measured in fewer pairs, in brackets."""
    fewer = [f"{task}: {most}" for task, most in MOST_ROUNDS.items()
             if task in results.samples and most < rounds]  # fmt: skip
    return f" ({', '.join(fewer)})" if fewer else ""


def table(lines: list[Row], ours: str, theirs: str, what: str = "") -> str:
    """A Markdown table of the Rows."""
    head = [f"| {what} | {ours} | {theirs} | ratio |", "| --- | ---: | ---: | ---: |"]
    return "\n".join(head + [
        f"| {row.label} | {cell(row.ours, row.unit)} | {cell(row.theirs, row.unit)} "
        f"| {cell(row.ratio, '', bold=True)} |"
        for row in lines
    ])  # fmt: skip


def cell(summary: Summary, unit: str, bold: bool = False) -> str:
    """The median with its unit, and the quartiles where they differ from it.

    >>> cell(summarize([1.0, 2.0, 3.0]), "ms")
    '2.00 ms (1.50 to 2.50)'
    """
    median = f"{number(summary.median)} {unit}".strip()
    text = f"**{median}**" if bold else median
    if summary.q1 == summary.q3:
        return text
    return f"{text} ({number(summary.q1)} to {number(summary.q3)})"


def number(value: float) -> str:
    """Three significant digits, or all digits of a whole number or of one above 100.

    >>> [number(x) for x in (0.4567, 0.9999, 12.345, 2048.4, 12.0)]
    ['0.457', '1.00', '12.3', '2048', '12']
    """
    if value >= 100 or value == 0 or (value >= 10 and value.is_integer()):
        return f"{value:.0f}"
    value = float(f"{value:.3g}")
    decimals = 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{decimals}f}"


def data(results: Results, command: str, rounds: int) -> dict[str, Any]:
    """Everything measured, for JSON: the raw samples of each process and the summarized rows."""
    return {
        "command": command,
        "rounds": rounds,
        "machine": {
            "cores": os.cpu_count(), "platform": platform.platform(), "load": results.load,
        },
        "versions": results.versions,
        "samples": results.samples,
        "rows": [asdict(row) for row in rows(results)],
    }  # fmt: skip
