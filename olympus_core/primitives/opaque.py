"""`opaque`: an operation of StableHLO without a primitive, lowered to itself."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import TransformError
from olympus_core.ir.primitive import MultipleResults
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.linalg.portable.lapack_calls import without_lapack

if TYPE_CHECKING:
    from olympus_core.ir.olympuspr import Eqn
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir


#: operations whose results differ between the devices of a program
_OF_DEVICES = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("all_gather", "all_reduce", "all_to_all", "collective_broadcast"),
        *("collective_permute", "partition_id", "reduce_scatter"),
    )
)


class Opaque(MultipleResults):
    """The operation called `operation`, whose results have the types `results`.

    `module` is the text of a module with one function that has the operands as arguments and the
    operation as its body.  The operands after the operation's own are the values that its regions
    use.
    """

    has_fixed_dtypes: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        results: tuple[ShapedArray, ...] = params["results"]
        return results

    def spoken(self, params: dict[str, Any]) -> str:
        return str(params["operation"])

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        if eqn.params["operation"] in _OF_DEVICES:
            return [agreement.several] * len(eqn.outputs)
        return super().differing(agreement, eqn, operands)

    def _missing(self, method: str, purpose: str) -> NoReturn:
        raise TransformError(
            f"an operation read from StableHLO that no primitive recognizes cannot be {purpose}",
            hint="differentiate or batch the program in the tool that wrote the StableHLO",
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        block = _body(params["module"]).regions[0].blocks[0]
        # the operands and results have other floats in a program that is evaluated in float64
        converted = [_converted(x, a.type) for x, a in zip(operands, block.arguments, strict=True)]
        computed = without_lapack(ctx, block.operations[0].operation, operands)
        if computed is not None:
            return computed
        operation = block.operations[0].operation.clone()
        operation.location = mlir.ir.Location.current
        _read(operation, dict(zip(block.arguments, converted, strict=True)))
        types = map(mlir.tensor_type, ctx.avals_out)
        return [_converted(x, kind) for x, kind in zip(operation.results, types, strict=True)]


def _converted(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    return mlir.op("stablehlo.convert", (kind,), (value,)).results[0]


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> ir.Module:
    return mlir.parsed(text)


def _body(text: str) -> ir.Operation:
    return _parsed(text).body.operations[0].operation


def _read(operation: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    """Replace operands of an operation, also inside its regions."""
    for i, x in enumerate(operation.operands):
        if x in values:
            operation.operands[i] = values[x]
    for region in operation.regions:
        for block in region.blocks:
            for view in block.operations:
                _read(view.operation, values)


def opaque(
    operation: ir.Operation,
    operands: Sequence[Any],
    inner: Sequence[ir.Value],
    results: tuple[ShapedArray, ...],
) -> list[Any]:
    """Bind the primitive for an operation with `results` of these types.

    `inner` are the outer values that its regions use, and `operands` the values of its operands
    and then of these.
    """
    ir = mlir.ir
    values = [*operation.operands, *inner]
    unknown = ir.Location.unknown(mlir.context())
    with mlir.context(), unknown:
        module = ir.Module.create()
        types = [x.type for x in values], [x.type for x in operation.results]
        with ir.InsertionPoint(module.body):
            function = mlir.func.FuncOp("f", ir.FunctionType.get(*types))
        block = function.add_entry_block([unknown] * len(values))
        with ir.InsertionPoint(block):
            copy = operation.clone()
            for i, x in enumerate(block.arguments[: len(operation.operands)]):
                copy.operands[i] = x
            outside = dict(zip(inner, block.arguments[len(operation.operands) :], strict=True))
            for region in copy.regions:
                for inside in region.blocks:
                    for view in inside.operations:
                        _read(view.operation, outside)
            mlir.op("func.return", (), copy.results)
        text = module.operation.get_asm(enable_debug_info=False)
    return opaque_p.bind(*operands, module=text, operation=str(operation.name), results=results)


opaque_p = Opaque("opaque")
