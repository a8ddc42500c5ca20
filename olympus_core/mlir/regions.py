"""The functions of a module, and the values that the regions of operations use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


def functions_of(module: ir.Module) -> dict[str, ir.Operation]:
    """Return the functions of a module by name.

    >>> functions_of(module)["main"].name
    'func.func'
    """
    return {
        view.operation.attributes["sym_name"].value: view.operation
        for view in module.body.operations
        if view.operation.name == "func.func"
    }


def operations_of(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations in an operation, also those in the regions of others.

    >>> [x.name for x in operations_of(functions_of(module)["main"])]
    ['stablehlo.add', 'func.return']
    """
    for region in function.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from operations_of(view.operation)


def outer_values(region: ir.Region) -> Iterator[ir.Value]:
    """Yield each value that a region uses and that is defined outside of it, at each use.

    >>> captured = set(outer_values(loop.regions[1]))
    """
    yield from _used_from_outside(region, set())


def _used_from_outside(region: ir.Region, inside: set[ir.Value]) -> Iterator[ir.Value]:
    inside = set(inside)
    for block in region.blocks:
        inside.update(block.arguments)
        for view in block.operations:
            operation = view.operation
            yield from (x for x in operation.operands if x not in inside)
            for nested in operation.regions:
                yield from _used_from_outside(nested, inside)
            inside.update(operation.results)
