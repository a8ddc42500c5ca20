"""The runtime's and the compiler's error texts, made readable and given one of our classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from olympus_core.errors import (
    ArtifactError,
    BackendError,
    CompileError,
    DeletedArrayError,
    OlympusError,
    UsageError,
)
from olympus_core.xla.door import JAXLIB_VERSION

__all__ = [
    "artifact_error",
    "clean",
    "compile_error",
    "donated_twice",
    "execution_error",
    "nearest",
]

_STATUS = re.compile(r"^(?:[A-Z][A-Z_]+: )+")
_NO_OPTION = re.compile(r"No such compile option: '([^']*)'")
_BAD_VALUE = re.compile(r"While setting option ([^,]*), '(.*)' is not a valid (.*) value")
# Lines that speak of the toolkit's own sources or versions and never of the user's program.
_NOISE = ("<unknown>:0: error: Failed to parse using StableHLO", "See https://openxla.org")
_TRACE = "=== Source Location Trace"
_DONATED_TWICE = ("donate the same buffer twice", "previously donated in the same call")


def clean(exc: BaseException) -> str:
    """The message of a runtime error, without status code, C++ trace and boilerplate."""
    text = str(exc).split(_TRACE, 1)[0]
    lines = [line for line in text.splitlines() if not line.startswith(_NOISE)]
    return _STATUS.sub("", "\n".join(lines).strip()) or type(exc).__name__


def nearest(name: str, known: Iterable[str], show: Callable[[str], str] = str) -> str | None:
    """A hint that names what the user may have meant, or None where nothing is near.

    Names of which `name` is the first part, as h100 is of h100-sxm, are nearer than any other.
    """
    import difflib  # only a mistake needs it

    names = list(known)
    found = [x for x in names if x.startswith(f"{name}-")]
    found = found or difflib.get_close_matches(name, names, n=3)
    return f"did you mean {' or '.join(repr(show(x)) for x in found)}?" if found else None


def compile_error(exc: BaseException) -> OlympusError:
    """What to raise when a compiler refuses: UsageError for an option, else CompileError."""
    text = clean(exc)
    if found := _NO_OPTION.search(text):
        return UsageError(
            f"the compiler has no option {found[1]!r}",
            hint=f"jaxlib {JAXLIB_VERSION} does not have it, and other versions do",
        )
    if found := _BAD_VALUE.search(text):
        name, value, kind = found.groups()
        return UsageError(f"compiler option {name!r} needs a {kind} value, got {value!r}")
    if "RESOURCE_EXHAUSTED" in str(exc):
        return CompileError(f"the compiler ran out of memory: {text}")
    return CompileError(f"the compiler failed: {text}")


def execution_error(exc: BaseException) -> OlympusError:
    """What to raise when a compiled program could not be run, or its result not be read."""
    text = clean(exc)
    if any(said in text for said in _DONATED_TWICE):
        return donated_twice()
    if "deleted" in text or "donated" in text:
        return DeletedArrayError("an array was used after it had been deleted or donated")
    if "Execution supplied" in text or "RuntimeProgramInputMismatch" in text:
        return UsageError(f"the arguments do not fit the program: {text}")
    # What the runtime says of a deleted argument: it finds no shard where one must be.
    if "to have 1 shards, got: [0" in text:
        return DeletedArrayError("an argument was passed after it had been deleted or donated")
    return BackendError(f"the program failed while it ran: {text}")


def donated_twice() -> UsageError:
    """What to raise where an array is donated and passed for another argument too."""
    return UsageError(
        "one array was passed for two arguments, and at least one of them is donated",
        hint="pass a copy for one of them, or donate neither",
    )


def artifact_error(exc: BaseException) -> ArtifactError:
    """What to raise when serialized bytes are not an executable for this host."""
    return ArtifactError(
        f"the executable cannot be loaded: {clean(exc)}",
        hint="it is damaged, or was built by another version or for another machine: rebuild it",
    )
