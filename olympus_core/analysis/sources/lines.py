"""The user's source line of each instruction of optimized HLO."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction

_Known = dict[int, str]  # lines by instruction
_Links = Mapping[int, Sequence[int]]


class Lines:
    """The source lines of a module's instructions.

    An instruction without a line, such as a copy that XLA inserted, gets the line of the nearest
    of: the body of its fusion, its operands, its users, and the loop or call that contains it.

    Example:
      >>> Lines(module).line(module.entry.root, module.entry)
      '/home/me/model.py:41'
    """

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._known: dict[int, str | None] = {}
        self._nearest: dict[int, tuple[_Known, _Known]] = {}  # by computation

    def line(self, instruction: Instruction, computation: Computation) -> str | None:
        """Return the line as "path/file.py:41"; None if no line is near."""
        if instruction.line is not None:
            return instruction.line
        if instruction.opcode == "parameter" and computation.id == self._module.entry_id:
            return None  # the caller makes an argument
        if instruction.id not in self._known:
            self._known[instruction.id] = self._nearest_line(instruction, computation)
        return self._known[instruction.id]

    def _nearest_line(self, instruction: Instruction, computation: Computation) -> str | None:
        before, after = self._near(computation)
        id = instruction.id
        return before.get(id) or after.get(id) or self._of_caller(computation)

    def _near(self, computation: Computation) -> tuple[_Known, _Known]:
        """Return the nearest line among the inputs and among the users, by instruction id."""
        nearest = self._nearest.get(computation.id)
        if nearest is None:
            direct = {
                instruction.id: line
                for instruction in computation.instructions.values()
                if (line := instruction.line or self._inside(instruction))
            }
            nearest = self._nearest[computation.id] = _spread(computation, direct)
        return nearest

    def _inside(self, instruction: Instruction) -> str | None:
        """Return the line of the instruction that makes a fusion's result."""
        if instruction.opcode != "fusion":
            return None
        body = self._module.computations[instruction.called_computation_ids[0]]
        return body.root.line or self._near(body)[0].get(body.root_id)

    @functools.cached_property
    def _callers(self) -> dict[int, tuple[Instruction, Computation]]:
        """The instruction that calls each computation; built at the first use."""
        return {
            id: (instruction, computation)
            for computation in self._module.computations.values()
            for instruction in computation.instructions.values()
            for id in instruction.called_computation_ids
        }

    def _of_caller(self, computation: Computation) -> str | None:
        if computation.id == self._module.entry_id:
            return None
        caller = self._callers.get(computation.id)
        return self.line(*caller) if caller is not None else None


def _spread(computation: Computation, direct: _Known) -> tuple[_Known, _Known]:
    """Return the nearest lines along operands, and the nearest lines along users.

    A breadth-first search starts from all instructions with a line and visits each instruction
    once. Of several lines at the same distance it takes that of the first operand or user.
    """
    if not direct:
        return {}, {}
    operands = {
        instruction.id: instruction.operand_ids for instruction in computation.instructions.values()
    }
    users: dict[int, list[int]] = {id: [] for id in operands}
    for id, read in operands.items():
        for operand in read:
            users[operand].append(id)
    return _rings(direct, operands, users), _rings(direct, users, operands)


def _rings(direct: _Known, ahead: _Links, back: _Links) -> _Known:
    """Return the line of the nearest instruction in direction `ahead`, by instruction id."""
    steps = dict.fromkeys(direct, 0)
    ring = list(direct)
    order: list[int] = []
    while ring:
        following = []
        for id in ring:
            for neighbor in back[id]:
                if neighbor not in steps:
                    steps[neighbor] = steps[id] + 1
                    following.append(neighbor)
        order += following
        ring = following
    lines = dict(direct)
    for id in order:
        lines[id] = next(lines[n] for n in ahead[id] if steps.get(n) == steps[id] - 1)
    return lines
