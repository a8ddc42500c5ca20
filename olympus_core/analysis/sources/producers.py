"""The source lines of the arrays that a collective sends, also of a combined one."""

from __future__ import annotations

from collections.abc import Iterator

from olympus_core.analysis.operations.table import operation_of
from olympus_core.analysis.records import LineBytes
from olympus_core.analysis.sources.lines import Lines
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction


def bytes_by_line(
    instruction: Instruction,
    computation: Computation,
    module: HloModule,
    lines: Lines,
    whole: LineBytes,
) -> tuple[LineBytes, ...]:
    """Split the `whole` bytes of a collective by the lines that make its operands, largest first.

    A compiler that combines collectives gives the result the line of one of them. The bytes of each
    operand count for the line of its producer. On GPUs XLA concatenates operands; then the bytes of
    each part count for the line of the part. If one line or no line makes the operands,
    `whole.line` gets all bytes.
    """
    bytes_of: dict[str | None, int] = {}
    for id in instruction.operand_ids:
        for source, within in _sources(computation.instructions[id], computation, module):
            line = lines.line(source, within) or whole.line
            bytes_of[line] = bytes_of.get(line, 0) + source.shape.bytes
    operand_bytes = sum(bytes_of.values())
    if len(bytes_of) < 2 or not operand_bytes:
        return (whole,)
    result, counted = [], 0
    for line, size in bytes_of.items():  # an all-gather has more bytes than its operands
        before, counted = whole.bytes * counted // operand_bytes, counted + size
        result.append(LineBytes(line, whole.bytes * counted // operand_bytes - before))
    return tuple(sorted(result, key=lambda row: (-row.bytes, row.line or "")))


def _sources(
    value: Instruction, computation: Computation, module: HloModule
) -> Iterator[tuple[Instruction, Computation]]:
    """Yield each producer of a value with its computation; of a concatenation, of each part."""
    value = _origin(value, computation)
    if value.opcode == "concatenate":
        for id in value.operand_ids:
            yield from _sources(computation.instructions[id], computation, module)
    elif value.opcode == "fusion":
        body = module.computations[value.called_computation_ids[0]]
        yield from _of_fusion(value, computation, body)
    elif value.opcode == "get-tuple-element":
        yield _element(value, computation, module)
    else:
        yield value, computation


def _of_fusion(
    fusion: Instruction, computation: Computation, body: Computation
) -> Iterator[tuple[Instruction, Computation]]:
    """Yield the parts of a fusion that only concatenates; else yield the fusion."""
    root = _origin(body.root, body)
    if root.opcode != "concatenate":
        yield fusion, computation
        return
    for id in root.operand_ids:
        part = _origin(body.instructions[id], body)
        if part.opcode == "parameter":
            outside = fusion.operand_ids[part.parameter_number]
            yield _origin(computation.instructions[outside], computation), computation
        else:
            yield part, body


def _element(
    value: Instruction, computation: Computation, module: HloModule
) -> tuple[Instruction, Computation]:
    """Return the instruction inside a multi-output fusion that a value reads; else the value."""
    fusion = computation.instructions[value.operand_ids[0]]
    if fusion.opcode == "fusion":
        body = module.computations[fusion.called_computation_ids[0]]
        if body.root.opcode == "tuple":
            return body.instructions[body.root.operand_ids[value.tuple_index]], body
    return value, computation


def _origin(value: Instruction, computation: Computation) -> Instruction:
    """Return the value that has the same elements before any change of form."""
    while operation_of(value.opcode).keeps_elements:
        value = computation.instructions[value.operand_ids[0]]
    return value
