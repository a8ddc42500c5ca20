"""Errors as plain data, for transfer from one process to another."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from olympus import errors
from olympus.files import Forms, form
from olympus_cli.faults.blame import place_of, reportable
from olympus_cli.process.interrupts import INTERRUPTED, TERMINATED
from olympus_cli.process.shortage import HINT, words
from olympus_cli.text.paths import quoted

_CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.OlympusError)
}

#: The exit code of a command by the kind of its failure.
EXIT_CODES = {
    **{name: _CLASSES[name].exit_code for name in sorted(_CLASSES)},
    **{end.kind: end.exit_code for end in (INTERRUPTED, TERMINATED)},
}


@dataclass(frozen=True)
class Failure:
    """An error of a command, or of one of its targets."""

    kind: str  # a key of EXIT_CODES: a class of olympus.errors, or the end by a signal
    message: str
    hint: str | None = None
    location: str | None = None  # the source line, FILE:LINE
    trace: str = ""  # the traceback, of the process that raised it

    @property
    def exit_code(self) -> int:
        """The exit code of a command that this failure ends."""
        return EXIT_CODES.get(self.kind, errors.InternalError.exit_code)

    @property
    def remedy(self) -> str | None:
        """The hint; None if the message contains it."""
        return None if self.hint and self.hint in self.message else self.hint

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


#: The keys of a failure in JSON documents, for `to_data`.
FAILURE_FORMS: Forms = {
    Failure: form("kind", "message", "hint", "location", "exit_code", hint="remedy")
}


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
