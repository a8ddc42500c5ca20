"""The number of iterations of compiled loops that count up to a constant.

The compiler for TPUs does not write the number into the program. The counter starts at a constant,
the body adds a constant to it, and the condition compares it with a constant.
"""

from __future__ import annotations

from collections.abc import Mapping

from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction

_COPIES = frozenset(["copy", "bitcast", "convert", "copy-done", "optimization-barrier"])
_MAX_DEPTH = 32  # values that are each a copy of the next


def counted_trips(loop: Instruction, computation: Computation, module: HloModule) -> int | None:
    """Return the number of iterations of the while loop `loop`, or None if it is unknown."""
    (state,) = (computation.instructions[id] for id in loop.operand_ids)
    condition, body = _parts(loop, module)
    compared = _compared(condition)
    if compared is None or state.opcode != "tuple" or body.root.opcode != "tuple":
        return None
    position, limit = compared
    starts = {
        i: _constant(computation.instructions[id], computation)
        for i, id in enumerate(state.operand_ids)
    }
    invariant = {i: starts.get(i) for i in _unchanged(body)}
    start, step = starts.get(position), _step(body, position, invariant)
    if isinstance(limit, _Element):
        limit = invariant.get(limit.position)
    if start is None or step is None or limit is None or step < 1:
        return None
    return max(0, -(-(limit - start) // step))


class _Element:
    """A limit that is an element of the loop's state."""

    def __init__(self, position: int) -> None:
        self.position = position


def _parts(loop: Instruction, module: HloModule) -> tuple[Computation, Computation]:
    """Return the condition and the body of a loop, in this order."""
    first, second = (module.computations[id] for id in loop.called_computation_ids)
    return (first, second) if first.root.shape.dtype == "bool" else (second, first)


def _compared(condition: Computation) -> tuple[int, int | _Element | None] | None:
    """Return the position of the counter in the state, and its limit."""
    root = condition.root
    if root.opcode != "compare" or root.comparison != "LT":
        return None
    left, right = (_source(condition.instructions[id], condition) for id in root.operand_ids)
    if left.opcode != "get-tuple-element":
        return None
    if right.opcode == "get-tuple-element":
        return left.tuple_index, _Element(right.tuple_index)
    return left.tuple_index, _constant(right, condition)


def _source(value: Instruction, computation: Computation) -> Instruction:
    """Return the value that a value is a copy of."""
    for _ in range(_MAX_DEPTH):
        if value.opcode not in _COPIES:
            break
        value = computation.instructions[value.operand_ids[0]]
    return value


def _constant(value: Instruction, computation: Computation) -> int | None:
    source = _source(value, computation)
    return source.integer if source.opcode == "constant" else None


def _unchanged(body: Computation) -> list[int]:
    """Return the positions of the loop's state that the body does not change."""
    elements = [_source(body.instructions[id], body) for id in body.root.operand_ids]
    return [
        i
        for i, element in enumerate(elements)
        if element.opcode == "get-tuple-element" and element.tuple_index == i
    ]


def _step(body: Computation, position: int, invariant: Mapping[int, int | None]) -> int | None:
    """Return the constant that the body adds to an element of the state."""
    added = _source(body.instructions[body.root.operand_ids[position]], body)
    if added.opcode != "add":
        return None
    operands = [_source(body.instructions[id], body) for id in added.operand_ids]
    for counter, step in (operands, reversed(operands)):
        if counter.opcode == "get-tuple-element" and counter.tuple_index == position:
            if step.opcode == "get-tuple-element":
                return invariant.get(step.tuple_index)
            return step.integer if step.opcode == "constant" else None
    return None
