"""Solutions of tridiagonal equations, by LAPACK's `gtsv` or as dense matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base.avals import ShapedArray, get_aval, shape_of
from olympus_core.base.errors import ShapeError
from olympus_core.ir.primitive import Linear, SingleResult, op
from olympus_core.primitives.elementwise.base import reshape
from olympus_core.primitives.linalg.algebra import solve_by_lu
from olympus_core.primitives.linalg.base import (
    INT32,
    MatrixPrimitive,
    emit_or_nan,
    emit_zeros,
    lapack,
    status,
    succeeded,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class TridiagonalSolve(MatrixPrimitive, SingleResult):
    """The solution x of A x = b; dl[i], d[i] and du[i] are the elements of row i of A."""

    ranks: ClassVar[tuple[int, ...]] = (1, 1, 1, 2)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        self.batch_shape(avals)
        self.check_dtypes(*avals)
        *diagonals, b = avals
        text = ", ".join(a.long_name() for a in avals)
        if len({a.shape for a in diagonals}) > 1:
            raise ShapeError(
                "tridiagonal_solve requires that all diagonal arguments have the same shape, and "
                f"got {text}"
            )
        if diagonals[0].shape[-1] != b.shape[-2]:
            raise ShapeError(
                "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the "
                f"dimensions of the diagonal arguments, and got {text}"
            )
        return b.strip_weak()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not ctx.has_lapack:
            return ctx.apply(_solve_dense, operands)[0]
        avals, out = ctx.avals_in, ctx.aval_out
        if not out.size:
            return emit_zeros(out)
        batch = out.shape[:-2]
        results = tuple(a.strip_weak() for a in avals)
        same = tuple((i, i) for i in range(4))
        *_, x, info = lapack("gtsv", operands, (results, (*results, status(batch))), None, same)
        return emit_or_nan(succeeded(info, batch), batch, x, out)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """With A x = b: A dx = db - dA x."""
        *diagonals, _ = primals
        *changes, db = tangents
        x = self.bind(*primals)
        right = db
        for tangent, offset in zip(changes, (-1, 0, 1), strict=True):
            if tangent is not None:
                part = op.neg(op.mul(_columns(tangent, x), _shifted(x, offset, 2)))
                right = part if right is None else op.add(right, part)
        return x, self.bind(*diagonals, right)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        dl, d, du, b = operands
        assert isinstance(b, Linear)
        return [None] * 3 + [self.bind(_shifted(du, -1, 1), d, _shifted(dl, 1, 1), cotangent)]


def _shifted(x: Any, offset: int, rank: int) -> Any:
    """Return y[i] = x[i + offset] along the first of the last `rank` axes, with 0 outside."""
    aval = get_aval(x)
    axis = aval.ndim - rank
    config = tuple((-offset, offset, 0) if i == axis else (0, 0, 0) for i in range(aval.ndim))
    return op.pad(x, aval.dtype.type(0), padding_config=config) if offset else x


def _columns(d: Any, x: Any) -> Any:
    """Return a diagonal repeated for each column of `x`."""
    shape = shape_of(x)
    axes = tuple(range(len(shape) - 1))
    return op.broadcast_in_dim(d, shape=shape, broadcast_dimensions=axes)


def _solve_dense(dl: Any, d: Any, du: Any, b: Any) -> list[Any]:
    aval = get_aval(d)
    shape = (*aval.shape, aval.shape[-1])
    row, column = (op.iota(dtype=INT32, shape=shape, dimension=len(shape) - i) for i in (2, 1))
    matrix = None
    for diagonal, offset in ((dl, -1), (d, 0), (du, 1)):
        is_here = op.eq(op.sub(column, row), INT32.type(offset))
        spread = op.broadcast_in_dim(
            diagonal, shape=shape, broadcast_dimensions=tuple(range(len(shape) - 1))
        )
        part = op.mul(
            op.convert_element_type(is_here, new_dtype=aval.dtype, weak_type=False), spread
        )
        matrix = part if matrix is None else op.add(matrix, part)
    return [reshape(solve_by_lu(matrix, b), shape_of(b))]


tridiagonal_solve_p = TridiagonalSolve("tridiagonal_solve")
