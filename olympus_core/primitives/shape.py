"""Shape primitives: they move elements, and compute none.

An array enters; its elements leave in another arrangement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core import mlir
from olympus_core.avals import Shape, ShapedArray
from olympus_core.errors import ShapeError
from olympus_core.olympuspr import Literal
from olympus_core.primitive import Primitive

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["PRIMITIVES", "broadcast_in_dim_p", "reshape_p"]


class BroadcastInDim(Primitive):
    """To `shape`: axis i of the operand becomes axis `broadcast_dimensions[i]`, or repeats."""

    takes_literals: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        shape: Shape = params["shape"]
        dims: tuple[int, ...] = params["broadcast_dimensions"]
        fits = len(dims) == x.ndim and all(
            0 <= d < len(shape) and n in (1, shape[d]) for d, n in zip(dims, x.shape, strict=False)
        )
        if not fits or list(dims) != sorted(set(dims)):
            raise ShapeError(
                f"broadcast_in_dim cannot take {x.short_name()} to shape {shape} by axes {dims}"
            )
        return x.update(shape=shape)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, (x,) = ctx.aval_out, operands
        if isinstance(x, Literal):
            return ctx.constant(x, out.shape)
        return mlir.broadcast(x, out, params["broadcast_dimensions"])


class Reshape(Primitive):
    """The elements in row-major order at shape `new_sizes`; `dimensions` permutes them first."""

    takes_literals: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        out = x.update(shape=params["new_sizes"])
        if out.size != x.size:
            raise ShapeError(
                f"reshape of {x.short_name()} to {params['new_sizes']}: "
                f"{x.size} elements do not fill {out.size}"
            )
        return out

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, (x,) = ctx.aval_out, operands
        if isinstance(x, Literal):
            return ctx.constant(x, out.shape)
        return x if ctx.avals_in[0].shape == out.shape else mlir.op1("stablehlo.reshape", out, (x,))


broadcast_in_dim_p = BroadcastInDim("broadcast_in_dim")
reshape_p = Reshape("reshape")

PRIMITIVES: tuple[Primitive, ...] = (broadcast_in_dim_p, reshape_p)
