"""Scatter primitives: they write windows at computed positions, or combine them with the operand.

See `gather.py` for coordinates and dimension numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of
from olympus_core.base.dimensions.expression import known_at_least
from olympus_core.base.errors import DTypeError, NoDerivativeError, TransformError
from olympus_core.ir import indexed_sharding_rules, sharding_rules
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Batched, Linear, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    at_front,
    check_one_dtype,
    elementwise_constant,
    reshape,
    scalar_zero,
    shift_all,
    spread,
    zeros_like,
)
from olympus_core.primitives.elementwise.logic import emit_extremum
from olympus_core.primitives.gather import (
    DimensionChecks,
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    coordinates_last,
    emit_bounds,
)
from olympus_core.primitives.reduction import fill_region
from olympus_core.primitives.sharding import retyped

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class Scatter(SingleResult):
    """The operand with windows combined with the updates, by one operation."""

    raised_from: tuple[str, ...] = ("stablehlo.scatter",)

    def __init__(self, name: str, op: str = "") -> None:
        super().__init__(name)
        self.op = op

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, indices, updates = avals
        dims: ScatterDimensionNumbers = params["dimension_numbers"]
        check_one_dtype(self.name, (x, updates))
        if self.op == "stablehlo.subtract" and x.dtype == dtypes.bool_:
            raise DTypeError(f"{self.name} takes numbers, and got {x.long_name()}")
        coordinates, window_dims = dims.scatter_dims_to_operand_dims, dims.update_window_dims
        inserted, batching = dims.inserted_window_dims, dims.operand_batching_dims
        checks = DimensionChecks("scatter", self.name, avals)
        rank = indices.ndim - 1 + len(window_dims)
        checks.require(
            updates.ndim == rank, f"Updates tensor must be of rank {rank}; got {updates.ndim}."
        )
        checks.order("update_window_dims", window_dims)
        checks.range("update_window_dims", window_dims, updates.ndim)
        checks.absent(
            "inserted_window_dims",
            inserted,
            batching,
            ("scatter_dims_to_operand_dims", coordinates),
        )
        checks.batching(
            "scatter_indices_batching_dims", batching, dims.scatter_indices_batching_dims
        )
        size = len(window_dims) + len(inserted) + len(batching)
        checks.require(
            size == x.ndim,
            f"Scatter op has window of size {size}; doesn't match operand of rank {x.ndim}.",
        )
        checks.coordinates("scatter_dims_to_operand_dims", coordinates)
        whole = [n for i, n in enumerate(x.shape) if i not in (*inserted, *batching)]
        for d, n in zip(window_dims, whole, strict=True):
            checks.require(
                updates.shape[d] <= n,
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {d}, updates bound is "
                f"{updates.shape[d]}, operand bound is {n}.",
            )
        rest = [d for d in range(updates.ndim) if d not in window_dims]
        for i, (d, n) in enumerate(zip(rest, indices.shape[:-1], strict=True)):
            checks.require(
                updates.shape[d] == n,
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                f"corresponding dimensions of scatter indices. For scatter dimension {i}, updates "
                f"bound is {updates.shape[d]}, indices bound is {n}.",
            )
        return x

    def combine(self, ctx: LoweringContext, operation: Any, params: dict[str, Any]) -> None:
        """Fill the region that combines an element with its update."""
        scalar = ctx.aval_out.update(shape=())
        fill_region(operation, [scalar], lambda x, y: (self.combined(scalar, x, y),))

    def combined(self, aval: ShapedArray, x: Any, y: Any) -> Any:
        """Emit the combination of an element with its update."""
        return mlir.op1(self.op, aval, (x, y))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [indexed_sharding_rules.scattered(avals, params["dimension_numbers"])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        x, indices, updates = operands
        dims: ScatterDimensionNumbers = params["dimension_numbers"]
        if params["mode"] is GatherScatterMode.CLIP:
            indices = _clipped(ctx, indices, dims)
        fields = [
            f"{_SCATTER_FIELDS.get(name, name)} = {list(value)}"
            for name, value in dims._asdict().items()
            if value
        ]
        fields.append(f"index_vector_dim = {ctx.avals_in[1].ndim - 1}")
        numbers = mlir.parsed_attr(f"#stablehlo.scatter<{', '.join(fields)}>")
        attributes = {
            "scatter_dimension_numbers": numbers,
            "indices_are_sorted": mlir.bool_attr(params["indices_are_sorted"]),
            "unique_indices": mlir.bool_attr(params["unique_indices"]),
        }
        types = [mlir.tensor_type(ctx.aval_out)]
        operation = mlir.op(
            "stablehlo.scatter", types, (x, indices, updates), attributes, regions=1
        )
        self.combine(ctx, operation, params)
        return operation.result

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        if len(operands) != 3 or not self.recognizes(operation):
            return None
        attribute = operation.attribute("scatter_dimension_numbers")
        dims = mlir.hlo.ScatterDimensionNumbers(attribute)
        x, indices, updates = operands
        return self.bind(
            x,
            coordinates_last(indices, dims.index_vector_dim),
            updates,
            dimension_numbers=ScatterDimensionNumbers(
                tuple(dims.update_window_dims),
                tuple(dims.inserted_window_dims),
                tuple(dims.scattered_dims_to_operand_dims),
                tuple(dims.input_batching_dims),
                tuple(dims.scatter_indices_batching_dims),
            ),
            indices_are_sorted=operation.flag("indices_are_sorted"),
            unique_indices=operation.flag("unique_indices"),
            mode=GatherScatterMode.FILL_OR_DROP,
        )

    def recognizes(self, operation: StableHloOperation) -> bool:
        """Return True if the operation combines elements with updates as this primitive does."""
        is_complex = dtypes.kind(operation.aval_out.dtype) == "c"
        if is_complex and self.op in ("stablehlo.maximum", "stablehlo.minimum"):
            return False
        return operation.combiner == self.op

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        n, numbers = batched.size, params["dimension_numbers"]
        x, updates = at_front(args[0], dims[0], n), at_front(args[2], dims[2], n)
        indices = args[1] if dims[1] is None else at_front(args[1], dims[1], n)
        window, inserted, starts, of_operand, of_indices = (shift_all(v, 0) for v in numbers)
        if dims[1] is None:  # one more axis in each window
            window, of_indices = (0, *window), numbers.scatter_indices_batching_dims
        else:
            of_operand, of_indices = (0, *of_operand), (0, *of_indices)
        params["dimension_numbers"] = ScatterDimensionNumbers(
            window, inserted, starts, of_operand, of_indices
        )
        return self.bind(x, indices, updates, **params), 0


_SCATTER_FIELDS = {"operand_batching_dims": "input_batching_dims"}


def _clipped(ctx: LoweringContext, indices: Any, dims: ScatterDimensionNumbers) -> Any:
    """Emit the coordinates moved so that every window is within the operand."""
    x, aval, updates = ctx.avals_in
    sizes = _window_sizes(dims, x.ndim, updates.shape)
    highest = int(dtypes.iinfo(aval.dtype).max)
    bounds = [min(x.shape[i] - sizes[i], highest) for i in dims.scatter_dims_to_operand_dims]
    last = emit_bounds(ctx, aval, bounds)
    return mlir.op1("stablehlo.clamp", aval, (mlir.full(aval, 0), indices, last))


def _window_sizes(dims: ScatterDimensionNumbers, rank: int, updates: Shape) -> Shape:
    """Return the lengths of a window along each axis of the operand."""
    absent = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = iter(dims.update_window_dims)
    return tuple([1 if i in absent else updates[next(window)] for i in range(rank)])


def _windows(x: Any, indices: Any, updates: Shape, params: dict[str, Any]) -> Any:
    """Return the elements of an array at the updates' positions; 0 for dropped updates."""
    dims: ScatterDimensionNumbers = params["dimension_numbers"]
    return op.gather(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(*dims),
        slice_sizes=_window_sizes(dims, len(shape_of(x)), updates),
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
        fill_value=0,
    )


def _alone(indices: Any, params: dict[str, Any]) -> bool:
    """Return True if no element is written twice."""
    shape, dims = shape_of(indices), params["dimension_numbers"]
    shared = (*dims.scatter_indices_batching_dims, len(shape) - 1)
    count = math.prod([n for i, n in enumerate(shape) if i not in shared])
    return count <= 1 or params["unique_indices"]


def _chosen(shape: Shape, indices: Any, updates: Shape, params: dict[str, Any]) -> tuple[Any, Any]:
    """Return masks of the operand's elements that stay and of the updates that are written."""
    count = math.prod(updates)
    dtype = np.dtype("uint32" if not known_at_least(count, 2**32 - 1) else "uint64")
    flat = op.iota(shape=(count,), dimension=0, dtype=dtype)
    numbers = reshape(op.add(flat, dtype.type(1)), updates)
    none = dtype.type(0)
    left = op.scatter(spread(none, shape), indices, numbers, **params)
    return op.eq(left, none), op.eq(_windows(left, indices, updates, params), numbers)


def _where(condition: Any, x: Any) -> Any:
    """Return `x` where `condition` is True, and 0 elsewhere."""
    return op.select_n(condition, scalar_zero(x), x)


def _zeros_like(x: Any) -> Any:
    """Return zeros with the shape, the dtype and the sharding in the type of x."""
    return retyped(zeros_like(x), get_aval(x))


def _shape(x: Any) -> Shape:
    return x.aval.shape if isinstance(x, Linear) else shape_of(x)


class Replace(Scatter):
    """The operand with windows replaced by the updates.

    Where windows overlap, StableHLO does not define which update is written.  So the rules for
    value and derivative choose the same one: the one whose number a scatter of numbers leaves.
    """

    def combine(self, ctx: LoweringContext, operation: Any, params: dict[str, Any]) -> None:
        """Fill the region with the update."""
        fill_region(operation, [ctx.aval_out.update(shape=())], lambda _, y: (y,))

    def recognizes(self, operation: StableHloOperation) -> bool:
        scalar = operation.aval_out.update(shape=())
        return operation.region_equals([scalar] * 2, lambda _, y: (y,))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        x, indices, updates = primals
        dx, _, du = tangents
        if dx is None and du is None:
            return self.bind(*primals, **params), None
        dx = _zeros_like(x) if dx is None else dx
        du = _zeros_like(updates) if du is None else du
        if _alone(indices, params):
            params["unique_indices"] = True
            return self.bind(*primals, **params), self.bind(dx, indices, du, **params)
        unwritten, written = _chosen(shape_of(x), indices, shape_of(updates), params)

        def combined(x: Any, updates: Any) -> Any:
            return op.scatter_add(_where(unwritten, x), indices, _where(written, updates), **params)

        return combined(x, updates), combined(dx, du)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, indices, updates = operands
        shape, dx, du = _shape(updates), None, None
        if isinstance(updates, Linear):
            du = _windows(cotangent, indices, shape, params)
        if _alone(indices, params):
            if isinstance(x, Linear):
                hole = spread(scalar_zero(cotangent), shape)
                dx = self.bind(cotangent, indices, hole, **params)
            return [dx, None, du]
        unwritten, written = _chosen(shape_of(cotangent), indices, shape, params)
        dx = _where(unwritten, cotangent) if isinstance(x, Linear) else None
        return [dx, None, None if du is None else _where(written, du)]


class ScatterSum(Scatter):
    """The operand with updates added or subtracted, which is linear in both."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        x, indices, _ = primals
        dx, _, du = tangents
        out = self.bind(*primals, **params)
        if du is None:
            return out, dx
        return out, self.bind(_zeros_like(x) if dx is None else dx, indices, du, **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, indices, updates = operands
        share = None
        if isinstance(updates, Linear):
            share = _windows(cotangent, indices, updates.aval.shape, params)
            share = op.neg(share) if self is scatter_sub_p else share
        return [cotangent if isinstance(x, Linear) else None, None, share]


class ScatterProduct(Scatter):
    """The operand with elements multiplied by updates."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        x, indices, updates = primals
        dx, _, du = tangents
        total = None if dx is None else self.bind(dx, indices, updates, **params)
        if du is not None:
            if not _alone(indices, params):
                raise NoDerivativeError(
                    "scatter_mul gradients are only implemented if `unique_indices=True`: its "
                    "updates have no derivative where windows may overlap",
                    hint="pass unique_indices=True if they do not",
                )
            part = op.mul(x, op.scatter_add(_zeros_like(x), indices, du, **params))
            total = part if total is None else op.add_any(total, part)
        return self.bind(*primals, **params), total

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, indices, updates = operands
        if not isinstance(x, Linear) or isinstance(updates, Linear):
            raise TransformError("scatter_mul is linear in its operand alone")
        return [self.bind(cotangent, indices, updates, **params), None, None]


class ScatterExtremum(Scatter):
    """The operand with the greater or lesser of elements and updates.

    If several attain it, the derivative is the mean of theirs, as in `reduce_max`.
    """

    def combined(self, aval: ShapedArray, x: Any, y: Any) -> Any:
        return emit_extremum(self.op, aval, x, y)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        x, indices, updates = primals
        out, dtype = self.bind(*primals, **params), get_aval(x).dtype
        dx, _, du = tangents
        if dx is None and du is None:
            return out, None
        best = _windows(out, indices, shape_of(updates), params)
        unwritten, written = (
            op.convert_element_type(op.eq(*pair), new_dtype=dtype, weak_type=False)
            for pair in ((x, out), (updates, best))
        )
        count = op.scatter_add(unwritten, indices, written, **params)
        share = op.div(elementwise_constant(x, 1), count)
        total = _zeros_like(x) if dx is None else op.mul(dx, unwritten)
        if du is not None:
            total = op.scatter_add(total, indices, op.mul(du, written), **params)
        return out, op.mul(total, share)


class Apply(Scatter):
    """The operand with the program `olympuspr` applied to the elements of each window."""

    higher_order: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ()

    def combine(self, ctx: LoweringContext, operation: Any, params: dict[str, Any]) -> None:
        """Fill the region with the program; it ignores the update."""
        program: Olympuspr = params["olympuspr"]
        scalar = ctx.aval_out.update(shape=())
        nested = ctx.nested()
        fill_region(operation, [scalar], lambda x, _: nested.inline(program, [x]))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        if tangents[0] is not None:
            raise NoDerivativeError(
                "scatter_apply has no derivative rule: its JVP is not implemented",
                hint="gather the elements, compute, and scatter the results with `set`",
            )
        return self.bind(*primals, **params), None


scatter_p = Replace("scatter")
scatter_add_p = ScatterSum("scatter-add", "stablehlo.add")
scatter_sub_p = ScatterSum("scatter-sub", "stablehlo.subtract")
scatter_mul_p = ScatterProduct("scatter-mul", "stablehlo.multiply")
scatter_min_p = ScatterExtremum("scatter-min", "stablehlo.minimum")
scatter_max_p = ScatterExtremum("scatter-max", "stablehlo.maximum")
scatter_apply_p = Apply("scatter-apply")
