"""The results of programs that are compiled whole, as Markdown: a table for each measure.

A ratio is computed within a round. A side that exceeded the time limit has the limit as its compile
time, and a ratio to it is a bound; a side that ran out of memory has no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import exp, log

from benchmarks.cells import MEGA, MILLI, cell, grid, number
from benchmarks.deep import BOTH_WAYS, SIDES, of_task
from benchmarks.measure import STARTS, Results, is_whole, sides_of
from benchmarks.pairs import paired_ratio
from olympus_cli.bench.statistics import Summary, summarize

# measure -> (its table's title, scale and unit), in the order of the tables
MEASURES = {
    "compile": ("compile", (1.0, "s")),
    "compile_cpu": ("compile, processor time", (1.0, "s")),
    "run": ("run", MILLI),
    "cpu": ("run, processor time", MILLI),
    "lower": ("trace + lower", MILLI),
    "memory": ("peak memory of the compiling process", MEGA),
    "temp": ("temporaries of a run", MEGA),
    "size": ("executable", MEGA),
}
UNKNOWN = "-"


@dataclass(frozen=True)
class Comparison:
    """One measure of a program, in `unit`.

    `sides` has the measured sides, `ratios` those of OLYMPUS to each other side, and `ended` the
    sides that exceeded a limit: the limit of time, or None if they ran out of memory.
    """

    task: str
    measure: str
    label: str
    unit: str
    sides: dict[str, Summary]
    ratios: dict[str, Summary]
    ended: dict[str, float | None]


def whole_tasks(results: Results) -> list[str]:
    """Return the measured tasks that compile whole programs."""
    return [task for task in results.samples if is_whole(task) and not task.startswith(STARTS)]


def comparisons(results: Results) -> list[Comparison]:
    """Return a Comparison for every measure of every program."""
    return [
        compare(results, task, measure) for measure in MEASURES for task in whole_tasks(results)
    ]


def compare(results: Results, task: str, measure: str) -> Comparison:
    """Return the Comparison of one measure of a task."""
    scale, unit = MEASURES[measure][1]
    ended = results.ended.get(task, {})
    samples = {
        side: [scale * value for value in values]
        for side, values in results.samples[task].get(measure, {}).items()
        if side not in ended
    }
    ours = samples.get("olympus")
    ratios = {
        side: paired_ratio(ours, values)
        for side, values in samples.items() if ours and side != "olympus"
    }  # fmt: skip
    limit = scale * results.limit if measure == "compile" else None
    return Comparison(
        task, measure, of_task(task).title, unit,
        {side: summarize(values) for side, values in samples.items()}, ratios,
        {side: limit if reason == "time" else None for side, reason in ended.items()},
    )  # fmt: skip


def tables(results: Results) -> list[str]:
    """Return a table for each measure of the programs with a side of JAX, and one of blocks."""
    lines = comparisons(results)
    with_jax = [line for line in lines if "jax" in sides_of(line.task)]
    measures = [
        measure_table([line for line in with_jax if line.measure == measure], measure)
        for measure in MEASURES
    ] if with_jax else []  # fmt: skip
    return [*measures, repeats_table(results, lines)] if lines else measures


def measure_table(lines: list[Comparison], measure: str) -> str:
    """Return a table with a column for each side, and for each ratio to a side of JAX."""
    sides = [side for side in SIDES if any(side in sides_of(line.task) for line in lines)]
    peers = [side for side in sides if side not in BOTH_WAYS]
    rows = [
        [line.label, *(side_cell(line, side) for side in sides),
         *(ratio_cell(line, side) for side in peers)]
        for line in lines
    ]  # fmt: skip
    names = [SIDES[side][1] for side in sides]
    ratios = [f"ratio to {SIDES[side][1]}" for side in peers]
    return grid([MEASURES[measure][0], *names, *ratios], rows)


def side_cell(line: Comparison, side: str) -> str:
    """Return the cell of a side: its figure, or the limit that it exceeded."""
    if limit := line.ended.get(side):
        return f"> {number(limit)} {line.unit}"
    return cell(line.sides[side], line.unit) if side in line.sides else UNKNOWN


def ratio_cell(line: Comparison, side: str) -> str:
    """Return the cell of the ratio of OLYMPUS to `side`, or of its upper bound."""
    if side in line.ratios:
        return cell(line.ratios[side], "", bold=True)
    if (limit := line.ended.get(side)) and "olympus" in line.sides:
        return f"**< {number(line.sides['olympus'].median / limit)}**"
    return UNKNOWN


def repeats_table(results: Results, lines: list[Comparison]) -> str:
    """Return the table of the effect of repeated blocks on each program, with means."""
    columns = [
        {line.task: line for line in lines if line.measure == measure and is_both(line)}
        for measure in ("compile", "run")
    ]
    rows = []
    for task, compiled in columns[0].items():
        number_of_blocks = count(results, task, "blocks")
        calls = count(results, task, "calls")
        blocks = (
            f"{number_of_blocks} x {calls / number_of_blocks:.3g}" if number_of_blocks else "none"
        )
        cells = [
            text
            for line in (compiled, columns[1][task])
            for text in (*(side_cell(line, side) for side in BOTH_WAYS), ratio_cell(line, "off"))
        ]
        rows.append([compiled.label, blocks, *cells])
    rows += means(results, columns)
    head = ["repeated blocks", "blocks", "compile", "off", "ratio", "run", "off", "ratio"]
    return grid(head, rows)


def is_both(line: Comparison) -> bool:
    """Return True if the program is compiled with repeated blocks and without."""
    return set(BOTH_WAYS) <= set(sides_of(line.task))


def means(results: Results, columns: list[dict[str, Comparison]]) -> Iterator[list[str]]:
    """Yield the geometric means of the ratios, of all programs and of programs with blocks."""
    with_blocks = [task for task in columns[0] if count(results, task, "blocks")]
    for tasks, title in ((list(columns[0]), "all programs"), (with_blocks, "those with blocks")):
        medians = [
            [line.ratios["off"].median for task in tasks if "off" in (line := column[task]).ratios]
            for column in columns
        ]
        if all(medians):
            ratios = [f"**{number(geometric_mean(values))}**" for values in medians]
            label = f"geometric mean of {title} ({len(medians[0])})"
            yield [label, "", "", "", ratios[0], "", "", ratios[1]]


def count(results: Results, task: str, measure: str) -> int:
    """Return the count of the last process of OLYMPUS, or 0 if it has none."""
    values = results.samples[task].get(measure, {}).get("olympus", [0.0])
    return int(values[-1])


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))
