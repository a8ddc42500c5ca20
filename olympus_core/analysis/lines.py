"""The user's line of each instruction, those included that the compiler put in itself."""

from __future__ import annotations

from olympus_core.xla.hlo_module import Computation, HloModule, Instruction

__all__ = ["Lines"]


class Lines:
    """The lines of a module's instructions.

    An instruction without one, such as a copy that XLA put in, has that of what it runs, of what
    its first operand has, or of the loop or call that it stands in.

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

    def line(self, instruction: Instruction, computation: Computation) -> str | None:
        """The line as "path/file.py:41"; None where nothing tells it."""
        passed = []
        while instruction.id not in self._known:
            passed.append(instruction.id)
            found = instruction.line or self._inside(instruction)
            self._known[instruction.id] = found  # also ends a search that comes back here
            if found is not None:
                break
            if instruction.operand_ids:
                instruction = computation.instructions[instruction.operand_ids[0]]
            elif computation.id in self._callers:
                instruction, computation = self._callers[computation.id]
        line = self._known[instruction.id]
        self._known.update(dict.fromkeys(passed, line))
        return line

    def _inside(self, instruction: Instruction) -> str | None:
        """The line of the result of a fusion's body."""
        if instruction.opcode != "fusion":
            return None
        body = self._module.computations[instruction.called_computation_ids[0]]
        return body.root.line
