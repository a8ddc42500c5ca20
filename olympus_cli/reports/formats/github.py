"""A gate's report as workflow commands of GitHub Actions: annotations at the user's lines.

The form is `::error file=F,line=N,title=T::MESSAGE`; what is escaped, and how, is as in
`packages/core/src/command.ts` of GitHub's toolkit.  Of each kind, GitHub shows ten a step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from olympus_cli.reports.gates import WORDS, GateReport, Word, split_place
from olympus_cli.visible import visible

__all__ = ["render_github"]

_COMMANDS: Mapping[Word, str] = {"error": "error", "failed": "error", "inconclusive": "notice"}


def render_github(report: GateReport) -> str:
    """A line for each case that did not pass, each warning and each note; "" for none.

    Paths are relative to the folder that `GITHUB_WORKSPACE` names, or to the repository's root.  A
    place outside of it is left to the message.
    """
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: GateReport) -> Iterator[str]:
    workspace, title = _workspace(), f"olympus {report.command}"
    for case in sorted(report.cases, key=lambda case: WORDS.index(case.verdict)):
        if kind := _COMMANDS.get(case.verdict):
            name = f"{title}: {case.target}: {case.gate} {case.name}"
            yield _command(kind, name, case.message or case.verdict, case.places, workspace)
    for warning in report.warnings:
        yield _command("warning", title, warning.text, warning.places, workspace)
    for note in report.notes:
        yield _command("notice", title, note, (), workspace)


def _command(kind: str, title: str, message: str, places: Iterable[str], workspace: Path) -> str:
    properties = {**_file_and_line(places, workspace), "title": title}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {listed}::{_data(message)}"


def _file_and_line(places: Iterable[str], workspace: Path) -> dict[str, str]:
    """Those of the first place that is a line of a file in the workspace; empty for none."""
    for place in places:
        if (found := split_place(place)) is None:
            continue
        with suppress(OSError, ValueError):  # a name that no file can have
            path = Path(os.path.realpath(found[0]))
            if path.is_relative_to(workspace) and path.is_file():
                return {"file": path.relative_to(workspace).as_posix(), "line": str(found[1])}
    return {}


def _workspace() -> Path:
    if named := os.environ.get("GITHUB_WORKSPACE"):
        return Path(os.path.realpath(named))
    here = Path(os.path.realpath("."))
    roots = (folder for folder in (here, *here.parents) if (folder / ".git").exists())
    return next(roots, here)


def _data(text: str) -> str:
    """The text of a command: what ends a line is escaped, and other controls are shown."""
    shown = visible(text.replace("\r\n", "\n"))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
