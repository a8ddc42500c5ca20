"""The QR decomposition, and the Householder reflectors whose product is Q."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.dimensions.expression import min_dim
from olympus_core.base.errors import NoDerivativeError, ShapeError
from olympus_core.ir.primitive import MultipleResults, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import scalar_zero, spread
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    block,
    conj,
    converted_like,
    dot,
    eye,
    inverse_order,
    join,
    real,
    solve,
    take_columns,
    triangle,
)
from olympus_core.primitives.linalg.base import (
    INT32,
    MatrixPrimitive,
    emit_eye,
    emit_triangle,
    emit_zeros,
    lapack,
)
from olympus_core.primitives.linalg.portable import qr as portable

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir


class Geqrf(MatrixPrimitive, MultipleResults):
    """R in the upper triangle; below it, and in the second result, the reflectors of Q."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (a,) = avals
        batch = self.batch_shape(avals)
        self.check_dtypes(a)
        return a.strip_weak(), shaped((*batch, min_dim(*a.shape[-2:])), a.dtype)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if not ctx.has_lapack:
            return ctx.apply(portable.geqrf, operands)
        return lapack("geqrf", operands, (ctx.avals_in, ctx.avals_out))


class HouseholderProduct(MatrixPrimitive, SingleResult):
    """The first columns of a product of reflectors; column i of `a` and taus[i] define one."""

    ranks: ClassVar[tuple[int, ...]] = (2, 1)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        a, taus = avals
        self.batch_shape(avals)
        self.check_dtypes(*avals)
        rows, columns = a.shape[-2:]
        if rows < columns:
            raise ShapeError(
                "The first argument to householder_product must have at least as many rows as "
                f"columns, got shape {a.shape}"
            )
        if taus.shape[-1] > columns:
            raise ShapeError(
                "The second argument to householder_product must not have more rows than the "
                "minimum of the first argument's rows and columns: "
                f"the shapes are {a.shape} and {taus.shape}"
            )
        return a.strip_weak()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not ctx.has_lapack:
            return ctx.apply(portable.householder_product, operands)[0]
        return _emit_product(operands, ctx.avals_in)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        raise NoDerivativeError(
            f"Differentiation rule for '{self.name}' not implemented: qr, which uses it, has one"
        )


def _emit_product(operands: Sequence[ir.Value], avals: tuple[ShapedArray, ...]) -> ir.Value:
    routine = "ungqr" if dtypes.kind(avals[0].dtype) == "c" else "orgqr"
    return lapack(routine, operands, (avals, avals[:1]))[0]


class QR(MatrixPrimitive, MultipleResults):
    """Q with orthonormal columns and upper triangular R, Q R = a.

    `full_matrices` completes Q to a square matrix.  With `pivoting` the columns of `a` are
    permuted so that R's diagonal descends, and the permutation is a third result.
    """

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (a,) = avals
        batch = self.batch_shape(avals)
        self.check_dtypes(a)
        rows, columns = a.shape[-2:]
        k = rows if params["full_matrices"] else min_dim(rows, columns)
        order = (shaped((*batch, columns), INT32),) if params["pivoting"] else ()
        return (
            shaped((*batch, rows, k), a.dtype),
            shaped((*batch, k, columns), a.dtype),
            *order,
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        (a,), (q, r, *order) = ctx.avals_in, ctx.avals_out
        if not ctx.has_lapack:
            full, pivoting = params["full_matrices"], params["pivoting"]
            return ctx.apply(portable.qr, operands, full=full, pivoting=pivoting)
        if not a.size:
            along = {"iota_dimension": mlir.i64_attr(a.ndim - 2)}
            unmoved = [mlir.op1("stablehlo.iota", o, (), along) for o in order]
            return [emit_eye(q), emit_zeros(r), *unmoved]
        (x,) = operands
        *batch, rows, columns = a.shape
        k = min_dim(rows, columns)
        a, taus = a.strip_weak(), shaped((*batch, k), a.dtype)
        permutation = []
        if params["pivoting"]:
            (places,) = order
            avals = (a, places), (a, places, taus)
            pairs = ((0, 0), (1, 1))
            operands = (x, emit_zeros(places))
            x, pivots, scales = lapack("geqp3", operands, avals, None, pairs)
            counted = mlir.op1("stablehlo.subtract", places, (pivots, mlir.full(places, 1)))
            permutation = [counted]
        else:
            x, scales = lapack("geqrf", operands, ((a,), (a, taus)))
        vectors = _emit_block(x, a, q) if q.shape[-1] <= columns else _emit_padded(x, q)
        product = _emit_product((vectors, scales), (q, taus))
        return [product, emit_triangle(_emit_block(x, a, r), r, lower=False), *permutation]

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (dx,) = primals, tangents
        q, r, *order = self.bind(x, **params)
        rows, columns = get_aval(x).shape[-2:]
        if order:
            dx = take_columns(dx, order[0])
        if rows < columns:
            beside = slice(rows, None)
            dq, dr = _change(q, block(r, columns=slice(rows)), block(dx, columns=slice(rows)))
            # the right columns of R are Q^H X2, and X2 is Q R2
            part = dot(dot(adjoint(dq), q), block(r, columns=beside))
            part = op.add(part, dot(conj(q), block(dx, columns=beside), swap_a=True))
            dr = join(dr, part, axis=-1)
        else:
            thin = block(q, columns=slice(columns))
            dq, dr = _change(thin, block(r, slice(columns)), dx)
            if params["full_matrices"] and rows > columns:
                dq = join(dq, _complement_change(q, dq), axis=-1)
                shape = (*get_aval(r).shape[:-2], rows - columns, columns)
                dr = join(dr, spread(scalar_zero(dr), shape), axis=-2)
        return [q, r, *order], [dq, dr, *(None for _ in order)]


def _emit_block(x: ir.Value, aval: ShapedArray, out: ShapedArray) -> ir.Value:
    """Emit the upper left part of matrices, of `out`'s shape."""
    if aval.shape == out.shape:
        return x
    bounds = {
        "start_indices": (0,) * aval.ndim,
        "limit_indices": out.shape,
        "strides": (1,) * aval.ndim,
    }
    return mlir.op1("stablehlo.slice", out, (x,), {k: mlir.i64_array(v) for k, v in bounds.items()})


def _emit_padded(x: ir.Value, out: ShapedArray) -> ir.Value:
    """Emit tall matrices padded with columns of zeros to the square shape of `out`."""
    columns = mlir.ir.RankedTensorType(x.type).shape[-1]
    none = (0,) * out.ndim
    amounts = {
        "edge_padding_low": none,
        "edge_padding_high": (*none[1:], out.shape[-1] - columns),
        "interior_padding": none,
    }
    zero = mlir.full(out.update(shape=()), 0)
    attributes = {k: mlir.i64_array(v) for k, v in amounts.items()}
    return mlir.op1("stablehlo.pad", out, (x, zero), attributes)


def _change(q: Any, r: Any, dx: Any) -> tuple[Any, Any]:
    """Return the tangents of Q and R, for matrices with no more columns than rows.

    With S = dX R^-1 and M = Q^H S, dQ = S - Q (M - W) and dR = (M - W) R, where W, skew
    Hermitian, has M's strict lower triangle, and the imaginary part of its diagonal.
    Source: S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions",
    arXiv:1001.1654, extended to complex matrices.
    """
    scaled = solve(r, dx, left=False)
    inner = dot(conj(q), scaled, swap_a=True)
    low = triangle(inner, lower=True, strict=True)
    skew = op.sub(low, adjoint(low))
    if dtypes.kind(get_aval(inner).dtype) == "c":
        turned = op.sub(inner, converted_like(real(inner), inner))
        skew = op.add(skew, op.mul(eye(inner), turned))
    rest = op.sub(inner, skew)
    return op.sub(scaled, dot(q, rest)), dot(rest, r)


def _complement_change(q: Any, dq: Any) -> Any:
    """Return the tangent of the columns that complete Q, as LAPACK's reflectors choose them.

    A product of reflectors is I - V T V^H.  Q's first n columns are Q1 = [Qa; Qb], with n rows in
    Qa; the other columns are E2 - (E1 - Q1) Z^H with Z = Qb (Qa - I)^-1.
    """
    n = get_aval(dq).shape[-1]
    first, others = block(q, columns=slice(n)), block(q, columns=slice(n, None))
    corner = block(first, slice(n))
    factors, _, order = op.lu(op.sub(corner, eye(corner)))
    bottom = block(first, slice(n, None))
    # Z (Qa - I) = Qb, where L U are the rows of Qa - I in another order
    z = solve(factors, bottom, left=False)
    z = solve(factors, z, left=False, lower=True, unit=True)
    z = take_columns(z, inverse_order(order))
    dz = op.sub(block(dq, slice(n, None)), dot(z, block(dq, slice(n))))
    basis = op.add(first, dot(others, z))
    return op.sub(dot(dq, conj(z), swap_b=True), dot(basis, conj(dz), swap_b=True))


geqrf_p = Geqrf("geqrf")
householder_product_p = HouseholderProduct("householder_product")
qr_p = QR("qr")
