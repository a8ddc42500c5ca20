"""The cost of a program as a person reads it in a terminal: figures, then a table with bars."""

from __future__ import annotations

import linecache
import os
from pathlib import Path

from olympus.analysis import LowerBound
from olympus_cli import console
from olympus_cli.reports.figures import CompiledFigures, CostReport, RowReport
from olympus_cli.reports.text import figure_lines
from olympus_cli.units import byte_size, count

__all__ = ["show_cost"]

_BAR = 12  # columns of a bar that stands for all
_MOST_SOURCE = 44  # columns of a source line
_EIGHTHS = " ▏▎▍▌▋▊▉"


def show_cost(
    title: str,
    cost: CostReport,
    kind: str,
    rows: tuple[RowReport, ...],
    bound: LowerBound | None,
    compiled: CompiledFigures | None,
    root: Path,
    most: int,
) -> None:
    """Write the figures to stdout, and the dearest `most` of the rows with their shares as bars."""
    console.data("\n".join([title, *figure_lines(cost, compiled, bound)]))
    console.data("")
    columns: tuple[str, ...] = (kind, "flops", "share", "", "bytes", "operations", "pass")
    table = [_cells(row) for row in rows[:most]]
    if kind == "line":
        columns = (*columns, "source")
        table = [[*cells, _source(cells[0], root)] for cells in table]
    console.table(columns, table)
    if rest := rows[most:]:
        share = sum(row.share for row in rest)
        console.data(f"... and {len(rest)} more, {_percent(share)} of all (--rows {len(rows)})")


def _cells(row: RowReport) -> list[str]:
    return [
        row.key or "unknown",
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


def _source(key: str, root: Path) -> str:
    """What the line of a key says, cut to a width."""
    file, _, line = key.rpartition(":")
    if not line.isdigit():
        return ""
    text = linecache.getline(os.path.join(root, file), int(line)).strip()
    return text if len(text) <= _MOST_SOURCE else text[: _MOST_SOURCE - 1] + "…"
