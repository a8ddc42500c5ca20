"""Slicing primitives: they read, write or pad a part of an array.

A slice at mapped positions is a gather, and an update at mapped positions a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, shape_of
from olympus_core.base.dimensions.expression import known_at_least, max_dim
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir import sharding_rules, unreduced_rules
from olympus_core.ir.axis_orders import Order, Reordered, along_axes
from olympus_core.ir.primitive import Avals, Batched, Linear, LinearPrimitive, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    at_front,
    check_one_dtype,
    move_axis,
    scalar_zero,
    spread,
    zeros_like,
)
from olympus_core.primitives.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


def emit_slice(x: Any, out: ShapedArray, start: Shape, limit: Shape, strides: Shape) -> Any:
    """Emit a slice of type `out`, with a bound and a stride for each axis."""
    bounds = {"start_indices": start, "limit_indices": limit, "strides": strides}
    attributes = {name: mlir.i64_array(value) for name, value in bounds.items()}
    return mlir.op1("stablehlo.slice", out, (x,), attributes)


class Slice(LinearPrimitive, SingleResult):
    """Elements `start_indices` to `limit_indices` of each axis, by `strides` (None: all)."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    raised_from: tuple[str, ...] = ("stablehlo.slice",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        start, limit = params["start_indices"], params["limit_indices"]
        strides = params["strides"] or (1,) * x.ndim
        _check_slice(x, start, limit, strides)
        shape = [(b - a + s - 1) // s for a, b, s in zip(start, limit, strides, strict=True)]
        return x.update(shape=tuple(shape))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.resized("slicing", avals[0], outs[0].shape)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        strides = params["strides"] or (1,) * ctx.avals_in[0].ndim
        start, limit = params["start_indices"], params["limit_indices"]
        return emit_slice(operands[0], ctx.aval_out, start, limit, strides)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        start, limit, strides = (
            operation.ints(name) for name in ("start_indices", "limit_indices", "strides")
        )
        steps = None if set(strides) <= {1} else strides
        return self.bind(*operands, start_indices=start, limit_indices=limit, strides=steps)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        shape, start = operands[0].aval.shape, params["start_indices"]
        strides = params["strides"] or (1,) * len(shape)
        config = []
        for n, a, s, length in zip(shape, start, strides, shape_of(cotangent), strict=True):
            last = a + 1 + (length - 1) * s if length else a
            config.append((a, n - last, s - 1))
        return [op.pad(cotangent, scalar_zero(cotangent), padding_config=tuple(config))]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim, n = dims[0] or 0, batched.size
        moved = {
            name: _insert(params[name], dim, v)
            for name, v in (("start_indices", 0), ("limit_indices", n), ("strides", 1))
        }
        return self.bind(args[0], **moved), dim

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order = orders[0]
        if order is None:
            return None
        names = ("start_indices", "limit_indices", "strides")
        return Reordered(along_axes(params, order, names), (order,), (order,))


def _check_slice(x: ShapedArray, start: Shape, limit: Shape, strides: Shape) -> None:
    """Raise ShapeError unless the bounds and strides select elements of each axis of `x`."""
    given = f"limit_indices {limit} and start_indices {start}"
    if len(start) != x.ndim or len(limit) != x.ndim:
        raise ShapeError(
            "slice start_indices must have length equal to the number of dimensions of the "
            f"operand, as limit_indices, got {given} for operand shape {x.shape}."
        )
    if len(strides) != x.ndim:
        raise ShapeError(
            "slice strides must have length equal to the number of dimensions of the operand, got "
            f"strides {strides} for operand shape {x.shape}."
        )
    if not all(s > 0 for s in strides):
        raise ShapeError(f"slice strides must be positive, got {strides}")
    if not all(a >= 0 for a in start):
        raise ShapeError(
            f"slice start_indices must be greater than or equal to zero, got start_indices of "
            f"{start}."
        )
    if not all(b <= n for b, n in zip(limit, x.shape, strict=True)):
        raise ShapeError(
            "slice limit_indices must be less than or equal to operand shape, got limit_indices "
            f"{limit} for operand shape {x.shape}."
        )
    if not all(a <= b for a, b in zip(start, limit, strict=True)):
        raise ShapeError(
            f"slice limit_indices must be greater than or equal to start_indices, got {given}."
        )


def _insert(values: tuple[int, ...] | None, place: int, value: int) -> tuple[int, ...] | None:
    return None if values is None else (*values[:place], value, *values[place:])


def _check_starts(name: str, x: ShapedArray, starts: tuple[ShapedArray, ...]) -> None:
    if len(starts) != x.ndim:
        raise ShapeError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(starts)} vs {x.shape}) in {name}"
        )
    if any(s.shape for s in starts):
        raise ShapeError(
            f"start_indices arguments to {name} must be scalars, got indices "
            f"({', '.join([s.long_name() for s in starts])})"
        )
    if any(dtypes.kind(s.dtype) not in "ui" for s in starts) or len({s.dtype for s in starts}) > 1:
        raise index_dtypes_error(name, [s.dtype for s in starts])


def index_dtypes_error(name: str, given: Sequence[dtypes.DType]) -> DTypeError:
    """Return the error of start indices that are not integers of one dtype."""
    text = ", ".join(map(dtypes.long_name, given))
    return DTypeError(f"index arguments to {name} must be integers of the same type, got: {text}")


class DynamicSlice(LinearPrimitive, SingleResult):
    """`slice_sizes` elements from the start indices on, which are clamped to within bounds."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.only_reduced)
    raised_from: tuple[str, ...] = ("stablehlo.dynamic_slice",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, *starts = avals
        sizes: Shape = params["slice_sizes"]
        _check_starts("dynamic_slice", x, tuple(starts))
        if len(sizes) != x.ndim or any(
            not 0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)
        ):
            raise ShapeError(
                "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
                f"{sizes} for operand shape {x.shape}, in dynamic_slice"
            )
        return x.update(shape=sizes)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.resized(self.name, avals[0], outs[0].shape)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        sizes = {"slice_sizes": mlir.i64_array(params["slice_sizes"])}
        return mlir.op1("stablehlo.dynamic_slice", ctx.aval_out, operands, sizes)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, slice_sizes=operation.ints("slice_sizes"))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, *starts = operands
        zeros = spread(scalar_zero(cotangent), x.aval.shape)
        return [op.dynamic_update_slice(zeros, cotangent, *starts), *[None] * len(starts)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        x, *starts = args
        if any(d is not None for d in dims[1:]):
            return _gather_slices(batched, args, dims, params["slice_sizes"])
        dim = dims[0] or 0
        zero = scalar_zero(starts[0]) if starts else np.int32(0)
        sizes = _insert(params["slice_sizes"], dim, batched.size)
        return self.bind(x, *starts[:dim], zero, *starts[dim:], slice_sizes=sizes), dim


def _gather_slices(
    batched: Batched, args: Sequence[Any], dims: Sequence[int | None], sizes: Shape
) -> tuple[Any, int]:
    """Return slices at mapped positions, by a gather; it clamps starts as dynamic_slice does."""
    x, indices = args[0], _starts(batched, args[1:], dims[1:])
    rank, mapped = len(sizes), dims[0] is not None
    x = move_axis(x, dims[0], 0) if dims[0] is not None else x
    first = 1 if mapped else 0
    out = op.gather(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=tuple(range(1, rank + 1)),
            collapsed_slice_dims=(),
            start_index_map=tuple(range(first, rank + first)),
            operand_batching_dims=(0,) if mapped else (),
            start_indices_batching_dims=(0,) if mapped else (),
        ),
        slice_sizes=(*((1,) if mapped else ()), *sizes),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )
    return out, 0


def _starts(batched: Batched, starts: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """Return the start indices, one row for each mapped index, as gather and scatter take them."""
    columns = [at_front(s, d, batched.size) for s, d in zip(starts, dims, strict=True)]
    return op.stack(*columns, axis=1)


class DynamicUpdateSlice(SingleResult):
    """The operand with the update written at the start indices, clamped to within bounds."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.updated)
    raised_from: tuple[str, ...] = ("stablehlo.dynamic_update_slice",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, update, *starts = avals
        _check_starts("dynamic_update_slice", x, tuple(starts))
        check_one_dtype("dynamic_update_slice", (x, update))
        shapes = f"got update shape {update.shape} for operand shape {x.shape}."
        if update.ndim != x.ndim:
            raise ShapeError(
                f"dynamic_update_slice update must have the same rank as operand, {shapes}"
            )
        if any(u > n for u, n in zip(update.shape, x.shape, strict=True)):
            raise ShapeError(
                f"dynamic_update_slice update shape must be smaller than operand shape, {shapes}"
            )
        return x.update(weak_type=x.weak_type and update.weak_type)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        if sharding_rules.spec_of(avals[0]) != sharding_rules.spec_of(avals[1]):
            raise sharding_rules.ambiguous(
                "dynamic_update_slice operand sharding must be equal to update sharding, got "
                f"operand sharding {avals[0].long_name()} and update sharding "
                f"{avals[1].long_name()}",
                avals[:2],
            )
        return [sharding_rules.spec_of(avals[0])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return mlir.op1("stablehlo.dynamic_update_slice", ctx.aval_out, operands)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        x, update, *starts = primals
        dx, du = tangents[:2]
        out = self.bind(*primals)
        if dx is None and du is None:
            return out, None
        dx = zeros_like(x) if dx is None else dx
        du = zeros_like(update) if du is None else du
        return out, self.bind(dx, du, *starts)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, update, *starts = operands
        shape = update.aval.shape if isinstance(update, Linear) else shape_of(update)
        dx = du = None
        if isinstance(x, Linear):
            hole = spread(scalar_zero(cotangent), shape)
            dx = self.bind(cotangent, hole, *starts)
        if isinstance(update, Linear):
            du = op.dynamic_slice(cotangent, *starts, slice_sizes=shape)
        return [dx, du, *[None] * len(starts)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        if any(d is not None for d in dims[2:]):
            return _scatter_slices(batched, args, dims)
        x, update, *starts = args
        x, update = (
            at_front(v, d, batched.size) for v, d in zip((x, update), dims[:2], strict=True)
        )
        zero = scalar_zero(starts[0]) if starts else np.int32(0)
        return self.bind(x, update, zero, *starts), 0


def _scatter_slices(
    batched: Batched, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, int]:
    """Return updates at mapped positions, by a scatter that clamps starts."""
    x, update = (at_front(v, d, batched.size) for v, d in zip(args[:2], dims[:2], strict=True))
    rank = len(shape_of(update)) - 1
    out = op.scatter(
        x,
        _starts(batched, args[2:], dims[2:]),
        update,
        dimension_numbers=ScatterDimensionNumbers(
            update_window_dims=tuple(range(1, rank + 1)),
            inserted_window_dims=(),
            scatter_dims_to_operand_dims=tuple(range(1, rank + 1)),
            operand_batching_dims=(0,),
            scatter_indices_batching_dims=(0,),
        ),
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
    return out, 0


class Pad(SingleResult):
    """Padding by (low, high, interior) for each axis in `padding_config`; negative values crop."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    raised_from: tuple[str, ...] = ("stablehlo.pad",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, value = avals
        config: tuple[tuple[int, int, int], ...] = params["padding_config"]
        if x.dtype != value.dtype:
            names = [dtypes.long_name(a.dtype) for a in avals]
            raise DTypeError(
                f"pad operand and padding_value must be same dtype: got {names[0]} and {names[1]}"
            )
        if value.shape:
            raise ShapeError(
                f"padding_value must be a scalar; got np.shape(padding_value)={value.shape}, in pad"
            )
        if len(config) != x.ndim or any(len(c) != 3 for c in config):
            raise ShapeError(
                "length of padding_config must equal the number of axes of operand, with (low, "
                f"high, interior) for each; got padding_config {config} for operand shape {x.shape}"
            )
        if any(c[2] < 0 for c in config):
            raise ShapeError(
                "interior padding in padding_config must be nonnegative, got padding_config "
                f"{config}"
            )
        shape = tuple(
            [
                low + high + n + (interior and interior * max_dim(0, n - 1))
                for n, (low, high, interior) in zip(x.shape, config, strict=True)
            ]
        )
        if any(known_at_least(-n, 1) for n in shape):
            raise ShapeError(
                f"Dimension size after padding is not at least 0, got result shape {shape}, for "
                f"padding_config {config} and operand shape {x.shape}"
            )
        return x.update(shape=shape, weak_type=x.weak_type and value.weak_type)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.resized(self.name, avals[0], outs[0].shape)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        config = params["padding_config"]
        attributes = {
            name: mlir.i64_array(tuple([c[i] for c in config])) for i, name in enumerate(names)
        }
        return mlir.op1("stablehlo.pad", ctx.aval_out, operands, attributes)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        columns = [operation.ints(name) for name in names]
        return self.bind(*operands, padding_config=tuple(zip(*columns, strict=True)))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        x, value = primals
        out, (dx, dv) = self.bind(x, value, **params), tangents
        if dx is None and dv is None:
            return out, None
        dx = zeros_like(x) if dx is None else dx
        dv = scalar_zero(value) if dv is None else dv
        return out, self.bind(dx, dv, **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, value = operands
        config = params["padding_config"]
        shape = x.aval.shape if isinstance(x, Linear) else shape_of(x)
        undo = tuple([(-low, -high, 0) for low, high, _ in config])
        dx = self.bind(cotangent, scalar_zero(cotangent), padding_config=undo)
        if any(c[2] for c in config):
            strides = tuple([c[2] + 1 for c in config])
            dx = op.slice(
                dx,
                start_indices=(0,) * len(shape),
                limit_indices=shape_of(dx),
                strides=strides,
            )
        if not isinstance(value, Linear):
            return [dx, None]
        axes = tuple(range(len(shape)))
        total = op.reduce_sum(cotangent, axes=axes)
        dv = op.sub(total, op.reduce_sum(dx, axes=axes))
        return [dx if isinstance(x, Linear) else None, dv]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        (x, value), (dx, dv) = args, dims
        config = params["padding_config"]
        if dv is None:
            moved = (*config[:dx], (0, 0, 0), *config[dx:])
            return self.bind(x, value, padding_config=moved), dx
        x = at_front(x, dx, batched.size)
        moved = ((0, 0, 0), *config)
        padded = self.bind(x, scalar_zero(x), padding_config=moved)
        inside = self.bind(
            spread(np.True_, shape_of(x)),
            np.False_,
            padding_config=moved,
        )
        fill = op.broadcast_in_dim(value, shape=shape_of(padded), broadcast_dimensions=(0,))
        return op.select_n(inside, fill, padded), 0

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order = orders[0]
        if order is None:
            return None
        return Reordered(along_axes(params, order, ["padding_config"]), (order, None), (order,))


slice_p = Slice("slice")
dynamic_slice_p = DynamicSlice("dynamic_slice")
dynamic_update_slice_p = DynamicUpdateSlice("dynamic_update_slice")
pad_p = Pad("pad")
