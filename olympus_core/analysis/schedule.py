"""The instructions of a program in the order in which they run, nested computations included.

The condition and the body of a loop stand before the loop, once; the branches of a conditional
before it, one after the other; a function that is called stands at each place that calls it.
This is the order of XLA's `HloLiveRange::FlattenSchedule` (xla/hlo/utils/hlo_live_range.cc).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

from olympus_core.errors import InternalError
from olympus_core.xla.hlo_module import Computation, HloModule, Instruction
from olympus_core.xla.wire import damaged

__all__ = ["Frame", "Role", "Step", "flat_schedule"]

Role = Literal["entry", "call", "async", "condition", "body", "branch"]
_LONGEST = 5_000_000  # steps; functions that call functions twice, many deep, would not end


class Frame:
    """A computation at one of the places that run it.

    `start` and `end` are the first and the last of its steps, those of what it calls included.
    `operands` are the positions in the caller's `operand_ids` that its parameters take.
    """

    __slots__ = ("caller", "children", "computation", "end", "number", "operands", "role", "start")

    def __init__(
        self,
        number: int,
        computation: Computation,
        role: Role,
        caller: tuple[Frame, Instruction] | None,
        operands: tuple[int, ...] = (),
    ) -> None:
        self.number = number
        self.computation = computation
        self.role = role
        self.caller = caller
        self.operands = operands
        self.children: dict[int, list[Frame]] = {}  # by the id of the calling instruction
        self.start = self.end = 0


class Step(NamedTuple):
    """An instruction that runs; its position in the schedule is its position in the list."""

    frame: Frame
    instruction: Instruction


def flat_schedule(module: HloModule) -> tuple[Frame, list[Step]]:
    """The frame of the entry, and every step of a run in order.

    Raises:
      InternalError: when calls are nested so that the schedule has millions of steps.
      ArtifactError: when a computation calls itself.
    """
    steps: list[Step] = []
    numbers = itertools.count()
    running: set[int] = set()

    def visit(frame: Frame) -> None:
        frame.start = len(steps)
        running.add(frame.computation.id)
        for instruction in module.ordered(frame.computation):
            for role, id, operands in _nested(instruction):
                if id in running:
                    raise damaged(f"'{instruction.name}' calls what it is in")
                caller = frame, instruction
                child = Frame(next(numbers), module.computations[id], role, caller, operands)
                frame.children.setdefault(instruction.id, []).append(child)
                visit(child)
            if len(steps) >= _LONGEST:
                raise InternalError(f"the schedule of '{module.name}' has over {_LONGEST} steps")
            steps.append(Step(frame, instruction))
        frame.end = max(frame.start, len(steps) - 1)
        running.discard(frame.computation.id)

    entry = Frame(next(numbers), module.entry, "entry", None)
    visit(entry)
    return entry, steps


def _nested(instruction: Instruction) -> Iterator[tuple[Role, int, tuple[int, ...]]]:
    """What an instruction runs that has a schedule: its role, id, and the operands it takes."""
    called = instruction.called_computation_ids
    everything = tuple(range(len(instruction.operand_ids)))
    if instruction.opcode == "while":
        body, condition = called  # in this order in HloInstructionProto
        yield "condition", condition, (0,)
        yield "body", body, (0,)
    elif instruction.opcode == "conditional":
        for position, id in enumerate(called):
            yield "branch", id, (position + 1,)
    elif instruction.opcode == "call":
        yield "call", called[0], everything
    elif instruction.opcode == "async-start" and called:
        yield "async", called[0], everything
