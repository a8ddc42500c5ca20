"""The permutation that corresponds to the row swaps of an LU decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.primitive import SingleResult
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.logic import emit_compare, eq_p, lt_p
from olympus_core.primitives.linalg.base import INT32, MatrixPrimitive

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir


class PivotsToPermutation(MatrixPrimitive, SingleResult):
    """The order of `permutation_size` rows after swapping row i with row pivots[i], in turn."""

    ranks: ClassVar[tuple[int, ...]] = (1,)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (pivots,) = avals
        batch, size = self.batch_shape(avals), params["permutation_size"]
        if pivots.dtype != INT32:
            raise DTypeError(
                f"{self.name} does not accept dtype {dtypes.long_name(pivots.dtype)} at position "
                "0. Accepted dtypes at position 0 are subtypes of int32."
            )
        if pivots.shape[-1] > size:
            raise ShapeError(
                f"Output permutation size {size} has to exceed the trailing dimension of the "
                f"pivots. Got pivots size {pivots.shape[-1]}"
            )
        return shaped((*batch, size), INT32)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return emit_permutation(operands[0], ctx.avals_in[0], ctx.aval_out)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), None


def emit_permutation(pivots: ir.Value, aval: ShapedArray, out: ShapedArray) -> ir.Value:
    """Emit the permutation of the pivots: a loop of swaps, each in all batches together."""
    along = {"iota_dimension": mlir.i64_attr(out.ndim - 1)}
    rows = mlir.op1("stablehlo.iota", out, (), along)
    if not aval.shape[-1]:  # the loop body reads an element, which an empty array does not have
        return rows
    scalar = shaped((), INT32)
    types = [mlir.tensor_type(a) for a in (scalar, aval, out)]
    loop = mlir.op("stablehlo.while", types, (mlir.full(scalar, 0), pivots, rows), regions=2)
    blocks = [r.blocks.append(*types, arg_locs=[loop.location] * 3) for r in loop.regions]
    with mlir.ir.InsertionPoint(blocks[0]):
        count = mlir.full(scalar, aval.shape[-1])
        more = emit_compare(lt_p, scalar, blocks[0].arguments[0], count)
        mlir.op("stablehlo.return", (), (more,))
    with mlir.ir.InsertionPoint(blocks[1]):
        step, swaps, order = blocks[1].arguments
        swapped = _emit_swap(step, swaps, aval, order, out, rows)
        step = mlir.op1("stablehlo.add", scalar, (step, mlir.full(scalar, 1)))
        mlir.op("stablehlo.return", (), (step, swaps, swapped))
    last: ir.Value = loop.results[2]
    return last


def _emit_swap(
    step: ir.Value,
    swaps: ir.Value,
    aval: ShapedArray,
    order: ir.Value,
    out: ShapedArray,
    rows: ir.Value,
) -> ir.Value:
    """Emit `order` with the elements at `step` and at swaps[step] exchanged.

    Comparing all positions costs as many operations as the matrix has elements, which is little
    compared with its decomposition; and XLA has no gather or scatter to expand to another loop.
    """
    at_pivot = emit_compare(eq_p, out, rows, _emit_element(step, swaps, aval, out))
    at_step = emit_compare(eq_p, out, rows, mlir.broadcast(step, out))
    mine = _emit_element(step, order, out, out)
    theirs = _emit_selected(order, at_pivot, out)
    order = mlir.op1("stablehlo.select", out, (at_pivot, mine, order))
    return mlir.op1("stablehlo.select", out, (at_step, theirs, order))


def _emit_element(
    step: ir.Value, vectors: ir.Value, aval: ShapedArray, out: ShapedArray
) -> ir.Value:
    """Emit element `step` of each vector, repeated to `out`."""
    one = (*aval.shape[:-1], 1)
    zero = mlir.full(shaped((), INT32), 0)
    starts = [zero] * (aval.ndim - 1)
    sizes = {"slice_sizes": mlir.i64_array(one)}
    operands = (vectors, *starts, step)
    element = mlir.op1("stablehlo.dynamic_slice", shaped(one, INT32), operands, sizes)
    return mlir.broadcast(element, out, tuple(range(aval.ndim)))


def _emit_selected(order: ir.Value, chosen: ir.Value, out: ShapedArray) -> ir.Value:
    """Emit the one chosen element of each vector, repeated to `out`."""
    order_or_zero = mlir.op1("stablehlo.select", out, (chosen, order, mlir.full(out, 0)))
    total = shaped(out.shape[:-1], INT32)
    scalar = mlir.tensor_type(shaped((), INT32))
    operation = mlir.op(
        "stablehlo.reduce",
        [mlir.tensor_type(total)],
        (order_or_zero, mlir.full(shaped((), INT32), 0)),
        {"dimensions": mlir.i64_array((out.ndim - 1,))},
        regions=1,
    )
    block = operation.regions[0].blocks.append(scalar, scalar, arg_locs=[operation.location] * 2)
    with mlir.ir.InsertionPoint(block):
        added = mlir.op1("stablehlo.add", shaped((), INT32), tuple(block.arguments))
        mlir.op("stablehlo.return", (), (added,))
    return mlir.broadcast(operation.result, out, tuple(range(total.ndim)))


lu_pivots_to_permutation_p = PivotsToPermutation("lu_pivots_to_permutation")
