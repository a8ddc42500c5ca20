"""Eigenvalues and eigenvectors of Hermitian matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.ir.primitive import MultipleResults, op
from olympus_core.primitives.linalg.algebra import (
    conj,
    diagonal,
    dot,
    half_triangle,
    hermitian_of,
    inverse_differences,
    real,
)
from olympus_core.primitives.linalg.base import (
    MatrixPrimitive,
    char,
    check_square,
    emit_all_or_nan,
    emit_zeros,
    lapack,
    status,
)
from olympus_core.primitives.linalg.portable import eigh as portable

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class Eigh(MatrixPrimitive, MultipleResults):
    """The eigenvectors, as columns, and the ascending eigenvalues, from the `lower` triangle.

    `jacobi` selects rotations, the algorithm of all platforms but the CPU.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (a,) = avals
        self.batch_shape(avals)
        self.check_dtypes(a)
        check_square(self.name, a)
        return a.strip_weak(), shaped(a.shape[:-1], dtypes.to_real(a.dtype))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        v, w = ctx.avals_out
        if not ctx.has_lapack or params["jacobi"]:
            return ctx.apply(portable.eigh, operands, lower=params["lower"])
        if not v.size:
            return [operands[0], emit_zeros(w)]
        batch = v.shape[:-2]
        routine = "heevd" if dtypes.kind(v.dtype) == "c" else "syevd"
        options = {"mode": char("V"), "uplo": char("L" if params["lower"] else "U")}
        avals = ((v,), (v, w, status(batch)))
        *values, info = lapack(routine, operands, avals, options)
        return emit_all_or_nan(info, batch, values, (v, w))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """With M = V^H dA V, dw is M's diagonal, and dV = V (F * M), F_ij = 1 / (w_j - w_i).

        The derivative is infinite where eigenvalues repeat.  Source: M. Giles, "An extended
        collection of matrix derivative results for forward and reverse mode AD", NA-08/01 (2008),
        3.1.
        """
        v, w = self.bind(*primals, **params)
        da = hermitian_of(tangents[0], half_triangle(v, lower=params["lower"]))
        inner = dot(dot(conj(v), da, swap_a=True), v)
        share = op.mul(inverse_differences(w, v), inner)
        return [v, w], [dot(v, share), diagonal(real(inner))]


eigh_p = Eigh("eigh")
