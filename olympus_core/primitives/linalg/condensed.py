"""Reductions of square matrices to Schur, Hessenberg and tridiagonal form, by LAPACK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import LoweringError, NoDerivativeError
from olympus_core.ir.primitive import MultipleResults
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.linalg.base import (
    MatrixPrimitive,
    char,
    check_square,
    emit_all_or_nan,
    emit_zeros,
    lapack,
    status,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class CondensedForm(MatrixPrimitive, MultipleResults):
    """A reduction of square matrices, which only LAPACK implements, without a derivative."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (a,) = avals
        self.batch_shape(avals)
        self.check_dtypes(a)
        check_square(self.name, a)
        return self.results(a.strip_weak(), **params)

    if TYPE_CHECKING:  # each form has these

        def results(self, a: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
            """Return the types of the results for the type of the matrices."""

        def emit(self, ctx: LoweringContext, operands: Sequence[Any], **params: Any) -> list[Any]:
            """Emit the call of LAPACK; return the results and the status of each matrix."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if not ctx.has_lapack:
            raise LoweringError(
                f"{self.name} is implemented for the CPU, and not for this target",
                hint="compute it on the CPU, and pass the results as arguments",
            )
        (a,) = ctx.avals_in
        if not a.size:
            return [emit_zeros(aval) for aval in ctx.avals_out]
        *results, info = self.emit(ctx, operands, **params)
        return emit_all_or_nan(info, a.shape[:-2], results, ctx.avals_out)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        raise NoDerivativeError(
            f"Differentiation rule for '{self.name}' not implemented: it has no derivative"
        )


class Schur(CondensedForm):
    """The Schur form T of `a` and, on request, the unitary Z with a = Z T Z^H."""

    def results(self, a: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return (a, a) if params["compute_schur_vectors"] else (a,)

    def emit(self, ctx: LoweringContext, operands: Sequence[Any], **params: Any) -> list[Any]:
        a = ctx.avals_in[0].strip_weak()
        values, counts = a.update(shape=a.shape[:-1]), status(a.shape[:-2])
        parts = (values,) if dtypes.kind(a.dtype) == "c" else (values, values)
        vectors = params["compute_schur_vectors"]
        options = {"mode": char("V" if vectors else "N"), "sort": char("N")}
        outs = (a, a, *parts, counts, counts)
        form, z, *_, info = lapack("gees", operands, ((a,), outs), options)
        return [form, *[z] * vectors, info]


class Hessenberg(CondensedForm):
    """The Hessenberg form, with the reflectors below its subdiagonal, and their factors."""

    def results(self, a: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        return a, shaped((*a.shape[:-2], max(a.shape[-1] - 1, 0)), a.dtype)

    def emit(self, ctx: LoweringContext, operands: Sequence[Any], **params: Any) -> list[Any]:
        a = ctx.avals_in[0].strip_weak()
        size = a.shape[-1]
        if is_symbolic_dim(size):
            raise LoweringError(
                f"hessenberg of matrices of the symbolic size {size}, which LAPACK takes as a "
                "constant",
                hint="give the matrices a fixed size, and leave the other axes symbolic",
            )
        options = {"low": mlir.parsed_attr("1 : i32"), "high": mlir.parsed_attr(f"{size} : i32")}
        outs = (*ctx.avals_out, status(a.shape[:-2]))
        return lapack("gehrd", operands, ((a,), outs), options)


class Tridiagonal(CondensedForm):
    """The form of Hermitian matrices: LAPACK's output, the diagonal, the off-diagonal, factors."""

    def results(self, a: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        batch, size = a.shape[:-2], a.shape[-1]
        real, beside = dtypes.to_real(a.dtype), (*batch, max(size - 1, 0))
        return a, shaped((*batch, size), real), shaped(beside, real), shaped(beside, a.dtype)

    def emit(self, ctx: LoweringContext, operands: Sequence[Any], **params: Any) -> list[Any]:
        a = ctx.avals_in[0].strip_weak()
        routine = "hetrd" if dtypes.kind(a.dtype) == "c" else "sytrd"
        options = {"uplo": char("L" if params["lower"] else "U")}
        return lapack(routine, operands, ((a,), (*ctx.avals_out, status(a.shape[:-2]))), options)


schur_p = Schur("schur")
hessenberg_p = Hessenberg("hessenberg")
tridiagonal_p = Tridiagonal("tridiagonal")
