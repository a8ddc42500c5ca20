"""Gather, which reads windows at computed positions, and helpers that scatter shares.

`indices` has a vector of coordinates in its last axis, and one window is read for each; the
dimension numbers, as in XLA, map the axes of the arrays to each other.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, shape_of, shaped
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir import indexed_sharding_rules, sharding_rules
from olympus_core.ir.primitive import Batched, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    BOOL,
    move_axis,
    reshape,
    scalar_zero,
    shift_all,
    spread,
)
from olympus_core.primitives.elementwise.logic import emit_compare, ge_p, le_p
from olympus_core.primitives.reduction import fill_region

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

Axes = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """The roles of the axes of a gather.

    `offset_dims`: the axes of the result that run over a window; `collapsed_slice_dims`: the axes
    of the operand, of window length 1, that the result lacks; `start_index_map`: the operand
    axis of each coordinate; `operand_batching_dims`, `start_indices_batching_dims`: axes that
    operand and indices share.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class ScatterDimensionNumbers(NamedTuple):
    """The roles of the axes of a scatter; the mirror image of GatherDimensionNumbers."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


class GatherScatterMode(enum.Enum):
    """The handling of windows that are out of bounds.

    CLIP moves the window inside.  FILL_OR_DROP reads a fill value, and drops updates.
    PROMISE_IN_BOUNDS promises that no window is out of bounds (reads are then clipped, writes
    dropped).  ONE_HOT reads zeros.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """Return the mode with a name, such as "clip"; None is FILL_OR_DROP.

        Raise ShapeError (a ValueError) for an unknown name.
        """
        if isinstance(s, GatherScatterMode):
            return s
        mode = _MODES.get(s)
        if mode is None:
            names = ", ".join(repr(m) for m in _MODES if m)
            raise ShapeError(f"the mode of an index is one of {names}, and not {s!r}")
        return mode


_MODES: dict[str | None, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


def require(holds: bool, name: str, avals: tuple[ShapedArray, ...], why: str) -> None:
    """Raise ShapeError, with the operands' types and the reason `why`, unless `holds`."""
    if not holds:
        text = ", ".join(a.short_name() for a in avals)
        raise ShapeError(f"{name} of {text}: {why}")


def check_indices(
    name: str, avals: tuple[ShapedArray, ...], coordinates: Axes, batching: tuple[Axes, Axes]
) -> None:
    """Check indices, the operand axes of their coordinates, and the axes that both share."""
    x, indices = avals[:2]
    if dtypes.kind(indices.dtype) not in "iu":
        raise ArgumentError(f"{name} needs integer indices, and got {indices.long_name()}")
    require(indices.ndim > 0, name, avals, "the indices need an axis of coordinates")
    count = indices.shape[-1]
    require(
        len(coordinates) == count and distinct(coordinates, x.ndim),
        name,
        avals,
        f"{count} coordinates need as many distinct axes of the operand, and got {coordinates}",
    )
    of_operand, of_indices = batching
    require(
        len(of_operand) == len(of_indices)
        and distinct(of_operand, x.ndim)
        and distinct(of_indices, indices.ndim - 1)
        and [x.shape[i] for i in of_operand] == [indices.shape[i] for i in of_indices],
        name,
        avals,
        f"batching axes {of_operand} and {of_indices} must pair axes of one length",
    )


def distinct(axes: Axes, rank: int) -> bool:
    """Return True if `axes` are distinct axes of an array of rank `rank`."""
    return len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes)


def increasing(axes: Axes, rank: int) -> bool:
    """Return True if `axes` are axes of an array of rank `rank`, in strictly increasing order."""
    return distinct(axes, rank) and list(axes) == sorted(axes)


def merge(rank: int, window_dims: Axes, window: list[int], batch: Shape) -> Shape:
    """Return a shape with the window's lengths at `window_dims`, and the batch's elsewhere."""
    rest, shape = iter(batch), [0] * rank
    for d, n in zip(window_dims, window, strict=True):
        shape[d] = n
    return tuple([shape[i] if i in window_dims else next(rest) for i in range(rank)])


def emit_bounds(ctx: LoweringContext, indices: ShapedArray, bounds: Sequence[int]) -> Any:
    """Emit a bound for each coordinate, for every vector of coordinates."""
    if len(set(bounds)) == 1:
        return mlir.full(indices, bounds[0])
    row = ctx.numpy_constant(np.array(bounds, indices.dtype))
    return mlir.broadcast(row, indices, (indices.ndim - 1,))


def coordinates_last(indices: Any, axis: int) -> Any:
    """Return indices with their axis of coordinates last; an axis after the last one is added."""
    shape = shape_of(indices)
    if axis == len(shape):
        return reshape(indices, (*shape, 1))
    return move_axis(indices, axis, len(shape) - 1)


class Gather(SingleResult):
    """Windows of `slice_sizes` at each of the coordinates in the indices.

    Batching moves and repeats no array: a mapped operand has one more axis in each window, mapped
    indices have more windows, and if both are mapped their mapped axes are batching axes.
    """

    raised_from: tuple[str, ...] = ("stablehlo.gather",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, indices = avals
        dims: GatherDimensionNumbers = params["dimension_numbers"]
        sizes: Shape = params["slice_sizes"]
        batching = (dims.operand_batching_dims, dims.start_indices_batching_dims)
        check_indices("gather", avals, dims.start_index_map, batching)
        require(
            len(sizes) == x.ndim and all(0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)),
            "gather",
            avals,
            f"windows of {sizes} do not fit the operand",
        )
        dropped = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
        require(
            distinct(dropped, x.ndim) and all(sizes[i] <= 1 for i in dropped),
            "gather",
            avals,
            f"the axes {dropped} that the result lacks must be distinct, with windows of length 1",
        )
        window = [n for i, n in enumerate(sizes) if i not in dropped]
        rank = indices.ndim - 1 + len(window)
        require(
            len(dims.offset_dims) == len(window) and increasing(dims.offset_dims, rank),
            "gather",
            avals,
            f"the result has {len(window)} window axes, in order, and {dims.offset_dims} are given",
        )
        return x.update(shape=merge(rank, dims.offset_dims, window, indices.shape[:-1]))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        dims, sizes = params["dimension_numbers"], params["slice_sizes"]
        return [indexed_sharding_rules.gathered(avals, outs, dims, sizes)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        x, indices = operands
        if params["mode"] in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS):
            return _gather(ctx, x, indices, params)  # XLA clamps the coordinates
        aval = _signed(ctx.avals_in[1])
        if aval is not ctx.avals_in[1]:
            indices = mlir.op1("stablehlo.convert", aval, (indices,))
        out, dims = ctx.aval_out, params["dimension_numbers"]
        inside = _inside(ctx, indices, aval, params)
        batch = tuple([i for i in range(out.ndim) if i not in dims.offset_dims])
        mask = mlir.broadcast(inside, shaped(out.shape, BOOL), batch)
        with np.errstate(all="ignore"):
            fill = mlir.full(out, np.asarray(params["fill_value"]).astype(out.dtype))
        return mlir.op1("stablehlo.select", out, (mask, _gather(ctx, x, indices, params), fill))

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        dims = mlir.hlo.GatherDimensionNumbers(operation.attribute("dimension_numbers"))
        x, indices = operands
        return self.bind(
            x,
            coordinates_last(indices, dims.index_vector_dim),
            dimension_numbers=GatherDimensionNumbers(
                tuple(dims.offset_dims),
                tuple(dims.collapsed_slice_dims),
                tuple(dims.start_index_map),
                tuple(dims.operand_batching_dims),
                tuple(dims.start_indices_batching_dims),
            ),
            slice_sizes=operation.ints("slice_sizes"),
            indices_are_sorted=operation.flag("indices_are_sorted"),
            unique_indices=False,
            mode=GatherScatterMode.CLIP,
            fill_value=None,
        )

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        out, (t, _) = self.bind(*primals, **params), tangents
        if t is None:
            return out, None
        return out, self.bind(t, primals[1], **(params | {"fill_value": 0}))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, indices = operands
        into = op.scatter_add(
            spread(scalar_zero(cotangent), x.aval.shape),
            indices,
            cotangent,
            dimension_numbers=ScatterDimensionNumbers(*params["dimension_numbers"]),
            indices_are_sorted=params["indices_are_sorted"],
            unique_indices=params["unique_indices"],
            mode=params["mode"],
        )
        return [into, None]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        (x, indices), (dx, di) = args, dims
        numbers: GatherDimensionNumbers = params["dimension_numbers"]
        rank = len(shape_of(indices)) - (di is not None) - 1 + len(numbers.offset_dims)
        if di is None:
            assert dx is not None
            numbers, place = _over_operand(numbers, dx, rank)
        else:
            if di == len(shape_of(indices)) - 1:
                indices, di = move_axis(indices, di, 0), 0
            numbers, place = _over_indices(numbers, dx, di, rank)
            again = dx is None or di > 0  # the order, and the positions, restart for each
            for name in ("indices_are_sorted", "unique_indices"):
                params[name] = params[name] and not again
        params["dimension_numbers"] = numbers
        if dx is not None:
            size = batched.size if di is None else min(batched.size, 1)
            sizes = params["slice_sizes"]
            params["slice_sizes"] = (*sizes[:dx], size, *sizes[dx:])
        return self.bind(x, indices, **params), place


def _gather(ctx: LoweringContext, x: Any, indices: Any, params: dict[str, Any]) -> Any:
    dims: GatherDimensionNumbers = params["dimension_numbers"]
    fields = [f"{name} = {list(value)}" for name, value in dims._asdict().items() if value]
    fields.append(f"index_vector_dim = {ctx.avals_in[1].ndim - 1}")
    attributes = {
        "dimension_numbers": mlir.parsed_attr(f"#stablehlo.gather<{', '.join(fields)}>"),
        "slice_sizes": mlir.i64_array(params["slice_sizes"]),
        "indices_are_sorted": mlir.bool_attr(params["indices_are_sorted"]),
    }
    return mlir.op1("stablehlo.gather", ctx.aval_out, (x, indices), attributes)


def _signed(indices: ShapedArray) -> ShapedArray:
    """Return the aval of indices in a signed dtype that holds them and every bound below 2**31."""
    wide = indices.dtype.itemsize > 4 or indices.dtype == np.dtype("uint32")
    return shaped(indices.shape, np.dtype("int64" if wide else "int32"))


def _inside(ctx: LoweringContext, indices: Any, aval: ShapedArray, params: dict[str, Any]) -> Any:
    """Emit a bool for each vector of coordinates: True if its window is within the operand."""
    dims: GatherDimensionNumbers = params["dimension_numbers"]
    x, sizes = ctx.avals_in[0], params["slice_sizes"]
    last = emit_bounds(ctx, aval, [x.shape[i] - sizes[i] for i in dims.start_index_map])
    low = emit_compare(ge_p, aval, indices, mlir.full(aval, 0))
    high = emit_compare(le_p, aval, indices, last)
    both = mlir.op1("stablehlo.and", shaped(aval.shape, BOOL), (low, high))
    inside, flag = shaped(aval.shape[:-1], BOOL), shaped((), BOOL)
    if aval.shape[-1] == 1:
        return mlir.op1("stablehlo.reshape", inside, (both,))
    init = ctx.numpy_constant(np.asarray(True))
    over = {"dimensions": mlir.i64_array((aval.ndim - 1,))}
    operation = mlir.op(
        "stablehlo.reduce", [mlir.tensor_type(inside)], (both, init), over, regions=1
    )
    fill_region(operation, [flag], lambda a, b: (mlir.op1("stablehlo.and", flag, (a, b)),))
    return operation.result


def _over_operand(
    numbers: GatherDimensionNumbers, dim: int, rank: int
) -> tuple[GatherDimensionNumbers, int]:
    """Return numbers for an operand with one more axis, and that axis's position in the result."""
    absent = {
        _shift(a, dim) for a in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    }
    before = sum([i not in absent for i in range(dim)])
    offsets = numbers.offset_dims
    place = offsets[before] if before < len(offsets) else rank
    shifted = [_shift(i, place) for i in offsets]
    return (
        numbers._replace(
            offset_dims=(*shifted[:before], place, *shifted[before:]),
            collapsed_slice_dims=shift_all(numbers.collapsed_slice_dims, dim),
            start_index_map=shift_all(numbers.start_index_map, dim),
            operand_batching_dims=shift_all(numbers.operand_batching_dims, dim),
        ),
        place,
    )


def _over_indices(
    numbers: GatherDimensionNumbers, of_operand: int | None, dim: int, rank: int
) -> tuple[GatherDimensionNumbers, int]:
    """Return numbers for indices, and if it is mapped an operand, with one more axis."""
    batch_dims = [i for i in range(rank) if i not in numbers.offset_dims]
    place = batch_dims[dim] if dim < len(batch_dims) else rank
    pairs = list(
        zip(
            numbers.operand_batching_dims,
            shift_all(numbers.start_indices_batching_dims, dim),
            strict=True,
        )
    )
    collapsed, starts = numbers.collapsed_slice_dims, numbers.start_index_map
    if of_operand is not None:
        pairs = sorted([(of_operand, dim), *((_shift(a, of_operand), b) for a, b in pairs)])
        collapsed, starts = shift_all(collapsed, of_operand), shift_all(starts, of_operand)
    return (
        GatherDimensionNumbers(
            shift_all(numbers.offset_dims, place),
            collapsed,
            starts,
            tuple([a for a, _ in pairs]),
            tuple([b for _, b in pairs]),
        ),
        place,
    )


def _shift(axis: int, dim: int) -> int:
    """Return an axis of a value as an axis of the array that also has a mapped axis at `dim`."""
    return axis + (axis >= dim)


gather_p = Gather("gather")
