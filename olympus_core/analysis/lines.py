"""The user's line of each instruction, those included that the compiler put in itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from olympus_core.xla.hlo_module import Computation, HloModule, Instruction

__all__ = ["Lines"]


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
        self._callers = {
            id: (instruction, computation)
            for computation in module.computations.values()
            for instruction in computation.instructions.values()
            for id in instruction.called_computation_ids
        }
        self._known: dict[int, str | None] = {}
        self._users: dict[int, dict[int, list[int]]] = {}  # by computation and instruction

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
        users = self._users_in(computation)
        return (
            self._nearest(instruction, computation, lambda i: i.operand_ids)
            or self._nearest(instruction, computation, lambda i: users.get(i.id, ()))
            or self._of_caller(computation)
        )

    def _users_in(self, computation: Computation) -> dict[int, list[int]]:
        if computation.id not in self._users:
            users: dict[int, list[int]] = {}
            for instruction in computation.instructions.values():
                for id in instruction.operand_ids:
                    users.setdefault(id, []).append(instruction.id)
            self._users[computation.id] = users
        return self._users[computation.id]

    def _nearest(
        self,
        instruction: Instruction,
        computation: Computation,
        following: Callable[[Instruction], Iterable[int]],
    ) -> str | None:
        """The line that the fewest steps lead to, in the direction of `following`."""
        seen, ring = {instruction.id}, [instruction]
        while ring:
            for each in ring:
                if line := each.line or self._inside(each):
                    return line
            ahead = [id for each in ring for id in following(each) if id not in seen]
            seen.update(ahead)
            ring = [computation.instructions[id] for id in dict.fromkeys(ahead)]
        return None

    def _inside(self, instruction: Instruction) -> str | None:
        """The line of what a fusion's result is made by."""
        if instruction.opcode != "fusion":
            return None
        body = self._module.computations[instruction.called_computation_ids[0]]
        return self._nearest(body.root, body, lambda i: i.operand_ids)

    def _of_caller(self, computation: Computation) -> str | None:
        caller = self._callers.get(computation.id)
        return self.line(*caller) if caller is not None else None
