"""`while`: a program repeats for as long as another says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_core import mlir
from olympus_core.avals import ShapedArray
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitive import Primitive

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["while_p"]


class While(Primitive):
    """`while cond(*cond_consts, *carry): carry = body(*body_consts, *carry)`."""

    multiple_results = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        body: Olympuspr = params["body_olympuspr"]
        return body.out_avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = operands[:n_cond], operands[n_cond : n_cond + n_body]
        carry = operands[n_cond + n_body :]
        made = mlir.op("stablehlo.while", [v.type for v in carry], carry, regions=2)
        ctx.region(made.regions[0], params["cond_olympuspr"], cond_consts)
        ctx.region(made.regions[1], params["body_olympuspr"], body_consts)
        return list(made.results)


while_p = While("while")
