"""The outputs of a gate's report: each requested format, on stdout or in a file.

A file is written completely or not at all, also if the gate or a target failed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from olympus_cli.gate_reports.formats.github import render_github
from olympus_cli.gate_reports.formats.gitlab import render_gitlab
from olympus_cli.gate_reports.formats.markdown import render_markdown
from olympus_cli.gate_reports.formats.text import render_gate_text
from olympus_cli.gate_reports.gate_report import GateReport, Table, case_of_error
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path

if TYPE_CHECKING:
    from olympus.errors import OlympusError

# What imports the compiler is imported where it is used: a build with nothing to do writes its
# report without it.


def _render_junit(report: GateReport) -> str:
    from olympus_cli.gate_reports.formats.junit import (
        render_junit,  # and an XML library, which few commands need
    )

    return render_junit(report)


#: The renderer of each format, by the names that `--output` takes.
RENDERERS: Mapping[str, Callable[[GateReport], str]] = {
    "text": render_gate_text,
    "json": lambda report: console.json_text(report.document),
    "junit": _render_junit,
    "github": render_github,
    "gitlab": render_gitlab,
    "markdown": render_markdown,
}

_MAX_SUMMARY = 1024 * 1024  # bytes of all that a step has written there: GitHub takes no more


class Outputs(AbstractContextManager["Outputs"]):
    """The formats of a command's report, as a context for its work.

    `requested` are the formats with their files, None for stdout; by default, text on stdout.  A
    command that fails before it has a report writes a report of that failure.

    Raises:
        UsageError: two formats would go to stdout or to one file, or a file cannot be written.

    Example:
      >>> with Outputs("check", [("junit", Path("results.xml"))]) as outputs:
      ...     outputs.write(report)
    """

    def __init__(self, command: str, requested: Sequence[tuple[str, Path | None]]) -> None:
        self._command = command
        self._requested = list(dict.fromkeys(requested)) or [("text", None)]
        self._shown = 0
        self._is_written = self._is_silent = False
        self._problem: OlympusError | None = None
        _check(requested)

    @property
    def shows_text(self) -> bool:
        """True if the format on stdout is text."""
        return ("text", None) in self._requested

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the requested formats."""
        return tuple(path for _, path in self._requested if path is not None)

    @property
    def is_document(self) -> bool:
        """True if stdout takes one document of another format than text."""
        return any(form != "text" and path is None for form, path in self._requested)

    def silence(self) -> None:
        """Omit warnings and notes, and the text on stdout; requested files are written."""
        self._is_silent = True
        self._requested = [output for output in self._requested if output != ("text", None)]

    def show(self, *tables: Table) -> None:
        """Write those of the tables that are not written yet to stdout, if its format is text."""
        fresh, self._shown = tables[self._shown :], len(tables)
        for title, columns, rows in fresh:
            if self.shows_text:
                console.table(columns, rows, title)

    def write(self, report: GateReport) -> None:
        """Write the report in all formats, its warnings and notes to stderr.

        An output that cannot be written is reported at the end of the context; the others are still
        written.
        """
        self._is_written = True
        if not self._is_silent:
            for warning in report.warnings:
                console.message(f"warning: {warning.text}")
            for note in report.notes:
                console.message(f"note: {note}")
        if any(form == "github" for form, _ in self._requested):
            _append_summary(report)
        # stdout comes last: if its reader closes the pipe, the files are already written
        for form, path in sorted(self._requested, key=lambda output: output[1] is None):
            if (problem := self._write(form, path, report)) is not None:
                self._problem = problem

    def _write(self, form: str, path: Path | None, report: GateReport) -> OlympusError | None:
        """Write the report in one form; return the error of a file that cannot be written."""
        if path is not None:
            return _write_file(path, RENDERERS[form](report), quiet=self._is_silent)
        if form == "json":
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
        return None

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
        from olympus_cli.faults.blame import reportable
        from olympus_cli.gate_reports.failures import FailedTarget, command_failure, failure_data

        case = case_of_error("olympus", self._command, reportable(error))
        failure = command_failure(error)
        failed = [FailedTarget(None, failure)]
        document = {
            "targets": [],
            "failed": failure_data(failed),
            "error": failure_data(failure),
        }
        self.write(GateReport(self._command, (case,), (), document))


def _write_file(path: Path, text: str, *, quiet: bool) -> OlympusError | None:
    from olympus.errors import UsageError
    from olympus_cli.terminal.output import write_file

    try:
        write_file(path, text, quiet=quiet)
    except UsageError as error:
        return error
    return None


def _check(requested: Sequence[tuple[str, Path | None]]) -> None:
    """Check the formats and files before the work.

    Raises:
        UsageError: one of them could not be written.
    """
    to_stdout = list(dict.fromkeys(form for form, path in requested if path is None))
    paths = [path for _, path in requested if path is not None]
    if len(to_stdout) <= 1 and not paths:
        return
    from olympus.errors import UsageError
    from olympus_cli.terminal.output import check_writable

    if len(to_stdout) > 1:
        raise UsageError(
            f"{' and '.join(to_stdout)} cannot both go to stdout",
            hint=f"--output {to_stdout[-1]}=FILE writes one of them to a file",
        )
    for path in paths:
        check_writable(path)
    real = [os.path.realpath(path) for path in paths]
    for path in paths:
        if real.count(os.path.realpath(path)) > 1:
            raise UsageError(f"two forms would be written to {display_path(path)}")


def _append_summary(report: GateReport) -> None:
    """Append the report to the summary of the GitHub Actions step that this runs in, if any.

    If the summary cannot be written, a warning is given, and nothing fails: it is the runner's
    file.
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
            file.write(render_markdown(report, _MAX_SUMMARY - status.st_size).encode())
    except OSError as error:
        console.message(f"warning: GITHUB_STEP_SUMMARY cannot be written: {error.strerror}")
