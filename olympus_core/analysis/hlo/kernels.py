"""The kernels of an optimized program: their work, their memory traffic and their number of calls.

A kernel is an instruction that the device runs by itself: a fusion, a library's call, a product.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from olympus_core.analysis.hlo.counted_loops import counted_trips
from olympus_core.analysis.hlo.fused import Fused, fused, plain
from olympus_core.analysis.hlo.hlo_view import LIBRARY, Costs, is_offloaded
from olympus_core.analysis.hlo.overlap import continues, flights, has_context, hidden
from olympus_core.analysis.operations.table import operation_of
from olympus_core.analysis.operations.view import bits
from olympus_core.analysis.records import LineBytes
from olympus_core.analysis.sources.lines import Lines
from olympus_core.analysis.sources.producers import bytes_by_line
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction
from olympus_core.xla.hlo.replica_groups import COLLECTIVES, Groups

_RADIX = "__cub$DeviceRadixSort"  # the prefix of the targets of the library's sorts
_TOP_K = ("TopK", "mhlo.topk")
#: The collectives in which each device sends a different part to each of the others.
_ALL_TO_ALL = frozenset(["all-to-all", "ragged-all-to-all"])
#: The names of the operations that are loops.
_LOOPS = frozenset(["while", "scan"])
#: The attribute of a call that XLA compiles to one function for the CPU, the loops in it included.
_SMALL_CALL = "xla_cpu_small_call"
#: The sequences that the runtime runs in order, in one thread: those of at most `_SHORT` kernels,
#: and those of which no array is larger than `_SMALL` bytes.
_SHORT, _SMALL = 8, 512
#: The position of a kernel: outside loops, in the body of a loop whose kernels the runtime calls
#: one by one, or in a loop that is compiled to one function with all its kernels.
KernelPlace = Literal["program", "loop", "inlined"]
#: The iteration counts of the program's loops by line, None if unknown; called when needed.
LoopCounts = Callable[[], Mapping[str, int | None]]


class SortedRows(NamedTuple):
    """The rows that a kernel sorts.

    There are `rows` rows of `length` elements. `selected` is the number of elements of each row in
    the result, fewer for top-k. `is_plain` is True if one comparison sorts one array; a compiler
    may inline it. `radix` is the number of bytes of a key if a library uses a radix sort, else 0.
    """

    rows: int
    length: int
    selected: int
    is_plain: bool
    radix: int

    @property
    def comparisons(self) -> int:
        """The number of comparisons: n log2 n for a row of n, fewer for top-k."""
        if self.selected < self.length:
            return self.rows * (self.length + self.selected * self.length.bit_length())
        return self.rows * self.length * max(0, self.length - 1).bit_length()


class Transfer(NamedTuple):
    """The data that a collective sends: `bytes` go into or out of a device, whichever is more.

    `groups` are the groups of devices, () for one group of all; `pairs` are those of a permutation.
    """

    kind: str
    bytes: int
    groups: Groups
    pairs: Groups

    def devices(self, count: int) -> int:
        """Return the number of devices of the largest group, in a program of `count`."""
        if self.pairs:
            return len({device for pair in self.pairs for device in pair})
        return max(map(len, self.groups), default=count)

    def sent(self, count: int) -> int:
        """Return the bytes that each device sends, in a program of `count` devices.

        In a ring of n devices each sends 2 (n - 1) / n of the array in an all-reduce, and (n - 1) /
        n of the whole array in the others.

        Source: NVIDIA, nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth".
        """
        if self.kind == "collective-permute":
            return self.bytes if any(a != b for a, b in self.pairs) else 0
        n = self.devices(count)
        if self.kind == "collective-broadcast":
            return self.bytes if n > 1 else 0
        turns = 2 * (n - 1) if self.kind == "all-reduce" else n - 1
        return -(-self.bytes * turns // n)

    def sent_by_all(self, count: int) -> int:
        """Return the bytes that all of `count` devices send together.

        Each device sends the bytes of the formulas of `sent` for its own group. In a permutation
        only the devices of the pairs send. In a broadcast's group each device receives the bytes
        once.
        """
        if self.kind == "collective-permute":
            return self.bytes * sum(a != b for a, b in self.pairs)
        groups = self.groups or (tuple(range(count)),)
        if self.kind == "collective-broadcast":
            return self.bytes * sum(len(group) - 1 for group in groups)
        return sum(len(g) * self._replace(groups=(g,)).sent(count) for g in groups)

    def sent_outside(self, per_host: int, count: int) -> int:
        """Return the bytes that a device sends to other hosts, each of which has `per_host`
        devices.

        A group uses as many rings as it has devices on a host, and each ring leaves the host from a
        different device, so they share the bytes. In an all-to-all each device sends its own parts
        to the others, and in a permutation its own array.
        """
        if self.pairs:
            return self.bytes if any(a // per_host != b // per_host for a, b in self.pairs) else 0
        most = 0
        for group in self.groups or (tuple(range(count)),):
            hosts = Counter(device // per_host for device in group)
            if len(hosts) > 1:
                n, together = len(group), min(hosts.values())
                part = -(-self.sent(count) // together)
                if self.kind in _ALL_TO_ALL:
                    part = -(-self.bytes * (n - together) // n)
                most = max(most, part)
        return most


class Kernel(NamedTuple):
    """The work of one call of a kernel.

    `path` is the scopes and name of its operation, "" if the compiler inserted it. `flops` are
    those of the whole kernel, including `matmul`, those of products by the operands' dtype. `read`
    and `written` are bytes. `dtype` is the floating-point dtype of its computation. `outputs` is
    the number of elements of the largest result. `precision` is the largest that a product
    requests: 0 is the default, 1 high and 2 highest. `sort` and `transfer` are None if the kernel
    does not sort or send; `lines` are the source lines of the data that it sends.

    `place` is its position. `is_library` is True if a library computes it, and `partitions` is the
    number of parts that XLA gave to threads of the CPU. `is_queued` is True if the runtime of the
    CPU may pass it to another thread, because it can run beside others. `resident` is the number of
    bytes that one iteration of the innermost loop around it reads and writes, 0 outside loops.
    """

    name: str
    operation: str
    path: str
    line: str | None
    flops: int
    matmul: Mapping[str, int]
    transcendentals: int
    read: int
    written: int
    dtype: str | None
    outputs: int
    precision: int
    is_convolution: bool
    sort: SortedRows | None
    transfer: Transfer | None = None
    lines: tuple[LineBytes, ...] = ()
    place: KernelPlace = "program"
    is_library: bool = False
    partitions: int = 1
    is_queued: bool = False
    resident: int = 0

    @property
    def has_work(self) -> bool:
        """True if it computes, moves or sends anything."""
        work = self.flops or self.transcendentals or self.read or self.written
        return bool(work) or self.transfer is not None


class Run(NamedTuple):
    """A kernel, and the number of its calls in the program.

    `loops` are the places of the loops around it with an unknown number of iterations. Each counts
    as one iteration, and with any of them `calls` is a lower bound. `hidden` are the seconds of a
    call of an asynchronous collective during which other kernels run.
    """

    kernel: Kernel
    calls: int
    loops: tuple[str, ...] = ()
    hidden: float = 0.0


class Times(NamedTuple):
    """The number of runs of a computation; the fields are those of `Run`."""

    calls: int
    loops: tuple[str, ...] = ()
    place: KernelPlace = "program"


class Kernels:
    """The kernels of a module; `unknown` are sentences about costs that are not known.

    `loops` gives the iteration counts of the program's loops by line, if XLA does not know them.
    Arrays in the memory space `on_chip_space` take no part of the traffic with the memory.
    """

    def __init__(
        self, module: HloModule, loops: LoopCounts = dict, on_chip_space: int | None = None
    ) -> None:
        self._module = module
        self._loops = functools.cache(loops)
        self._costs = Costs(module)
        self._lines = Lines(module)
        self._on_chip_space = on_chip_space
        #: The kernels of fusions by form; None if each reports an unknown instruction by its name.
        self._fusions: dict[tuple[int, int], Kernel | None] = {}
        self.unknown: list[str] = []

    def runs(self, seconds: Callable[[Kernel], float]) -> list[Run]:
        """Return every kernel of the program, in the order of the schedule.

        `seconds` gives the time of a kernel, to select the most expensive branch of a conditional.
        """
        runs = self._runs(self._module.entry, Times(1), seconds)
        for instruction in self._costs.unknown.values():
            operation = instruction.custom_call_target or instruction.opcode
            self._add_unknown(f"the operations of {operation}{_at(instruction)} are not counted")
        return runs

    def _add_unknown(self, sentence: str) -> None:
        if sentence not in self.unknown:
            self.unknown.append(sentence)

    def _runs(
        self, computation: Computation, times: Times, seconds: Callable[[Kernel], float]
    ) -> list[Run]:
        result: list[Run] = []
        counts: list[int] = []  # of the runs up to each instruction
        instructions = self._module.ordered(computation)
        queued = (
            _queued_kernels(instructions, computation) if times.place == "loop" else frozenset()
        )
        for instruction in instructions:
            counts.append(len(result))
            called = [self._module.computations[i] for i in instruction.called_computation_ids]
            if operation_of(instruction.opcode).is_free:
                continue
            if instruction.opcode == "while":
                inner_times = self._times(instruction, computation, times)
                parts = [
                    self._runs(part, inner_times, seconds) for part in called if inner_times.calls
                ]
                result += _in_loop([run for runs in parts for run in runs], inner_times.calls)
            elif instruction.opcode == "conditional":
                branches = [self._runs(part, times, seconds) for part in called]
                result += _longest_branch(branches, seconds)
            elif instruction.opcode in ("call", "async-start") or is_offloaded(
                instruction, called, computation
            ):
                inner_times = times
                if instruction.frontend_attributes.get(_SMALL_CALL) == "true":
                    inner_times = times._replace(place="inlined")
                for part in called:
                    result += self._runs(part, inner_times, seconds)
            else:
                kernel = self.kernel(instruction, computation)
                if self._on_chip_space is not None:
                    if _is_prefetch(instruction, computation):
                        continue
                    kernel = self._off_chip(kernel, instruction, computation)
                    if instruction.opcode == "custom-call" and not kernel.has_work:
                        continue
                is_queued = instruction.id in queued
                kernel = kernel._replace(place=times.place, is_queued=is_queued)
                result.append(Run(kernel, times.calls, times.loops))
        if self._on_chip_space is None:
            return result
        counts.append(len(result))
        return self._overlapped(instructions, computation, result, counts, times, seconds)

    def _overlapped(
        self,
        order: Sequence[Instruction],
        computation: Computation,
        runs: list[Run],
        counts: Sequence[int],
        times: Times,
        seconds: Callable[[Kernel], float],
    ) -> list[Run]:
        """Return the runs with the seconds of asynchronous collectives that other runs hide.

        `counts[i]` is the number of runs before instruction i of the order.
        """
        sent, others, starts = dict[int, float](), dict[int, float](), set[int]()
        for at, instruction in enumerate(order):
            own = runs[counts[at] : counts[at + 1]]
            total = sum(seconds(run.kernel) * run.calls for run in own) / max(1, times.calls)
            is_async = instruction.opcode.endswith("-start") or has_context(instruction)
            if len(own) == 1 and own[0].kernel.transfer is not None and is_async:
                starts.add(instruction.id)
                sent[at] = total
            elif total:
                others[at] = total
        if not starts:
            return runs
        spans = flights(order, computation, frozenset(starts))
        for start, value in hidden(spans, sent, others).items():
            at = counts[start]
            runs[at] = runs[at]._replace(hidden=value)
        return runs

    def _times(self, loop: Instruction, computation: Computation, times: Times) -> Times:
        """Return the number of runs of a loop's parts; `times` is that of the loop."""
        if times.place == "program":
            times = times._replace(place="loop")
        trips = self._trips(loop, computation)
        if trips is not None:
            return times._replace(calls=times.calls * trips)
        place = loop.line or loop.name
        self._add_unknown(
            f"how often the loop{_at(loop)} runs depends on data, or is not known: it is counted "
            "as run once"
        )
        return times if place in times.loops else times._replace(loops=(*times.loops, place))

    def _trips(self, loop: Instruction, computation: Computation) -> int | None:
        if loop.trip_count is not None:
            return loop.trip_count
        if (trips := counted_trips(loop, computation, self._module)) is not None:
            return trips
        # A loop that XLA made, of a scatter for example, has the name of that operation.
        if loop.line and loop.op_name.rpartition("/")[2] in _LOOPS:
            return self._loops().get(loop.line)
        return None

    def kernel(self, instruction: Instruction, computation: Computation) -> Kernel:
        """Return the work of a call of an instruction of a computation."""
        if instruction.opcode != "fusion":
            return self._kernel(instruction, computation)
        body = self._module.computations[instruction.called_computation_ids[0]]
        form = instruction.form, body.form
        cached = self._fusions.get(form)
        if cached is not None:
            return cached._replace(name=instruction.name)
        met = self._costs.met
        kernel = self._kernel(instruction, computation)
        self._fusions[form] = kernel if self._costs.met == met else None
        return kernel

    def _off_chip(
        self, kernel: Kernel, instruction: Instruction, computation: Computation
    ) -> Kernel:
        """Return the kernel without the bytes of arrays that are only in the core's memory.

        An array that is copied into it is read from the memory by the kernel that uses it.
        """
        operands = [computation.instructions[id] for id in instruction.operand_ids]
        read = sum(
            operand.shape.bytes
            for operand in operands
            if operand.shape.memory_space == self._on_chip_space and operand.opcode != "copy-done"
        )
        leaves = dict(instruction.shape.leaves())
        written = sum(x.bytes for x in leaves.values() if x.memory_space == self._on_chip_space)
        if continues(instruction, computation):  # the arrays of a collective in flight pass through
            aliases = instruction.output_aliases
            for position in {alias.operand for alias in aliases}:
                if operands[position].shape.memory_space != self._on_chip_space:
                    read += operands[position].shape.bytes
            for index in {alias.output_index for alias in aliases}:
                if leaves[index].memory_space != self._on_chip_space:
                    written += leaves[index].bytes
        return kernel._replace(
            read=max(0, kernel.read - read), written=max(0, kernel.written - written)
        )

    def _kernel(self, instruction: Instruction, computation: Computation) -> Kernel:
        """Return the kernel of an instruction; its form is not in the cache."""
        inside = list(self._inside(instruction))
        counts, read, written = self._traffic(instruction, computation)
        leaves = [leaf for _, leaf in instruction.shape.leaves()]
        products = [i for i in inside if i.opcode in ("dot", "convolution") or _is_library(i)]
        matmul, transfer = counts.matmul, self._transfer(instruction, computation)
        first = products[0] if products else instruction
        line = instruction.line or next((i.line for i in reversed(inside) if i.line), None)
        if line is None and transfer is not None:  # the compiler inserted it
            line = self._lines.line(instruction, computation)
        return Kernel(
            name=instruction.name,
            operation=_operation(first),
            path=first.op_name or next((i.op_name for i in reversed(inside) if i.op_name), ""),
            line=line,
            flops=counts.flops,
            matmul=matmul,
            transcendentals=counts.transcendentals,
            read=read,
            written=written,
            dtype=_dtype(matmul, inside),
            outputs=max((math.prod(leaf.sizes) for leaf in leaves), default=0),
            precision=max((p for i in products for p in i.precisions() if p < 3), default=0),
            is_convolution=any(i.convolution_dimensions is not None for i in products),
            sort=self._sort(instruction, computation),
            transfer=transfer,
            lines=()
            if transfer is None
            else self._lines_of_transfer(instruction, computation, transfer, line),
            is_library=_is_called_library(instruction),
            partitions=_partitions(instruction),
        )

    def _lines_of_transfer(
        self,
        instruction: Instruction,
        computation: Computation,
        transfer: Transfer,
        line: str | None,
    ) -> tuple[LineBytes, ...]:
        whole = LineBytes(line, transfer.bytes)
        return bytes_by_line(instruction, computation, self._module, self._lines, whole)

    def _transfer(self, instruction: Instruction, computation: Computation) -> Transfer | None:
        """Return the data that a collective sends, by itself or fused; None for other kernels."""
        if instruction.opcode != "fusion":
            return _transfer(instruction, computation)
        if self._on_chip_space is not None and continues(instruction, computation):
            return None  # the fusion that starts it has it
        for id in instruction.called_computation_ids:
            body = self._module.computations[id]
            for inner in body.instructions.values():
                transfer = self._transfer(inner, body)
                if transfer is not None:
                    return transfer
        return None

    def _sort(self, instruction: Instruction, computation: Computation) -> SortedRows | None:
        """Return the rows that a kernel sorts, by itself or fused; None for other kernels."""
        if instruction.opcode == "fusion":
            bodies = [self._module.computations[i] for i in instruction.called_computation_ids]
            sorts = (self._sort(i, body) for body in bodies for i in body.instructions.values())
            return next(filter(None, sorts), None)
        target = instruction.custom_call_target
        is_radix, is_top = target.startswith(_RADIX), target in _TOP_K
        is_top = is_top or instruction.opcode == "topk"
        if not (instruction.opcode == "sort" or is_radix or is_top):
            return None
        keys = computation.instructions[instruction.operand_ids[0]].shape
        axis = instruction.dimensions[0] if instruction.dimensions else -1
        length = keys.sizes[axis] if keys.sizes else 1
        selected = length
        if is_top:
            _, values = next(instruction.shape.leaves())
            selected = values.sizes[-1]
        bodies = [self._module.computations[i] for i in instruction.called_computation_ids]
        is_one = len(instruction.operand_ids) == 1 and all(_is_comparison(b) for b in bodies)
        rows = math.prod(keys.sizes) // max(1, length)
        return SortedRows(
            rows, length, selected, is_one or is_top, -(-keys.element_bits // 8) if is_radix else 0
        )

    def _inside(self, instruction: Instruction) -> Iterator[Instruction]:
        """Yield the instruction, or all nested instructions of a fusion's body."""
        if instruction.opcode != "fusion":
            yield instruction
            return
        for id in instruction.called_computation_ids:
            for inner in self._module.computations[id].instructions.values():
                yield from self._inside(inner)

    def _traffic(self, instruction: Instruction, computation: Computation) -> Fused:
        """Return the operations of a call and the bytes that it reads and writes."""
        if instruction.opcode == "fusion":
            return fused(instruction, self._module, self._costs)
        counts = plain(self._costs.of(instruction, computation))
        written = sum(leaf.bytes for _, leaf in instruction.shape.leaves())
        written = min(written, counts.bytes)
        return Fused(counts, counts.bytes - written, written)


def _queued_kernels(
    instructions: Sequence[Instruction], computation: Computation
) -> frozenset[int]:
    """Return the ids of the kernels that can run beside others of the same computation.

    `instructions` are those of the computation, operands before their users. The runtime runs the
    kernels of a short sequence, of a sequence on small arrays and of a chain in order. For any
    other sequence it queues the kernels that are ready. Kernels at the same depth of the dataflow
    count as ready together.

    Source: xla/backends/cpu/runtime/thunk_executor.h, ThunkExecutor::Options.
    """
    kernels = [i for i in instructions if not operation_of(i.opcode).is_free]
    if len(kernels) <= _SHORT or not any(_has_large_array(i, computation) for i in kernels):
        return frozenset()
    depths: dict[int, int] = {}
    for instruction in instructions:
        above = max((depths.get(id, 0) for id in instruction.operand_ids), default=0)
        depths[instruction.id] = above + (not operation_of(instruction.opcode).is_free)
    width = Counter(depths[kernel.id] for kernel in kernels)
    return frozenset(kernel.id for kernel in kernels if width[depths[kernel.id]] > 1)


def _has_large_array(instruction: Instruction, computation: Computation) -> bool:
    """Return True if an instruction reads or writes an array that is not small."""
    operands = (computation.instructions[id] for id in instruction.operand_ids)
    values = (instruction, *operands)
    return any(leaf.bytes > _SMALL for value in values for _, leaf in value.shape.leaves())


def _transfer(instruction: Instruction, computation: Computation) -> Transfer | None:
    """Return the data that a collective sends; None for any other instruction."""
    kind = instruction.opcode.removesuffix("-start")
    if kind not in COLLECTIVES:
        return None
    shape = instruction.shape
    if kind != instruction.opcode and kind != "all-reduce" and len(shape.elements) > 1:
        shape = shape.elements[1]  # the first element is the operand
    operand_bytes = sum(computation.instructions[id].shape.bytes for id in instruction.operand_ids)
    groups, pairs = instruction.replica_groups, instruction.source_target_pairs
    return Transfer(kind, max(operand_bytes, shape.bytes), groups, pairs)


def _is_prefetch(instruction: Instruction, computation: Computation) -> bool:
    """Return True for a copy between the memory and a core's own memory."""
    if instruction.opcode not in ("copy-start", "copy-done"):
        return False
    leaves = [leaf for _, leaf in instruction.shape.leaves()]
    source = computation.instructions[instruction.operand_ids[0]].shape
    return instruction.opcode == "copy-done" or leaves[0].memory_space != source.memory_space


def _is_comparison(body: Computation) -> bool:
    """Return True if a function is one comparison of its arguments."""
    root = body.root
    operands = (body.instructions[id].opcode for id in root.operand_ids)
    return root.opcode == "compare" and all(opcode == "parameter" for opcode in operands)


def _in_loop(runs: list[Run], calls: int) -> list[Run]:
    """Return the kernels of a loop whose body runs `calls` times, with the bytes of one iteration.

    Kernels of a nested loop already have the bytes of its own iterations. Here they count once for
    each of its iterations, which is an upper bound of the memory that they need.
    """
    moved = sum((r.kernel.read + r.kernel.written) * r.calls for r in runs) // max(1, calls)
    return [
        run if run.kernel.resident else run._replace(kernel=run.kernel._replace(resident=moved))
        for run in runs
    ]


def _is_called_library(instruction: Instruction) -> bool:
    """Return True if a library for the CPU computes an instruction, in threads of its own."""
    if instruction.opcode == "fusion":
        return instruction.fusion_kind == "kCustom"
    return operation_of(instruction.opcode).is_library_call


def _partitions(instruction: Instruction) -> int:
    """Return the number of parts that XLA divides an instruction into for the threads of a CPU."""
    if b"outer_dimension_partitions" not in instruction.backend_config:
        return 1
    parts = instruction.config().get("outer_dimension_partitions")
    return math.prod(int(n) for n in parts) if isinstance(parts, list) else 1


def _longest_branch(branches: list[list[Run]], seconds: Callable[[Kernel], float]) -> list[Run]:
    """Return the branch that takes the longest."""
    times = [sum(seconds(run.kernel) * run.calls for run in runs) for runs in branches]
    return branches[times.index(max(times))]


def _at(instruction: Instruction) -> str:
    return f" at {instruction.line}" if instruction.line else f" '{instruction.name}'"


def _is_library(instruction: Instruction) -> bool:
    return instruction.custom_call_target.startswith(LIBRARY)


def _operation(instruction: Instruction) -> str:
    """Return the name of the operation in the user's program, or else in HLO."""
    scope = instruction.op_name.rpartition("/")[2]
    return scope or instruction.custom_call_target or instruction.opcode


def _dtype(matmul: Mapping[str, int], inside: list[Instruction]) -> str | None:
    """Return the dtype of the most product flops; else the widest float dtype of a result."""
    if matmul:
        return max(matmul, key=lambda dtype: matmul[dtype])
    dtypes = [leaf.dtype for i in inside for _, leaf in i.shape.leaves()]
    floats = [d for d in dtypes if d.startswith(("float", "bfloat", "complex"))]
    return max(floats, key=bits, default=None)
