"""Failures of targets: as JSON-like data, and raised together when all targets are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from olympus.errors import GateError, OlympusError
from olympus.files import to_data
from olympus_cli.faults.blame import reportable
from olympus_cli.faults.failure import FAILURE_FORMS, Failure
from olympus_cli.gate_reports.gate_report import source_line
from olympus_cli.process.interrupts import command_end
from olympus_cli.terminal import console


@dataclass(frozen=True)
class FailedTarget:
    """A target that could not be checked or measured, and the reason."""

    target: str | None  # None if the command reached no target
    error: Failure


def failure_data(failures: Failure | Sequence[FailedTarget]) -> Any:
    """Return failures as JSON-like data; a hint that the message contains is not repeated."""
    return to_data(failures, FAILURE_FORMS)


def interruption(error: KeyboardInterrupt) -> Failure:
    """Return the failure of a target whose work a signal stopped.

    >>> interruption(KeyboardInterrupt())
    Failure(kind='Interrupted', message='it was interrupted', hint=None, location=None, trace='')
    """
    return Failure(command_end(error).kind, interruption_message(error))


def interruption_message(error: KeyboardInterrupt) -> str:
    """Return the message for a target whose work a signal stopped."""
    return f"it was {command_end(error).message}"


def error_document(error: BaseException) -> dict[str, Any]:
    """Return the JSON document of a failed command, in the form of `error.schema.json`.

    >>> error_document(UsageError("no shapes", hint="add --shapes"))["error"]["exit_code"]
    2
    """
    return {"error": failure_data(command_failure(error))}


def command_failure(error: BaseException) -> Failure:
    """Return the failure of a command, with the source line that the reported error names."""
    failure = Failure.of(error)
    return replace(failure, location=failure.location or source_line(reportable(error)))


def with_target(target: str, error: OlympusError) -> OlympusError:
    """Return `error` with a message that names the target."""
    error.args = (f"target {target!r}: {error}", *error.args[1:])
    return error


def raise_all(errors: Sequence[OlympusError], total: int, verbose: bool) -> None:
    """Raise the only error, or report each and raise one for all; return if there are none.

    Each of `errors` is the failure of one of `total` targets.  A GateError is reported last: its
    exit code means that all targets could be checked.

    Raises:
        OlympusError: of the class of the first error.
    """
    ordered = sorted(errors, key=lambda error: isinstance(error, GateError))
    if len(ordered) > 1:
        for error in ordered:
            console.report(error, verbose)
        raise type(ordered[0])(f"{len(errors)} of {total} targets failed")
    if ordered:
        raise ordered[0]
