"""Failures of targets: as data for a document, and raised together when all targets are done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus.errors import GateError, OlympusError
from olympus_cli.faults.blame import reportable
from olympus_cli.faults.failure import Failure
from olympus_cli.gate_reports.gate_report import source_line
from olympus_cli.process.interrupts import command_end
from olympus_cli.terminal import console


def failure_data(failure: Failure) -> dict[str, Any]:
    """Return a failure as JSON-like data; a hint that the message contains is not repeated."""
    return {
        "kind": failure.kind,
        "message": failure.message,
        "hint": None if failure.hint and failure.hint in failure.message else failure.hint,
        "location": failure.location,
        "exit_code": failure.error().exit_code,
    }


def interruption_data(error: KeyboardInterrupt) -> dict[str, Any]:
    """Return the data of a target whose work a signal stopped, in the form of `failure_data`.

    >>> interruption_data(KeyboardInterrupt())["kind"]
    'Interrupted'
    """
    end = command_end(error)
    return {
        "kind": end.kind,
        "message": interruption_message(error),
        "hint": None,
        "location": None,
        "exit_code": end.exit_code,
    }


def interruption_message(error: KeyboardInterrupt) -> str:
    """Return the message for a target whose work a signal stopped."""
    return f"it was {command_end(error).message}"


def error_document(error: BaseException) -> dict[str, Any]:
    """Return the JSON document of a failed command, in the form of `error.schema.json`.

    >>> error_document(UsageError("no shapes", hint="add --shapes"))["error"]["exit_code"]
    2
    """
    shown = reportable(error)
    data = failure_data(Failure.of(error))
    return {"error": {**data, "location": data["location"] or source_line(shown)}}


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
