"""The text of a profile for a terminal: the figures of a call, then a table with bars."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from olympus_cli.charts.bars import bar, percent, with_source
from olympus_cli.profile.results import ProfiledRow, ProfileReport
from olympus_cli.reports.text import figure_row
from olympus_cli.terminal import console
from olympus_cli.text.units import duration

_WIDTH = 100  # columns of a note
_MOST_UNSEEN = 5
_DISTURBED = 2  # times the call without the profiler: then most of the time is overhead


def show_profile(report: ProfileReport, root: Path, most: int) -> None:
    """Write the figures to stdout, and the slowest `most` rows with their shares as bars."""
    console.data(f"{report.target}  ({report.entry}, {report.backend})")
    for name, value in call_figures(report):
        console.data(figure_row(name, value))
    console.data("")
    columns: Sequence[str] = (report.by, "time", "share", "", "estimated", "calls", "pass")
    table: Sequence[Sequence[str]] = [_cells(row) for row in report.rows[:most]]
    if report.by == "line":
        columns, table = with_source(columns, table, root)
    console.table(columns, table)
    if rest := report.rows[most:]:
        share = percent(sum(row.share for row in rest))
        console.data(f"... and {len(rest)} more, {share} of all (--rows {len(report.rows)})")
    for note in notes(report):
        console.data("\n".join(textwrap.wrap(note, _WIDTH, subsequent_indent="  ")))


def call_figures(report: ProfileReport) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each figure of a call."""
    calls = f"median of {report.runs} calls" if report.runs > 1 else "one call"
    plain = duration(report.undisturbed_seconds)
    yield "a call", f"{duration(report.seconds)}, {calls}; {plain} without the profiler"
    yield "in kernels", f"{duration(report.kernel_seconds)}, {percent(report.coverage)} of it"
    yield "estimated", duration(report.estimated_seconds)


def notes(report: ProfileReport) -> Iterator[str]:
    """Yield notes on the table: profiler overhead, kernels without events, concurrent kernels."""
    if report.seconds >= _DISTURBED * report.undisturbed_seconds > 0:
        slower = duration(report.seconds - report.undisturbed_seconds)
        yield (
            f"most of the time of a call, {slower} of {duration(report.seconds)}, is the "
            "profiler's own or the machine's load: the shares are of a call that it slows down"
        )
    if report.unseen:
        names = ", ".join(each.name for each in report.unseen[:_MOST_UNSEEN])
        more = len(report.unseen) - _MOST_UNSEEN
        rest = f" and {more} more" if more > 0 else ""
        yield f"not seen by the profiler, and not counted: {names}{rest}"
    together = sum(each.seconds for each in report.kernels if not each.is_overhead)
    if together > 1.05 * report.kernel_seconds:
        yield f"kernels ran at once: their times add up to {duration(together)}"


def _cells(row: ProfiledRow) -> list[str]:
    is_overhead = not row.kernels
    return [
        row.key or "(none)",
        duration(row.seconds),
        percent(row.share),
        bar(row.share),
        "-" if row.estimated_seconds is None else duration(row.estimated_seconds),
        "" if is_overhead else str(row.calls),
        "" if is_overhead else row.direction,
    ]
