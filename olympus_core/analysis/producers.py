"""The lines whose arrays a collective sends: XLA combines collectives of several lines in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from olympus_core.analysis.lines import Lines
from olympus_core.xla.hlo_module import Computation, HloModule, Instruction

__all__ = ["LineBytes", "bytes_by_line"]

#: what gives its operand's elements on, in another form
_SAME = frozenset(["bitcast", "copy", "reshape", "transpose"])


class LineBytes(NamedTuple):
    """A source line as "path/file.py:41", None if it is not known, and the bytes that it makes."""

    line: str | None
    bytes: int


def bytes_by_line(
    instruction: Instruction,
    computation: Computation,
    module: HloModule,
    lines: Lines,
    whole: LineBytes,
) -> tuple[LineBytes, ...]:
    """The `whole` bytes of a collective by the lines that make its operands, the most first.

    A compiler that combines collectives gives the result the line of one of them.  Each operand's
    part of the bytes counts for the line of its producer; of a concatenation, which XLA makes for
    GPUs, each part's.  `whole.line` has all where one line, or no line, makes them.
    """
    made: dict[str | None, int] = {}
    for id in instruction.operand_ids:
        for source, within in _sources(computation.instructions[id], computation, module):
            line = lines.line(source, within) or whole.line
            made[line] = made.get(line, 0) + source.shape.bytes
    given = sum(made.values())
    if len(made) < 2 or not given:
        return (whole,)
    found, seen = [], 0
    for line, size in made.items():  # an all-gather has more bytes than its operands
        before, seen = whole.bytes * seen // given, seen + size
        found.append(LineBytes(line, whole.bytes * seen // given - before))
    return tuple(sorted(found, key=lambda each: (-each.bytes, each.line or "")))


def _sources(
    value: Instruction, computation: Computation, module: HloModule
) -> Iterator[tuple[Instruction, Computation]]:
    """What makes a value, and each part of one that is concatenated, with its computation."""
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
    """The parts of a fusion that concatenates alone; else the fusion."""
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
    """The result of a fusion of several that a value is; else the value."""
    fusion = computation.instructions[value.operand_ids[0]]
    if fusion.opcode == "fusion":
        body = module.computations[fusion.called_computation_ids[0]]
        if body.root.opcode == "tuple":
            return body.instructions[body.root.operand_ids[value.tuple_index]], body
    return value, computation


def _origin(value: Instruction, computation: Computation) -> Instruction:
    """The value that this one has the elements of."""
    while value.opcode in _SAME:
        value = computation.instructions[value.operand_ids[0]]
    return value
