"""Identities with a request to the compiler: metadata, a layout in memory, an equal sharding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base.avals import ShapedArray
from olympus_core.ir.primitive import (
    Avals,
    Batched,
    LinearPrimitive,
    MultipleResults,
    SingleResult,
    op,
)
from olympus_core.lowering.attributes import annotate_results
from olympus_core.lowering.layout_constraints import LAYOUT_TARGET, with_layout
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.layout import Layout

if TYPE_CHECKING:
    from olympus_core.ir.olympuspr import Eqn
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class ValueMetadata(LinearPrimitive, SingleResult):
    """Its operand, whose operation gets the attributes `annotations` for the compiler."""

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        return avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        annotate_results(operands[0], params["annotations"])
        return operands[0]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [cotangent]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(args[0], **params), dims[0]


class LayoutConstraint(LinearPrimitive, SingleResult):
    """Its operand, in the `layout` in memory."""

    chooses_layout = True
    raised_from: tuple[str, ...] = ("stablehlo.custom_call",)

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        return avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return with_layout(operands[0], params["layout"].major_to_minor)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        """Recognize a constraint, whose operand has the layout of its result."""
        if operation.text("call_target_name") != f'"{LAYOUT_TARGET}"':
            return None
        layouts = operation.text("result_layouts")
        if not layouts or operation.text("operand_layouts") != layouts:
            return None
        operation.attribute("backend_config")  # it has none
        fastest_first = [int(x) for x in operation.attribute("result_layouts")[0]]
        return self.bind(operands[0], layout=Layout(fastest_first[::-1]))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, **params)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim = dims[0] or 0
        layout: Layout = params["layout"]
        order = (dim, *[d + (d >= dim) for d in layout.major_to_minor])
        return self.bind(args[0], layout=layout.update(major_to_minor=order)), dim


class SameSharding(MultipleResults):
    """Its two operands, arrays of one shape, which the compiler shards in the same way."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return avals

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        return avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if ctx.module.num_partitions > 1 and (ctx.manual is None or not ctx.manual.is_whole):
            group = {"group_id": mlir.i64_attr(ctx.module.new_sharding_group())}
            for x in operands:
                mlir.op("sdy.sharding_group", (), (x,), group)
        return list(operands)

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return operands

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals), self._both(tangents)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return self._both(cotangent)

    def _both(self, values: Sequence[Any]) -> list[Any]:
        """Return two values, sharded alike if both are given."""
        return list(values) if any(v is None for v in values) else self.bind(*values)

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim = next(d for d in dims if d is not None)
        placed = [_with_axis(x, d, dim, batched.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*placed), [dim, dim]


def _with_axis(x: Any, at: int | None, dim: int, size: int) -> Any:
    """Return an array with its mapped axis at `dim`, which repeats it if `at` is None."""
    if at is None:
        shape = (*x.shape[:dim], size, *x.shape[dim:])
        own = tuple([d for d in range(len(shape)) if d != dim])
        return op.broadcast_in_dim(x, shape=shape, broadcast_dimensions=own)
    if at == dim:
        return x
    order = [d for d in range(x.ndim) if d != at]
    order.insert(dim, at)
    return op.transpose(x, permutation=tuple(order))


xla_metadata_value_p = ValueMetadata("xla_metadata_value")
layout_constraint_p = LayoutConstraint("layout_constraint")
same_sharding_p = SameSharding("shard_alike")
