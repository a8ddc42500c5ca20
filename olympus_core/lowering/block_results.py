"""Row-major results of repeated blocks, for other blocks that read them.

XLA's compiler for CPUs chooses the layouts of each function by itself. It gives a transposed result
the order that its operand has in memory, so that the transposition costs nothing. But a function
reads its arguments in row-major order, so a kernel copies the result after each call. A product in
the same block reads the array in row-major order too, so the block computes it in both orders.

With a row-major result, the block computes the array once, and nothing is copied. A result that
only operations outside of blocks read keeps the layout that XLA chooses, because these read every
layout in their own kernels.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from olympus_core import xla
from olympus_core.lowering.layout_constraints import has_layout, with_layout
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import functions_of, operations_of

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_LEAST = 2  # axes of an array that has several layouts


def order_block_results(module: ir.Module) -> int:
    """Lay out the results of blocks that other blocks read in row-major order; return their number.

    >>> order_block_results(module)
    12
    """
    functions = functions_of(module)
    read: dict[str, set[int]] = {}
    for function in functions.values():
        for call in filter(_is_of_block, operations_of(function)):
            for value in call.operands:
                if not isinstance(value.owner, mlir.ir.Block) and _is_of_block(value.owner):
                    name = value.owner.attributes["callee"].value
                    read.setdefault(name, set()).add(mlir.ir.OpResult(value).result_number)
    return sum(_order(functions[name], indices) for name, indices in read.items())


def _is_of_block(operation: ir.Operation) -> bool:
    attribute, value = xla.NOINLINE_ATTRIBUTE
    attributes = operation.attributes
    is_marked = operation.name == "func.call" and attribute in attributes
    return is_marked and str(attributes[attribute]) == value


def _order(function: ir.Operation, indices: Collection[int]) -> int:
    """Return these results of a function in row-major order; return the number of new layouts."""
    block = function.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1].operation
    count = 0
    for index in sorted(indices):
        value = end.operands[index]
        rank = len(value.type.shape)
        if rank < _LEAST or has_layout(value):
            continue
        with function.context, end.location, mlir.ir.InsertionPoint(end):
            end.operands[index] = with_layout(value, range(rank))
        count += 1
    return count
