"""Readable errors from the errors of jaxlib's runtime."""

from __future__ import annotations

import re

from olympus_bundle.errors import ArtifactError, BackendError, CompileError, OlympusError

_STATUS = re.compile(r"^(?:(?:[A-Z][A-Z_]+|Error dispatching computation): )+")
_OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory")
# Lines about the sources or versions of XLA, not about the user's program.
_NOISE = ("<unknown>:0: error: Failed to parse using StableHLO", "See https://openxla.org")
_TRACE = "=== Source Location Trace"


def clean(exc: BaseException) -> str:
    """Return the message of a runtime error, without status code, C++ trace and boilerplate."""
    text = str(exc).split(_TRACE, 1)[0]
    lines = [line for line in text.splitlines() if not line.startswith(_NOISE)]
    return _STATUS.sub("", "\n".join(lines).strip()) or type(exc).__name__


def execution_error(exc: BaseException) -> OlympusError:
    """Return the error of a compiled program that failed to run, or whose result cannot be read."""
    if is_out_of_memory(exc):  # the class that has the exit code of exhausted memory
        return CompileError(f"the program ran out of memory: {clean(exc)}")
    return BackendError(f"the program failed while it ran: {clean(exc)}")


def is_out_of_memory(exc: BaseException) -> bool:
    """Return True if the memory for an array, a program or a compilation is missing."""
    return any(text in str(exc) for text in _OUT_OF_MEMORY)


def artifact_error(exc: BaseException) -> ArtifactError:
    """Return the error for serialized bytes that are not an executable for this host."""
    return ArtifactError(
        f"the executable cannot be loaded: {clean(exc)}",
        hint="it is damaged, or was built by another version or for another machine: rebuild it",
    )
