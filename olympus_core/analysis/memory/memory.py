"""The memory that a compiled program needs: its amount, the peak, and the largest buffers.

On a CPU the executable has the place of each value. On a GPU or a TPU that is not attached, the
scheduled program determines the values that share memory. The layouts of a TPU pad arrays to tiles.
`liveness` computes the live ranges.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from olympus_core.analysis.hlo.cpu_peaks import this_cpu
from olympus_core.analysis.memory.liveness import Liveness, LiveRange
from olympus_core.analysis.memory.reuse import reuse_operands
from olympus_core.analysis.memory.workspace import Workspaces
from olympus_core.analysis.records import BufferKind, LiveBuffer, MemorySizes, MemoryTotal
from olympus_core.analysis.sources.lines import Lines
from olympus_core.analysis.sources.places import read_name
from olympus_core.base.errors import BackendError, UsageError
from olympus_core.xla.hlo.hlo_module import Instruction
from olympus_core.xla.proto.buffer_assignment import AllocationSlice, BufferAssignment
from olympus_core.xla.runtime.executable import CompileOnlyExecutable, Executable, MemoryAnalysis

_Bytes = npt.NDArray[np.int64]


class Moment(NamedTuple):
    """A step of a run: an instruction, and the bytes that are live while it runs.

    `position` counts the steps from 0. The body of a loop is one step sequence before the loop; the
    branches of a conditional are before it. `operation` is the path of scopes and the operation of
    the instruction, or its HLO opcode; `line` is "path/file.py:41", or None. `bytes` are counted;
    `workspace_bound` is an upper bound of the bytes that the instruction's kernel allocates in
    addition.
    """

    position: int
    name: str
    operation: str
    line: str | None
    bytes: int
    workspace_bound: int = 0


@dataclass(frozen=True)
class Memory(MemorySizes):
    """The memory that a compiled program needs, in bytes; None if it is not known.

    For a program of several `devices` the figures are those of each device, and `total` has those
    of all devices: a replicated array counts as often as there are devices.

    `arguments`, `results`, `temporaries` and `aliased` (results in the memory of a donated
    argument) are XLA's own figures, `constants` are those in memory, `code` is the machine code.

    `allocated` is the memory that the runtime reserves: arguments + results + temporaries +
    constants - aliased. `peak` is the largest sum of the bytes that are live at the same time: it
    is at most `allocated`, which has gaps and memory that is not in use yet.

    On a CPU, kernels with matrix products allocate memory that the compiler does not plan.
    `workspace_bound` is an upper bound of it, in bytes, and 0 without such kernels. No other field
    includes it: with it, `temporaries`, `allocated` and `peak` are lower bounds, and
    `temporaries_bound`, `allocated_bound` and `peak_bound` are upper bounds.

    Example:
      >>> memory = olympus.jit(f).lower(x).compile().memory()
      >>> memory.peak, memory.allocated
      (12288, 12288)
      >>> memory.largest(1)[0].line
      '/home/me/model.py:41'
    """

    _live_buffers: _LiveBuffers | None = field(default=None, repr=False)
    devices: int = 1

    @property
    def temporaries_bound(self) -> int | None:
        """An upper bound of the bytes of `temporaries` and of the kernels' own memory."""
        return self.bound(self.temporaries)

    @property
    def peak_bound(self) -> int | None:
        """An upper bound of the bytes that are live at the same time, with the kernels' own memory.

        >>> memory.peak, memory.workspace_bound, memory.peak_bound
        (1048580, 7340032, 8388612)
        """
        return self.bound(self.peak)

    @property
    def allocated_bound(self) -> int | None:
        """An upper bound of the bytes that the runtime and the kernels allocate."""
        return self.bound(self.allocated)

    def with_constants(self, size: int) -> Memory:
        """Return the figures with `size` bytes of the arguments as constants.

        >>> memory.with_constants(0) == memory
        True
        """
        if not size or self.arguments is None:
            return self
        constants = None if self.constants is None else self.constants + size
        return replace(self, arguments=self.arguments - size, constants=constants)

    @property
    def total(self) -> MemoryTotal:
        """The memory of all devices together; the peak is the sum of their peaks.

        >>> memory.devices, memory.arguments, memory.total.arguments
        (8, 4096, 32768)
        """
        names = MemoryTotal.__dataclass_fields__
        sizes: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name, size in sizes.items():
            sizes[name] = None if size is None else size * self.devices
        return MemoryTotal(**sizes)

    def timeline(self) -> tuple[Moment, ...]:
        """Return the bytes that are live at each step of a run, in the order of the schedule.

        Raises:
          BackendError: the executable does not report the order of its instructions.
        """
        if self._live_buffers is None:
            raise _unscheduled()
        return self._live_buffers.moments

    def largest(self, n: int = 10) -> tuple[LiveBuffer, ...]:
        """Return the `n` largest buffers that are live at the peak; the sum of all is `peak`.

        Raises:
          UsageError: `n` is not an integer.
          BackendError: the executable does not report the order of its instructions.
        """
        if isinstance(n, bool) or not isinstance(n, SupportsIndex):
            raise UsageError(f"the number of the largest buffers is an integer, not {n!r:.80}")
        if self._live_buffers is None:
            raise _unscheduled()
        return self._live_buffers.largest(max(0, operator.index(n)))


def _unscheduled() -> BackendError:
    return BackendError(
        "what is live when is not known: the compiler of this backend does not report the order "
        "of a program's instructions"
    )


def memory_of(
    executable: Executable | CompileOnlyExecutable,
    argument_names: Sequence[str] = (),
    devices: int = 1,
    num_constants: int = 0,
) -> Memory:
    """Return the memory that an executable needs on each of its `devices`.

    `argument_names` are the names of its arguments, in the order of its parameters. The first
    `num_constants` of them are constants of the program that are stored apart.

    Raises:
      ArtifactError: the executable's description of itself is damaged.
    """
    stats = executable.memory()
    module = executable.hlo_module()
    if not module.is_scheduled:
        return replace(_summed(stats, None), devices=devices)
    assignment = executable.buffer_assignment()
    live = Liveness(module)
    if assignment is None:
        reuse_operands(live)
        constants = sum(value.bytes for value in live.values if value.is_constant)
    else:
        constants = assignment.constants
    workspaces = None if assignment is None else Workspaces(module, this_cpu().threads)
    spots = _spots(live, assignment, executable.target.backend == "tpu")
    bytes_at = _bytes_at(len(live.steps), spots)
    return replace(
        _summed(stats, constants),
        peak=int(bytes_at.max()),
        _live_buffers=_LiveBuffers(
            live, spots, bytes_at, (argument_names, num_constants), workspaces
        ),
        devices=devices,
        workspace_bound=0 if workspaces is None else workspaces.most(),
    )


def _summed(stats: MemoryAnalysis, constants: int | None) -> Memory:
    """Return XLA's own figures, and their sum if all are known; the peak is None."""
    parts = (
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.temp_size_in_bytes,
        constants,
    )
    aliased = stats.alias_size_in_bytes
    allocated = None
    if aliased is not None and None not in parts:
        allocated = sum(part for part in parts if part is not None) - aliased
    return Memory(
        arguments=stats.argument_size_in_bytes,
        results=stats.output_size_in_bytes,
        temporaries=stats.temp_size_in_bytes,
        aliased=aliased,
        constants=constants,
        code=stats.generated_code_size_in_bytes,
        peak=None,
        allocated=allocated,
    )


class _Spot(NamedTuple):
    """A value and its place in memory."""

    value: LiveRange
    place: AllocationSlice


def _spots(live: Liveness, assignment: BufferAssignment | None, is_tpu: bool) -> list[_Spot]:
    """Return the place of each value: from the assignment, or else one allocation for each set."""
    if assignment is None:
        sizes: dict[int, int] = {}
        for value in live.values:
            number = live.together(value)
            sizes[number] = max(sizes.get(number, 0), value.bytes)
        places = ((value, live.together(value)) for value in live.values)
        spots = [
            _Spot(value, AllocationSlice(number, 0, sizes[number])) for value, number in places
        ]
        if is_tpu:
            spots = [spot for spot in spots if _is_in_memory(spot.value)]
    else:
        spots = [*_assigned(live, assignment), *_other_constants(live, assignment)]
    return [spot for spot in spots if spot.place.bytes]


def _is_in_memory(value: LiveRange) -> bool:
    """Return True for an array in a TPU's memory: not in a core's memory, and no table."""
    return value.shape.memory_space == 0 and not value.shape.is_tuple


def _assigned(live: Liveness, assignment: BufferAssignment) -> Iterator[_Spot]:
    known: dict[int, AllocationSlice] = {}
    for value in live.values:
        place = assignment.places.get((value.instruction.id, value.index))
        if place is not None:
            known.setdefault(live.together(value), place)
    for value in live.values:
        # The compiler describes one value of a loop's carry where all iterations share it.
        place = assignment.places.get((value.instruction.id, value.index))
        place = place or known.get(live.together(value))
        if place is not None:
            yield _Spot(value, place)


def _other_constants(live: Liveness, assignment: BufferAssignment) -> Iterator[_Spot]:
    """Yield the constants of functions that a reduction or a sort calls, which have no schedule."""
    known = {value.instruction.id for value in live.values if value.is_constant}
    others = {
        id
        for (id, index), place in assignment.places.items()
        if not index and id not in known and assignment.allocations[place.allocation].is_constant
    }
    for computation in live.module.computations.values() if others else ():
        for instruction in computation.instructions.values():
            if instruction.id in others and instruction.opcode == "constant":
                value = LiveRange(-1, computation, instruction, (), instruction.shape, 0)
                value.is_constant, value.end = True, max(0, len(live.steps) - 1)
                yield _Spot(value, assignment.places[instruction.id, ()])


def _bytes_at(steps: int, spots: Sequence[_Spot]) -> _Bytes:
    """Return the bytes that at least one value occupies, at each step: int64[steps].

    Allocations are cut where a value begins or ends. A piece is occupied in the union of the steps
    of the values in it.
    """
    alive = [(v.start, v.end, *place) for v, place in spots if v.start <= v.end]
    change = np.zeros(max(1, steps) + 1, np.int64)
    if not alive:
        return change[:-1]
    start, end, allocation, offset, size = np.array(alive, np.int64).T
    first, last, sizes = _cut(allocation, offset, offset + size)
    count = last - first
    value = np.repeat(np.arange(len(alive)), count)
    piece = np.arange(len(value)) - (np.cumsum(count) - count - first)[value]
    order = np.lexsort((start[value], piece))
    value, piece = value[order], piece[order]
    # steps of one piece after those of another, so that one running maximum serves all
    apart = piece * len(change)
    until = np.maximum.accumulate(end[value] + apart)
    begins = np.flatnonzero(start[value] + apart > np.concatenate(([-1], until[:-1])))
    ends = np.append(begins[1:], len(value)) - 1
    np.add.at(change, start[value[begins]], sizes[piece[begins]])
    np.subtract.at(change, until[ends] - apart[ends] + 1, sizes[piece[ends]])
    return change.cumsum()[:-1]


def _cut(allocation: _Bytes, begin: _Bytes, end: _Bytes) -> tuple[_Bytes, _Bytes, _Bytes]:
    """Cut allocations where a place begins or ends; return each place's first and next piece.

    The third array has the bytes of each piece; its element at the end of an allocation has no
    meaning.
    """
    allocations, positions = np.tile(allocation, 2), np.concatenate((begin, end))
    order = np.lexsort((positions, allocations))
    allocations, positions = allocations[order], positions[order]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (np.diff(allocations) != 0) | (np.diff(positions) != 0)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(is_new) - 1
    sizes = np.diff(positions[is_new], append=0)
    return number[: len(begin)], number[len(begin) :], sizes


class _Pieces:
    """Allocations cut where a place begins or ends; each piece is free until it is taken."""

    def __init__(self, spots: Sequence[_Spot]) -> None:
        cuts: dict[int, set[int]] = {}
        for _, (allocation, offset, size) in spots:
            cuts.setdefault(allocation, set()).update((offset, offset + size))
        self._cuts = {a: sorted(at) for a, at in cuts.items()}
        self._free: dict[int, list[int]] = {
            allocation: [*map(operator.sub, at[1:], at)] for allocation, at in self._cuts.items()
        }

    def take(self, place: AllocationSlice) -> int:
        """Take the pieces of a place, and return the bytes of the free ones."""
        cuts, free = self._cuts[place.allocation], self._free[place.allocation]
        low, high = bisect_left(cuts, place.offset), bisect_left(cuts, place.offset + place.bytes)
        size = sum(free[low:high])
        free[low:high] = [0] * (high - low)
        return size


class _LiveBuffers:
    """The live buffers of each step, with names and lines; computed at the first use."""

    def __init__(
        self,
        live: Liveness,
        spots: Sequence[_Spot],
        bytes_at: _Bytes,
        arguments: tuple[Sequence[str], int],
        workspaces: Workspaces | None,
    ) -> None:
        self._live, self._spots, self._bytes_at = live, spots, bytes_at
        self._workspaces = workspaces
        self._lines = Lines(live.module)
        self._names = _Names(live, arguments, self._lines)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _LiveBuffers):
            return NotImplemented
        return (self.moments, self.largest()) == (other.moments, other.largest())

    def __hash__(self) -> int:
        return hash(self.moments)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """The steps of a run."""
        operations: dict[tuple[str, str], str] = {}  # few, for many steps
        moments = []
        for position, (frame, instruction) in enumerate(self._live.steps):
            key = instruction.op_name, instruction.opcode
            if key not in operations:
                operations[key] = _operation(instruction)
            line = self._lines.line(instruction, frame.computation)
            size = int(self._bytes_at[position])
            own = 0
            if self._workspaces is not None:
                own = self._workspaces.of(instruction, frame.computation)
            moments.append(Moment(position, instruction.name, operations[key], line, size, own))
        return tuple(moments)

    def largest(self, n: int | None = None) -> tuple[LiveBuffer, ...]:
        """Return the `n` largest buffers that are live at the peak, or all."""
        return tuple(self._names.buffer(size, value) for size, value in self._peak[:n])

    @cached_property
    def _peak(self) -> list[tuple[int, LiveRange]]:
        """The sizes and values that are live at the peak, the largest first, shared bytes once.

        Shared bytes count for the value that was made last.
        """
        top = int(self._bytes_at.argmax())
        spots = [spot for spot in self._spots if spot.value.start <= top <= spot.value.end]
        spots.sort(key=lambda spot: spot.value.start, reverse=True)
        pieces = _Pieces(spots)
        buffers = [(pieces.take(place), value) for value, place in spots]
        return sorted([piece for piece in buffers if piece[0]], key=lambda piece: -piece[0])


class _Names:
    """The kind, the name and the producer of each value."""

    def __init__(self, live: Liveness, arguments: tuple[Sequence[str], int], lines: Lines) -> None:
        self._live, self._lines = live, lines
        argument_names, self._num_constants = arguments
        known = len(argument_names) == len(live.module.entry.parameters)
        self._arguments = argument_names if known else ()
        self._last_produced: dict[
            int, LiveRange
        ] = {}  # the last value of a set that an operation made
        self._results: set[int] = set()
        for value in live.values:
            number = live.together(value)
            if not _is_carried(value):
                self._last_produced[number] = value
            if value.is_result:
                self._results.add(number)

    def buffer(self, size: int, value: LiveRange) -> LiveBuffer:
        """Return the entry of a value that takes `size` bytes of its own."""
        number = self._live.together(value) if value.number >= 0 else -1
        producer = self._last_produced.get(number, value) if _is_carried(value) else value
        instruction = producer.instruction
        name = instruction.name
        if producer.is_argument and self._arguments:
            name = self._arguments[instruction.parameter_number]
        shape = value.shape
        is_padded = size > shape.bytes and bool(shape.tiles)
        return LiveBuffer(
            size,
            shape.sizes,
            shape.dtype,
            _operation(instruction),
            self._lines.line(instruction, producer.computation),
            self._kind(producer, number),
            name,
            shape.bytes if is_padded else None,
            shape.tiles[0] if is_padded else (),
        )

    def _kind(self, value: LiveRange, number: int) -> BufferKind:
        if value.is_argument:
            is_hidden = value.instruction.parameter_number < self._num_constants
            return "constant" if is_hidden else "argument"
        if value.is_constant:
            return "constant"
        return "result" if number in self._results else "temporary"


def _is_carried(value: LiveRange) -> bool:
    """Return True if a value is a loop's carry or a conditional's result."""
    opcode = value.instruction.opcode
    return opcode in ("while", "conditional") or (opcode == "parameter" and not value.is_argument)


def _operation(instruction: Instruction) -> str:
    """Return the operation's name in the program, with its scopes, or else its HLO opcode."""
    if not instruction.op_name:
        return instruction.opcode
    name = read_name(instruction.op_name, inlined=True)
    return "/".join(filter(None, (name.scope, name.operation)))
