"""`scan`: a program folds over the leading axes of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.array import to_numpy
from olympus_core.avals import ShapedArray
from olympus_core.control import scan_rules as rules
from olympus_core.control.scan_loop import Loop
from olympus_core.olympuspr import Eqn, Olympuspr
from olympus_core.primitive import Batched, Primitive, Split
from olympus_core.transforms.evaluate import evaluate

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["scan_p"]


class Scan(Primitive):
    """Folds `olympuspr`: (consts, carry, x) -> (carry, y) over the leading axes of the xs.

    Operands are consts, initial carry and xs, `num_consts` and `num_carry` of the first two;
    results are the final carry and the ys, stacked.  `unroll` iterations run in one of the loop.
    """

    multiple_results = True
    higher_order: ClassVar[bool] = True
    has_programs: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        body: Olympuspr = params["olympuspr"]
        n = params["num_carry"]
        carry, ys = body.out_avals[:n], body.out_avals[n:]
        return (*carry, *(y.update(shape=(params["length"], *y.shape)) for y in ys))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return Loop(ctx, params).lower(list(operands))

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        a, n = params["num_consts"], params["num_carry"]
        consts, carry, xs = args[:a], list(args[a : a + n]), [to_numpy(x) for x in args[a + n :]]
        places = range(params["length"])
        for i in reversed(places) if params["reverse"] else places:
            carry = evaluate(params["olympuspr"], [*consts, *carry, *(x[i] for x in xs)])[:n]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return rules.jvp(self, primals, tangents, params)

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], Sequence[int | None]]:
        return rules.batch(self, batched, args, dims, params)

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return rules.prune(eqn, used)

    def split(self, unknown: tuple[bool, ...], **params: Any) -> Split | None:
        return rules.split(self, unknown, params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        return rules.transpose(self, cotangent, operands, params)


scan_p = Scan("scan")
