"""A gate's report as plain text, for a file: what a terminal shows, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from olympus_cli import console
from olympus_cli.places import quoted, shown_place
from olympus_cli.reports.gates import GateReport
from olympus_cli.visible import visible

__all__ = ["render_text"]


def render_text(report: GateReport) -> str:
    """The text: tables first, then the cases that did not pass, warnings and notes."""
    return visible("\n".join(_parts(report)))


def _parts(report: GateReport) -> Iterator[str]:
    if report.text is not None:
        yield report.text
    else:
        for title, columns, rows in report.tables:
            yield console.table_text(columns, rows, title)
    for case in report.cases:
        if case.verdict in ("failed", "error", "not judged"):
            yield f"{case.verdict}: {case.target}: {case.gate} {case.name}: {case.message}"
            yield from (
                quoted(each) for each in case.places if shown_place(each) not in case.message
            )
            yield ""
    yield from (f"warning: {each.text}\n" for each in report.warnings)
    yield from (f"note: {each}\n" for each in report.notes)
