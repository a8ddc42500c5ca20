"""A rewrite of slices of an argument that products read, so that XLA generates code for one.

XLA's compiler for CPUs copies such a slice, by a kernel that has the position of the slice in it:
`x @ w[0]`, `x @ w[1]`, ... take 13 ms each to compile. With the position as an operand of the
kernel, the kernels are equal, and XLA generates code for equal kernels once. The elements that are
copied are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.ir.olympuspr import Olympuspr, once_per_program, sub_programs
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_PRODUCTS = frozenset(["stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general"])
#: operations that XLA computes in the same kernel as the slice
_VIEWS = frozenset(
    f"stablehlo.{name}" for name in ("convert", "reshape", "slice", "transpose", "broadcast_in_dim")
)
_LEAST = 2  # slices of one type for which one kernel is a gain


def share_slices(module: ir.Module) -> int:
    """Rewrite equal slices of arguments that products read; return the number of slices.

    The slices of one argument with one type that differ in their start along one axis become
    dynamic slices. The module may have any context.

    >>> share_slices(module)
    24
    """
    functions = {
        view.operation.attributes["sym_name"].value: view.operation
        for view in module.body.operations
        if view.operation.name == "func.func"
    }
    search = _Search(functions)
    return sum(_share(block, search) for block in search.bodies())


@once_per_program
def may_share_slices(program: Olympuspr) -> bool:
    """Return True if a program has slices, also in nested programs, of which two may be equal.

    It is cheaper than the search of the module, which loads the classes of all operations.
    """
    slices = sum(e.primitive.name == "slice" for e in program.eqns)
    nested = [p for e in program.eqns if e.primitive.has_programs for p in sub_programs(e)]
    return slices >= _LEAST or any(map(may_share_slices, nested))


class _Search:
    """The search for slices that products read, in the functions of a module."""

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self.functions = functions
        #: True where a product reads an argument of a function, by its name and position
        self.known: dict[tuple[str, int], bool] = {}

    def bodies(self) -> Iterator[ir.Block]:
        """Yield the bodies of the functions."""
        for function in self.functions.values():
            yield from function.regions[0].blocks

    def groups(self, block: ir.Block) -> Iterator[tuple[int, list[ir.Operation]]]:
        """Yield each group of slices with the axis along which their starts differ."""
        for argument in block.arguments:
            kinds: dict[Any, list[ir.Operation]] = {}
            for use in argument.uses:
                owner = _owner(use)
                if owner.name == "stablehlo.slice" and self._feeds_product(owner.result):
                    kinds.setdefault(owner.result.type, []).append(owner)
            for slices in kinds.values():
                axis = _only_axis(slices)
                if len(slices) >= _LEAST and axis is not None:
                    yield axis, slices[::-1]  # in the order of the program

    def _feeds_product(self, value: ir.Value) -> bool:
        """Return True if a product reads the value, or an array in another form of it."""
        for use in value.uses:
            owner = _owner(use)
            if owner.name in _PRODUCTS:
                return True
            if owner.name in _VIEWS and self._feeds_product(owner.result):
                return True
            if owner.name == "func.call" and self._is_factor(owner, use.operand_number):
                return True
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


def _owner(use: ir.OpOperand) -> ir.Operation:
    return use.owner.operation


def _only_axis(slices: Sequence[ir.Operation]) -> int | None:
    """Return the one axis along which the starts of slices differ; None for another form."""
    if any(set(_ints(x, "strides")) - {1} for x in slices):
        return None
    axes = [
        axis
        for axis, starts in enumerate(
            zip(*[_ints(x, "start_indices") for x in slices], strict=True)
        )
        if len({*starts}) > 1
    ]
    return axes[0] if len(axes) == 1 else None


def _ints(operation: ir.Operation, name: str) -> list[int]:
    return [*operation.attributes[name]]


def _share(block: ir.Block, search: _Search) -> int:
    """Rewrite the slices of arguments of a block."""
    groups = [*search.groups(block)]
    if groups:
        positions = _Positions(block)
        for axis, slices in groups:
            for operation in slices:
                _make_dynamic(operation, axis, positions)
    return sum(len(slices) for _, slices in groups)


def _make_dynamic(operation: ir.Operation, axis: int, positions: _Positions) -> None:
    """Replace a slice by a dynamic slice, whose kernel has the start along `axis` as an operand."""
    starts = _ints(operation, "start_indices")
    scalars = [
        positions.operand(n) if a == axis else positions.plain(n) for a, n in enumerate(starts)
    ]
    result = operation.result
    with operation.context, mlir.ir.InsertionPoint(operation), operation.location:
        sizes = {"slice_sizes": mlir.ir.DenseI64ArrayAttr.get(result.type.shape)}
        operands = [operation.operands[0], *scalars]
        new = mlir.op("stablehlo.dynamic_slice", [result.type], operands, sizes).result
    result.replace_all_uses_with(new)
    operation.erase()


class _Positions:
    """Scalars at the beginning of a block, each emitted once."""

    def __init__(self, block: ir.Block) -> None:
        self.block, self.location = block, block.owner.location
        self.plains: dict[int, ir.Value] = {}
        self.operands: dict[int, ir.Value] = {}

    def _beginning(self) -> ir.InsertionPoint:
        return mlir.ir.InsertionPoint.at_block_begin(self.block)

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
