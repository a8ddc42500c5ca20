"""Equal computations of regions, whatever the order of their operations."""

from __future__ import annotations

import re
from typing import Any

from olympus_core.mlir import bindings as mlir

#: the elements of a constant, in its text
_ELEMENTS = re.compile(r"\bdense<(.*?)> : tensor<", re.DOTALL)


class Expressions:
    """Numbers for the values of regions: equal for values that are computed in the same way.

    A value is computed in the same way if it is the same argument of its region, or the same result
    of an operation with equal name, attributes, operands and result types.  Operations with regions
    are equal to nothing else, and neither are values from outside the region.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def results(self, region: Any) -> tuple[int, ...] | None:
        """Return the numbers of the values that a region returns; None if it has several blocks."""
        if len(region.blocks) != 1:
            return None
        block = region.blocks[0]
        values = {x: self._number(("argument", i)) for i, x in enumerate(block.arguments)}
        for view in block.operations:
            operation = view.operation
            operands = tuple(
                [values.get(x, -1) for x in operation.operands]  # -1: from outside of the region
            )
            if operation.name == "stablehlo.return":
                return operands
            own = operation.regions or -1 in operands
            key = (
                operation.name,
                operands,
                _attributes(operation),
                tuple([str(x.type) for x in operation.results]),
                len(self._numbers) if own else None,
            )
            for i, result in enumerate(operation.results):
                values[result] = self._number((key, i))
        return None

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _attributes(operation: Any) -> Any:
    """Return a key of the attributes of an operation."""
    if operation.name == "stablehlo.constant":  # the bindings cannot read complex elements
        text = operation.get_asm(enable_debug_info=False)
        elements = _ELEMENTS.search(text)
        return tuple(sorted(operation.attributes)), elements[1] if elements else text
    return tuple(sorted((name, str(value)) for name, value in operation.attributes.items()))


def operation_on_arguments(region: Any) -> str | None:
    """Return the name of the operation that a region applies to its arguments, in their order.

    Constraints on scalars, which JAX writes, change nothing. None for any other region, and for an
    operation with attributes.

    >>> operation_on_arguments(reduce.regions[0])
    'stablehlo.add'
    """
    if len(region.blocks) != 1:
        return None
    block = region.blocks[0]
    operations = [view.operation for view in block.operations]
    constraints = [x for x in operations if x.name == "sdy.sharding_constraint"]
    operations = [x for x in operations if x.name != "sdy.sharding_constraint"]
    if len(operations) != 2:
        return None
    operation, end = operations
    source = {x.results[0]: x.operands[0] for x in constraints}
    is_plain = (
        list(operation.operands) == list(block.arguments)
        and [source.get(x, x) for x in end.operands] == list(operation.results)
        and not len(operation.attributes)
        and not len(operation.regions)
    )
    return str(operation.name) if is_plain else None


def emitted_region(scalars: Any, emit: Any) -> Any:
    """Return the region whose arguments have the types `scalars`, and that returns `emit(*args)`.

    The result is an operation whose only region it is, and which keeps the region alive.
    """
    ir = mlir.ir
    types = [mlir.tensor_type(a) for a in scalars]
    unknown = ir.Location.unknown(mlir.context())
    with mlir.context(), unknown:
        holder = ir.Operation.create("builtin.module", regions=1)
        block = holder.regions[0].blocks.append(*types, arg_locs=[unknown] * len(types))
        with ir.InsertionPoint(block):
            mlir.op("stablehlo.return", (), emit(*block.arguments))
    return holder
