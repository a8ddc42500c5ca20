"""A rewrite of concatenations in a function whose calls the compiler does not inline.

XLA's compiler for CPUs copies such a function for each call, and generates code for equal fusions
of the copies once. For a concatenation outside of fusions it generates code in every copy: in a
training step of 48 layers these took a seventh of the compile time. Written part by part into the
result, a concatenation consists of fusions, which include the producers of the parts too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_MAX_PARTS = 4  # each is code of its own, generated once; a block occurs four times or more

#: XLA fuses no concatenation along the last axis of at least so many elements there: a loop that
#: chooses among parts for each element is slow (`is_minor_dim_concatenate` in its
#: cpu_instruction_fusion.cc).
_MIN_ALONE = 128


def write_parts(function: ir.Block) -> None:
    """Write the parts of concatenations one by one, in a function that is emitted."""
    for concatenation in [*_concatenations(function)]:
        if _is_alone(concatenation):
            _write(concatenation)


def _concatenations(block: ir.Block) -> Iterator[ir.Operation]:
    """Yield the concatenations in a block and in the regions of its operations."""
    for view in block.operations:
        operation = view.operation
        if operation.name == "stablehlo.concatenate":
            yield operation
        for region in operation.regions:
            for inner in region.blocks:
                yield from _concatenations(inner)


def _is_alone(concatenation: ir.Operation) -> bool:
    """Return True for a concatenation of a few float parts outside of fusions."""
    kind, parts = concatenation.result.type, concatenation.operands
    if not 1 < len(parts) <= _MAX_PARTS or not isinstance(kind.element_type, mlir.ir.FloatType):
        return False
    axis = concatenation.attributes["dimension"].value
    last = axis == kind.rank - 1 > 0 and kind.shape[axis] >= _MIN_ALONE
    return last and all(math.prod(part.type.shape) for part in parts)


def _write(concatenation: ir.Operation) -> None:
    """Replace it by a pad of the first part, and updates with the others.

    XLA of jaxlib 0.12 converts two parts back to a concatenation.
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
        joined = mlir.op("stablehlo.pad", [kind], [first, zero], padding).result
        start = _constant("dense<0> : tensor<i32>")
        for part in others:
            starts = [start] * axis + [_constant(f"dense<{at}> : tensor<i32>")]
            operands = [joined, part, *starts]
            joined = mlir.op("stablehlo.dynamic_update_slice", [kind], operands).result
            at += part.type.shape[axis]
    concatenation.result.replace_all_uses_with(joined)
    concatenation.erase()


def _constant(text: str) -> ir.Value:
    value = mlir.parsed_attr(text)
    constant: ir.Value = mlir.op("stablehlo.constant", [value.type], (), {"value": value}).result
    return constant
