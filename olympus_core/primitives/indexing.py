"""Indexing primitives: gather reads, and scatter writes, windows at computed positions.

`indices` has a vector of coordinates in its last axis, and one window is read or written for each;
the dimension numbers, XLA's, say which axes of which array stand for what.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core import dtypes, mlir
from olympus_core.avals import Shape, ShapedArray, shaped
from olympus_core.errors import DTypeError, ShapeError
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitive import Primitive
from olympus_core.primitives.elementwise import BOOL, check_one_dtype, ge_p, le_p
from olympus_core.primitives.reduction import emit_compare, fill_region

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = [
    "PRIMITIVES",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "gather_p",
    "scatter_add_p",
    "scatter_apply_p",
    "scatter_max_p",
    "scatter_min_p",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub_p",
]

Axes = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """Which axes of a gather stand for what.

    `offset_dims`: the axes of the result that run over a window; `collapsed_slice_dims`: the axes
    of the operand, of window length 1, that the result lacks; `start_index_map`: the axis of the
    operand that each coordinate is of; `operand_batching_dims`, `start_indices_batching_dims`: axes
    that operand and indices share.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of a scatter stand for what; the mirror image of GatherDimensionNumbers."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


class GatherScatterMode(enum.Enum):
    """What becomes of a window that is out of bounds.

    CLIP moves it inside.  FILL_OR_DROP reads a fill value, and drops what would be written.
    PROMISE_IN_BOUNDS says that there is none (reads are then clipped, writes dropped).  ONE_HOT
    reads zeros.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of a name, such as "clip"; None is FILL_OR_DROP.

        Raises ShapeError (a ValueError) for a name that no mode has.
        """
        if isinstance(s, GatherScatterMode):
            return s
        found = _MODES.get(s)
        if found is None:
            names = ", ".join(repr(m) for m in _MODES if m)
            raise ShapeError(f"the mode of an index is one of {names}, and not {s!r}")
        return found


_MODES: dict[str | None, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


def _require(holds: bool, name: str, avals: tuple[ShapedArray, ...], why: str) -> None:
    if not holds:
        text = ", ".join(a.short_name() for a in avals)
        raise ShapeError(f"{name} of {text}: {why}")


def _check_indices(
    name: str, avals: tuple[ShapedArray, ...], coordinates: Axes, batching: tuple[Axes, Axes]
) -> None:
    x, indices = avals[:2]
    if dtypes.kind(indices.dtype) not in "iu":
        raise DTypeError(f"{name} needs integer indices, and got {indices.long_name()}")
    _require(indices.ndim > 0, name, avals, "the indices need an axis of coordinates")
    count = indices.shape[-1]
    _require(
        len(coordinates) == count and _distinct(coordinates, x.ndim),
        name,
        avals,
        f"{count} coordinates need as many distinct axes of the operand, and got {coordinates}",
    )
    of_operand, of_indices = batching
    _require(
        len(of_operand) == len(of_indices)
        and _distinct(of_operand, x.ndim)
        and _distinct(of_indices, indices.ndim - 1)
        and [x.shape[i] for i in of_operand] == [indices.shape[i] for i in of_indices],
        name,
        avals,
        f"batching axes {of_operand} and {of_indices} must pair axes of one length",
    )


def _distinct(axes: Axes, rank: int) -> bool:
    return len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes)


class Gather(Primitive):
    """Windows of `slice_sizes` at each of the coordinates in the indices."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, indices = avals
        dims: GatherDimensionNumbers = params["dimension_numbers"]
        sizes: Shape = params["slice_sizes"]
        batching = (dims.operand_batching_dims, dims.start_indices_batching_dims)
        _check_indices("gather", avals, dims.start_index_map, batching)
        _require(
            len(sizes) == x.ndim and all(0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)),
            "gather",
            avals,
            f"windows of {sizes} do not fit the operand",
        )
        dropped = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
        _require(
            _distinct(dropped, x.ndim) and all(sizes[i] <= 1 for i in dropped),
            "gather",
            avals,
            f"the axes {dropped} that the result lacks must be distinct, with windows of length 1",
        )
        window = [n for i, n in enumerate(sizes) if i not in dropped]
        rank = indices.ndim - 1 + len(window)
        _require(
            len(dims.offset_dims) == len(window) and _distinct(dims.offset_dims, rank),
            "gather",
            avals,
            f"the result has {len(window)} window axes, and {dims.offset_dims} are given",
        )
        return x.update(shape=_merge(rank, dims.offset_dims, window, indices.shape[:-1]))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        x, indices = operands
        if params["mode"] in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS):
            return _gather(ctx, x, indices, params)  # XLA clips
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


def _merge(rank: int, window_dims: Axes, window: list[int], batch: Shape) -> Shape:
    """A shape with the window's lengths at `window_dims`, and the batch's elsewhere, in order."""
    rest, shape = iter(batch), [0] * rank
    for d, n in zip(window_dims, window, strict=True):
        shape[d] = n
    return tuple([shape[i] if i in window_dims else next(rest) for i in range(rank)])


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
    """The aval of indices in a signed dtype that holds them and every bound below 2**31."""
    wide = indices.dtype.itemsize > 4 or indices.dtype == np.dtype("uint32")
    return shaped(indices.shape, np.dtype("int64" if wide else "int32"))


def _inside(ctx: LoweringContext, indices: Any, aval: ShapedArray, params: dict[str, Any]) -> Any:
    """Emit, for each vector of coordinates, whether its window lies within the operand."""
    dims: GatherDimensionNumbers = params["dimension_numbers"]
    x, sizes = ctx.avals_in[0], params["slice_sizes"]
    bounds = np.array([x.shape[i] - sizes[i] for i in dims.start_index_map], aval.dtype)
    last = mlir.broadcast(ctx.numpy_constant(bounds), aval, (aval.ndim - 1,))
    low = emit_compare(ge_p, aval, indices, mlir.full(aval, 0))
    high = emit_compare(le_p, aval, indices, last)
    both = mlir.op1("stablehlo.and", shaped(aval.shape, BOOL), (low, high))
    inside, flag = shaped(aval.shape[:-1], BOOL), shaped((), BOOL)
    if aval.shape[-1] == 1:
        return mlir.op1("stablehlo.reshape", inside, (both,))
    init = ctx.numpy_constant(np.asarray(True))
    over = {"dimensions": mlir.i64_array((aval.ndim - 1,))}
    made = mlir.op("stablehlo.reduce", [mlir.tensor_type(inside)], (both, init), over, regions=1)
    fill_region(made, [flag], lambda a, b: (mlir.op1("stablehlo.and", flag, (a, b)),))
    return made.result


class Scatter(Primitive):
    """The operand with windows combined with the updates, by one operation (None: replaced)."""

    def __init__(self, name: str, op: str | None) -> None:
        super().__init__(name)
        self.op = op

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, indices, updates = avals
        dims: ScatterDimensionNumbers = params["dimension_numbers"]
        check_one_dtype(self.name, (x, updates))
        batching = (dims.operand_batching_dims, dims.scatter_indices_batching_dims)
        _check_indices(self.name, avals, dims.scatter_dims_to_operand_dims, batching)
        absent = (*dims.inserted_window_dims, *dims.operand_batching_dims)
        whole = [n for i, n in enumerate(x.shape) if i not in absent]
        _require(
            _distinct(absent, x.ndim)
            and len(dims.update_window_dims) == len(whole)
            and _distinct(dims.update_window_dims, updates.ndim)
            and updates.ndim == indices.ndim - 1 + len(whole),
            self.name,
            avals,
            f"the updates need an axis for each of the operand's but {absent}, and one for each "
            "of the indices' but the last",
        )
        window = [updates.shape[d] for d in dims.update_window_dims]
        shape = _merge(updates.ndim, dims.update_window_dims, window, indices.shape[:-1])
        _require(
            updates.shape == shape and all(w <= n for w, n in zip(window, whole, strict=True)),
            self.name,
            avals,
            f"the updates' windows {tuple(window)} must fit the operand, and their other axes be "
            f"the indices' {indices.shape[:-1]}",
        )
        return x

    def combine(self, ctx: LoweringContext, made: Any, params: dict[str, Any]) -> None:
        """Fill the region that combines an element with its update."""
        scalar, op = ctx.aval_out.update(shape=()), self.op
        fill_region(
            made, [scalar], lambda x, y: (y if op is None else mlir.op1(op, scalar, (x, y)),)
        )

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
        made = mlir.op("stablehlo.scatter", types, (x, indices, updates), attributes, regions=1)
        self.combine(ctx, made, params)
        return made.result


_SCATTER_FIELDS = {"operand_batching_dims": "input_batching_dims"}


def _clipped(ctx: LoweringContext, indices: Any, dims: ScatterDimensionNumbers) -> Any:
    """Emit the coordinates moved so that every window lies within the operand."""
    x, aval, updates = ctx.avals_in
    absent = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = iter(dims.update_window_dims)
    sizes = [1 if i in absent else updates.shape[next(window)] for i in range(x.ndim)]
    highest = int(dtypes.iinfo(aval.dtype).max)
    bounds = [min(x.shape[i] - sizes[i], highest) for i in dims.scatter_dims_to_operand_dims]
    last = mlir.broadcast(
        ctx.numpy_constant(np.array(bounds, aval.dtype)), aval, (aval.ndim - 1,)
    )
    return mlir.op1("stablehlo.clamp", aval, (mlir.full(aval, 0), indices, last))


class ScatterApply(Scatter):
    """The operand with the program `olympuspr` applied to the elements of each window."""

    def combine(self, ctx: LoweringContext, made: Any, params: dict[str, Any]) -> None:
        """Fill the region with the program; the update it also gets is not used."""
        program: Olympuspr = params["olympuspr"]
        scalar = ctx.aval_out.update(shape=())
        nested = ctx.nested()
        fill_region(made, [scalar], lambda x, _: nested.inline(program, [x]))


gather_p = Gather("gather")
scatter_p = Scatter("scatter", None)
scatter_add_p = Scatter("scatter-add", "stablehlo.add")
scatter_sub_p = Scatter("scatter-sub", "stablehlo.subtract")
scatter_mul_p = Scatter("scatter-mul", "stablehlo.multiply")
scatter_min_p = Scatter("scatter-min", "stablehlo.minimum")
scatter_max_p = Scatter("scatter-max", "stablehlo.maximum")
scatter_apply_p = ScatterApply("scatter-apply", None)

PRIMITIVES: tuple[Primitive, ...] = (
    gather_p,
    scatter_p,
    scatter_add_p,
    scatter_sub_p,
    scatter_mul_p,
    scatter_min_p,
    scatter_max_p,
    scatter_apply_p,
)
