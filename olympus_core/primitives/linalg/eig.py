"""Eigenvalues and, optionally, eigenvectors of square matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shape_of, shaped
from olympus_core.base.errors import NoDerivativeError
from olympus_core.ir.primitive import MultipleResults, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    converted_like,
    diagonal,
    dot,
    inverse_differences,
    solve_by_lu,
    swap,
)
from olympus_core.primitives.linalg.algebra import vectors as vectors_along
from olympus_core.primitives.linalg.base import (
    INT32,
    MatrixPrimitive,
    char,
    check_square,
    emit_all_or_nan,
    emit_zeros,
    lapack,
    status,
)
from olympus_core.primitives.linalg.portable import eig as portable

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class Eig(MatrixPrimitive, MultipleResults):
    """The eigenvalues w, unordered, and the requested vectors as columns: first l with
    l^H a = w l^H, then r with a r = w r.  All are complex."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (a,) = avals
        self.batch_shape(avals)
        self.check_dtypes(a)
        check_square(self.name, a)
        vectors = shaped(a.shape, dtypes.to_complex(a.dtype))
        values = vectors.update(shape=a.shape[:-1])
        return (values, *[vectors] * (params["left"] + params["right"]))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        a, values = ctx.avals_in[0].strip_weak(), ctx.avals_out[0]
        if not ctx.has_lapack:
            return ctx.apply(portable.eig, operands, left=params["left"], right=params["right"])
        if not a.size:
            return [emit_zeros(aval) for aval in ctx.avals_out]
        batch = a.shape[:-2]
        vectors = shaped(a.shape, values.dtype)
        is_real = dtypes.kind(a.dtype) != "c"
        parts = [values.update(dtype=a.dtype)] * 2 if is_real else [values]
        outs = (*parts, vectors, vectors, status(batch))
        options = {
            "compute_left": char("V" if params["left"] else "N"),
            "compute_right": char("V" if params["right"] else "N"),
        }
        *w, left, right, info = lapack("geev", operands, ((a,), outs), options, ())
        results = [mlir.op1("stablehlo.complex", values, w) if is_real else w[0]]
        results += [left] * params["left"] + [right] * params["right"]
        return emit_all_or_nan(info, batch, results, ctx.avals_out)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """With P = R^-1 da R for the right eigenvectors R, dw is P's diagonal; see `_change`."""
        (a,), (da,) = primals, tangents
        left, right = params["left"], params["right"]
        if (left or right) and not params["differentiable"]:
            raise NoDerivativeError(
                "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the "
                "input that cannot be checked: eig has one where LAPACK's choice of their factors "
                "is smooth, and so only on request",
                hint="pass enable_eigvec_derivs=True, or use eigvals, or eigh if it is Hermitian",
            )
        w, *vectors = self.bind(a, left=left, right=True, differentiable=True)
        r, da = vectors[-1], converted_like(da, vectors[-1])
        inner = solve_by_lu(r, da)
        if not left and not right:
            last = len(shape_of(r)) - 1
            return [w], [op.reduce_sum(op.mul(inner, swap(r)), axes=(last,))]
        inner = dot(inner, r)
        outs, changes = [w], [diagonal(inner)]
        if left:
            turned = dot(solve_by_lu(vectors[0], adjoint(da)), vectors[0])
            outs.append(vectors[0])
            changes.append(_change(op.conj(w), vectors[0], turned))
        if right:
            outs.append(r)
            changes.append(_change(w, r, inner))
        return outs, changes


def _change(w: Any, v: Any, inner: Any) -> Any:
    """Return the tangent of eigenvectors, each of length 1 with a real greatest element.

    It is u + c v with u = v (F * inner), F_ij = 1 / (w_j - w_i), and a c for each vector: its real
    part keeps the length 1, its imaginary part keeps the greatest element real.
    Source of u: M. Giles, "An extended collection of matrix derivative results for forward and
    reverse mode AD", NA-08/01 (2008), 3.1.
    """
    shape = shape_of(v)
    rows = len(shape) - 2
    change = dot(v, op.mul(inverse_differences(w, v), inner))
    greatest = op.argmax(op.abs(v), axes=(rows,), index_dtype=INT32)
    at = op.eq(
        op.iota(dtype=INT32, shape=shape, dimension=rows), vectors_along(greatest, shape, along=-1)
    )
    chosen = converted_like(at, v)
    along = op.reduce_sum(op.mul(op.conj(v), change), axes=(rows,))
    top = op.reduce_sum(op.mul(chosen, v), axes=(rows,))
    slip = op.reduce_sum(op.mul(chosen, change), axes=(rows,))
    turn = op.div(op.imag(slip), op.real(top))
    factor = op.complex(op.neg(op.real(along)), op.neg(turn))
    return op.add(change, op.mul(v, vectors_along(factor, shape, along=-1)))


eig_p = Eig("eig")
