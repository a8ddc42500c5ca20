"""Errors of a call that name the arguments whose buffers the runtime refused.

The runtime knows buffers, and a call knows the names of its arguments.  Nothing here runs before a
call has failed.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection, Sequence
from typing import Any

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray
from olympus_core.base.errors import DeletedArrayError, ShardingError, UsageError

_MAX_NAMES = 3  # that a message has


def named_error(
    error: UsageError,
    function: str,
    leaves: Sequence[Any],
    names: Sequence[str],
    donated: Collection[int],
) -> UsageError:
    """Return `error` with the names of the arguments it is about, or as it is for other errors.

    `leaves` are the values of the flat arguments that are called `names`, and `donated` the indices
    of those whose buffers the call takes.
    """
    buffers = [x.buffer if isinstance(x, DeviceArray) else None for x in leaves]
    if xla.is_donated_twice(error):
        return _donated_twice(function, buffers, names, donated) or error
    if isinstance(error, DeletedArrayError):
        return _deleted(function, leaves, names) or error
    return error


def with_argument_names(error: ShardingError, function: str, names: Sequence[str]) -> ShardingError:
    """Return the error for arguments on different devices, with `names` for their numbers.

    Other errors are returned as they are.
    """
    text = str(error)
    if not text.startswith(("Received incompatible devices", "Computation was compiled for")):
        return error

    def named(found: re.Match[str]) -> str:
        return f"argument {names[int(found[1]) - 1]} of {function} with shape"

    return ShardingError(re.sub(r"argument (\d+) with shape", named, text), hint=error.hint)


def _donated_twice(
    function: str, buffers: Sequence[Any], names: Sequence[str], donated: Collection[int]
) -> UsageError | None:
    """Return the error for the first donated array that is another argument too."""
    for i in sorted(donated):
        if buffers[i] is None:
            continue
        same = [k for k, buffer in enumerate(buffers) if buffer is buffers[i]]
        if len(same) > 1:
            first, second = sorted((i, next(k for k in same if k != i)))
            donations = [names[k] for k in (first, second) if k in donated]
            which = f"{donations[0]} is donated" if len(donations) == 1 else "both are donated"
            return xla.donated_twice(f" of '{function}', {names[first]} and {names[second]}", which)
    return None


def _deleted(
    function: str, leaves: Sequence[Any], names: Sequence[str]
) -> DeletedArrayError | None:
    """Return the error for the arguments that were deleted before the call."""
    deleted = [
        (name, x.aval.long_name())
        for name, x in zip(names, leaves, strict=True)
        if isinstance(x, DeviceArray) and xla.is_deleted(x.buffer)
    ]
    if not deleted:
        return None
    if len(deleted) == 1:
        use = f"argument {deleted[0][0]} of '{function}' was passed"
    else:
        listed = ", ".join([name for name, _ in deleted[:_MAX_NAMES]])
        listed += ", ..." if len(deleted) > _MAX_NAMES else ""
        use = f"arguments {listed} of '{function}' were passed"
    return xla.deleted_error(
        use,
        deleted[0][1],
        hint="pass the result of the call that it was donated to, or donate a copy: x.copy()",
    )


def container_hint(x: Any) -> str | None:
    """Return a hint to make a container of arrays from an object that is not an array."""
    if inspect.iscoroutine(x):
        x.close()  # otherwise Python warns that it is never awaited
        return "an async function cannot be staged: write it with `def`"
    name = type(x).__name__
    if dataclasses.is_dataclass(x):
        return f"olympus.tree_util.register_dataclass({name}) makes {name} a container"
    if hasattr(x, "__dict__") and type(x).__module__ != "builtins":
        return f"olympus.tree_util.register_pytree_node({name}, ...) makes {name} a container"
    return None
