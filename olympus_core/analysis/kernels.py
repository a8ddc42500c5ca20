"""The kernels of an optimized program: what each computes and moves, and how often it runs.

A kernel is an instruction that the device runs by itself: a fusion, a library's call, a product.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from olympus_core.analysis.fused import Fused, fused, plain
from olympus_core.analysis.hlo_view import LIBRARY, Costs
from olympus_core.analysis.lines import Lines
from olympus_core.analysis.producers import LineBytes, bytes_by_line
from olympus_core.analysis.view import bits
from olympus_core.xla.hlo_module import Computation, HloModule, Instruction
from olympus_core.xla.replica_groups import COLLECTIVES, Groups

__all__ = ["CONTROL", "FREE", "Kernel", "Kernels", "LoopCounts", "Run", "Sort", "Transfer"]

#: What takes no time: names of values, and what happens when the program is loaded.
FREE = frozenset(
    [
        *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "domain"),
        *("after-all", "add-dependency", "partition-id", "replica-id", "opt-barrier"),
        *("async-update", "async-done", "copy-done", "send-done", "recv-done"),
        *("all-reduce-done", "all-gather-done", "collective-permute-done"),
    ]
)
#: What runs computations, whose kernels take its time.
CONTROL = frozenset(["while", "conditional", "call", "async-start"])
_RADIX = "__cub$DeviceRadixSort"  # how the targets of the library's sorts begin
_TOP_K = ("TopK", "mhlo.topk")


#: those of them in which each device sends another part to each of the others
_ALL_TO_ALL = frozenset(["all-to-all", "ragged-all-to-all"])
#: what the operations are called that are loops
_LOOPS = frozenset(["while", "scan"])
#: How often the loops of a program's lines run, None where that is not known: asked when needed.
LoopCounts = Callable[[], Mapping[str, int | None]]


class Sort(NamedTuple):
    """The rows that a kernel sorts.

    `rows` are of `length` elements; `kept` are those of each that it gives, fewer for top-k.
    `is_plain` is whether one array is sorted by one comparison, which a compiler may inline.
    `radix` is the bytes of a key where a library sorts by its digits, else 0.
    """

    rows: int
    length: int
    kept: int
    is_plain: bool
    radix: int

    @property
    def comparisons(self) -> int:
        """How many it takes: n log2 n for a row of n; of top-k, one an element and those of k."""
        if self.kept < self.length:
            return self.rows * (self.length + self.kept * self.length.bit_length())
        return self.rows * self.length * max(0, self.length - 1).bit_length()


class Transfer(NamedTuple):
    """What a collective sends: `bytes` go into or come out of a device, whichever is more.

    `groups` are the devices that it brings together, () for all; `pairs` those of a permutation.
    """

    kind: str
    bytes: int
    groups: Groups
    pairs: Groups

    def devices(self, count: int) -> int:
        """The devices of the largest group, in a program of `count`."""
        if self.pairs:
            return len({device for pair in self.pairs for device in pair})
        return max(map(len, self.groups), default=count)

    def sent(self, count: int) -> int:
        """The bytes that each device sends, in a program of `count` devices.

        Of n devices in a ring each sends 2 (n - 1) / n of what an all-reduce adds up, and
        (n - 1) / n of the whole array for the others.

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
        """The bytes that all of `count` devices send together.

        Each sends as many as the formulas of `sent` say for its own group; in a permutation those
        of the pairs alone send, and of a broadcast's group each gets the bytes once.
        """
        if self.kind == "collective-permute":
            return self.bytes * sum(a != b for a, b in self.pairs)
        groups = self.groups or (tuple(range(count)),)
        if self.kind == "collective-broadcast":
            return self.bytes * sum(len(group) - 1 for group in groups)
        return sum(len(g) * self._replace(groups=(g,)).sent(count) for g in groups)

    def sent_outside(self, per_host: int, count: int) -> int:
        """The bytes that a device sends to other hosts, each of which has `per_host` devices.

        A group goes around as many rings as it has devices on a host, and each of these rings
        leaves the host from another of them, so that they share what is sent.  In an all-to-all
        each device sends its own parts to the others, and in a permutation its own array.
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
    """What one call of a kernel does.

    `path` is that of scopes and the operation that it is called after, "" for what the compiler put
    in.  `flops` are those of all it has, those of `matmul`, by the operands' dtype, among them.
    `read` and `written` are bytes; `dtype` is the floating-point dtype that it computes in.
    `outputs` are the elements of the largest result.  `highest` is whether a product asks for all
    the precision of its dtype.  `sort` is what it sorts and `transfer` what it sends to other
    devices, None for nothing; `lines` are those that make what it sends.
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
    highest: bool
    is_convolution: bool
    sort: Sort | None
    transfer: Transfer | None = None
    lines: tuple[LineBytes, ...] = ()


class Run(NamedTuple):
    """A kernel, and how often the program calls it.

    `loops` are the places of the loops around it of which nobody knows how often they run: each
    counts as run once, and with any of them `calls` is a lower bound.
    """

    kernel: Kernel
    calls: int
    loops: tuple[str, ...] = ()


class Times(NamedTuple):
    """How often a computation runs; the fields are as those of `Run`."""

    calls: int
    loops: tuple[str, ...] = ()


class Kernels:
    """The kernels of a module; `unknown` are sentences about what could not be told.

    `loops` gives how often the program's loops run, by line, where XLA does not know.
    """

    def __init__(self, module: HloModule, loops: LoopCounts = dict) -> None:
        self._module = module
        self._loops = functools.cache(loops)
        self._costs = Costs(module)
        self._lines = Lines(module)
        #: the kernels of fusions by form, None where each tells of something unknown by its name
        self._fusions: dict[tuple[int, int], Kernel | None] = {}
        self.unknown: list[str] = []

    def runs(self, seconds: Callable[[Kernel], float]) -> list[Run]:
        """Every kernel of the program, in the order of the schedule.

        `seconds` tells the dearest of the branches of a conditional.
        """
        found = self._runs(self._module.entry, Times(1), seconds)
        for instruction in self._costs.unknown.values():
            what = instruction.custom_call_target or instruction.opcode
            self._tell(f"the operations of {what}{_at(instruction)} are not counted")
        return found

    def _tell(self, sentence: str) -> None:
        if sentence not in self.unknown:
            self.unknown.append(sentence)

    def _runs(
        self, computation: Computation, times: Times, seconds: Callable[[Kernel], float]
    ) -> list[Run]:
        found: list[Run] = []
        for instruction in self._module.ordered(computation):
            called = [self._module.computations[i] for i in instruction.called_computation_ids]
            if instruction.opcode in FREE:
                continue
            if instruction.opcode == "while":
                inner = self._times(instruction, times)
                for part in called if inner.calls else ():
                    found += self._runs(part, inner, seconds)
            elif instruction.opcode == "conditional":
                branches = [self._runs(part, times, seconds) for part in called]
                found += _dearest(branches, seconds)
            elif instruction.opcode in ("call", "async-start"):
                for part in called:
                    found += self._runs(part, times, seconds)
            else:
                found.append(Run(self.kernel(instruction, computation), *times))
        return found

    def _times(self, loop: Instruction, times: Times) -> Times:
        """How often the parts of a loop run that itself runs so often."""
        trips = self._trips(loop)
        if trips is not None:
            return times._replace(calls=times.calls * trips)
        place = loop.line or loop.name
        self._tell(
            f"how often the loop{_at(loop)} runs depends on data, or is not known: it is counted "
            "as run once"
        )
        return times if place in times.loops else Times(times.calls, (*times.loops, place))

    def _trips(self, loop: Instruction) -> int | None:
        if loop.trip_count is not None:
            return loop.trip_count
        # A loop that XLA made, of a scatter for example, has the name of that operation.
        if loop.line and loop.op_name.rpartition("/")[2] in _LOOPS:
            return self._loops().get(loop.line)
        return None

    def kernel(self, instruction: Instruction, computation: Computation) -> Kernel:
        """What a call of an instruction of a computation does."""
        if instruction.opcode != "fusion":
            return self._kernel(instruction, computation)
        body = self._module.computations[instruction.called_computation_ids[0]]
        form = instruction.form, body.form
        alike = self._fusions.get(form)
        if alike is not None:
            return alike._replace(name=instruction.name)
        met = self._costs.met
        made = self._kernel(instruction, computation)
        self._fusions[form] = made if self._costs.met == met else None
        return made

    def _kernel(self, instruction: Instruction, computation: Computation) -> Kernel:
        """The kernel of an instruction that none before was like."""
        inside = list(self._inside(instruction))
        counts, read, written = self._done(instruction, computation)
        leaves = [leaf for _, leaf in instruction.shape.leaves()]
        products = [i for i in inside if i.opcode in ("dot", "convolution") or _is_library(i)]
        matmul, transfer = counts.matmul, _transfer(instruction, computation)
        first = products[0] if products else instruction
        line = instruction.line or next((i.line for i in reversed(inside) if i.line), None)
        if line is None and transfer is not None:  # the compiler put it in
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
            highest=any(set(i.operand_precision) & {1, 2} for i in products),
            is_convolution=any(i.convolution_dimensions is not None for i in products),
            sort=self._sort(instruction, computation),
            transfer=transfer,
            lines=() if transfer is None else self._made(instruction, computation, transfer, line),
        )

    def _made(
        self,
        instruction: Instruction,
        computation: Computation,
        transfer: Transfer,
        line: str | None,
    ) -> tuple[LineBytes, ...]:
        whole = LineBytes(line, transfer.bytes)
        return bytes_by_line(instruction, computation, self._module, self._lines, whole)

    def _sort(self, instruction: Instruction, computation: Computation) -> Sort | None:
        target = instruction.custom_call_target
        is_radix, is_top = target.startswith(_RADIX), target in _TOP_K
        is_top = is_top or instruction.opcode == "topk"
        if not (instruction.opcode == "sort" or is_radix or is_top):
            return None
        keys = computation.instructions[instruction.operand_ids[0]].shape
        axis = instruction.dimensions[0] if instruction.dimensions else -1
        length = keys.sizes[axis] if keys.sizes else 1
        kept = length
        if is_top:
            _, values = next(instruction.shape.leaves())
            kept = values.sizes[-1]
        bodies = [self._module.computations[i] for i in instruction.called_computation_ids]
        is_one = len(instruction.operand_ids) == 1 and all(_is_comparison(b) for b in bodies)
        rows = math.prod(keys.sizes) // max(1, length)
        return Sort(
            rows, length, kept, is_one or is_top, -(-keys.element_bits // 8) if is_radix else 0
        )

    def _inside(self, instruction: Instruction) -> Iterator[Instruction]:
        """The instruction, or those of a fusion's body, whatever is nested in it."""
        if instruction.opcode != "fusion":
            yield instruction
            return
        for id in instruction.called_computation_ids:
            for inner in self._module.computations[id].instructions.values():
                yield from self._inside(inner)

    def _done(self, instruction: Instruction, computation: Computation) -> Fused:
        """What a call computes, reads and writes."""
        if instruction.opcode == "fusion":
            return fused(instruction, self._module, self._costs)
        counts = plain(self._costs.of(instruction, computation))
        written = sum(leaf.bytes for _, leaf in instruction.shape.leaves())
        written = min(written, counts.bytes)
        return Fused(counts, counts.bytes - written, written)


def _transfer(instruction: Instruction, computation: Computation) -> Transfer | None:
    """What a collective sends; None for any other instruction."""
    kind = instruction.opcode.removesuffix("-start")
    if kind not in COLLECTIVES:
        return None
    shape = instruction.shape
    if kind != instruction.opcode and kind != "all-reduce" and len(shape.elements) > 1:
        shape = shape.elements[1]  # the first element is the operand
    given = sum(computation.instructions[id].shape.bytes for id in instruction.operand_ids)
    groups, pairs = instruction.replica_groups, instruction.source_target_pairs
    return Transfer(kind, max(given, shape.bytes), groups, pairs)


def _is_comparison(body: Computation) -> bool:
    """Whether a function is one comparison of its arguments."""
    root = body.root
    operands = (body.instructions[id].opcode for id in root.operand_ids)
    return root.opcode == "compare" and all(opcode == "parameter" for opcode in operands)


def _dearest(branches: list[list[Run]], seconds: Callable[[Kernel], float]) -> list[Run]:
    """The branch that takes the longest."""
    times = [sum(seconds(run.kernel) * run.calls for run in runs) for runs in branches]
    return branches[times.index(max(times))]


def _at(instruction: Instruction) -> str:
    return f" at {instruction.line}" if instruction.line else f" '{instruction.name}'"


def _is_library(instruction: Instruction) -> bool:
    return instruction.custom_call_target.startswith(LIBRARY)


def _operation(instruction: Instruction) -> str:
    """What the user's program calls the operation, or else what HLO does."""
    scope = instruction.op_name.rpartition("/")[2]
    return scope or instruction.custom_call_target or instruction.opcode


def _dtype(matmul: Mapping[str, int], inside: list[Instruction]) -> str | None:
    """The dtype of the most product flops; else the widest floating-point dtype of a result."""
    if matmul:
        return max(matmul, key=lambda dtype: matmul[dtype])
    found = [leaf.dtype for i in inside for _, leaf in i.shape.leaves()]
    floats = [d for d in found if d.startswith(("float", "bfloat", "complex"))]
    return max(floats, key=bits, default=None)
