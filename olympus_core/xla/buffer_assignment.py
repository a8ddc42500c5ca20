"""Where the CPU's compiler put each value of a program: the bytes of a `BufferAssignmentProto`.

The numbers of fields are those of `xla/service/hlo.proto`, which jaxlib 0.10.2 and 0.12 share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from olympus_core.xla.wire import Message, damaged

__all__ = ["Allocation", "BufferAssignment", "Place", "read_assignment"]


class Allocation(NamedTuple):
    """A piece of memory that the runtime provides for a run; `bytes` is its size.

    `is_argument` and `is_constant` say what it holds; `is_result` that a result is in it, which
    with `is_argument` is a donated argument.  `is_thread_local` are scalars on a thread's stack.
    """

    number: int
    bytes: int
    is_argument: bool
    is_constant: bool
    is_result: bool
    is_thread_local: bool


class Place(NamedTuple):
    """The bytes of an allocation that a value has, while it is live."""

    allocation: int
    offset: int
    bytes: int


class BufferAssignment(NamedTuple):
    """The allocations by number, and the place of each value by (instruction's id, index).

    The index is a value's position in the tuples of its instruction's result, () for all of it.
    """

    allocations: Mapping[int, Allocation]
    places: Mapping[tuple[int, tuple[int, ...]], Place]

    @property
    def allocated(self) -> int:
        """The bytes of all allocations; those of a thread's stack aside."""
        return sum(a.bytes for a in self.allocations.values() if not a.is_thread_local)

    @property
    def constants(self) -> int:
        """The bytes of the allocations of constants."""
        return sum(a.bytes for a in self.allocations.values() if a.is_constant)


def read_assignment(data: bytes) -> BufferAssignment:
    """The assignment of the bytes of a `BufferAssignmentProto`.

    Raises:
      ArtifactError: when the bytes are cut off or name a value that is not described.
    """
    message = Message(data)
    defined: dict[int, tuple[int, tuple[int, ...]]] = {}
    for value in message.messages(1):
        location = value.message(3)
        if location is None:
            raise damaged("a value has no instruction")
        defined[value.integer(1)] = location.integer(4), location.integers(3)
    allocations: dict[int, Allocation] = {}
    places: dict[tuple[int, tuple[int, ...]], Place] = {}
    for one in message.messages(3):
        made = _allocation(one)
        allocations[made.number] = made
        for assigned in one.messages(9):
            number = assigned.integer(1)
            if number not in defined:
                raise damaged(f"there is no value {number}")
            place = Place(made.number, assigned.integer(2), assigned.integer(3))
            if place.offset < 0 or place.bytes < 0 or place.offset + place.bytes > made.bytes:
                raise damaged(f"a value does not fit the allocation {made.number}")
            places[defined[number]] = place
    return BufferAssignment(allocations, places)


def _allocation(message: Message) -> Allocation:
    return Allocation(
        number=message.integer(1),
        bytes=message.integer(2),
        is_argument=bool(message.integer(5)),
        is_constant=bool(message.integer(12)),
        is_result=bool(message.integer(7)),
        is_thread_local=bool(message.integer(3)),
    )
