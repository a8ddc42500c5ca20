"""The positions of slices as operands of XLA's kernels, and the attributes of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


def owner_of(use: ir.OpOperand) -> ir.Operation:
    """Return the operation of an operand."""
    return use.owner.operation


def integers(operation: ir.Operation, name: str) -> list[int]:
    """Return an array attribute, such as `start_indices` of a slice."""
    return [*operation.attributes[name]]


def is_unit_slice(operation: ir.Operation) -> bool:
    """Return True for a slice of adjacent elements."""
    return operation.name == "stablehlo.slice" and {*integers(operation, "strides")} <= {1}


def dynamic_slice(operand: ir.Value, starts: Sequence[ir.Value], result: ir.Type) -> ir.Value:
    """Emit a dynamic slice of type `result` at the current insertion point."""
    sizes = {"slice_sizes": mlir.ir.DenseI64ArrayAttr.get(result.shape)}
    value: ir.Value = mlir.op("stablehlo.dynamic_slice", [result], [operand, *starts], sizes).result
    return value


class Positions:
    """Scalars at the beginning of a function, each emitted once."""

    def __init__(self, function: ir.Operation) -> None:
        self.function, self.location = function, function.location
        self.plains: dict[int, ir.Value] = {}
        self.operands: dict[int, ir.Value] = {}

    def _beginning(self) -> ir.InsertionPoint:
        return mlir.ir.InsertionPoint.at_block_begin(self.function.regions[0].blocks[0])

    def plain(self, start: int) -> ir.Value:
        """Return a constant, which becomes part of the kernels that read it."""
        if start not in self.plains:
            with self.location.context, self._beginning(), self.location:
                self.plains[start] = _constant(start)
        return self.plains[start]

    def operand(self, start: int) -> ir.Value:
        """Return a scalar that is an operand of the kernels that read it.

        XLA would make a scalar constant part of them, and an arithmetic progression too. It folds
        no constants behind the barrier.
        """
        if start not in self.operands:
            ir = mlir.ir
            with self.location.context, self._beginning(), self.location:
                vector = _constant([start, -1, -1])
                hidden = mlir.op("stablehlo.optimization_barrier", [vector.type], [vector]).result
                element = vector.type.element_type
                types = [ir.RankedTensorType.get(shape, element) for shape in ([1], [])]
                ends = (("start_indices", 0), ("limit_indices", 1), ("strides", 1))
                cut = {name: ir.DenseI64ArrayAttr.get([end]) for name, end in ends}
                one = mlir.op("stablehlo.slice", types[:1], [hidden], cut).result
                self.operands[start] = mlir.op("stablehlo.reshape", types[1:], [one]).result
        return self.operands[start]


def _constant(value: int | list[int]) -> ir.Value:
    attribute = mlir.ir.DenseElementsAttr.get(np.array(value, np.int64))
    constant: ir.Value = mlir.op(
        "stablehlo.constant", [attribute.type], (), {"value": attribute}
    ).result
    return constant
