"""A rewrite of slices of an argument that products read, so that XLA generates code for one.

XLA's compiler for CPUs copies such a slice, by a kernel that has the position of the slice in it:
`x @ w[0]`, `x @ w[1]`, ... take 13 ms each to compile. With the position as an operand of the
kernel, the kernels are equal, and XLA generates code for equal kernels once. The elements that are
copied are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.ir.olympuspr import Olympuspr, once_per_program, sub_programs
from olympus_core.lowering.slice_operands import share_operands
from olympus_core.lowering.slice_positions import (
    Positions,
    dynamic_slice,
    integers,
    is_unit_slice,
    owner_of,
)
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import functions_of

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_PRODUCTS = frozenset(["stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general"])
#: operations that XLA computes in the same kernel as the slice
_VIEWS = frozenset(
    f"stablehlo.{name}" for name in ("convert", "reshape", "slice", "transpose", "broadcast_in_dim")
)
#: primitives that are lowered to slices, one for each result
_SLICES = frozenset(["slice", "unstack"])
_LEAST = 2  # slices of one type for which one kernel is a gain


def share_slices(module: ir.Module) -> int:
    """Rewrite equal slices of arguments that products read; return the number of slices.

    The slices of one argument with one type that differ in their start along one axis become
    dynamic slices. `share_operands` rewrites slices that functions read in parts. The module may
    have any context.

    >>> share_slices(module)
    24
    """
    functions = functions_of(module)
    search = _Search(functions)
    positions = {name: Positions(f) for name, f in functions.items()}
    count = sum(_share(block, search, positions[name]) for name, block in search.bodies())
    return count + share_operands(module, functions, positions)


@once_per_program
def may_share_slices(program: Olympuspr) -> bool:
    """Return True if a program has slices, also in nested programs, of which two may be equal.

    It is cheaper than the search of the module, which loads the classes of all operations.
    """
    slices = sum(len(e.outputs) for e in program.eqns if e.primitive.name in _SLICES)
    nested = [p for e in program.eqns if e.primitive.has_programs for p in sub_programs(e)]
    return slices >= _LEAST or any(map(may_share_slices, nested))


class _Search:
    """The search for slices that products read, in the functions of a module."""

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self.functions = functions
        #: True where a product reads an argument of a function, by its name and position
        self.known: dict[tuple[str, int], bool] = {}

    def bodies(self) -> Iterator[tuple[str, ir.Block]]:
        """Yield the names of the functions and their bodies."""
        for name, function in self.functions.items():
            for block in function.regions[0].blocks:
                yield name, block

    def groups(self, block: ir.Block) -> Iterator[tuple[int, list[ir.Operation]]]:
        """Yield each group of slices with the axis along which their starts differ."""
        for argument in block.arguments:
            kinds: dict[Any, list[ir.Operation]] = {}
            for use in argument.uses:
                owner = owner_of(use)
                if owner.name == "stablehlo.slice" and self._feeds_product(owner.result):
                    kinds.setdefault(owner.result.type, []).append(owner)
            for slices in kinds.values():
                axis = _only_axis(slices)
                if len(slices) >= _LEAST and axis is not None:
                    yield axis, slices[::-1]  # in the order of the program

    def _feeds_product(self, value: ir.Value) -> bool:
        """Return True if a product reads the value, or an array in another form of it."""
        pending = [value]  # not by recursion: a chain of views may be long
        while pending:
            for use in pending.pop().uses:
                owner = owner_of(use)
                if owner.name in _PRODUCTS:
                    return True
                if owner.name == "func.call" and self._is_factor(owner, use.operand_number):
                    return True
                if owner.name in _VIEWS:
                    pending.append(owner.result)
        return False

    def _is_factor(self, call: ir.Operation, position: int) -> bool:
        """Return True if a product of the function that is called reads an argument."""
        key = call.attributes["callee"].value, position
        if key not in self.known:
            self.known[key] = False
            blocks = self.functions[key[0]].regions[0].blocks
            if len(blocks):
                self.known[key] = self._feeds_product(blocks[0].arguments[position])
        return self.known[key]


def _only_axis(slices: Sequence[ir.Operation]) -> int | None:
    """Return the one axis along which the starts of slices differ; None for another form."""
    if not all(map(is_unit_slice, slices)):
        return None
    axes = [
        axis
        for axis, starts in enumerate(
            zip(*[integers(x, "start_indices") for x in slices], strict=True)
        )
        if len({*starts}) > 1
    ]
    return axes[0] if len(axes) == 1 else None


def _share(block: ir.Block, search: _Search, positions: Positions) -> int:
    """Rewrite the slices of arguments of a block."""
    groups = [*search.groups(block)]
    for axis, slices in groups:
        for operation in slices:
            _make_dynamic(operation, axis, positions)
    return sum(len(slices) for _, slices in groups)


def _make_dynamic(operation: ir.Operation, axis: int, positions: Positions) -> None:
    """Replace a slice by a dynamic slice, whose kernel has the start along `axis` as an operand."""
    starts = integers(operation, "start_indices")
    scalars = [
        positions.operand(n) if a == axis else positions.plain(n) for a, n in enumerate(starts)
    ]
    result = operation.result
    with operation.context, mlir.ir.InsertionPoint(operation), operation.location:
        new = dynamic_slice(operation.operands[0], scalars, result.type)
    result.replace_all_uses_with(new)
    operation.erase()
