"""Constraints on where the compiler puts a value of a program of several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core import mlir
from olympus_core.avals import ShapedArray
from olympus_core.errors import TransformError
from olympus_core.primitive import Batched, LinearPrimitive, SingleResult
from olympus_core.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["sharding_constraint_p"]


class ShardingConstraint(LinearPrimitive, SingleResult):
    """Its operand, with the sharding `sharding`."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        sharding: Sharding = params["sharding"]
        sharding.tiling_of(avals[0].shape, f"an array {avals[0].long_name()}")
        return avals[0]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        attribute = ctx.meshes.attribute(params["sharding"], ctx.aval_out.shape)
        if attribute is None:
            return operands[0]
        return mlir.op1("sdy.sharding_constraint", ctx.aval_out, operands, {"sharding": attribute})

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, **params)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(args[0], sharding=_with_axis(params["sharding"], dims[0] or 0)), dims[0]


def _with_axis(sharding: Sharding, axis: int) -> Sharding:
    """The sharding of an array with one more axis, which is left to the compiler."""
    if isinstance(sharding, SingleDeviceSharding):
        return sharding
    if not isinstance(sharding, NamedSharding):
        raise TransformError(f"vmap has no rule for a constraint to {sharding!r}")
    entries = [*sharding.spec, *[None] * (axis - len(sharding.spec))]
    entries.insert(axis, PartitionSpec.UNCONSTRAINED)
    return NamedSharding(sharding.mesh, PartitionSpec(*entries))


sharding_constraint_p = ShardingConstraint("sharding_constraint")
