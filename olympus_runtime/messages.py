"""Readable errors from the errors of jaxlib's runtime."""

from __future__ import annotations

import re

from olympus_runtime.errors import (
    ArtifactError,
    BackendError,
    CompileError,
    DeletedArrayError,
    OlympusError,
    UsageError,
)

_STATUS = re.compile(r"^(?:(?:[A-Z][A-Z_]+|Error dispatching computation): )+")
_OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory")
# Lines about the sources or versions of XLA, not about the user's program.
_NOISE = ("<unknown>:0: error: Failed to parse using StableHLO", "See https://openxla.org")
_TRACE = "=== Source Location Trace"
_DONATED_TWICE = (
    "donate the same buffer twice",
    "previously donated in the same call",
    "also used by the same call",
)
# The runtime finds no shard of a deleted argument, where each argument has one.
_NO_SHARD = re.compile(r"to have 1 shards, got: \[(?:\d+, )*0\b")

_TWICE = "one array was passed for two arguments"


def clean(exc: BaseException) -> str:
    """Return the message of a runtime error, without status code, C++ trace and boilerplate."""
    text = str(exc).split(_TRACE, 1)[0]
    lines = [line for line in text.splitlines() if not line.startswith(_NOISE)]
    return _STATUS.sub("", "\n".join(lines).strip()) or type(exc).__name__


def execution_error(exc: BaseException) -> OlympusError:
    """Return the error of a compiled program that failed to run, or whose result cannot be read."""
    text = clean(exc)
    if any(text_part in text for text_part in _DONATED_TWICE):
        return donated_twice()
    if "deleted" in text or "donated" in text:
        return DeletedArrayError("an array was used after it had been deleted or donated")
    if "Execution supplied" in text or "RuntimeProgramInputMismatch" in text:
        return UsageError(f"the arguments do not fit the program: {text}")
    if _NO_SHARD.search(text):
        return DeletedArrayError("an argument was passed after it had been deleted or donated")
    if is_out_of_memory(exc):  # the class that has the exit code of exhausted memory
        return CompileError(f"the program ran out of memory: {text}")
    return BackendError(f"the program failed while it ran: {text}")


def is_out_of_memory(exc: BaseException) -> bool:
    """Return True if the memory for an array, a program or a compilation is missing."""
    return any(text in str(exc) for text in _OUT_OF_MEMORY)


def donated_twice(
    arguments: str = "", donated_names: str = "at least one of them is donated"
) -> UsageError:
    """Return the error for an array that is donated and passed for another argument too.

    `arguments` names the two, such as " of 'f', x and y", and `donated_names` the donated ones.
    """
    return UsageError(
        f"{_TWICE}{arguments}, and {donated_names}",
        hint="pass a copy for one of them, x.copy() or olympus.numpy.copy(x), or donate neither",
    )


def is_donated_twice(error: OlympusError) -> bool:
    """Return True if `error` is one of `donated_twice`."""
    return str(error).startswith(_TWICE)


def artifact_error(exc: BaseException) -> ArtifactError:
    """Return the error for serialized bytes that are not an executable for this host."""
    return ArtifactError(
        f"the executable cannot be loaded: {clean(exc)}",
        hint="it is damaged, or was built by another version or for another machine: rebuild it",
    )
