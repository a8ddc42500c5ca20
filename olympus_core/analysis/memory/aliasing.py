"""The positions of an instruction's result that alias another value, and the new ones.

A position is an instruction and an index into the tuples of its result. The rules are those of
XLA's `HloDataflowAnalysis` (xla/hlo/analysis/hlo_dataflow_analysis.cc), which determines the values
that a program must place in the same memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olympus_core.analysis.operations.table import operation_of
from olympus_core.xla.hlo.hlo_module import Computation, Instruction, Shape

Index = tuple[int, ...]

#: the starts of transfers whose result's first element is the operand, and the second the result
_STARTS = frozenset({"all-gather-start", "collective-permute-start"})

#: The custom call of the compiler for TPUs whose operands are parts of its result in memory.
_PARTS = "ConcatBitcast"


def indices(shape: Shape) -> Iterator[tuple[Index, Shape]]:
    """Yield every position of a type, a tuple's table of pointers before its elements."""
    yield (), shape
    for position, element in enumerate(shape.elements):
        for index, leaf in indices(element):
            yield (position, *index), leaf


def forwarded(instruction: Instruction, index: Index) -> tuple[int, Index] | None:
    """Return the operand and its position that a result position aliases; None for a new value.

    Calls, loops and conditionals are not decided here: they depend on their computations.

    Example:
      >>> forwarded(get_tuple_element_of_index_2, ())
      (0, (2,))
    """
    opcode = instruction.opcode
    if opcode == "tuple":
        return (index[0], index[1:]) if index else None
    if opcode == "get-tuple-element":
        return 0, (instruction.tuple_index, *index)
    if operation_of(opcode).is_identity:
        return 0, index
    if opcode in ("copy-done", "all-gather-done", "collective-permute-done", "async-done"):
        return 0, (0 if opcode == "copy-done" else 1, *index)
    if opcode == "all-reduce-done":
        return 0, index
    if opcode == "copy-start":
        return (0, index[1:]) if index[:1] == (1,) else None
    if opcode in _STARTS and len(instruction.operand_ids) == 1:
        return (0, index[1:]) if index[:1] == (0,) else None
    if opcode == "async-start":
        return (index[1], index[2:]) if len(index) > 1 and index[0] == 0 else None
    return None


def is_use(instruction: Instruction, index: Index) -> bool:
    """Return True if an instruction reads position `index` of an operand itself."""
    if instruction.opcode in ("tuple", "domain"):
        return False
    return not index if instruction.opcode in ("get-tuple-element", "copy") else True


def in_place(
    instruction: Instruction, computations: Mapping[int, Computation]
) -> Iterator[tuple[Index, int, Index]]:
    """Yield the result positions that take an operand's memory: (index, operand, its index)."""
    for alias in instruction.output_aliases:
        yield alias.output_index, alias.operand, alias.operand_index
    if instruction.custom_call_target == _PARTS:
        for operand in range(len(instruction.operand_ids)):
            yield (), operand, ()
    if operation_of(instruction.opcode).is_in_place and not instruction.shape.is_tuple:
        yield (), 0, ()
    if instruction.opcode == "fusion" and not instruction.output_aliases:
        body = computations[instruction.called_computation_ids[0]]
        for index, _ in instruction.shape.leaves():
            parameter = _written(body, _through(body, body.root, index))
            if parameter is not None:
                yield index, parameter, ()


def _through(body: Computation, root: Instruction, index: Index) -> Instruction:
    """Return the instruction of a fusion's body that makes a position of its result."""
    for position in index:
        if root.opcode != "tuple":
            break
        root = body.instructions[root.operand_ids[position]]
    while root.opcode == "bitcast":
        root = body.instructions[root.operand_ids[0]]
    return root


def _written(body: Computation, update: Instruction) -> int | None:
    """Return the parameter of a fusion that `update` writes into, or None."""
    if update.opcode not in ("dynamic-update-slice", "scatter"):
        return None
    target = body.instructions[update.operand_ids[0]]
    while target.opcode == "bitcast":
        target = body.instructions[target.operand_ids[0]]
    return target.parameter_number if target.opcode == "parameter" else None
