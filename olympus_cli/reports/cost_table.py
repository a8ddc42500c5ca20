"""The cost of a program for a terminal: figures, then a table with bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olympus.analysis import CostRow, Roofline
from olympus_cli.reports.charts.bars import bar, percent, with_source
from olympus_cli.reports.program_figures import CompiledFigures, CostReport
from olympus_cli.reports.stacks import CallNode, StackReport, call_rows, call_tree
from olympus_cli.reports.text import collective_lines, estimate_notes, figure_lines, figure_row
from olympus_cli.terminal import console
from olympus_cli.text.units import byte_size, count, duration


@dataclass(frozen=True)
class Shown:
    """The part above the table: the figures of a program, compiled or not."""

    title: str
    cost: CostReport
    compiled: CompiledFigures | None
    roofline: Roofline | None
    device_memory: int | None
    devices: int

    def lines(self) -> Iterator[str]:
        """Yield the title, and a line for each figure."""
        yield self.title
        yield from figure_lines(self.cost, self.compiled)
        if self.compiled is None and self.devices > 1:
            note = "the figures count all, as written; --compile shows those of each"
            yield figure_row("devices", f"{self.devices}; {note}")
        if self.roofline is not None:
            at = self.roofline
            time = f"{duration(at.seconds)} at the peaks of {at.device}, bound by {at.bound}"
            yield figure_row("roofline", time)
        memory, alone = self.device_memory, self.cost.io_bytes
        if self.compiled is None and memory is not None and alone > memory:
            has = f"{byte_size(alone)} of arguments, results and constants alone"
            yield figure_row("fits", f"no: {has}, of {byte_size(memory)}")


def show_cost(shown: Shown, kind: str, rows: tuple[CostRow, ...], root: Path, most: int) -> None:
    """Write the figures to stdout, and the `most` most expensive rows with their shares as bars."""
    _show_figures(shown)
    columns: Sequence[str] = (kind, "flops", "share", "", "bytes", "operations", "pass")
    table: Sequence[Sequence[str]] = [_cells(row) for row in rows[:most]]
    if kind == "line":
        columns, table = with_source(columns, table, root)
    console.table(columns, table)
    if rest := rows[most:]:
        share = sum(row.share for row in rest)
        console.data(f"... and {len(rest)} more, {percent(share)} of all (--rows {len(rows)})")
    _show_notes(shown)


def show_formulas(document: Mapping[str, Any]) -> None:
    """Write the formulas of the cost of a program with symbolic sizes to stdout."""
    sizes = ", ".join(document["sizes"])
    title = f"{document['target']}  ({document['entry']}, {document['backend']})"
    console.data(f"{title}, for the sizes {sizes}")
    for metric, formula in document["formulas"].items():
        name = "in and out" if metric == "io_bytes" else metric.replace("_", " ")
        console.data(figure_row(name, formula or "no polynomial of the sizes: give them with --at"))
    example = " ".join(f"--at {name}=8" for name in document["sizes"])
    console.message(f"hint: {example} evaluates the cost, and shows it by line")


def show_stacks(shown: Shown, rows: tuple[StackReport, ...], root: Path, most: int) -> None:
    """Write the figures to stdout, and the `most` most expensive calls, each below its caller."""
    _show_figures(shown)
    calls, left = call_rows(call_tree(rows), most)
    has_backward = any(call.backward_bytes for _, call in calls)
    columns: Sequence[str] = ("call", "share", "flops", "bytes", *["pass"] * has_backward)
    table: Sequence[Sequence[str]] = [
        [
            "  " * depth + " > ".join(map(str, call.frames)),
            percent(call.share),
            count(call.flops),
            byte_size(call.bytes),
            *[_pass(call)] * has_backward,
        ]
        for depth, call in calls
    ]
    lines = [call.frames[0].line for _, call in calls]
    columns, table = with_source(columns, table, root, lines)
    console.table(columns, table)
    if left:
        console.data(f"... and {left} more (--rows {left + len(calls)})")
    _show_notes(shown)


def _show_figures(shown: Shown) -> None:
    console.prose("\n".join(shown.lines()))
    console.data("")


def _show_notes(shown: Shown) -> None:
    width = console.width()
    for line in (
        *collective_lines(shown.compiled, width),
        *estimate_notes(shown.compiled, width),
    ):
        console.data(line)


def _cells(row: CostRow) -> list[str]:
    return [
        row.key or "(none)",
        count(row.flops),
        percent(row.share),
        bar(row.share),
        byte_size(row.bytes),
        count(row.operations),
        _pass(row),
    ]


def _pass(row: CostRow | CallNode) -> str:
    """Return the pass of a derivative that a row belongs to; for both, the backward part."""
    if row.direction != "both":
        return row.direction
    part, whole = row.backward_flops, row.flops
    if not whole:
        part, whole = row.backward_bytes, row.bytes
    return f"{part / whole:.0%} backward" if whole else "both"
