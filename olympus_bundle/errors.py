"""The errors that loading and calling a bundle raises; `olympus.errors` has the same classes."""

from __future__ import annotations


class OlympusError(Exception):
    """The base of every error raised on purpose; `hint` is one line with a remedy."""

    exit_code = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class OlympusWarning(UserWarning):
    """The class of OLYMPUS's warnings."""


class UsageError(OlympusError):
    """Raised when an option, a spec or an entry is wrong."""

    exit_code = 2


class SignatureError(UsageError, TypeError):
    """Raised when a function or a compiled program is called with invalid arguments."""


class MachineError(OlympusError, RuntimeError):
    """The base of the errors of compilers, runtimes and devices."""


class CompileError(MachineError):
    """Raised when the compiler fails or is killed, or when time or memory runs out."""

    exit_code = 4


class ArtifactError(OlympusError):
    """Raised when an artifact is damaged, foreign, or does not match this host."""

    exit_code = 5


class DataError(ArtifactError, ValueError):
    """Raised for JSON data that is damaged, or does not have the form of the required record."""


class BackendError(MachineError):
    """Raised when a backend or a device is not available; the message names a remedy."""

    exit_code = 6


# Users know this one as Python's own TypeError, so it has that name in tracebacks.
SignatureError.__module__, SignatureError.__qualname__ = "builtins", "TypeError"
