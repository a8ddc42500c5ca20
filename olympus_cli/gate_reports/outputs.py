"""Where a gate's report goes: each form that was asked for, to stdout or to a file.

A file is written whole or not at all, also when the gate says no or a target failed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from olympus.errors import OlympusError, UsageError
from olympus_cli.faults.blame import as_told
from olympus_cli.gate_reports.failures import error_document
from olympus_cli.gate_reports.formats.github import render_github
from olympus_cli.gate_reports.formats.gitlab import render_gitlab
from olympus_cli.gate_reports.formats.markdown import render_markdown
from olympus_cli.gate_reports.formats.text import render_gate_text
from olympus_cli.gate_reports.model import GateReport, Table, case_of_error
from olympus_cli.terminal import console
from olympus_cli.terminal.output import check_writable, write_file
from olympus_cli.text.places import shown

__all__ = ["RENDERERS", "Outputs"]


def _render_junit(report: GateReport) -> str:
    from olympus_cli.gate_reports.formats.junit import (
        render_junit,  # and an XML library: few ask for it
    )

    return render_junit(report)


#: How a report is written in each form, by the names that `--output` takes.
RENDERERS: Mapping[str, Callable[[GateReport], str]] = {
    "text": render_gate_text,
    "json": lambda report: console.json_text(report.document),
    "junit": _render_junit,
    "github": render_github,
    "gitlab": render_gitlab,
    "markdown": render_markdown,
}

_MOST_SUMMARY = 1024 * 1024  # bytes of all that a step has written there: GitHub takes no more


class Outputs(AbstractContextManager["Outputs"]):
    """The forms in which a command tells what it found, as a context in which it finds it.

    `asked` are the forms with their files, None for stdout; text on stdout if there are none.  A
    command that fails before it has a report leaves one of that failure.

    Raises:
        UsageError: two forms would go to stdout or to one file, or a file cannot be there.

    Example:
      >>> with Outputs("check", [("junit", Path("results.xml"))]) as outputs:
      ...     outputs.write(report)
    """

    def __init__(self, command: str, asked: Sequence[tuple[str, Path | None]]) -> None:
        self._command = command
        self._asked = list(dict.fromkeys(asked)) or [("text", None)]
        self._shown = 0
        self._is_written = False
        self._problem: OlympusError | None = None
        _check(asked)

    @property
    def shows_text(self) -> bool:
        """Whether text is what goes to stdout."""
        return ("text", None) in self._asked

    def show(self, *tables: Table) -> None:
        """Write to stdout, if text goes there, those of the tables so far that were not written."""
        fresh, self._shown = tables[self._shown :], len(tables)
        for title, columns, rows in fresh:
            if self.shows_text:
                console.table(columns, rows, title)

    def write(self, report: GateReport) -> None:
        """Write the report in all forms, its warnings and notes to stderr.

        What cannot be written is told at the end of the context, and does not take the others'
        place.
        """
        self._is_written = True
        for warning in report.warnings:
            console.say(f"warning: {warning.text}")
        for note in report.notes:
            console.say(f"note: {note}")
        if any(form == "github" for form, _ in self._asked):
            _append_summary(report)
        # stdout comes last: its reader may leave, and take no file along
        for form, path in sorted(self._asked, key=lambda each: each[1] is None):
            try:
                self._write(form, path, report)
            except UsageError as error:
                self._problem = error

    def _write(self, form: str, path: Path | None, report: GateReport) -> None:
        if path is not None:
            write_file(path, RENDERERS[form](report))
        elif form == "json":
            console.print_json(report.document)
        elif form != "text":
            if text := RENDERERS[form](report):
                (console.commands if form == "github" else console.data)(text)
        elif report.text is not None:
            width = console.stdout_width()
            text = report.text_in(width) if report.text_in and width else report.text
            if text:
                console.data(text)
        else:
            self.show(*report.tables)

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not self._is_written:
            self._write_failure(error)
        if self._problem is None:
            return
        if error is None:
            raise self._problem
        console.report(self._problem)

    def _write_failure(self, error: Exception) -> None:
        """Write a report whose only case is the command's own failure."""
        case = case_of_error("olympus", self._command, as_told(error))
        document = error_document(error)
        failed = [{"target": None, **document}]
        document = {"targets": [], "failed": failed, **document}
        self.write(GateReport(self._command, (case,), (), document))


def _check(asked: Sequence[tuple[str, Path | None]]) -> None:
    """Refuse what could not be written after all the work.

    Raises:
        UsageError: there is such a form.
    """
    to_stdout = list(dict.fromkeys(form for form, path in asked if path is None))
    if len(to_stdout) > 1:
        raise UsageError(
            f"{' and '.join(to_stdout)} cannot both go to stdout",
            hint=f"--output {to_stdout[-1]}=FILE writes one of them to a file",
        )
    paths = [path for _, path in asked if path is not None]
    for path in paths:
        check_writable(path)
    real = [os.path.realpath(path) for path in paths]
    for path in paths:
        if real.count(os.path.realpath(path)) > 1:
            raise UsageError(f"two forms would be written to {shown(path)}")


def _append_summary(report: GateReport) -> None:
    """Append the report to the summary of the step of GitHub Actions that this runs in, if any.

    A summary that cannot be written is told and fails nothing: it is the runner's file.
    """
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    try:
        # without O_NONBLOCK, opening a pipe waits for a reader
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(name, flags, 0o644), "ab") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "it is not a regular file")
            file.write(render_markdown(report, _MOST_SUMMARY - status.st_size).encode())
    except OSError as error:
        console.say(f"warning: GITHUB_STEP_SUMMARY cannot be written: {error.strerror}")
