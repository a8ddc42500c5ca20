"""A search for decompositions in a loop that compute the same in each iteration.

XLA moves such a call of LAPACK out of its loop, but not a loop that computes the decomposition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from olympus_core.execution.small_decompositions import decomposition_of
from olympus_core.mlir.regions import outer_values

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


def has_invariant_decomposition(loop: ir.Operation, functions: Mapping[str, ir.Operation]) -> bool:
    """Return True if a decomposition in a loop reads only values that the loop does not change.

    `functions` are those of the module, by name.

    >>> has_invariant_decomposition(loop, {})
    False
    """
    captured = {x for region in loop.regions for x in outer_values(region)}
    return _Search(functions).in_loop(loop, captured, [True] * len(loop.operands))


class _Search:
    """The search in a loop and in the functions that it calls."""

    def __init__(self, functions: Mapping[str, ir.Operation]) -> None:
        self.functions = functions
        #: by the name of a function and its invariant arguments: the invariant results, and whether
        #: it has an invariant decomposition
        self.known: dict[tuple[str, tuple[bool, ...]], tuple[list[bool], bool]] = {}

    def in_loop(
        self, loop: ir.Operation, invariant: set[ir.Value], is_first_invariant: Sequence[bool]
    ) -> bool:
        """Search the body of a loop, with the invariant values outside of it.

        A carried value is invariant if its first value is and the body returns it unchanged.
        """
        block = loop.regions[1].blocks[0]
        returned = block.operations[len(block.operations) - 1].operation.operands
        carried = zip(block.arguments, returned, is_first_invariant, strict=True)
        same = {argument for argument, end, is_first in carried if is_first and argument == end}
        return self._in_block(block, invariant | same)

    def _in_block(self, block: ir.Block, invariant: set[ir.Value]) -> bool:
        """Search a block, and add the invariant values in it to `invariant`."""
        found = False
        for view in block.operations:
            operation = view.operation
            is_invariant = [x in invariant for x in operation.operands]
            if operation.name == "func.call":
                results, inside = self._in_function(operation, tuple(is_invariant))
                found = found or inside
                invariant.update(x for x, i in zip(operation.results, results, strict=True) if i)
            elif operation.name == "stablehlo.while":
                found = self.in_loop(operation, invariant, is_invariant) or found
            elif len(operation.regions):
                regions = [*operation.regions]
                found = found or any(
                    self._in_block(b, invariant) for r in regions for b in r.blocks
                )
            elif all(is_invariant):
                found = found or decomposition_of(operation) is not None
                invariant.update(operation.results)
        return found

    def _in_function(
        self, call: ir.Operation, is_invariant: tuple[bool, ...]
    ) -> tuple[list[bool], bool]:
        key = call.attributes["callee"].value, is_invariant
        if key not in self.known:
            block = self.functions[key[0]].regions[0].blocks[0]
            invariant = {x for x, i in zip(block.arguments, is_invariant, strict=True) if i}
            found = self._in_block(block, invariant)
            returned = block.operations[len(block.operations) - 1].operation.operands
            self.known[key] = [x in invariant for x in returned], found
        return self.known[key]
