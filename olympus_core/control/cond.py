"""`cond`: one of several programs runs, chosen by an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_core import mlir
from olympus_core.avals import ShapedArray
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitive import Primitive

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["cond_p"]


class Cond(Primitive):
    """`branches[index](*operands)`; the first operand is the index, in range, as int32."""

    multiple_results = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        branches: tuple[Olympuspr, ...] = params["branches"]
        return tuple(
            a.update(weak_type=all(b.out_avals[i].weak_type for b in branches))
            for i, a in enumerate(branches[0].out_avals)
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        branches: tuple[Olympuspr, ...] = params["branches"]
        index, *captured = operands
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        made = mlir.op("stablehlo.case", types, (index,), regions=len(branches))
        for region, branch in zip(made.regions, branches, strict=True):
            ctx.region(region, branch, captured)
        return list(made.results)


cond_p = Cond("cond")
