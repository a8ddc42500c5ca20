"""Errors as plain data, for transfer from one process to another."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from olympus import errors
from olympus_cli.faults.blame import place_of, reportable
from olympus_cli.process.shortage import HINT, words
from olympus_cli.text.paths import quoted

_CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.OlympusError)
}


@dataclass(frozen=True)
class Failure:
    """An error as plain data; `kind` is the name of a class of olympus.errors."""

    kind: str
    message: str
    hint: str | None = None
    location: str | None = None
    trace: str = ""

    @staticmethod
    def of(error: BaseException) -> Failure:
        """Return the failure for `error`, converted to the error that is reported to the user."""
        trace = "".join(traceback.format_exception(error))
        reported = shortage(error) or reportable(error)
        location = reported.location if isinstance(reported, errors.TraceError) else None
        message = str(reported)
        if isinstance(reported, errors.InternalError) and (
            place := place_of(error, own_alone=True)
        ):
            message += f"\n{quoted(place)}"  # the user's call of the defective code
        return Failure(_kind(reported), message, reported.hint, location, trace)

    def error(self) -> errors.OlympusError:
        """Return the exception to raise here; the other process's traceback is its note."""
        kind = _CLASSES.get(self.kind, errors.InternalError)
        error = kind(self.message, hint=self.hint)
        if isinstance(error, errors.TraceError):
            error.location = self.location
        if self.trace:
            error.add_note(f"in the process that did it:\n{self.trace}")
        return error


def _kind(error: errors.OlympusError) -> str:
    """Return the name of the class of an error, or of its first base class in olympus.errors.

    >>> class Outdated(errors.ArtifactError): ...
    >>> _kind(Outdated("old"))
    'ArtifactError'
    """
    return next(kind.__name__ for kind in type(error).__mro__ if kind in _CLASSES.values())


def shortage(error: BaseException) -> errors.OlympusError | None:
    """Return the error to report if memory, files or processes ran out; None for any other.

    Exceeding Python's recursion limit also counts.
    """
    if (message := words(error)) is not None:
        return errors.CompileError(message, hint=HINT)
    if isinstance(error, RecursionError):
        return errors.TraceError(
            "the program is nested deeper than Python's recursion limit",
            hint="sys.setrecursionlimit(...) in the program raises the limit",
        )
    return None
