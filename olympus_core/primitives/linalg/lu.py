"""The LU decomposition with partial pivoting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.dimensions.expression import min_dim
from olympus_core.ir.primitive import MultipleResults, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.linalg.algebra import block, dot, join, solve, take_rows, triangle
from olympus_core.primitives.linalg.base import (
    INT32,
    MatrixPrimitive,
    emit_or_nan,
    lapack,
    status,
    succeeded,
)
from olympus_core.primitives.linalg.permutation import emit_permutation
from olympus_core.primitives.linalg.portable.lu import lu

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class LU(MatrixPrimitive, MultipleResults):
    """L and U with L U = a[permutation], as one matrix; the pivots; and the permutation.

    L is unit lower triangular, and its diagonal is left out; U is upper triangular.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (a,) = avals
        batch = self.batch_shape(avals)
        self.check_dtypes(a)
        rows, columns = a.shape[-2:]
        pivots = shaped((*batch, min_dim(rows, columns)), INT32)
        return a.strip_weak(), pivots, shaped((*batch, rows), INT32)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        out, pivots, order = ctx.avals_out
        if not ctx.has_lapack:
            return ctx.apply(lu, operands)
        batch = out.shape[:-2]
        avals = ((out,), (out, pivots, status(batch)))
        factors, swaps, info = lapack("getrf", operands, avals)
        swaps = mlir.op1("stablehlo.subtract", pivots, (swaps, mlir.full(pivots, 1)))
        done = succeeded(info, batch, or_singular=True)
        factors = emit_or_nan(done, batch, factors, out)
        return [factors, swaps, emit_permutation(swaps, pivots, order)]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        factors, pivots, order = self.bind(*primals)
        change = _change(factors, take_rows(tangents[0], order))
        return [factors, pivots, order], [change, None, None]


def _change(factors: Any, da: Any) -> Any:
    """Return the tangent of L and U in one matrix, for the tangent of the permuted matrix.

    For square matrices, with F = L^-1 dA U^-1, dL = L tril(F, -1) and dU = triu(F) U.  For tall
    ones the lower rows of L are A2 U^-1; for wide ones the right columns of U are L^-1 A2.
    Source: F. de Hoog, R. Anderssen, M. Lukas, "Differentiation of matrix functionals using
    triangular factorization", Mathematics of Computation 80 (2011).
    """
    rows, columns = factors.shape[-2:]
    k = min_dim(rows, columns)
    square = block(factors, slice(k), slice(k))
    low = triangle(square, lower=True, strict=True)
    upper = op.sub(square, low)
    if rows > columns:
        divided = solve(square, da, left=False)
        inner = solve(square, block(divided, slice(k)), lower=True, unit=True)
    else:
        divided = solve(square, da, lower=True, unit=True)
        inner = solve(square, block(divided, columns=slice(k)), left=False)
    below = triangle(inner, lower=True, strict=True)
    above = op.sub(inner, below)
    change = op.add(op.add(dot(low, below), below), dot(above, upper))
    if rows > columns:
        rest = op.sub(block(divided, slice(k, None)), dot(block(factors, slice(k, None)), above))
        return join(change, rest, axis=-2)
    if rows < columns:
        beside = slice(k, None)
        rest = op.sub(block(divided, columns=beside), dot(below, block(factors, columns=beside)))
        return join(change, rest, axis=-1)
    return change


lu_p = LU("lu")
