"""The live ranges of the values of a scheduled program, as first and last steps.

A value is a new result of an instruction; tuples, bitcasts and the like forward values of others.
It is live from the step that makes it to the last step that reads it, or to the end of a
computation that returns it. These are XLA's rules (`HloLiveRange`,
xla/hlo/utils/hlo_live_range.cc), as are the sets of values that must share memory: a loop's carry,
a conditional's result, in-place updates, and results in donated arguments (`HloAliasAnalysis`,
xla/hlo/analysis/hlo_alias_analysis.cc).
"""

from __future__ import annotations

from collections.abc import Iterator

from olympus_core.analysis.memory.aliasing import Index, forwarded, in_place, indices, is_use
from olympus_core.analysis.memory.schedule import ComputationCall, flat_schedule
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction, Shape

_POINTER = 8  # bytes of an element of a tuple's table


class LiveRange:
    """A value, and its live range from the step `start` to the step `end`, both included.

    An argument (`is_argument`) or a constant (`is_constant`) exists before the run. It is live
    during the whole run, except an argument whose memory a result takes: it is live until its last
    read. `is_result` is True for a result of the program. `number` is the position in
    `Liveness.values`.
    """

    __slots__ = (
        "computation",
        "end",
        "index",
        "instruction",
        "is_argument",
        "is_constant",
        "is_result",
        "number",
        "shape",
        "start",
    )

    def __init__(
        self,
        number: int,
        computation: Computation,
        instruction: Instruction,
        index: Index,
        shape: Shape,
        start: int,
    ) -> None:
        self.number = number
        self.computation = computation
        self.instruction = instruction
        self.index = index
        self.shape = shape
        self.start = self.end = start
        self.is_argument = self.is_constant = self.is_result = False

    @property
    def bytes(self) -> int:
        """The bytes of the array with its padding, or of the table of pointers of a tuple."""
        if self.shape.is_tuple:
            return _POINTER * len(self.shape.elements)
        return self.shape.padded_bytes


class Liveness:
    """The values of a scheduled program and the steps of its run.

    `together` returns, for each value, the number of the set of values that share its memory.

    Raises:
      InternalError: the schedule is longer than the analysis can follow.

    Example:
      >>> live = Liveness(executable.hlo_module())
      >>> [v.instruction.name for v in live.values if v.start <= 3 <= v.end]
      ['Arg_0.1', 'wrapped_tanh']
    """

    def __init__(self, module: HloModule) -> None:
        self.module = module
        self.values: list[LiveRange] = []
        self._at: dict[tuple[int, int, Index], LiveRange] = {}  # by frame, instruction and index
        self._constants: dict[int, LiveRange] = {}  # by instruction
        self._parents: list[int] = []  # of the sets of values that share memory
        self._in_place: dict[tuple[int, int], list[tuple[Index, int, Index]]] = {}  # by form
        self.entry, self.steps = flat_schedule(module)
        for time, (frame, instruction) in enumerate(self.steps):
            self._define(frame, instruction, time)
            self._use(frame, instruction, time)
        self._live_out(self.entry)
        self._finish()

    def at(self, step: int, id: int, index: Index) -> LiveRange:
        """Return the value at a position of an instruction in the computation of the step."""
        return self._at[self.steps[step].frame.number, id, index]

    def together(self, value: LiveRange) -> int:
        """Return the number of the set of values that share the memory of `value`."""
        return self._root(value.number)

    def _root(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number

    def _join(self, one: LiveRange, other: LiveRange) -> None:
        low, high = sorted((self._root(one.number), self._root(other.number)))
        self._parents[high] = low

    def _define(self, frame: ComputationCall, instruction: Instruction, time: int) -> None:
        """Find the value at each position of an instruction's result."""
        for index, shape in indices(instruction.shape):
            live_range = self._passed(frame, instruction, index)
            if live_range is None:
                live_range = self._new(frame, instruction, index, shape, time)
            self._at[frame.number, instruction.id, index] = live_range
            for other in self._same_memory(frame, instruction, index):
                self._join(live_range, other)
        for index, operand, its_index in self._written(instruction):
            mine = self._at[frame.number, instruction.id, index]
            self._join(mine, self._operand(frame, instruction, operand, its_index))

    def _written(self, instruction: Instruction) -> list[tuple[Index, int, Index]]:
        """Return the result positions that take an operand's memory; fusions are cached by form."""
        if instruction.opcode != "fusion":
            return [*in_place(instruction, self.module.computations)]
        (called,) = instruction.called_computation_ids
        form = instruction.form, self.module.computations[called].form
        if form not in self._in_place:
            self._in_place[form] = [*in_place(instruction, self.module.computations)]
        return self._in_place[form]

    def _new(
        self,
        frame: ComputationCall,
        instruction: Instruction,
        index: Index,
        shape: Shape,
        time: int,
    ) -> LiveRange:
        is_constant = instruction.opcode == "constant"
        if is_constant and instruction.id in self._constants:
            return self._constants[instruction.id]  # of a function that is called twice
        is_parameter = instruction.opcode == "parameter"
        start = frame.start if is_parameter else time
        number = len(self.values)
        value = LiveRange(number, frame.computation, instruction, index, shape, start)
        value.is_argument = is_parameter and frame.caller is None
        value.is_constant = is_constant
        if is_constant:
            self._constants[instruction.id] = value
        self.values.append(value)
        self._parents.append(number)
        return value

    def _operand(
        self, frame: ComputationCall, instruction: Instruction, position: int, at: Index
    ) -> LiveRange:
        return self._at[frame.number, instruction.operand_ids[position], at]

    def _result(self, frame: ComputationCall, index: Index) -> LiveRange:
        """Return the value at a position of a computation's result."""
        return self._at[frame.number, frame.computation.root_id, index]

    def _passed(
        self, frame: ComputationCall, instruction: Instruction, index: Index
    ) -> LiveRange | None:
        """Return the value of another instruction that a position aliases; None for a new value."""
        opcode = instruction.opcode
        if opcode == "parameter":
            if frame.caller is None or frame.role in ("condition", "body"):
                return None
            caller, calls = frame.caller
            if instruction.parameter_number >= len(frame.operands):
                return None  # of an asynchronous computation that gets it after its start
            operand = calls.operand_ids[frame.operands[instruction.parameter_number]]
            return self._at.get((caller.number, operand, index))
        if opcode == "call":
            return self._result(frame.children[instruction.id][0], index)
        if opcode == "async-start" and index[:1] == (1,) and instruction.id in frame.children:
            return self._result(frame.children[instruction.id][0], index[1:])
        origin = forwarded(instruction, index)
        if origin is None:
            return None
        operand, position = origin  # absent in a start for what an asynchronous update adds
        return self._at.get((frame.number, instruction.operand_ids[operand], position))

    def _same_memory(
        self, frame: ComputationCall, instruction: Instruction, at: Index
    ) -> Iterator[LiveRange]:
        """Yield the values that share the memory of a loop's carry or a conditional's result."""
        children = frame.children.get(instruction.id, [])
        if instruction.opcode == "while":
            yield self._operand(frame, instruction, 0, at)
            for child in children:
                (parameter,) = child.computation.parameters
                yield self._at[child.number, parameter.id, at]
                if child.role == "body":
                    yield self._result(child, at)
        elif instruction.opcode == "conditional":
            for child in children:
                yield self._result(child, at)

    def _use(self, frame: ComputationCall, instruction: Instruction, time: int) -> None:
        """Extend the operands' live ranges to an instruction; of a loop to its start."""
        children = frame.children.get(instruction.id, [])
        for child in children:
            self._live_out(child)
        if instruction.opcode == "while":
            time = next(child.start for child in children if child.role == "body")
        for id in set(instruction.operand_ids):
            shape = frame.computation.instructions[id].shape
            for index, _ in indices(shape):
                if is_use(instruction, index):
                    value = self._at[frame.number, id, index]
                    value.end = max(value.end, time)

    def _live_out(self, frame: ComputationCall) -> None:
        for index, _ in indices(frame.computation.root.shape):
            value = self._result(frame, index)
            value.end = max(value.end, frame.end)
            value.is_result = value.is_result or frame.caller is None

    def _finish(self) -> None:
        """Extend constants and arguments to the whole run, except donated arguments."""
        last = max(0, len(self.steps) - 1)
        parameters = self.module.entry.parameters
        donated = set()
        for alias in self.module.input_output_alias:
            parameter = parameters[alias.parameter]
            argument = self._at[self.entry.number, parameter.id, alias.parameter_index]
            self._join(argument, self._result(self.entry, alias.output_index))
            donated.add(argument.number)
        for value in self.values:
            if value.is_argument or value.is_constant:
                value.start = 0
                value.end = value.end if value.number in donated else last
