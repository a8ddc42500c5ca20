"""A rewrite of reductions of integers, so that XLA computes each one by one kernel.

XLA's compiler for CPUs computes a long reduction in steps of 32 elements, each a kernel, and first
writes the array that it reduces: four kernels where one is enough.  It does so for rounding, which
integers do not have.  It leaves reductions of several arrays as they are.  So this pass reduces the
array together with itself: each of two results combines the one so far with the element of the
other operand, so that XLA cannot remove one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.ir.olympuspr import Olympuspr, once_per_program, sub_programs
from olympus_core.lowering.attributes import FRONTEND_ATTRIBUTES
from olympus_core.lowering.slice_positions import integers
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import functions_of, operations_of

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: primitives that are lowered to reductions of integers, or of any type
_INTEGERS = frozenset(
    f"reduce_{name}" for name in ["sum", "prod", "max", "min", "and", "or", "xor"]
)
_ANY = frozenset(["argmax", "argmin", "reduce"])
_COMBINERS = frozenset(
    f"stablehlo.{name}" for name in ["add", "and", "maximum", "minimum", "multiply", "or", "xor"]
)
_EXTREMA = frozenset(["stablehlo.maximum", "stablehlo.minimum"])
_WIDTHS = frozenset([1, 8, 16, 32, 64])
#: bits of the integers whose extrema XLA leaves to a library, which rounds the floats that are
#: converted to them in the same kernel. The conversion cuts them.
_ROUNDED = 8
#: elements along an axis that XLA reduces in one step
_STEP = 32
#: elements of one result that one thread reduces faster than all threads do in steps, and the
#: number of results from which on each thread has some of its own
_MANY, _RESULTS = 2**17, 64


def join_reductions(module: ir.Module) -> int:
    """Rewrite the long reductions of integers of a module; return their number.

    Those in a call with attributes stay: in a loop that is compiled to one function, joint
    reductions may be slower. The module may have any context.

    >>> join_reductions(module)
    1
    """
    functions = functions_of(module)
    joined = [x for x in _reductions(functions, "main") if _is_better_jointly(x)]
    for operation in joined:
        _join(operation)
    return len(joined)


@once_per_program
def may_join_reductions(program: Olympuspr) -> bool:
    """Return True if a program has reductions of integers, also in nested programs.

    It is cheaper than the search of the module, which loads the classes of all operations.
    """
    for eqn in program.eqns:
        name = eqn.primitive.name
        if name in _ANY or (name in _INTEGERS and dtypes.kind(eqn.invars[0].aval.dtype) in "bui"):
            return True
        if eqn.primitive.has_programs and any(map(may_join_reductions, sub_programs(eqn))):
            return True
    return False


def _reductions(functions: dict[str, ir.Operation], entry: str) -> Iterator[ir.Operation]:
    """Yield the reductions of a function and of those it calls and the compiler inlines."""
    names, pending = {entry}, [functions[entry]]
    while pending:
        for operation in operations_of(pending.pop()):
            if operation.name == "stablehlo.reduce":
                yield operation
            elif operation.name == "func.call":
                callee = operation.attributes["callee"].value
                if callee not in names and FRONTEND_ATTRIBUTES not in operation.attributes:
                    names.add(callee)
                    pending.append(functions[callee])


def _is_better_jointly(operation: ir.Operation) -> bool:
    """Return True if XLA reduces the array in steps, and that is no gain, or if it rounds.

    The steps are a gain along other axes than the last, where one kernel reads elements that are
    far apart.
    """
    kind: Any = operation.operands[0].type
    combiner = _combiner(operation)
    if len(operation.operands) != 2 or combiner is None or not kind.has_static_shape:
        return False
    element = kind.element_type
    if not isinstance(element, mlir.ir.IntegerType) or element.width not in _WIDTHS:
        return False
    axes, sizes = {*integers(operation, "dimensions")}, [*kind.shape]
    reduced = math.prod(sizes[i] for i in axes)
    if not axes or not math.prod(sizes):
        return False
    if element.width == _ROUNDED and combiner.name in _EXTREMA:
        return True
    last = max((i for i, n in enumerate(sizes) if n > 1), default=-1)
    is_stepped = last in axes and any(sizes[i] > _STEP for i in axes)
    return is_stepped and (reduced <= _MANY or math.prod(sizes) >= _RESULTS * reduced)


def _combiner(operation: ir.Operation) -> ir.Operation | None:
    """Return the one operation by which a reduction combines two elements; None for several."""
    blocks = [*operation.regions[0].blocks]
    inner = [view.operation for view in blocks[0].operations]
    if len(blocks) != 1 or len(inner) != 2 or inner[0].name not in _COMBINERS:
        return None
    is_used = [*inner[1].operands] == [*inner[0].results]
    return inner[0] if is_used and {*inner[0].operands} == {*blocks[0].arguments} else None


def _join(operation: ir.Operation) -> None:
    """Replace the reduction of an array by that of the array and itself."""
    ir = mlir.ir
    combiner = _combiner(operation)
    assert combiner is not None
    array, start = operation.operands
    result = operation.result
    dimensions = {"dimensions": operation.attributes["dimensions"]}
    with operation.context, operation.location:
        with ir.InsertionPoint(operation):
            types, operands = [result.type] * 2, [array, array, start, start]
            joint = mlir.op("stablehlo.reduce", types, operands, dimensions, regions=1)
        scalars = [start.type] * 4
        locations = [operation.location] * len(scalars)
        block = joint.regions[0].blocks.append(*scalars, arg_locs=locations)
        one, two, first, second = block.arguments
        with ir.InsertionPoint(block):
            combined = [
                mlir.op(combiner.name, [start.type], pair).result
                for pair in ((one, second), (two, first))
            ]
            mlir.op("stablehlo.return", (), combined)
    result.replace_all_uses_with(joint.results[0])
    operation.erase()
