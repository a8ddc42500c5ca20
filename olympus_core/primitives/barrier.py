"""Optimization barriers: identities that the compiler moves no operation across."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base.avals import ShapedArray
from olympus_core.ir.axis_orders import Order, Reordered
from olympus_core.ir.olympuspr import Eqn
from olympus_core.ir.primitive import Avals, Batched, MultipleResults
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class OptimizationBarrier(MultipleResults):
    """Return the operands; all of them are computed before any of the results is used."""

    raised_from: tuple[str, ...] = ("stablehlo.optimization_barrier",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return avals

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        return avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        return list(mlir.op("stablehlo.optimization_barrier", types, operands).results)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands)

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return operands

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals), self._through(tangents)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return self._through(cotangent)

    def _through(self, values: Sequence[Any]) -> list[Any]:
        """Return the values that are not None, behind a separate barrier."""
        passed = iter(self.bind(*(v for v in values if v is not None)))
        return [None if v is None else next(passed) for v in values]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*args), dims

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        return Reordered(params, tuple(orders), tuple(orders))


optimization_barrier_p = OptimizationBarrier("optimization_barrier")
