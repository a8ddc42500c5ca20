"""The time of asynchronous collectives that is hidden by other kernels.

A collective is in flight from its start to its end in the schedule. The kernels between the two run
at the same time, and each hides its own duration of one collective.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from olympus_core.xla.hlo.hlo_module import Computation, Instruction

#: The memory spaces of the semaphores and contexts of transfers in flight, on TPUs.
_CONTEXTS = frozenset([2, 4])


def has_context(instruction: Instruction) -> bool:
    """Return True if a result of an instruction is the context of a transfer in flight."""
    return any(leaf.memory_space in _CONTEXTS for _, leaf in instruction.shape.leaves())


def continues(instruction: Instruction, computation: Computation) -> bool:
    """Return True for a fusion that continues or ends a collective of another fusion."""
    return instruction.opcode == "fusion" and any(
        has_context(computation.instructions[id]) for id in instruction.operand_ids
    )


def flights(
    order: Sequence[Instruction], computation: Computation, starts: frozenset[int]
) -> list[tuple[int, int]]:
    """Return the schedule positions of each collective's start and end, in the order of the ends.

    `starts` are the ids of the instructions that start a collective.
    """
    position = {instruction.id: at for at, instruction in enumerate(order)}
    carried: dict[int, frozenset[int]] = {}
    found = []
    open_starts = set(starts)
    for at, instruction in enumerate(order):
        of_operands = frozenset[int]().union(
            *(carried.get(id, frozenset()) for id in instruction.operand_ids)
        )
        if instruction.id in starts:
            carried[instruction.id] = of_operands | {instruction.id}
        elif of_operands and _ends(instruction, computation):
            for start in sorted(of_operands & open_starts):
                open_starts.remove(start)
                found.append((position[start], at))
        elif of_operands and (instruction.opcode in _PASSES or has_context(instruction)):
            carried[instruction.id] = of_operands
    return found


_PASSES = frozenset(["get-tuple-element", "tuple", "bitcast", "opt-barrier"])


def _ends(instruction: Instruction, computation: Computation) -> bool:
    if instruction.opcode.endswith("-done"):
        return True
    return continues(instruction, computation) and not has_context(instruction)


def hidden(
    spans: Sequence[tuple[int, int]], sent: Mapping[int, float], others: Mapping[int, float]
) -> dict[int, float]:
    """Return the hidden seconds of each collective, by the position of its start.

    `spans` are the positions of starts and ends. `sent` has the seconds of each collective, by the
    position of its start, and `others` has the seconds of each kernel, by its position.

    >>> hidden([(0, 3), (1, 4)], {0: 3.0, 1: 3.0}, {2: 4.0})
    {0: 3.0, 1: 1.0}
    """
    free = dict(others)
    result = {}
    for start, end in spans:
        left = sent.get(start, 0.0)
        for at in range(start + 1, end):
            part = min(left, free.get(at, 0.0))
            if part:
                free[at] -= part
                left -= part
        result[start] = sent.get(start, 0.0) - left
    return result
