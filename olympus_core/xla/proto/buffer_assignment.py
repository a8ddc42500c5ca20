"""A reader of the places of a CPU program's values in memory, from a `BufferAssignmentProto`.

The numbers of fields are those of `xla/service/hlo.proto`, which jaxlib 0.10.2 and 0.12 share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from olympus_core.xla.proto.columns import Columns, packed
from olympus_core.xla.proto.wire import BYTES, VARINT, Message, damaged

#: the fields of a `BufferAllocationProto` that `Allocation` has, in its order
_ALLOCATION = (1, 2, 5, 12, 7, 3)
_ASSIGNED = 9
_Position = tuple[int, tuple[int, ...]]  # an instruction's id, and an index


class Allocation(NamedTuple):
    """A piece of memory that the runtime provides for a run; `bytes` is its size.

    It holds an argument if `is_argument`, a constant if `is_constant` and a result if `is_result`.
    With both `is_argument` and `is_result` it holds a donated argument. `is_thread_local` marks
    scalars on a thread's stack.
    """

    number: int
    bytes: int
    is_argument: bool
    is_constant: bool
    is_result: bool
    is_thread_local: bool


class AllocationSlice(NamedTuple):
    """The bytes of an allocation that a value has, while it is live."""

    allocation: int
    offset: int
    bytes: int


class MemoryAnalysis(NamedTuple):
    """The memory of a compiled program, in bytes; None if the compiler does not report it."""

    argument_size_in_bytes: int | None
    output_size_in_bytes: int | None
    temp_size_in_bytes: int | None
    alias_size_in_bytes: int | None
    generated_code_size_in_bytes: int | None
    peak_memory_in_bytes: int | None


class BufferAssignment(NamedTuple):
    """The allocations by number, and the place of each value by (instruction's id, index).

    The index is a value's position in the tuples of its instruction's result, () for all of it.
    `is_simulated` is True if the compiler recorded its heap simulation.
    """

    allocations: Mapping[int, Allocation]
    places: Mapping[_Position, AllocationSlice]
    is_simulated: bool = False

    @property
    def allocated(self) -> int:
        """The bytes of all allocations, except those of a thread's stack."""
        return sum(a.bytes for a in self.allocations.values() if not a.is_thread_local)

    @property
    def constants(self) -> int:
        """The bytes of the allocations of constants."""
        return sum(a.bytes for a in self.allocations.values() if a.is_constant)

    def analysis(self) -> MemoryAnalysis:
        """Return the sums that XLA computes for a CPU's assignment without a heap simulation.

        Its peak is the memory of the whole run: it excludes temporaries. Sources:
        `CompiledMemoryStats::PopulateBufferStatsFromAllocations`
        (xla/pjrt/compiled_memory_stats.cc), and `ComputePeakMemory`
        (xla/service/buffer_assignment.cc).
        """
        arguments = results = temporaries = aliased = constants = 0
        for allocation in self.allocations.values():
            if allocation.is_argument:
                arguments += allocation.bytes
                aliased += allocation.bytes if allocation.is_result else 0
            if allocation.is_result:
                results += allocation.bytes
            elif allocation.is_constant:
                constants += allocation.bytes
            elif not allocation.is_argument and not allocation.is_thread_local:
                temporaries += allocation.bytes
        peak = arguments + results - aliased + constants
        return MemoryAnalysis(arguments, results, temporaries, aliased, 0, peak)


def read_assignment(data: bytes | memoryview) -> BufferAssignment:
    """Read an assignment from the bytes of a `BufferAssignmentProto`.

    Raises:
      ArtifactError: the bytes are cut off or name an undefined value.
    """
    message = Message(data)
    allocations: dict[int, Allocation] = {}
    assigned: list[bytes] = []
    owners: list[Allocation] = []  # of what is assigned
    for allocation, values in _allocations(message.raws(3)):
        allocations[allocation.number] = allocation
        assigned += values
        owners += [allocation] * len(values)
    defined = _defined(message.raws(1))
    places: dict[_Position, AllocationSlice] = {}
    for number, offset, size, owner in zip(*_integers(assigned, 1, 2, 3), owners, strict=True):
        if number not in defined:
            raise damaged(f"the value {number} is missing")
        if offset < 0 or size < 0 or offset + size > owner.bytes:
            raise damaged(f"a value does not fit the allocation {owner.number}")
        places[defined[number]] = AllocationSlice(owner.number, offset, size)
    return BufferAssignment(allocations, places, is_simulated=4 in message)


def _defined(values: Sequence[bytes]) -> dict[int, _Position]:
    """Return the position of each value's definition, by its number."""
    data, columns = Columns.of(values, (1, 3))
    location = columns[3]
    _check(columns, [1])
    if not ((location.times == 1) & (location.kind == BYTES)).all():
        raise damaged("a value has no instruction")
    where = Columns(data, location.begin, location.end, (3, 4))
    index = where[3]
    _check(where, [4])
    if not ((index.times == 0) | (index.kind == BYTES) & (index.times == 1)).all():
        raise damaged("a value has an index in another form")
    steps, at = packed(data, index.begin, index.end)
    indices = (tuple(steps[begin:end]) for begin, end in pairwise(at))
    positions = zip(where[4].value.tolist(), indices, strict=True)
    return dict(zip(columns[1].value.tolist(), positions, strict=True))


def _integers(messages: Sequence[bytes], *numbers: int) -> Iterator[list[int]]:
    """Return an iterator over the fields, with the integers of all messages for each."""
    _, columns = Columns.of(messages, numbers)
    _check(columns, numbers)
    return (columns[n].value.tolist() for n in numbers)


def _allocations(messages: Sequence[bytes]) -> Iterator[tuple[Allocation, Sequence[bytes]]]:
    """Yield each allocation, and the values that are assigned to it: usually one."""
    data, columns = Columns.of(messages, (*_ALLOCATION, _ASSIGNED))
    is_usual = columns[_ASSIGNED].times == 1
    is_usual[columns.long] = False
    for number in (*_ALLOCATION, _ASSIGNED):
        is_usual &= columns[number].kind == (BYTES if number == _ASSIGNED else VARINT)
    where = zip(columns[_ASSIGNED].begin.tolist(), columns[_ASSIGNED].end.tolist(), strict=True)
    fields = zip(*(columns[number].value.tolist() for number in _ALLOCATION), strict=True)
    rows = zip(messages, is_usual.tolist(), where, fields, strict=True)
    for content, usual, (begin, end), fields_of_row in rows:
        if usual:
            yield _allocation(*fields_of_row), [data[begin:end]]
        else:
            message = Message(content)
            yield _allocation(*map(message.integer, _ALLOCATION)), message.raws(_ASSIGNED)


def _allocation(number: int, size: int, *flags: int) -> Allocation:
    return Allocation(number, size, *map(bool, flags))


def _check(columns: Columns, numbers: Sequence[int]) -> None:
    """Raise ArtifactError where one of the fields is not an integer."""
    if len(columns.long) or any((columns[n].kind != VARINT).any() for n in numbers):
        raise damaged("a part of the assignment is in another form")
