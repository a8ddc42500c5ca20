"""Products of arrays: the contraction of two over pairs of axes, batched over others."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir import indexed_sharding_rules, sharding_rules, unreduced_rules
from olympus_core.ir.primitive import Batched, Linear, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import shift_all
from olympus_core.primitives.matrices import (
    MANY_PRODUCTS,
    Axes,
    Factor,
    as_matrices,
    has_axes_to_join,
    with_copied_transpose,
)
from olympus_core.primitives.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    precision_config,
    raised_precision,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir
    from olympus_core.raising.stablehlo_operation import StableHloOperation

#: ((contracting axes of lhs, of rhs), (batch axes of lhs, of rhs))
DotDimensions = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


class DotGeneral(SingleResult):
    """The sum of products over the contracting axes, for each index of the batch axes.

    The result's axes are the batch axes, then the other axes of lhs, then the other axes of rhs.
    """

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.contracted)
    is_product: ClassVar[bool] = True
    raised_from: tuple[str, ...] = (
        "stablehlo.dot",  # in a program that was HLO
        "stablehlo.dot_general",
    )

    def has_batch_axes(self, **params: Any) -> bool:
        _, (batch, _) = params["dimension_numbers"]
        return bool(batch)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        lhs, rhs = avals
        dimensions: DotDimensions = params["dimension_numbers"]
        (contract, contract_rhs), (batch, batch_rhs) = dimensions
        _check_axes(lhs, rhs, dimensions)
        shape = (
            *[lhs.shape[i] for i in batch],
            *[n for i, n in enumerate(lhs.shape) if i not in contract and i not in batch],
            *[n for i, n in enumerate(rhs.shape) if i not in contract_rhs and i not in batch_rhs],
        )
        dtype = product_dtype(lhs.dtype, rhs.dtype, params["preferred_element_type"])
        return shaped(shape, dtype, lhs.weak_type and rhs.weak_type and dtype == lhs.dtype)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [indexed_sharding_rules.product(avals, params["dimension_numbers"])]

    def summed_axes(
        self, operand: int, avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> frozenset[Any]:
        contract, batch = params["dimension_numbers"]
        other = 1 - operand
        used = {*contract[other], *batch[other]}
        spec = sharding_rules.spec_of(avals[other])
        entries = [e for i, e in enumerate(spec) if i not in used]
        return frozenset(n for e in entries for n in sharding_rules.entry_axes(e))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        contract, batch = params["dimension_numbers"]
        lhs, rhs = map(Factor, operands, ctx.avals_in, contract, batch)
        if ctx.is_for_unsplit_cpu:
            lhs, rhs = as_matrices(lhs, with_copied_transpose(rhs))
        shape = lhs.sizes(lhs.batch) + lhs.sizes(lhs.free) + rhs.sizes(rhs.free)
        product = _product(lhs, rhs, ctx.aval_out.update(shape=shape), params["precision"])
        if (lhs.value, rhs.value) != operands:
            ctx.mark_form()
        if shape == ctx.aval_out.shape:
            return product
        return mlir.op1("stablehlo.reshape", ctx.aval_out, (product,))

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        lhs, rhs = operation.avals_in
        if lhs.dtype != rhs.dtype:  # its lowering converts them to one dtype
            return None
        numbers = _read_dimensions(operation)
        out = operation.aval_out.dtype
        precision = raised_precision(operation, lhs.dtype, out)
        kind = None if out == lhs.dtype else out
        return self.bind(
            *operands, dimension_numbers=numbers, precision=precision, preferred_element_type=kind
        )

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        lhs, rhs = operation.avals_in
        if lhs.ndim < 3 and rhs.ndim < 3:  # no axes to join
            return False
        contract, batch = _read_dimensions(operation)
        products = operation.aval_out.size * math.prod(lhs.shape[i] for i in contract[0])
        factors = map(Factor, (None, None), (lhs, rhs), contract, batch)
        return products >= MANY_PRODUCTS and has_axes_to_join(*factors)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x, y), (dx, dy) = primals, tangents
        total = None if dx is None else self.bind(dx, y, **params)
        if dy is not None:
            part = self.bind(x, dy, **params)
            total = part if total is None else op.add_any(total, part)
        out = self.bind(x, y, **params)
        return out, total if dtypes.kind(get_aval(out).dtype) in "fc" else None

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, y = operands
        if isinstance(x, Linear):
            return [self._pull_back(cotangent, y, x.aval, True, params), None]
        return [None, self._pull_back(cotangent, x, y.aval, False, params)]

    def _pull_back(
        self, cotangent: Any, other: Any, aval: ShapedArray, left: bool, params: dict[str, Any]
    ) -> Any:
        """Return one side's cotangent: the result's, contracted with the other side's free axes."""
        contract, batch = params["dimension_numbers"]
        (mine, theirs), (my_batch, their_batch) = (
            (contract, batch) if left else (contract[::-1], batch[::-1])
        )
        free = [i for i in range(aval.ndim) if i not in mine and i not in my_batch]
        other_rank = len(shape_of(other))
        other_free = [i for i in range(other_rank) if i not in theirs and i not in their_batch]
        n = len(my_batch)
        start = n + (len(free) if left else 0)
        numbers = (
            (tuple(range(start, start + len(other_free))), tuple(other_free)),
            (tuple(range(n)), tuple(their_batch)),
        )
        order = [mine[i] for i in sorted(range(len(theirs)), key=lambda i: theirs[i])]
        axes, in_order = [*my_batch, *free, *order], range(aval.ndim)
        factors = cotangent, other
        if [*my_batch, *order, *free] == [*in_order] and _is_same_for_both(params["precision"]):
            # this order needs no transpose, and XLA's CPU kernels are faster without one
            axes, factors = [*in_order], (other, cotangent)
            numbers = (numbers[0][::-1], numbers[1][::-1])
        out = self.bind(*factors, **(params | {"dimension_numbers": numbers}))
        if axes != [*in_order]:
            out = op.transpose(out, permutation=tuple(axes.index(i) for i in in_order))
        if get_aval(out).dtype != aval.dtype:
            out = op.convert_element_type(out, new_dtype=aval.dtype, weak_type=False)
        return out

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        (x, y), (dx, dy) = args, dims
        (mine, theirs), (my_batch, their_batch) = params["dimension_numbers"]
        if dx is not None and dy is not None:
            numbers = (
                (shift_all(mine, dx), shift_all(theirs, dy)),
                ((dx, *shift_all(my_batch, dx)), (dy, *shift_all(their_batch, dy))),
            )
            return self.bind(x, y, **(params | {"dimension_numbers": numbers})), 0
        if dx is not None:
            numbers = ((shift_all(mine, dx), theirs), (shift_all(my_batch, dx), their_batch))
            before = sum(i not in mine and i not in my_batch for i in range(dx))
            place = len(my_batch) + before
        else:
            assert dy is not None
            numbers = ((mine, shift_all(theirs, dy)), (my_batch, shift_all(their_batch, dy)))
            before = sum(i not in theirs and i not in their_batch for i in range(dy))
            place = len(shape_of(x)) - len(mine) + before
        return self.bind(x, y, **(params | {"dimension_numbers": numbers})), place


def _product(lhs: Factor, rhs: Factor, out: ShapedArray, precision: Any) -> ir.Value:
    """Emit the product of two factors."""
    pairs = [(x.value, x.aval) for x in (lhs, rhs)]
    operands = tuple([x for x, _ in pairs])
    attributes = {
        "dot_dimension_numbers": _dimensions(
            ((lhs.contract, rhs.contract), (lhs.batch, rhs.batch))
        ),
        "precision_config": precision_config(precision),
    }
    total = out
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        storage_dtypes = [precision.storage(a.dtype, i) for i, (_, a) in enumerate(pairs)]
        operands = tuple(
            [emit_conversion(*p, d) for p, d in zip(pairs, storage_dtypes, strict=True)]
        )
        total = out.update(dtype=precision.total(out.dtype))
        algorithm = precision.attribute(*storage_dtypes)
        if algorithm is not None:
            attributes["algorithm"] = algorithm
    elif lhs.aval.dtype != rhs.aval.dtype:
        operands = tuple([emit_conversion(*p, out.dtype) for p in pairs])
    product = mlir.op1("stablehlo.dot_general", total, operands, attributes)
    return emit_conversion(product, total, out.dtype)


def _read_dimensions(operation: StableHloOperation) -> DotDimensions:
    if operation.name == "stablehlo.dot":  # of vectors and matrices
        return ((operation.avals_in[0].ndim - 1,), (0,)), ((), ())
    dims = mlir.hlo.DotDimensionNumbers(operation.attribute("dot_dimension_numbers"))
    return (
        (tuple(dims.lhs_contracting_dimensions), tuple(dims.rhs_contracting_dimensions)),
        (tuple(dims.lhs_batching_dimensions), tuple(dims.rhs_batching_dimensions)),
    )


def _is_same_for_both(precision: Any) -> bool:
    """Return True if both factors have the same precision, so that they may be exchanged."""
    return precision is None or (type(precision) is tuple and precision[0] == precision[1])


def emit_conversion(value: Any, aval: ShapedArray, dtype: DType) -> Any:
    """Emit the conversion of a value to `dtype`, unless it has that dtype."""
    if aval.dtype == dtype:
        return value
    return mlir.op1("stablehlo.convert", aval.update(dtype=dtype), (value,))


@functools.cache
def _dimensions(dimensions: DotDimensions) -> ir.Attribute:
    (contract, contract_rhs), (batch, batch_rhs) = (map(list, pair) for pair in dimensions)
    return mlir.parsed_attr(
        f"#stablehlo.dot<lhs_batching_dimensions = {batch}, "
        f"rhs_batching_dimensions = {batch_rhs}, lhs_contracting_dimensions = {contract}, "
        f"rhs_contracting_dimensions = {contract_rhs}>"
    )


def _check_axes(lhs: ShapedArray, rhs: ShapedArray, dimensions: DotDimensions) -> None:
    (contract, contract_rhs), (batch, batch_rhs) = dimensions
    _check_side("lhs", lhs, contract, batch)
    _check_side("rhs", rhs, contract_rhs, batch_rhs)
    for what, sides, ours, theirs in (
        ("batch", "lhs batch dimensions and rhs batch dimensions", batch, batch_rhs),
        ("contracting", "contracting dimensions", contract, contract_rhs),
    ):
        of = f"(of {lhs.long_name()} and {rhs.long_name()})"
        if len(ours) != len(theirs):
            raise ShapeError(
                f"dot_general requires equal numbers of lhs_{what} and rhs_{what} dimensions, got "
                f"lhs_{what} {tuple(ours)} and rhs_{what} {tuple(theirs)} {of}"
            )
        left, right = [lhs.shape[i] for i in ours], [rhs.shape[i] for i in theirs]
        if left != right:
            raise ShapeError(
                f"dot_general requires {sides} to have the same shape, got {tuple(left)} and "
                f"{tuple(right)} {of}"
            )


def _check_side(
    side: str, x: ShapedArray, contract: tuple[int, ...], batch: tuple[int, ...]
) -> None:
    """Raise ShapeError unless the axes of the operand `side` are distinct axes of `x`."""
    for what, axes in (("contracting", contract), ("batch", batch)):
        if len(set(axes)) != len(axes):
            raise ShapeError(
                f"dot_general requires {side} {what} dimensions to be distinct, got "
                f"{side}_{what} {axes}"
            )
    got = f"{side}_batch {batch} and {side}_contracting {contract} for {x.long_name()}"
    if set(contract) & set(batch):
        raise ShapeError(
            f"dot_general requires {side} batch dimensions to be disjoint from contracting "
            f"dimensions, got {got}"
        )
    if not all(0 <= a < x.ndim for a in (*contract, *batch)):
        raise ShapeError(
            f"dot_general requires {side} dimension numbers to be nonnegative and less than the "
            f"number of axes of the {side} value, got {got}"
        )


@functools.cache
def product_dtype(lhs: DType, rhs: DType, preferred: DType | None) -> DType:
    """Return the dtype of sums of products: `preferred`, or the wider of the two dtypes.

    Raise DTypeError if `preferred` is narrower than integers or complex numbers.
    """
    if lhs != rhs and _range_of(lhs) == _range_of(rhs):
        raise DTypeError(
            f"a product of {dtypes.long_name(lhs)} and {dtypes.long_name(rhs)} has no dtype: "
            "neither holds the other"
        )
    wide = max(lhs, rhs, key=_range_of)
    if preferred is None or preferred == wide:
        return wide
    if dtypes.kind(wide) != "f" and _bits(preferred) < _bits(wide):
        raise DTypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"preferred_element_type of {dtypes.long_name(preferred)} for result type of "
            f"{dtypes.long_name(wide)}"
        )
    return preferred


def _bits(dtype: DType) -> int:
    """Return the width of a number, or of a part of a complex one."""
    return int(_range_of(dtype)[3])


def _range_of(dtype: DType) -> tuple[Any, ...]:
    part, kind = dtypes.to_real(dtype), dtypes.kind(dtype)
    if dtypes.kind(part) != "f":
        return False, -1, -1, 0 if kind == "b" else dtypes.iinfo(dtype).bits, kind != "u"
    limits = dtypes.finfo(part)
    return kind == "c", int(limits.maxexp), int(limits.nmant), int(limits.bits), True


dot_general_p = DotGeneral("dot_general")
