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
            raise ShapeError(f'Unknown gather mode "{s}": the mode of an index is one of {names}')
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


class DimensionChecks(NamedTuple):
    """Checks of the dimension numbers of a gather or a scatter.

    `kind` is the word for it in messages, `name` the primitive's name, and `avals` are the types of
    its operands: an array, indices, and the updates of a scatter.
    """

    kind: str
    name: str
    avals: tuple[ShapedArray, ...]

    def require(self, holds: bool, why: str) -> None:
        """Raise ShapeError with the reason `why` unless `holds`."""
        require(holds, self.name, self.avals, why)

    def order(self, field: str, axes: Axes) -> None:
        """Check that the axes of a field are in strictly increasing order."""
        place = f"{field} in {self.kind} op must"
        self.require(list(axes) == sorted(axes), f"{place} be sorted; got {axes}")
        self.require(len(set(axes)) == len(axes), f"{place} not repeat; got: {axes}.")

    def range(self, field: str, axes: Axes, rank: int) -> None:
        """Check that the axes of a field are axes of an array of rank `rank`."""
        for a in axes:
            self.require(
                0 <= a < rank,
                f"Invalid {field} set in {self.kind} op; valid range is [0, {rank}); got: {a}.",
            )

    def disjoint(self, fields: str, axes: Axes, others: Axes) -> None:
        """Check that two fields have no axis in common; `fields` has both names."""
        self.require(
            not set(axes) & set(others),
            f"{fields} in {self.kind} op must be disjoint; got: {axes} and {others}.",
        )

    def coordinates(self, field: str, axes: Axes) -> None:
        """Check the indices, and the axes of the operand that their coordinates belong to."""
        x, indices = self.avals[:2]
        if dtypes.kind(indices.dtype) not in "iu":
            raise ArgumentError(
                f"indices must have an integer type: {self.name} got {indices.long_name()}"
            )
        self.require(indices.ndim > 0, "the indices need an axis of coordinates")
        index_vector_dim = indices.ndim - 1
        self.require(
            len(axes) == indices.shape[-1],
            f"{self.kind.capitalize()} op has {len(axes)} elements in {field} and the bound of "
            f"dimension {index_vector_dim=} of indices is {indices.shape[-1]}. These two numbers "
            "must be equal.",
        )
        domain = f"{field}{' mapping' if self.kind == 'scatter' else ''}; domain is [0, {x.ndim})"
        for i, a in enumerate(axes):
            self.require(0 <= a < x.ndim, f"Invalid {domain}, got: {i}->{a}.")
        self.require(
            len(set(axes)) == len(axes),
            f"{field} in {self.kind} op must not repeat; got: {axes}.",
        )

    def absent(self, field: str, axes: Axes, batching: Axes, coordinates: tuple[str, Axes]) -> None:
        """Check the operand's axes that have no axis in a window: of `field`, and batching."""
        rank = self.avals[0].ndim
        for name, values in ((field, axes), ("operand_batching_dims", batching)):
            self.order(name, values)
            self.range(name, values, rank)
        self.disjoint(f"{field} and operand_batching_dims", axes, batching)
        self.disjoint(f"{coordinates[0]} and operand_batching_dims", coordinates[1], batching)

    def batching(self, field: str, of_operand: Axes, of_indices: Axes) -> None:
        """Check the axes that operand and indices share; `field` names those of the indices."""
        x, indices = self.avals[:2]
        title = self.kind.capitalize()
        self.require(
            len(set(of_indices)) == len(of_indices),
            f"{field} in {self.kind} op must not repeat; got: {of_indices}.",
        )
        self.range(field, of_indices, indices.ndim)
        self.require(
            indices.ndim - 1 not in of_indices,
            f"{title} op cannot have the index vector dimension as a batching dimension; got "
            f"{of_indices}.",
        )
        self.require(
            len(of_operand) == len(of_indices),
            f"{title} op requires equal numbers of operand_batching_dims and {field}, got "
            f"{of_operand} and {of_indices}.",
        )
        mine = tuple([x.shape[i] for i in of_operand])
        theirs = tuple([indices.shape[i] for i in of_indices])
        self.require(
            mine == theirs,
            f"{title} op requires operand batching dimensions and indices batching dimensions to "
            f"have the same shape, got {mine} and {theirs}.",
        )


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


def _check_slice_sizes(checks: DimensionChecks, dims: GatherDimensionNumbers, sizes: Shape) -> None:
    """Check the lengths of the windows of a gather, one for each axis of the operand."""
    x, collapsed, batching = checks.avals[0], dims.collapsed_slice_dims, dims.operand_batching_dims
    checks.require(
        len(sizes) == x.ndim,
        "Gather op must have one slice size for every input dimension; got: "
        f"len(slice_sizes)={len(sizes)}, input_shape.rank={x.ndim}",
    )
    checks.require(
        len(sizes) == len(dims.offset_dims) + len(collapsed) + len(batching),
        "All components of the offset index in a gather op must either be a offset dimension or "
        f"explicitly collapsed/batching; got len(slice_sizes)={len(sizes)}, "
        f"output_slice_sizes={dims.offset_dims}, collapsed_slice_dims={collapsed}, "
        f"operand_batching_dims={batching}.",
    )
    for i, (size, length) in enumerate(zip(sizes, x.shape, strict=True)):
        checks.require(
            0 <= size <= length,
            f"Slice size at index {i} in gather op is out of range, must be within "
            f"[0, {length} + 1), got {size}.",
        )
    for i, a in enumerate(collapsed):
        checks.require(
            sizes[a] <= 1,
            f"Gather op can only collapse slice dims with bound 1, but bound is {sizes[a]} for "
            f"index {a} at position {i}.",
        )
    for i, a in enumerate(batching):
        checks.require(
            sizes[a] <= 1,
            "Gather op can only have operand batching dims with bound 0/1, but bound is "
            f"{sizes[a]} for index {a} at position {i}.",
        )


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
        collapsed, batching = dims.collapsed_slice_dims, dims.operand_batching_dims
        checks = DimensionChecks("gather", "gather", avals)
        checks.order("offset_dims", dims.offset_dims)
        rank = len(dims.offset_dims) + indices.ndim - 1
        for i, d in enumerate(dims.offset_dims):
            checks.require(
                0 <= d < rank,
                f"Offset dimension {i} in gather op is out of bounds; got {d}, but should have "
                f"been in [0, {rank})",
            )
        checks.coordinates("start_index_map", dims.start_index_map)
        checks.absent(
            "collapsed_slice_dims",
            collapsed,
            batching,
            ("start_index_map", dims.start_index_map),
        )
        checks.batching("start_indices_batching_dims", batching, dims.start_indices_batching_dims)
        _check_slice_sizes(checks, dims, sizes)
        window = [n for i, n in enumerate(sizes) if i not in (*collapsed, *batching)]
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
