"""The text of a profile for a terminal: the figures of a call, then a table with bars."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from olympus.analysis import Profile, ProfileRow
from olympus_cli.profile.profiled import ProfiledProgram
from olympus_cli.reports.charts.bars import bar, percent, with_source
from olympus_cli.reports.text import figure_row
from olympus_cli.terminal import console
from olympus_cli.text.units import duration

_WIDTH = 100  # columns of a note
_MAX_UNSEEN = 5
_DISTURBED = 2  # times the call without the profiler: then most of the time is overhead


def show_profile(program: ProfiledProgram, root: Path, most: int) -> None:
    """Write the figures to stdout, and the slowest `most` rows with their shares as bars."""
    profile, all_rows = program.profile, program.rows
    console.data(f"{program.target}  ({program.entry}, {program.backend})")
    for name, value in call_figures(profile):
        console.data(figure_row(name, value))
    console.data("")
    columns: Sequence[str] = (program.by, "time", "share", "", "estimated", "calls", "pass")
    table: Sequence[Sequence[str]] = [_cells(row) for row in all_rows[:most]]
    if program.by == "line":
        columns, table = with_source(columns, table, root)
    console.table(columns, table)
    if rest := all_rows[most:]:
        share = percent(sum(row.share for row in rest))
        console.data(f"... and {len(rest)} more, {share} of all (--rows {len(all_rows)})")
    for note in notes(profile):
        console.data("\n".join(textwrap.wrap(note, _WIDTH, subsequent_indent="  ")))


def call_figures(profile: Profile) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each figure of a call."""
    calls = f"median of {profile.runs} calls" if profile.runs > 1 else "one call"
    plain = duration(profile.undisturbed)
    yield "a call", f"{duration(profile.seconds)}, {calls}; {plain} without the profiler"
    yield "in kernels", f"{duration(profile.kernel_seconds)}, {percent(profile.coverage)} of it"
    yield "estimated", duration(profile.estimated)


def notes(profile: Profile) -> Iterator[str]:
    """Yield notes on the table: profiler overhead, kernels without events, concurrent kernels."""
    if profile.seconds >= _DISTURBED * profile.undisturbed > 0:
        slower = duration(profile.seconds - profile.undisturbed)
        yield (
            f"most of the time of a call, {slower} of {duration(profile.seconds)}, is the "
            "profiler's own or the machine's load: the shares describe a call that it slows down"
        )
    if profile.unseen:
        names = ", ".join(kernel.name for kernel in profile.unseen[:_MAX_UNSEEN])
        more = len(profile.unseen) - _MAX_UNSEEN
        rest = f" and {more} more" if more > 0 else ""
        yield f"not seen by the profiler, and not counted: {names}{rest}"
    together = sum(kernel.seconds for kernel in profile.kernels if not kernel.is_overhead)
    if together > 1.05 * profile.kernel_seconds:
        yield f"kernels ran at the same time: their times add up to {duration(together)}"


def _cells(row: ProfileRow) -> list[str]:
    is_overhead = not row.kernels
    return [
        row.key or "(none)",
        duration(row.seconds),
        percent(row.share),
        bar(row.share),
        "-" if row.estimated is None else duration(row.estimated),
        "" if is_overhead else str(row.calls),
        "" if is_overhead else row.direction,
    ]
