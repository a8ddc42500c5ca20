"""The Cholesky decomposition of Hermitian positive-definite matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray, shape_of
from olympus_core.ir.primitive import SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import zeros_like
from olympus_core.primitives.linalg.algebra import (
    diagonal,
    dot,
    half_triangle,
    hermitian_of,
    real,
    solve,
    triangle,
)
from olympus_core.primitives.linalg.base import (
    MatrixPrimitive,
    char,
    check_square,
    emit_or_nan,
    emit_swap,
    emit_triangle,
    lapack,
    status,
    succeeded,
)
from olympus_core.primitives.linalg.portable.arrays import over, where

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class Cholesky(MatrixPrimitive, SingleResult):
    """The lower triangular L with L L^H = a; only a's lower triangle is read.

    The factor of a matrix that is not positive definite is NaN.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (a,) = avals
        self.batch_shape(avals)
        self.check_dtypes(a)
        check_square(self.name, a)
        return a.strip_weak()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        if not ctx.has_lapack:
            options = {"lower": mlir.bool_attr(True)}
            factor = mlir.op1("stablehlo.cholesky", out, operands, options)
            ctx.avals_in = (out,)
            return ctx.apply(cholesky_or_nan, (factor,))[0]
        # On the CPU, XLA expands its operation to loops: for matrices of 64 to 1024 these took 4 to
        # 35 times as long as LAPACK, and 5 to 10 times as long to compile.  The transpose of
        # LAPACK's upper factor of the transpose is the lower factor: it saves a copy.
        batch = out.shape[:-2]
        avals, options = ((out,), (out, status(batch))), {"uplo": char("U")}
        upside = (emit_swap(operands[0], out),)
        factor, info = lapack("potrf", upside, avals, options)
        factor = emit_or_nan(succeeded(info, batch), batch, emit_swap(factor, out), out)
        return emit_triangle(factor, out, lower=True)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """Compute dL = L Phi(L^-1 dA L^-H), with Phi the lower triangle with half the diagonal.

        Source: I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527.
        """
        factor = self.bind(*primals)
        phi = half_triangle(factor)
        change = hermitian_of(tangents[0], phi)
        change = solve(factor, change, left=False, lower=True, transpose=True, conjugate=True)
        change = solve(factor, change, lower=True)
        return factor, dot(factor, op.mul(change, phi))


def cholesky_or_nan(factor: Any) -> Any:
    """Return the lower triangle, with NaN if the factorization failed.

    A GPU's library that fails leaves a number that is not positive on the diagonal.
    """
    ends = real(diagonal(factor))
    rank = len(shape_of(ends))
    done = op.reduce_and(op.gt(ends, zeros_like(ends)), axes=(rank - 1,))
    return triangle(where(over(done, factor), factor, np.nan), lower=True)


cholesky_p = Cholesky("cholesky")
