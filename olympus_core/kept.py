"""What is emitted otherwise in a function whose calls the compiler keeps.

XLA's compiler for CPUs copies such a function for each call, and makes code for equal fusions of
the copies once.  For a concatenation that is in no fusion it makes code in every copy: those of a
training step of 48 layers were a seventh of the time to compile it.  Written part by part into the
result, it is of fusions, which have what makes the parts too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from olympus_core import mlir

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["write_parts"]

_MOST_PARTS = 4  # each is code of its own, made once; a block occurs four times and more

#: XLA fuses no concatenation along the last axis of at least so many elements there: a loop that
#: chooses among parts for each element is slow (`is_minor_dim_concatenate` in its
#: cpu_instruction_fusion.cc).
_LEAST_ALONE = 128


def write_parts(function: ir.Block) -> None:
    """Write the parts of concatenations one by one, in a function that is emitted."""
    for concatenation in [*_concatenations(function)]:
        if _is_alone(concatenation):
            _write(concatenation)


def _concatenations(block: ir.Block) -> Iterator[ir.Operation]:
    """The concatenations in a block and in the regions of its operations."""
    for each in block.operations:
        operation = each.operation
        if operation.name == "stablehlo.concatenate":
            yield operation
        for region in operation.regions:
            for inner in region.blocks:
                yield from _concatenations(inner)


def _is_alone(concatenation: ir.Operation) -> bool:
    """Whether it is of a few parts of floats, and in no fusion."""
    kind, parts = concatenation.result.type, concatenation.operands
    if not 1 < len(parts) <= _MOST_PARTS or not isinstance(kind.element_type, mlir.ir.FloatType):
        return False
    axis = concatenation.attributes["dimension"].value
    last = axis == kind.rank - 1 > 0 and kind.shape[axis] >= _LEAST_ALONE
    return last and all(math.prod(part.type.shape) for part in parts)


def _write(concatenation: ir.Operation) -> None:
    """Put in its place a pad of the first part, and updates by the others.

    XLA of jaxlib 0.12 makes a concatenation again of two parts.
    """
    ir, kind = mlir.ir, concatenation.result.type
    axis = kind.rank - 1
    with ir.InsertionPoint(concatenation), concatenation.location:
        first, *others = concatenation.operands
        at, none = first.type.shape[axis], (0,) * kind.rank
        padding = {
            "edge_padding_low": mlir.i64_array(none),
            "edge_padding_high": mlir.i64_array((*none[1:], kind.shape[axis] - at)),
            "interior_padding": mlir.i64_array(none),
        }
        zero = _constant(f"dense<0.0> : tensor<{kind.element_type}>")
        made = mlir.op("stablehlo.pad", [kind], [first, zero], padding).result
        start = _constant("dense<0> : tensor<i32>")
        for part in others:
            starts = [start] * axis + [_constant(f"dense<{at}> : tensor<i32>")]
            made = mlir.op("stablehlo.dynamic_update_slice", [kind], [made, part, *starts]).result
            at += part.type.shape[axis]
    concatenation.result.replace_all_uses_with(made)
    concatenation.erase()


def _constant(text: str) -> ir.Value:
    value = mlir.parsed_attr(text)
    made: ir.Value = mlir.op("stablehlo.constant", [value.type], (), {"value": value}).result
    return made
