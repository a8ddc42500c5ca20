"""What became of a target, in a form that can pass from one process to another.

An exception enters; a `Failure` leaves, and becomes an exception of the same class again.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal

from olympus import errors

__all__ = ["Failure", "Outcome", "Status"]

Status = Literal["built", "fresh", "stale", "failed"]


@dataclass(frozen=True)
class Failure:
    """An error on its way to another process; `kind` is the name of a class of olympus.errors."""

    kind: str
    message: str
    hint: str | None = None
    location: str | None = None
    trace: str = ""

    @staticmethod
    def of(error: BaseException) -> Failure:
        """The failure that `error` is; what is not raised on purpose is a defect of ours."""
        trace = "".join(traceback.format_exception(error))
        if isinstance(error, errors.OlympusError):
            location = getattr(error, "location", None)
            return Failure(type(error).__name__, str(error), error.hint, location, trace)
        if isinstance(error, MemoryError):
            return Failure("CompileError", "there was not enough memory", trace=trace)
        return Failure("InternalError", f"{type(error).__name__}: {error}", trace=trace)

    def error(self) -> errors.OlympusError:
        """The exception, to be raised here; the other process's traceback is its note."""
        kind: type[errors.OlympusError] = getattr(errors, self.kind, errors.InternalError)
        error = kind(self.message, hint=self.hint)
        if isinstance(error, errors.TraceError):
            error.location = self.location
        if self.trace:
            error.add_note(f"in the process that compiles:\n{self.trace}")
        return error


@dataclass(frozen=True)
class Outcome:
    """What became of one target; "stale" is one that --frozen kept from being built."""

    target: str
    status: Status
    reason: str | None = None
    seconds: float = 0.0
    failure: Failure | None = None
    log: str = ""
