"""Readable errors of OLYMPUS from the errors of the compiler and of programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from olympus_core.base.errors import (
    CallbackError,
    CompileError,
    DeletedArrayError,
    DeviceMemoryError,
    DonationError,
    OlympusError,
    UsageError,
)
from olympus_core.xla.bindings import JAXLIB_VERSION
from olympus_runtime import messages
from olympus_runtime.messages import clean, is_out_of_memory

_NO_OPTION = re.compile(r"No such compile option: '([^']*)'")
_BAD_VALUE = re.compile(r"While setting option ([^,]*), '(.*)' is not a valid (.*) value")
# A program that does not fit a TPU, in two forms, and the buffers that the compiler may name.
_SIZE = r"([0-9.]+)([KMGT]?)"
_TOO_LARGE = (
    re.compile(rf"\({_SIZE}\) exceeds available HBM \({_SIZE}\)"),
    re.compile(rf"Used {_SIZE} of {_SIZE} hbm"),
)
_BUFFER = re.compile(
    rf"Size: {_SIZE}\b(?:\s+Operator: op_name=\"(?P<operator>[^\"]*)\"[^\n]*)?"
    r"\s+Shape: (?P<shape>\S+)"
)
_NAMED = 3  # buffers in a message
_DONATED_TWICE = (
    "donate the same buffer twice",
    "previously donated in the same call",
    "also used by the same call",
)
# The runtime finds no shard of a deleted argument, where each argument has one.
_NO_SHARD = re.compile(r"to have 1 shards, got: \[(?:\d+, )*0\b")

# The beginning of the runtime's error of a Python function, before its traceback.
_CALLBACK = "CpuCallback error calling callback"

_TWICE = "one array was passed for two arguments"
_JAX_TWICE = "Attempt to donate the same buffer twice"
_JAX_USED = "Attempt to use a buffer that was previously donated in the same call"


def nearest(name: str, candidates: Iterable[str], show: Callable[[str], str] = str) -> str | None:
    """Return a hint with the names that the user may have meant, or None if none is similar.

    Names that begin with `name` and a hyphen, such as h100-sxm for h100, take precedence.
    """
    import difflib  # only a mistake needs it

    names = list(candidates)
    matches = [x for x in names if x.startswith(f"{name}-")]
    matches = matches or difflib.get_close_matches(name, names, n=3)
    return f"did you mean {' or '.join(repr(show(x)) for x in matches)}?" if matches else None


def compile_error(exc: BaseException) -> OlympusError:
    """Return the error of a failed compilation: UsageError for an option, else CompileError."""
    text = clean(exc)
    if match := _NO_OPTION.search(text):
        return UsageError(
            f"No such compile option: {match[1]!r}: the compiler does not have it",
            hint=f"jaxlib {JAXLIB_VERSION} does not have it, and other versions do",
        )
    if match := _BAD_VALUE.search(text):
        name, value, kind = match.groups()
        return UsageError(f"compiler option {name!r} needs a {kind} value, got {value!r}")
    if (misfit := _device_memory_error(str(exc))) is not None:
        return misfit
    if is_out_of_memory(exc):
        return CompileError(f"the compiler ran out of memory: {text}")
    return CompileError(f"the compiler failed: {text}")


def _device_memory_error(text: str) -> DeviceMemoryError | None:
    """Return the error of a program that does not fit its device, or None for other errors."""
    match = next((m for pattern in _TOO_LARGE if (m := pattern.search(text))), None)
    if match is None:
        return None
    needed, available = _gib(match[1], match[2]), _gib(match[3], match[4])
    message = (
        f"the program does not fit the memory of its device: it needs {needed:.2f} GiB, "
        f"{needed - available:.2f} GiB more than the {available:.2f} GiB of the device"
    )
    buffers = [
        f"{_gib(m[1], m[2]):.2f} GiB {m['shape']}" + (f" of {m['operator']}" * bool(m["operator"]))
        for m in _BUFFER.finditer(text)
    ]
    if buffers:
        message += f". The largest buffers: {'; '.join(buffers[:_NAMED])}"
    return DeviceMemoryError(
        message,
        hint="split its arrays on more devices, make them smaller, or recompute with checkpoint",
    )


def _gib(number: str, unit: str) -> float:
    """Return a size of the compiler's messages, such as "15.75" and "G", in GiB."""
    return float(number) * 1024.0 ** (" KMGT".index(unit or " ") - 3)


def callback_error(exc: BaseException) -> CallbackError:
    """Return the error of a program whose Python function raised `exc`, with its traceback."""
    import traceback  # only an error needs it

    return CallbackError(f"{_CALLBACK}: {''.join(traceback.format_exception(exc)).rstrip()}")


def execution_error(exc: BaseException) -> OlympusError:
    """Return the error of a compiled program that failed to run, or whose result cannot be read."""
    text = clean(exc)
    if _CALLBACK in text:
        return CallbackError(text[text.index(_CALLBACK) :])
    if any(text_part in text for text_part in _DONATED_TWICE):
        return donated_twice()
    if "deleted" in text or "donated" in text:
        return deleted_error("an array was used")
    if "Execution supplied" in text or "RuntimeProgramInputMismatch" in text:
        return UsageError(f"the arguments do not fit the program: {text}")
    if _NO_SHARD.search(text):
        return deleted_error("an argument was passed")
    return messages.execution_error(exc)


def deleted_error(use: str, type_text: str = "", hint: str | None = None) -> DeletedArrayError:
    """Return the error for an array that was used after it had been deleted; `use` is its use."""
    shape = f" with shape={type_text}" if type_text else ""
    return DeletedArrayError(
        f"Array has been deleted{shape}: {use} after its Buffer has been deleted or donated",
        hint=hint,
    )


def donated_twice(
    arguments: str = "", donated_names: str = "at least one of them is donated"
) -> DonationError:
    """Return the error for an array that is donated and passed for another argument too.

    `arguments` names the two, such as " of 'f', x and y", and `donated_names` the donated ones.
    """
    is_read = donated_names.endswith(" is donated")
    return DonationError(
        f"{_JAX_USED if is_read else _JAX_TWICE}: {_TWICE}{arguments}, and {donated_names}",
        hint="pass a copy for one of them, x.copy() or olympus.numpy.copy(x), or donate neither",
    )


def is_donated_twice(error: OlympusError) -> bool:
    """Return True if `error` is one of `donated_twice`."""
    return isinstance(error, DonationError)
