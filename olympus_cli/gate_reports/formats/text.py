"""A gate's report as plain text, for a file: the text of a terminal, and the problems."""

from __future__ import annotations

from collections.abc import Iterator

from olympus_cli.gate_reports.gate_report import GateReport
from olympus_cli.terminal import console
from olympus_cli.text.escaping import visible
from olympus_cli.text.paths import display_place, quoted


def render_gate_text(report: GateReport) -> str:
    """Return the text: tables first, then the cases that failed, warnings and notes."""
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
                quoted(place) for place in case.places if display_place(place) not in case.message
            )
            yield ""
    yield from (f"warning: {place.text}\n" for place in report.warnings)
    yield from (f"note: {place}\n" for place in report.notes)
