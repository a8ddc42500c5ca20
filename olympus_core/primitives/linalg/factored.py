"""Solutions of linear systems whose matrices have been factorized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from olympus_core.base.avals import ShapedArray, shape_of
from olympus_core.base.errors import ShapeError
from olympus_core.ir.primitive import Batched, SingleResult, op
from olympus_core.primitives.linalg.algebra import dot
from olympus_core.primitives.linalg.base import MatrixPrimitive, check_square
from olympus_core.primitives.linalg.triangular import triangular_solve_p, with_more_columns

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class TriangularStep(NamedTuple):
    """The solution with one of the triangles in the matrix of factors."""

    lower: bool
    transpose: bool = False
    conjugate: bool = False
    unit: bool = False

    def options(self) -> dict[str, bool]:
        """Return the parameters of `triangular_solve`."""
        return {
            "left_side": True,
            "lower": self.lower,
            "transpose_a": self.transpose,
            "conjugate_a": self.conjugate,
            "unit_diagonal": self.unit,
        }


#: for a = L U, as `lu` gives the factors, and for a = L L^H
_STEPS = {
    "lu": (TriangularStep(lower=True, unit=True), TriangularStep(lower=False)),
    "cholesky": (
        TriangularStep(lower=True),
        TriangularStep(lower=True, transpose=True, conjugate=True),
    ),
}


class FactoredSolve(MatrixPrimitive, SingleResult):
    """x with op(a) x = b, by triangular solutions with a's factors; op may be a transpose.

    The factors are the result of the primitive named `by` for `a`, with rows in their new order.
    The derivative is the derivative of the equation, not of the factorization: tangents, cotangents
    and their derivatives reuse the factors.
    """

    ranks: ClassVar[tuple[int, ...]] = (2, 2, 2)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        a, factors, b = avals
        self.batch_shape(avals)
        self.check_dtypes(*avals)
        check_square(self.name, a)
        if factors.shape != a.shape or b.shape[-2] != a.shape[-1]:
            text = ", ".join(x.long_name() for x in avals)
            raise ShapeError(f"{self.name} needs shapes (m, m), (m, m) and (m, n), and got {text}")
        return b.strip_weak()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        _, factors, x = operands
        outer = ctx.avals_in
        ctx.avals_in = outer[1:]
        for step in self._steps(**params):
            x = triangular_solve_p.lower(ctx, factors, x, **step.options())
        ctx.avals_in = outer
        return x

    @staticmethod
    def _steps(by: str, transpose_a: bool) -> tuple[TriangularStep, ...]:
        steps = _STEPS[by]
        if not transpose_a:
            return steps
        return tuple([s._replace(transpose=not s.transpose) for s in reversed(steps)])

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """dx = op(a)^-1 (db - op(da) x)."""
        (a, factors, b), (da, _, db) = primals, tangents
        x = self.bind(a, factors, b, **params)
        if da is None and db is None:
            return x, None
        if da is not None:
            product = dot(da, x, swap_a=params["transpose_a"])
            db = op.neg(product) if db is None else op.sub(db, product)
        return x, self.bind(a, factors, db, **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        a, factors, _ = operands
        flipped = params | {"transpose_a": not params["transpose_a"]}
        return [None, None, self.bind(a, factors, cotangent, **flipped)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        a, factors, b = args
        if dims[0] is None and dims[1] is None:
            return with_more_columns(
                lambda x: self.bind(a, factors, x, **params), b, dims[2] or 0, len(shape_of(b)) - 1
            )
        return super().batch(batched, args, dims, **params)


factored_solve_p = FactoredSolve("factored_solve")
