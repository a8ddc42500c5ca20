"""Solutions of linear systems whose matrices are triangular."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shape_of
from olympus_core.base.errors import ShapeError
from olympus_core.ir.primitive import Batched, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    check_kinds,
    check_one_dtype,
    move_axis,
    reshape,
)
from olympus_core.primitives.linalg.algebra import conj, dot, swap, triangle
from olympus_core.primitives.linalg.base import (
    LAPACK_DTYPES,
    MatrixPrimitive,
    char,
    check_square,
    emit_swap,
    lapack,
    swapped,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class TriangularSolve(MatrixPrimitive, SingleResult):
    """x with op(a) x = b, or x op(a) = b unless `left_side`, for triangular a.

    op transposes if `transpose_a`, and conjugates if `conjugate_a`; of `a` only the lower triangle
    is read if `lower`, else the upper one, and the diagonal counts as ones if `unit_diagonal`.
    """

    ranks: ClassVar[tuple[int, ...]] = (2, 2)
    raised_from: tuple[str, ...] = ("stablehlo.triangular_solve",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        a, b = avals
        self.batch_shape(avals)
        check_one_dtype(self.name, avals)
        check_kinds(self.name, "fc", a)
        check_square(self.name, a)
        side = -2 if params["left_side"] else -1
        if a.shape[-1] != b.shape[side]:
            raise ShapeError(
                "Incompatible shapes for arguments to triangular_solve: "
                f"{a.shape} and {b.shape}. Axis {side} of the second must have the length "
                f"{a.shape[-1]}"
            )
        return b.strip_weak()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (a, b), (aval, out) = operands, ctx.avals_in
        transpose, conjugate = params["transpose_a"], params["conjugate_a"]
        if conjugate and not transpose:
            a, conjugate = mlir.op1("chlo.conj", aval, (a,)), False
        if ctx.has_lapack and dtypes.long_name(out.dtype) in LAPACK_DTYPES:
            # For matrices of 64 to 1024 XLA's operation took 3 to 10 times as long for one
            # right-hand side, the same time for as many right-hand sides as rows, and 3 to 10 times
            # as long to compile.  For x op(a) = b, LAPACK needs no copy if all matrices are
            # transposed.
            options = {
                "side": char("R" if params["left_side"] else "L"),
                "uplo": char("U" if params["lower"] else "L"),
                "trans_x": char(("C" if conjugate else "T") if transpose else "N"),
                "diag": char("U" if params["unit_diagonal"] else "N"),
            }
            upside = (swapped(aval), swapped(out))
            values = [emit_swap(x, o) for x, o in zip((a, b), upside, strict=True)]
            avals = (upside, upside[1:])
            (solution,) = lapack("trsm", values, avals, options, ((1, 0),))
            return emit_swap(solution, out)
        transpose_kind = ("ADJOINT" if conjugate else "TRANSPOSE") if transpose else "NO_TRANSPOSE"
        attributes = {
            name: mlir.bool_attr(params[name]) for name in ("left_side", "lower", "unit_diagonal")
        }
        attributes["transpose_a"] = mlir.parsed_attr(f"#stablehlo<transpose {transpose_kind}>")
        return mlir.op1("stablehlo.triangular_solve", out, (a, b), attributes)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        transpose_kind = operation.text("transpose_a").rpartition(" ")[2].rstrip(">")
        names = ("left_side", "lower", "unit_diagonal")
        return self.bind(
            *operands,
            **{name: operation.flag(name) for name in names},
            transpose_a=transpose_kind != "NO_TRANSPOSE",
            conjugate_a=transpose_kind == "ADJOINT",
        )

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """Compute dx = op(a)^-1 (db - op(da) x), and likewise from the right."""
        (a, b), (da, db) = primals, tangents
        out = self.bind(a, b, **params)
        if da is None:
            return out, self.bind(a, db, **params)
        da = triangle(da, lower=params["lower"], strict=params["unit_diagonal"])
        da = conj(da) if params["conjugate_a"] else da
        transposed, (rows, columns) = params["transpose_a"], shape_of(b)[-2:]
        left = params["left_side"]
        if db is None and (rows < columns if left else columns < rows):
            # many right-hand sides: solve for the matrix, which is smaller
            change = op.neg(self.bind(a, swap(da) if transposed else da, **params))
            return out, dot(change, out) if left else dot(out, change)
        product = dot(da, out, swap_a=transposed) if left else dot(out, da, swap_b=transposed)
        right = op.neg(product) if db is None else op.sub(db, product)
        return out, self.bind(a, right, **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        flipped = params | {"transpose_a": not params["transpose_a"]}
        return [None, self.bind(operands[0], cotangent, **flipped)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        if dims[0] is not None:
            return super().batch(batched, args, dims, **params)
        # one matrix for all: the mapped right-hand sides become more columns (or rows) of one
        a, b = args
        place = len(shape_of(b)) - (1 if params["left_side"] else 2)
        return with_more_columns(lambda x: self.bind(a, x, **params), b, dims[1] or 0, place)


def with_more_columns(solve: Callable[[Any], Any], b: Any, dim: int, place: int) -> tuple[Any, int]:
    """Solve for mapped right-hand sides, the mapped axis merged into the one before `place`."""
    b = move_axis(b, dim, place)
    shape = shape_of(b)
    joined = (*shape[: place - 1], shape[place - 1] * shape[place], *shape[place + 1 :])
    out = solve(reshape(b, joined))
    return reshape(out, shape), place


triangular_solve_p = TriangularSolve("triangular_solve")
