"""The kernels of an optimized program: what each computes and moves, and how often it runs.

A kernel is an instruction that the device runs by itself: a fusion, a library's call, a product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from olympus_core.analysis.hlo_view import LIBRARY, Costs
from olympus_core.analysis.view import bits
from olympus_core.xla.hlo_module import Computation, HloModule, Instruction

__all__ = ["Kernel", "Kernels", "Run"]

#: What takes no time: names of values, and what happens when the program is loaded.
_FREE = frozenset(
    [
        *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "domain"),
        *("after-all", "add-dependency", "partition-id", "replica-id", "opt-barrier"),
        *("async-update", "async-done", "copy-done", "send-done", "recv-done"),
    ]
)
#: What names a part of its first operand, or another form of it.
_VIEWS = frozenset(["bitcast", "reshape", "get-tuple-element"])
_SLICES = frozenset(["slice", "dynamic-slice", "gather"])


class Kernel(NamedTuple):
    """What one call of a kernel does.

    `flops` are those of all it has, those of `matmul`, by the operands' dtype, among them.
    `read` and `written` are bytes; `dtype` is the floating-point dtype that it computes in.
    `outputs` are the elements of the largest result.  `highest` is whether a product asks for all
    the precision of its dtype.
    """

    name: str
    operation: str
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


class Run(NamedTuple):
    """A kernel, and how often the program calls it."""

    kernel: Kernel
    calls: int


class Kernels:
    """The kernels of a module; `unknown` are sentences about what could not be told."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._costs = Costs(module)
        self.unknown: list[str] = []

    def runs(self, seconds: Callable[[Kernel], float]) -> list[Run]:
        """Every kernel of the program, in the order of the schedule.

        `seconds` tells the dearest of the branches of a conditional.
        """
        found = self._runs(self._module.entry, 1, seconds)
        for instruction in self._costs.unknown.values():
            what = instruction.custom_call_target or instruction.opcode
            self._tell(f"the operations of {what}{_at(instruction)} are not counted")
        return found

    def _tell(self, sentence: str) -> None:
        if sentence not in self.unknown:
            self.unknown.append(sentence)

    def _runs(
        self, computation: Computation, times: int, seconds: Callable[[Kernel], float]
    ) -> list[Run]:
        found: list[Run] = []
        for instruction in self._module.ordered(computation):
            called = [self._module.computations[i] for i in instruction.called_computation_ids]
            if instruction.opcode in _FREE:
                continue
            if instruction.opcode == "while":
                trips = self._trips(instruction)
                for part in called if trips else ():
                    found += self._runs(part, times * trips, seconds)
            elif instruction.opcode == "conditional":
                branches = [self._runs(part, times, seconds) for part in called]
                found += _dearest(branches, seconds)
            elif instruction.opcode in ("call", "async-start"):
                for part in called:
                    found += self._runs(part, times, seconds)
            else:
                found.append(Run(self._kernel(instruction, computation), times))
        return found

    def _trips(self, loop: Instruction) -> int:
        if loop.trip_count is not None:
            return loop.trip_count
        self._tell(
            f"how often the loop{_at(loop)} runs depends on data, or is not known: it is counted "
            "as run once"
        )
        return 1

    def _kernel(self, instruction: Instruction, computation: Computation) -> Kernel:
        counts = self._costs.of(instruction, computation)
        inside = list(self._inside(instruction))
        read, written = self._moved(instruction, computation, counts.bytes)
        leaves = [leaf for _, leaf in instruction.shape.leaves()]
        products = [i for i in inside if i.opcode in ("dot", "convolution") or _is_library(i)]
        matmul = counts.matmul
        return Kernel(
            name=instruction.name,
            operation=_operation(products[0] if products else instruction),
            line=instruction.line or next((i.line for i in reversed(inside) if i.line), None),
            flops=max(counts.flops, sum(matmul.values())),
            matmul=matmul,
            transcendentals=counts.transcendentals,
            read=read,
            written=written,
            dtype=_dtype(matmul, inside),
            outputs=max((math.prod(leaf.sizes) for leaf in leaves), default=0),
            highest=any(set(i.operand_precision) & {1, 2} for i in products),
            is_convolution=any(i.convolution_dimensions is not None for i in products),
        )

    def _inside(self, instruction: Instruction) -> Iterator[Instruction]:
        """The instruction, or those of a fusion's body, whatever is nested in it."""
        if instruction.opcode != "fusion":
            yield instruction
            return
        for id in instruction.called_computation_ids:
            for inner in self._module.computations[id].instructions.values():
                yield from self._inside(inner)

    def _moved(
        self, instruction: Instruction, computation: Computation, counted: int
    ) -> tuple[int, int]:
        """The bytes that a call reads and writes."""
        written = sum(leaf.bytes for _, leaf in instruction.shape.leaves())
        if instruction.opcode != "fusion":
            written = min(written, counted)
            return counted - written, written
        body = self._module.computations[instruction.called_computation_ids[0]]
        users = _users(body)
        read = sum(_read(parameter, body, users) for parameter in body.parameters)
        return read, _written(body.root, body)


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


def _users(body: Computation) -> dict[int, list[Instruction]]:
    found: dict[int, list[Instruction]] = {}
    for instruction in body.instructions.values():
        for id in dict.fromkeys(instruction.operand_ids):
            found.setdefault(id, []).append(instruction)
    return found


def _read(value: Instruction, body: Computation, users: dict[int, list[Instruction]]) -> int:
    """The bytes of a fusion's operand that are read: of slices alone, those of the slices."""
    whole = value.shape.bytes
    total = 0
    for user in users.get(value.id, ()):
        if user.operand_ids[0] == value.id and value.id not in user.operand_ids[1:]:
            if user.opcode in _SLICES:
                total += user.shape.bytes
                continue
            if user.opcode == "dynamic-update-slice":  # what it leaves stays where it is
                total += 0 if user.id == body.root_id or _is_given(user, body) else whole
                continue
            if user.opcode in _VIEWS:
                total += _read(user, body, users)
                continue
        return whole
    return min(whole, total)


def _is_given(update: Instruction, body: Computation) -> bool:
    """Whether the root is a tuple that has it, or a view of it."""
    root = body.root
    while root.opcode in _VIEWS:
        root = body.instructions[root.operand_ids[0]]
    return root.id == update.id or (root.opcode == "tuple" and update.id in root.operand_ids)


def _written(root: Instruction, body: Computation) -> int:
    """The bytes that a fusion writes: of an array that is updated in place, the update."""
    if root.opcode == "tuple":
        return sum(_written(body.instructions[id], body) for id in root.operand_ids)
    seen = root
    while seen.opcode in _VIEWS:
        seen = body.instructions[seen.operand_ids[0]]
    if seen.opcode == "dynamic-update-slice":
        return body.instructions[seen.operand_ids[1]].shape.bytes
    return root.shape.bytes
