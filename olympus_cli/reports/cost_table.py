"""The cost of a program as a person reads it in a terminal: figures, then a table with bars."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olympus.analysis import Roofline
from olympus_cli import console
from olympus_cli.reports.figures import CompiledFigures, CostReport, RowReport
from olympus_cli.reports.text import collective_lines, estimate_notes, figure_lines, figure_row
from olympus_cli.units import byte_size, count, duration

__all__ = ["Shown", "show_cost"]

_BAR = 12  # columns of a bar that stands for all
_MOST_SOURCE = 44  # columns of a source line
_LEAST_SOURCE = 16  # fewer say nothing
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True)
class Shown:
    """What stands above the table: the figures of a program, compiled or not."""

    title: str
    cost: CostReport
    compiled: CompiledFigures | None
    roofline: Roofline | None
    device_memory: int | None

    def lines(self) -> Iterator[str]:
        """The title, and a line for each figure."""
        yield self.title
        yield from figure_lines(self.cost, self.compiled)
        if self.roofline is not None:
            at = self.roofline
            time = f"{duration(at.seconds)} at the peaks of {at.device}, bound by {at.bound}"
            yield figure_row("roofline", time)
        memory, alone = self.device_memory, self.cost.io_bytes
        if self.compiled is None and memory is not None and alone > memory:
            has = f"{byte_size(alone)} of arguments, results and constants alone"
            yield figure_row("fits", f"no: {has}, of {byte_size(memory)}")


def show_cost(shown: Shown, kind: str, rows: tuple[RowReport, ...], root: Path, most: int) -> None:
    """Write the figures to stdout, and the dearest `most` of the rows with their shares as bars."""
    console.data("\n".join(shown.lines()))
    console.data("")
    columns: tuple[str, ...] = (kind, "flops", "share", "", "bytes", "operations", "pass")
    table = [_cells(row) for row in rows[:most]]
    if kind == "line":
        width = _source_width([list(columns), *table])
        if width >= _LEAST_SOURCE:
            columns = (*columns, "source")
            table = [[*cells, _source(cells[0], root, width)] for cells in table]
    console.table(columns, table)
    if rest := rows[most:]:
        share = sum(row.share for row in rest)
        console.data(f"... and {len(rest)} more, {_percent(share)} of all (--rows {len(rows)})")
    for note in (*collective_lines(shown.compiled), *estimate_notes(shown.compiled)):
        console.data(note)


def _source_width(rows: list[list[str]]) -> int:
    """The columns that the other cells leave for the source in a terminal."""
    widest = (max(map(len, column)) for column in zip(*rows, strict=True))
    return min(_MOST_SOURCE, console.width() - sum(widest) - 2 * len(rows[0]))


def _cells(row: RowReport) -> list[str]:
    return [
        row.key or "(none)",
        count(row.flops),
        _percent(row.share),
        _bar(row.share),
        byte_size(row.bytes),
        count(row.operations),
        _pass(row),
    ]


def _pass(row: RowReport) -> str:
    """Which pass of a derivative it is of; of both, the part of the backward pass."""
    if row.direction != "both":
        return row.direction
    part, whole = row.backward_flops, row.flops
    if not whole:
        part, whole = row.backward_bytes, row.bytes
    return f"{part / whole:.0%} backward" if whole else "both"


def _bar(share: float) -> str:
    """A bar whose length is the share, to the eighth of a column.

    >>> _bar(0.5)
    '██████'
    """
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 or not share else "<0.1%"


def _source(key: str, root: Path, width: int) -> str:
    """What the line of a key says, cut to a width."""
    file, _, line = key.rpartition(":")
    if not line.isdigit():
        return ""
    text = linecache.getline(os.path.join(root, file), int(line)).strip()
    return text if len(text) <= width else text[: width - 1] + "…"
