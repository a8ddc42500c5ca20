"""The singular value decomposition: singular values and, optionally, vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shape_of, shaped
from olympus_core.base.dimensions.expression import min_dim
from olympus_core.base.errors import NoDerivativeError
from olympus_core.ir.primitive import MultipleResults, op
from olympus_core.primitives.elementwise.base import elementwise_constant
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    conj,
    converted_like,
    diagonal,
    dot,
    eye,
    real,
    vectors,
)
from olympus_core.primitives.linalg.base import (
    MatrixPrimitive,
    char,
    emit_all_or_nan,
    emit_eye,
    emit_zeros,
    lapack,
    status,
)
from olympus_core.primitives.linalg.portable import svd as portable

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class SVD(MatrixPrimitive, MultipleResults):
    """The singular values s in descending order, U and V^H, with a = U diag(s) V^H.

    `full_matrices` completes U and V to square matrices; without `compute_uv` s is the only result.
    `routine` selects LAPACK's "gesdd" (divide and conquer) or "gesvd" (QR iterations), or "jacobi",
    the algorithm of all platforms but the CPU.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (a,) = avals
        self.batch_shape(avals)
        self.check_dtypes(a)
        s, u, vh = _results(a, params["full_matrices"])
        return (s, u, vh) if params["compute_uv"] else (s,)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        a, vectors_too = ctx.avals_in[0].strip_weak(), params["compute_uv"]
        if not ctx.has_lapack or params["routine"] == "jacobi":
            full = params["full_matrices"]
            return ctx.apply(portable.svd, operands, full=full, compute_uv=vectors_too)
        outs = _results(a, vectors_too and params["full_matrices"])
        if not a.size:
            results = [emit_zeros(outs[0]), *(emit_eye(o) for o in outs[1:])]
            return results[: len(ctx.avals_out)]
        mode = ("A" if params["full_matrices"] else "S") if vectors_too else "N"
        batch = a.shape[:-2]
        avals = ((a,), (a, *outs, status(batch)))
        _, *results, info = lapack(params["routine"], operands, avals, {"mode": char(mode)})
        return emit_all_or_nan(info, batch, results[: len(ctx.avals_out)], ctx.avals_out)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (a,), (da,) = primals, tangents
        rows, columns = shape_of(a)[-2:]
        if params["compute_uv"] and params["full_matrices"] and rows != columns:
            raise NoDerivativeError(
                "svd has no derivative for the vectors that full_matrices=True adds to matrices "
                f"that are not square, here {rows} x {columns}",
                hint="pass full_matrices=False, or compute_uv=False",
            )
        s, u, vh = self.bind(a, **(params | {"compute_uv": True, "full_matrices": False}))
        inner = dot(dot(conj(u), da, swap_a=True), conj(vh), swap_b=True)
        ds = diagonal(real(inner))
        if not params["compute_uv"]:
            return [s], [ds]
        return [s, u, vh], [ds, *_vector_changes(s, u, vh, inner, da)]


def _results(a: ShapedArray, full: bool) -> tuple[ShapedArray, ...]:
    """Return the avals of s, U and V^H."""
    *batch, rows, columns = a.shape
    k = min_dim(rows, columns)
    return (
        shaped((*batch, k), dtypes.to_real(a.dtype)),
        shaped((*batch, rows, rows if full else k), a.dtype),
        shaped((*batch, columns if full else k, columns), a.dtype),
    )


def _vector_changes(s: Any, u: Any, vh: Any, inner: Any, da: Any) -> tuple[Any, Any]:
    """Return the tangents of U and V^H, for inner = U^H dA V.

    dU = U (F * (inner S + S inner^H) + D) and dV = V (F * (S inner + inner^H S)), with
    F_ij = 1 / (s_j^2 - s_i^2), and D the skew part of inner's diagonal over s; plus the part of dA
    outside of the spaces that U and V span, over s.
    Source: M. Giles, "An extended collection of matrix derivative results for forward and
    reverse mode AD", NA-08/01 (2008), 3.2.
    """
    shape = shape_of(inner)
    along_rows, along_columns = vectors(s, shape, along=-1), vectors(s, shape, along=-2)
    row, column = converted_like(along_rows, inner), converted_like(along_columns, inner)
    on = eye(along_rows)
    total, gap = op.add(along_rows, along_columns), op.sub(along_rows, along_columns)
    one = elementwise_constant(total, 1)
    share = op.sub(op.div(one, op.add(op.mul(total, gap), on)), on)
    share = converted_like(share, inner)
    back = adjoint(inner)
    left = op.mul(share, op.add(op.mul(inner, row), op.mul(column, back)))
    if dtypes.kind(inner.dtype) == "c":
        scale = op.mul(op.div(elementwise_constant(inner, 0.5), _nonzero(column)), eye(inner))
        left = op.add(left, op.mul(op.sub(inner, back), scale))
    du = dot(u, left)
    right = op.mul(share, op.add(op.mul(column, inner), op.mul(back, row)))
    dvh = dot(conj(right), vh, swap_a=True)
    rows, columns = shape_of(u)[-2], shape_of(vh)[-1]
    if rows > columns:
        outside = dot(da, conj(vh), swap_b=True)
        outside = op.sub(outside, dot(u, inner))
        du = op.add(du, op.div(outside, converted_like(vectors(s, shape_of(u), along=-1), u)))
    if columns > rows:
        outside = op.sub(dot(conj(u), da, swap_a=True), dot(inner, vh))
        dvh = op.add(dvh, op.div(outside, converted_like(vectors(s, shape_of(vh), along=-2), vh)))
    return du, dvh


def _nonzero(s: Any) -> Any:
    """Return s with zeros replaced by ones."""
    zero = op.eq(s, elementwise_constant(s, 0))
    return op.add(s, converted_like(zero, s))


svd_p = SVD("svd")
