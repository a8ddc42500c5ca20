"""Failures of targets: as data for a document, and raised together when all targets are done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus.errors import GateError, OlympusError
from olympus_cli import console
from olympus_cli.faults.blame import as_told
from olympus_cli.faults.failure import Failure
from olympus_cli.reports.gates import source_line

__all__ = ["error_document", "failure_data", "named", "raise_all"]


def failure_data(failure: Failure) -> dict[str, Any]:
    """A failure as JSON-like data; a hint that the message has already is not told again."""
    return {
        "kind": failure.kind,
        "message": failure.message,
        "hint": None if failure.hint and failure.hint in failure.message else failure.hint,
        "location": failure.location,
        "exit_code": failure.error().exit_code,
    }


def error_document(error: BaseException) -> dict[str, Any]:
    """The JSON document of a command that failed: the key `error`.

    >>> error_document(UsageError("no shapes", hint="add --shapes"))["error"]["exit_code"]
    2
    """
    told = as_told(error)
    data = failure_data(Failure.of(error))
    return {"error": {**data, "location": data["location"] or source_line(told)}}


def named(target: str, error: OlympusError) -> OlympusError:
    """`error` with a message that names the target."""
    error.args = (f"target {target!r}: {error}", *error.args[1:])
    return error


def raise_all(errors: Sequence[OlympusError], total: int, verbose: bool) -> None:
    """Raise the only error, or one for all, each being told of before; return if there is none.

    There is one for each of `total` targets that failed.  A gate that says no is told last: its
    exit code says that all targets could be judged.

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
