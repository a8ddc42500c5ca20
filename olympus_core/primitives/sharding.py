"""Constraints on the sharding of a value in a program for several devices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import source
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ShardingError, TransformError
from olympus_core.ir.primitive import Batched, LinearPrimitive, SingleResult
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.sharding import (
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class ShardingConstraint(LinearPrimitive, SingleResult):
    """Its operand, with the sharding `sharding`."""

    raised_from: tuple[str, ...] = ("sdy.sharding_constraint",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        sharding: Sharding = params["sharding"]
        sharding.tiling_of(avals[0].shape, f"an array {avals[0].long_name()}")
        return avals[0]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        sharding = params["sharding"]
        if ctx.manual is not None:
            refuse_manual(sharding, ctx.manual.names)
            if len(ctx.manual.names) == len(ctx.manual.mesh.axis_names):
                return operands[0]  # each device has its own value, which needs no placement
        attribute = ctx.meshes.attribute(sharding, ctx.aval_out.shape)
        if attribute is None:
            return operands[0]
        return mlir.op1("sdy.sharding_constraint", ctx.aval_out, operands, {"sharding": attribute})

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        sharding = operation.sharding("sharding")
        manual = operation.manual
        if sharding is None or (manual is not None and manual.is_whole):
            return operands[0]
        if all(x is PartitionSpec.UNCONSTRAINED for x in sharding.spec) and manual is not None:
            return operands[0]  # JAX writes one after each operation of a manual computation
        return self.bind(operands[0], sharding=sharding)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, **params)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(args[0], sharding=_with_axis(params["sharding"], dims[0] or 0)), dims[0]


def refuse_manual(sharding: Sharding, manual: Collection[Any]) -> None:
    """Raise ShardingError for a sharding along an axis that a surrounding `shard_map` maps over.

    Otherwise the compiler would end the process.
    """
    if not isinstance(sharding, NamedSharding):
        return
    named = [name for d in range(len(sharding.spec)) for name in sharding.spec.axes(d)]
    if wrong := [name for name in named if name in manual]:
        raise ShardingError(
            f"a constraint to {sharding.spec} names the axis {wrong[0]!r}, which shard_map maps "
            f"over here: each device has its own value{source.current_location().place()}",
            hint="name the other axes of the mesh alone",
        )


def _with_axis(sharding: Sharding, axis: int) -> Sharding:
    """Return the sharding of an array with one more axis, which is left to the compiler."""
    if isinstance(sharding, SingleDeviceSharding):
        return sharding
    if not isinstance(sharding, NamedSharding):
        raise TransformError(f"vmap has no rule for a constraint to {sharding!r}")
    entries = [*sharding.spec, *[None] * (axis - len(sharding.spec))]
    entries.insert(axis, PartitionSpec.UNCONSTRAINED)
    return NamedSharding(sharding.mesh, PartitionSpec(*entries))


sharding_constraint_p = ShardingConstraint("sharding_constraint")
