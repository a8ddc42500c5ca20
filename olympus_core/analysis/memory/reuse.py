"""Results that take the memory of an operand after its last read.

XLA lets an elementwise operation write its result over an operand, and a sort sort in place. A
CPU's executable has the place of each value. For a GPU that is not attached these rules determine
it, after XLA's `CanShareOperandBufferWithUser` and, for fusions, `FusionCanShareBufferHint`.
"""

from __future__ import annotations

import math

from olympus_core.analysis.memory.aliasing import Index
from olympus_core.analysis.memory.liveness import Liveness, LiveRange
from olympus_core.analysis.operations.table import operation_of
from olympus_core.xla.hlo.hlo_module import Computation, Instruction


def reuse_operands(live: Liveness) -> None:
    """End the operands whose memory a result takes one step earlier, so the two count once.

    Arguments, constants and values that later steps read do not change, and only one result takes
    an operand's memory.  An element of a tuple is overwritten only in the memory of a result of the
    program: XLA places these results first, and looks for others at the operands alone.
    """
    inside: dict[tuple[int, str], dict[int, Index]] = {}  # by the form and the kind of a fusion
    in_results = {value.number for value in live.values if value.is_result}
    for time, (_, instruction) in reversed([*enumerate(live.steps)]):
        reused = set()
        for operand, index in _could_take(live, instruction, inside):
            old = live.at(time, instruction.operand_ids[operand], ())
            new = live.at(time, instruction.id, index)
            is_placed = not old.index or new.number in in_results
            if is_placed and index not in reused and _is_free(live, old, new, time):
                reused.add(index)
                old.end = time - 1
                if new.number in in_results:
                    in_results.add(old.number)


def _is_free(live: Liveness, old: LiveRange, new: LiveRange, time: int) -> bool:
    """Return True if `old` ends where `new` of its size begins, in memory of its own."""
    return (
        not (old.is_argument or old.is_constant or old.shape.is_tuple)
        and old.end == new.start == time > old.start
        and old.bytes == new.bytes
        and live.together(old) != live.together(new)
    )


def _could_take(
    live: Liveness, instruction: Instruction, inside: dict[tuple[int, str], dict[int, Index]]
) -> list[tuple[int, Index]]:
    """Return the operands that could be overwritten, each with the position of the result.

    Example: `[(0, ()), (1, ())]` for `x + y`.
    """
    if operation_of(instruction.opcode).is_elementwise:
        return [(operand, ()) for operand in range(len(instruction.operand_ids))]
    if instruction.opcode == "sort":
        several = instruction.shape.is_tuple
        return [(i, (i,) if several else ()) for i in range(len(instruction.operand_ids))]
    if instruction.opcode == "triangular-solve":
        return [(1, ())]
    if instruction.opcode != "fusion":
        return []
    (called,) = instruction.called_computation_ids
    body = live.module.computations[called]
    form = body.form, instruction.fusion_kind
    if form not in inside:
        inside[form] = _overwritten(body, instruction.fusion_kind)
    return list(inside[form].items())


def _overwritten(body: Computation, kind: str) -> dict[int, Index]:
    """Return the parameters of a fusion that one result overwrites, with the result's position."""
    users: dict[int, list[Instruction]] = {}
    for instruction in body.instructions.values():
        for id in instruction.operand_ids:
            users.setdefault(id, []).append(instruction)
    root = body.root
    results: dict[int, Index] = {root.id: ()}
    if root.opcode == "tuple":
        results = {id: (position,) for position, id in enumerate(root.operand_ids)}
    overwritten = _sorted(body, users, results)
    for parameter in body.parameters:
        reached = _reached(parameter, users, results, kind)
        if reached is not None and len(reached) == 1:
            overwritten[parameter.parameter_number] = results[reached.pop()]
    return overwritten


def _sorted(
    body: Computation, users: dict[int, list[Instruction]], results: dict[int, Index]
) -> dict[int, Index]:
    """Return the parameters of a fusion that only a sort reads, with the results' positions."""
    positions = {}
    for sort in body.instructions.values():
        if sort.opcode != "sort":
            continue
        for position, id in enumerate(sort.operand_ids):
            operand = body.instructions[id]
            place = _element(sort, position, users, results)
            if operand.opcode == "parameter" and len(users[id]) == 1 and place is not None:
                positions[operand.parameter_number] = place
    return positions


def _element(
    sort: Instruction,
    position: int,
    users: dict[int, list[Instruction]],
    results: dict[int, Index],
) -> Index | None:
    """Return the position of a sort's element in the result of its fusion, or None."""
    if sort.id in results:
        return (*results[sort.id], position) if sort.shape.is_tuple else results[sort.id]
    for user in users.get(sort.id, []):
        if user.opcode == "get-tuple-element" and user.tuple_index == position:
            return results.get(user.id)
    return None


def _reached(
    parameter: Instruction,
    users: dict[int, list[Instruction]],
    results: dict[int, Index],
    kind: str,
) -> set[int] | None:
    """Return the results that a parameter reaches elementwise; None if it has another use."""
    reached, seen, left = set(), {parameter.id}, [parameter.id]
    size = math.prod(parameter.shape.sizes)
    while left:
        id = left.pop()
        if id in results:
            reached.add(id)
        for user in users.get(id, []):
            if user.id in seen or user.opcode == "tuple":
                continue
            # such a fusion reads an element for its reductions before it writes that element
            if user.opcode == "reduce" and kind == "kInput":
                continue
            seen.add(user.id)
            same_size = math.prod(user.shape.sizes) == size
            is_same = operation_of(user.opcode).is_elementwise and same_size
            if not is_same and user.opcode != "bitcast":
                return None
            left.append(user.id)
    return reached
