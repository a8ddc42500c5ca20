"""The functions of a module, and the values that the regions of operations use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from olympus_core.base.errors import ArtifactError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: The attribute of an argument that is a constant of the program, with its SHA-256.
CONSTANT_ARGUMENT = "olympus.constant"
#: the attribute with the name of the function that an operation calls
_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition"}


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


def check_recursion(module: ir.Module) -> None:
    """Raise ArtifactError if `main`, or a function that it calls, calls itself.

    The compiler does not detect such a function, and its own recursion ends the process.
    """
    functions, finished = functions_of(module), set[str]()
    path = {"main": _callees(functions["main"])}  # the calls to follow, of each function on the way
    while path:
        name, callees = next(reversed(path.items()))
        if not callees:
            finished.add(name)
            path.popitem()
            continue
        callee = callees.pop()
        if callee in path:
            raise ArtifactError(f"the program's function {callee!r} calls itself")
        if callee not in finished and callee in functions:
            path[callee] = _callees(functions[callee])


def _callees(function: ir.Operation) -> list[str]:
    """Return the names of the functions that a function calls, each once."""
    names: dict[str, None] = {}

    def add(operation: ir.Operation) -> ir.WalkResult:
        attribute = _CALLS.get(operation.name)
        if attribute is not None:
            names[operation.attributes[attribute].value] = None
        return mlir.ir.WalkResult.ADVANCE

    function.walk(add)
    return list(names)


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
