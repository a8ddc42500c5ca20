"""Rules for memories in types: the results of an operation are in the memory of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olympus_core.base.errors import ArgumentError

if TYPE_CHECKING:
    from olympus_core.base.avals import ShapedArray


def common_memory(name: str, avals: Sequence[ShapedArray]) -> bool:
    """Return True if the operands of an operation are in the memory of the host.

    A scalar may be in any memory beside arrays. Raises ArgumentError for arrays in two memories.
    """
    arrays = [a for a in avals if a.ndim] or avals
    first = arrays[0]
    for other in arrays:
        if other.on_host != first.on_host:
            raise ArgumentError(
                f"memory_space of all inputs passed to `{name}` must be the same. Got one operand "
                f"with type: {first.long_name()} and another operand with type: "
                f"{other.long_name()}",
                hint="move one with device_put(x, olympus.memory.Space.Device)",
            )
    return first.on_host
