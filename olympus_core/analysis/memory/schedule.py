"""The instructions of a program in the order of execution, nested computations included.

The condition and the body of a loop come before the loop, once. The branches of a conditional come
before it, one after the other. A called function comes before each of its calls. This is the order
of XLA's `HloLiveRange::FlattenSchedule` (xla/hlo/utils/hlo_live_range.cc).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

from olympus_core.base.errors import InternalError
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction
from olympus_core.xla.proto.wire import damaged

Role = Literal["entry", "call", "async", "condition", "body", "branch"]
_LONGEST = 5_000_000  # steps; functions that call functions twice, many deep, would not end


class ComputationCall:
    """A computation at one of its calls.

    `start` and `end` are its first and last steps, including those of its callees. `operands` are
    the positions in the caller's `operand_ids` that its parameters take.
    """

    __slots__ = ("caller", "children", "computation", "end", "number", "operands", "role", "start")

    def __init__(
        self,
        number: int,
        computation: Computation,
        role: Role,
        caller: tuple[ComputationCall, Instruction] | None,
        operands: tuple[int, ...] = (),
    ) -> None:
        self.number = number
        self.computation = computation
        self.role = role
        self.caller = caller
        self.operands = operands
        self.children: dict[int, list[ComputationCall]] = {}  # by the id of the calling instruction
        self.start = self.end = 0


class ScheduledInstruction(NamedTuple):
    """An instruction that runs; its position in the schedule is its position in the list."""

    frame: ComputationCall
    instruction: Instruction


def flat_schedule(module: HloModule) -> tuple[ComputationCall, list[ScheduledInstruction]]:
    """Return the frame of the entry, and every step of a run in order.

    Raises:
      InternalError: nested calls give a schedule of millions of steps.
      ArtifactError: a computation calls itself.
    """
    steps: list[ScheduledInstruction] = []
    numbers = itertools.count()
    running: set[int] = set()

    def visit(frame: ComputationCall) -> None:
        frame.start = len(steps)
        running.add(frame.computation.id)
        for instruction in module.ordered(frame.computation):
            for role, id, operands in _nested(instruction):
                if id in running:
                    raise damaged(f"'{instruction.name}' calls what it is in")
                caller = frame, instruction
                child = ComputationCall(
                    next(numbers), module.computations[id], role, caller, operands
                )
                frame.children.setdefault(instruction.id, []).append(child)
                visit(child)
            if len(steps) >= _LONGEST:
                raise InternalError(f"the schedule of '{module.name}' has over {_LONGEST} steps")
            steps.append(ScheduledInstruction(frame, instruction))
        frame.end = max(frame.start, len(steps) - 1)
        running.discard(frame.computation.id)

    entry = ComputationCall(next(numbers), module.entry, "entry", None)
    visit(entry)
    return entry, steps


def _nested(instruction: Instruction) -> Iterator[tuple[Role, int, tuple[int, ...]]]:
    """Yield the scheduled computations of an instruction: role, id, and the operands they take."""
    called = instruction.called_computation_ids
    all_operands = tuple(range(len(instruction.operand_ids)))
    if instruction.opcode == "while":
        body, condition = called  # in this order in HloInstructionProto
        yield "condition", condition, (0,)
        yield "body", body, (0,)
    elif instruction.opcode == "conditional":
        for position, id in enumerate(called):
            yield "branch", id, (position + 1,)
    elif instruction.opcode == "call":
        yield "call", called[0], all_operands
    elif instruction.opcode == "async-start" and called:
        yield "async", called[0], all_operands
