"""The operation that lays out an array in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: the name of the custom call
LAYOUT_TARGET = "LayoutConstraint"


def with_layout(value: ir.Value, order: Sequence[int]) -> ir.Value:
    """Emit the array with its axes in an order, from the slowest to the fastest in memory."""
    fastest_first = ", ".join(map(str, reversed(order)))
    layout = mlir.parsed_attr(f"[dense<[{fastest_first}]> : tensor<{len(order)}xindex>]")
    attributes = {
        "call_target_name": mlir.string_attr(LAYOUT_TARGET),
        "backend_config": mlir.string_attr(""),
        "operand_layouts": layout,
        "result_layouts": layout,
    }
    emitted = mlir.op("stablehlo.custom_call", (value.type,), (value,), attributes)
    result: ir.Value = emitted.result
    return result


def has_layout(value: ir.Value) -> bool:
    """Return True for the result of such an operation."""
    owner = value.owner
    if isinstance(owner, mlir.ir.Block) or owner.name != "stablehlo.custom_call":
        return False
    return bool(owner.attributes["call_target_name"].value == LAYOUT_TARGET)
