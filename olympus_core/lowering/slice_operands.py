"""A rewrite of calls with slices of arrays, so that XLA generates code for one of the calls.

A sum over the elements of a depthwise kernel is a function that reads parts of the kernel. Where
it is called with `w[0]`, `w[1]`, ..., XLA inlines the calls and fuses the slices, and the kernels
of the calls differ in the position: each takes 30 ms to compile for 3 x 3 elements. The rewritten
function takes `w` and the position as operands, so that the kernels are equal. It reads each part
by a dynamic slice. XLA would compute one dynamic slice for all parts by a function, whose position
is read again for each element: the sums then take three times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from olympus_core.lowering.slice_positions import (
    Positions,
    dynamic_slice,
    integers,
    is_unit_slice,
    owner_of,
)
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_LEAST = 3  # of two, the second often has another kernel because of what follows it


class _Slice(NamedTuple):
    """An operand of a call: element `start` of `axis` of an array, without that axis.

    `starts` are the starts along all axes, with 0 for this one.
    """

    whole: ir.Value
    axis: int
    start: int
    starts: tuple[int, ...]


#: the sliced operands of a call, by their positions
_Operands = dict[int, _Slice]


class _Call(NamedTuple):
    """The name of the function that has a call, and the sliced operands of the call."""

    caller: str
    operands: _Operands


def share_operands(
    module: ir.Module, functions: dict[str, ir.Operation], positions: dict[str, Positions]
) -> int:
    """Rewrite calls with slices of arguments that functions read in parts; return their number.

    `functions` are those of the module by name, and `positions` the positions in each of them.
    The module needs no context.

    >>> share_operands(module, functions, positions)
    4
    """
    partial = {name: parts for name, f in functions.items() if (parts := _read_in_parts(f))}
    if not partial:
        return 0
    calls: dict[ir.Operation, _Call] = {}
    for caller, function in functions.items():
        for block in function.regions[0].blocks:
            for call, number, operand in _sliced_operands(block):
                if number in partial.get(_callee(call), ()):
                    calls.setdefault(call, _Call(caller, {})).operands[number] = operand
    groups: dict[object, list[tuple[ir.Operation, _Call]]] = {}
    for call, sliced in calls.items():
        operands = sorted(sliced.operands.items())
        kind = [(n, x.whole.type, x.axis, x.starts) for n, x in operands]
        groups.setdefault((_callee(call), *kind), []).append((call, sliced))
    count, table = 0, mlir.ir.SymbolTable(module.operation)
    for group in groups.values():
        if len(group) >= _LEAST:
            call, sliced = group[0]
            function = _with_positions(functions[_callee(call)], sliced.operands)
            symbol = table.insert(function)  # which gives it another name
            for call, sliced in group:
                _replace(call, sliced.operands, symbol, positions[sliced.caller])
            count += len(group)
    if count:
        mlir.remove_unused_functions(module)
    return count


def _callee(call: ir.Operation) -> str:
    name: str = call.attributes["callee"].value
    return name


def _read_in_parts(function: ir.Operation) -> set[int]:
    """Return the positions of the arguments of a private function that only slices read."""
    attributes, blocks = function.attributes, function.regions[0].blocks
    is_private = "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
    if not is_private or not len(blocks) or "arg_attrs" in attributes:
        return set()
    return {
        number
        for number, argument in enumerate(blocks[0].arguments)
        if _is_read(argument) and all(is_unit_slice(owner_of(use)) for use in argument.uses)
    }


def _is_read(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


def _sliced_operands(block: ir.Block) -> Iterator[tuple[ir.Operation, int, _Slice]]:
    """Yield the calls whose operands are slices of arguments of the block, with the positions.

    Calls in loops and branches are left: a loop would read the positions in each iteration.
    """
    for argument in block.arguments:
        for cut in filter(is_unit_slice, map(owner_of, argument.uses)):
            for reshape in map(owner_of, cut.result.uses):
                operand = _slice(argument, cut, reshape)
                if operand is None:
                    continue
                for use in reshape.result.uses:
                    call = owner_of(use)
                    if call.name == "func.call" and call.block == block:
                        yield call, use.operand_number, operand


def _slice(whole: ir.Value, cut: ir.Operation, reshape: ir.Operation) -> _Slice | None:
    """Return the operand that is a slice without one of its axes; None for another form."""
    if reshape.name != "stablehlo.reshape":
        return None
    sizes, shape = cut.result.type.shape, reshape.result.type.shape
    for axis, (size, n) in enumerate(zip(sizes, whole.type.shape, strict=True)):
        if size == 1 < n and [*sizes[:axis], *sizes[axis + 1 :]] == [*shape]:
            starts = integers(cut, "start_indices")
            rest = (*starts[:axis], 0, *starts[axis + 1 :])
            return _Slice(whole, axis, starts[axis], rest)
    return None


def _with_positions(function: ir.Operation, operands: _Operands) -> ir.Operation:
    """Return a copy of a function that takes arrays and positions in place of slices."""
    ir = mlir.ir
    copy = function.clone(ir.InsertionPoint(function)).operation
    block, constants = copy.regions[0].blocks[0], Positions(copy)
    with copy.context, copy.location:
        integer = ir.RankedTensorType.get([], ir.IntegerType.get_signless(64))
        for number, operand in sorted(operands.items()):
            argument = block.arguments[number]
            position = block.add_argument(integer, argument.location)
            argument.set_type(operand.whole.type)
            for part in [owner_of(use) for use in argument.uses]:
                _read_part(part, operand, position, constants)
        results = copy.attributes["function_type"].value.results
        signature = ir.FunctionType.get([x.type for x in block.arguments], results)
        copy.attributes["function_type"] = ir.TypeAttr.get(signature)
    return copy


def _read_part(
    part: ir.Operation, operand: _Slice, position: ir.Value, constants: Positions
) -> None:
    """Replace a slice of a slice by a dynamic slice of the whole array, which it now reads."""
    axis, ir, result = operand.axis, mlir.ir, part.result
    own, sizes = integers(part, "start_indices"), [*result.type.shape]
    own.insert(axis, 0)
    sizes.insert(axis, 1)
    starts = [
        position if a == axis else constants.plain(n + operand.starts[a]) for a, n in enumerate(own)
    ]
    with part.context, ir.InsertionPoint(part), part.location:
        with_axis = ir.RankedTensorType.get(sizes, result.type.element_type)
        value = dynamic_slice(part.operands[0], starts, with_axis)
        new = mlir.op("stablehlo.reshape", [result.type], [value]).result
    result.replace_all_uses_with(new)
    part.erase()


def _replace(
    call: ir.Operation, operands: _Operands, symbol: ir.StringAttr, positions: Positions
) -> None:
    """Replace a call by one of a function that takes arrays and positions."""
    ir, values = mlir.ir, [*call.operands]
    slices = {values[number] for number in operands}  # one may be several operands
    for number, operand in sorted(operands.items()):
        values[number] = operand.whole
        values.append(positions.operand(operand.start))
    with call.context, ir.InsertionPoint(call), call.location:
        callee = {"callee": ir.FlatSymbolRefAttr.get(symbol.value)}
        new = mlir.op("func.call", [x.type for x in call.results], values, callee)
    for old, result in zip(call.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    call.erase()
    for reshaped in slices:
        cut = reshaped.owner.operands[0]
        for value in (reshaped, cut):
            if not _is_read(value):
                value.owner.erase()
