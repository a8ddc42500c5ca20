"""A gate's report as workflow commands of GitHub Actions: annotations at the user's lines.

The form is `::error file=F,line=N,title=T::MESSAGE`. The escapes are those of
`packages/core/src/command.ts` of GitHub's toolkit.  GitHub shows ten commands of each kind for a
step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olympus_cli.gate_reports.formats.workspace import first_in_workspace
from olympus_cli.gate_reports.gate_report import WORDS, GateReport, Word
from olympus_cli.text.escaping import visible

_COMMANDS: Mapping[Word, str] = {
    "error": "error",
    "failed": "error",
    "not judged": "error",
    "inconclusive": "notice",
}


def render_github(report: GateReport) -> str:
    """Return a line for each failed case, each warning and each note; "" for none.

    A place outside of the workspace appears only in the message.
    """
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: GateReport) -> Iterator[str]:
    title = f"olympus {report.command}"
    for case in sorted(report.cases, key=lambda case: WORDS.index(case.verdict)):
        if kind := _COMMANDS.get(case.verdict):
            name = f"{title}: {case.target}: {case.gate} {case.name}"
            yield _command(kind, name, case.message or case.verdict, case.places)
    for warning in report.warnings:
        yield _command("warning", title, warning.text, warning.places)
    for note in report.notes:
        yield _command("notice", title, note, ())


def _command(kind: str, title: str, message: str, places: Iterable[str]) -> str:
    file_line = first_in_workspace(places)
    place = {"file": file_line[0], "line": str(file_line[1])} if file_line else {}
    properties = {**place, "title": title}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {listed}::{_data(message)}"


def _data(text: str) -> str:
    """Return the text of a command, with line ends escaped and other control characters shown."""
    shown = visible(text.replace("\r\n", "\n"))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
