"""The call of a nested program: what a `jit` inside a traced function becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_core.avals import ShapedArray
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitive import Primitive

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["PRIMITIVES", "jit_p"]


class Call(Primitive):
    """Calls `olympuspr`; lowered as a function of its own, shared by equal programs."""

    multiple_results = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        program: Olympuspr = params["olympuspr"]
        return program.out_avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return ctx.call(params["olympuspr"], params["name"], operands)


jit_p = Call("jit")

PRIMITIVES: tuple[Primitive, ...] = (jit_p,)
