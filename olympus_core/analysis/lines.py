"""The user's line of each instruction, those included that the compiler put in itself."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from olympus_core.xla.hlo_module import Computation, HloModule, Instruction

__all__ = ["Lines"]

_Known = dict[int, str]  # lines by instruction
_Links = Mapping[int, Sequence[int]]


class Lines:
    """The lines of a module's instructions.

    An instruction without one, such as a copy that XLA put in, has that of the nearest of what it
    runs, what it reads, what reads it, and the loop or call that it stands in.

    Example:
      >>> Lines(module).line(module.entry.root, module.entry)
      '/home/me/model.py:41'
    """

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._known: dict[int, str | None] = {}
        self._nearest: dict[int, tuple[_Known, _Known]] = {}  # by computation

    def line(self, instruction: Instruction, computation: Computation) -> str | None:
        """The line as "path/file.py:41"; None where nothing tells it."""
        if instruction.line is not None:
            return instruction.line
        if instruction.opcode == "parameter" and computation.id == self._module.entry_id:
            return None  # an argument is made by the caller
        if instruction.id not in self._known:
            self._known[instruction.id] = self._found(instruction, computation)
        return self._known[instruction.id]

    def _found(self, instruction: Instruction, computation: Computation) -> str | None:
        before, after = self._near(computation)
        id = instruction.id
        return before.get(id) or after.get(id) or self._of_caller(computation)

    def _near(self, computation: Computation) -> tuple[_Known, _Known]:
        """The nearest line of what each instruction reads, and of what reads it."""
        found = self._nearest.get(computation.id)
        if found is None:
            own = {
                each.id: line
                for each in computation.instructions.values()
                if (line := each.line or self._inside(each))
            }
            found = self._nearest[computation.id] = _spread(computation, own)
        return found

    def _inside(self, instruction: Instruction) -> str | None:
        """The line of what a fusion's result is made by."""
        if instruction.opcode != "fusion":
            return None
        body = self._module.computations[instruction.called_computation_ids[0]]
        return body.root.line or self._near(body)[0].get(body.root_id)

    @functools.cached_property
    def _callers(self) -> dict[int, tuple[Instruction, Computation]]:
        """By computation, what calls it; few lines are asked of it."""
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


def _spread(computation: Computation, own: _Known) -> tuple[_Known, _Known]:
    """The line that the fewest steps lead to, from operand to operand and from user to user.

    Lines go out from all instructions that have one at once, a step at a time, so that each
    instruction is met once.  Of several as near it is that of the first operand or user.
    """
    if not own:
        return {}, {}
    operands = {each.id: each.operand_ids for each in computation.instructions.values()}
    users: dict[int, list[int]] = {id: [] for id in operands}
    for id, read in operands.items():
        for each in read:
            users[each].append(id)
    return _rings(own, operands, users), _rings(own, users, operands)


def _rings(own: _Known, ahead: _Links, back: _Links) -> _Known:
    """The line of the nearest instruction `ahead` of each one that has any there."""
    steps = dict.fromkeys(own, 0)
    ring = list(own)
    order: list[int] = []
    while ring:
        following = []
        for id in ring:
            for each in back[id]:
                if each not in steps:
                    steps[each] = steps[id] + 1
                    following.append(each)
        order += following
        ring = following
    found = dict(own)
    for id in order:
        found[id] = next(found[n] for n in ahead[id] if steps.get(n) == steps[id] - 1)
    return found
