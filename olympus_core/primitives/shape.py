"""Shape primitives: they rearrange elements, and compute none.

`iota` is here too, which has no operand.  Primitives that split and join arrays are in
`slicing.py` and `joining.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, shape_of, shaped
from olympus_core.base.errors import DTypeError, ShapeError, ShardingTypeError
from olympus_core.ir import indexed_sharding_rules, sharding_rules, unreduced_rules
from olympus_core.ir.axis_orders import (
    Order,
    Reordered,
    in_order,
    inverse,
    renumbered,
    unless_identity,
)
from olympus_core.ir.olympuspr import Literal
from olympus_core.ir.primitive import Avals, Batched, LinearPrimitive, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import move_axis, reshape, shift_all
from olympus_core.primitives.reduction import check_axes

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class BroadcastInDim(LinearPrimitive, SingleResult):
    """The operand broadcast to `shape`: its axis i becomes axis `broadcast_dimensions[i]`."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    is_cheap = True
    is_broadcast: ClassVar[bool] = True
    takes_literals: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.broadcast_in_dim",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        shape: Shape = params["shape"]
        dims: tuple[int, ...] = params["broadcast_dimensions"]
        if problem := _broadcast_problem(x.shape, shape, dims):
            raise ShapeError(
                f"broadcast_in_dim {problem}; got operand ndim {x.ndim} of shape {x.shape}, "
                f"target broadcast shape {shape}, broadcast_dimensions {dims}"
            )
        return x.update(shape=shape)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        shape, dims = params["shape"], params["broadcast_dimensions"]
        return [indexed_sharding_rules.broadcast_into(avals[0], shape, dims)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, (x,) = ctx.aval_out, operands
        if isinstance(x, Literal):
            return ctx.constant(x, out.shape)
        return mlir.broadcast(x, out, params["broadcast_dimensions"])

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        dims = operation.ints("broadcast_dimensions")
        shape = operation.aval_out.shape
        return self.bind(*operands, shape=shape, broadcast_dimensions=dims)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        have, dims = operands[0].aval.shape, params["broadcast_dimensions"]
        new = tuple([i for i in range(len(params["shape"])) if i not in dims])
        wide = tuple([d for d, n in zip(dims, have, strict=True) if n == 1 != params["shape"][d]])
        x = op.reduce_sum(cotangent, axes=(*new, *wide)) if new or wide else cotangent
        return [x if shape_of(x) == have else reshape(x, have)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        x, shape = move_axis(args[0], dims[0] or 0, 0), (batched.size, *params["shape"])
        places = (0, *(d + 1 for d in params["broadcast_dimensions"]))
        return self.bind(x, shape=shape, broadcast_dimensions=places), 0

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        (order,), dims = orders, params["broadcast_dimensions"]
        if order is None or len(dims) < len(params["shape"]):
            return None
        return self.produced(order, avals, **params)

    def produced(self, order: Order, avals: Avals, **params: Any) -> Reordered | None:
        places = inverse(order)
        dims = [places[d] for d in params["broadcast_dimensions"]]
        of_operand = tuple(sorted(range(len(dims)), key=dims.__getitem__))
        moved = {
            "shape": in_order(params["shape"], order),
            "broadcast_dimensions": tuple(sorted(dims)),
        }
        return Reordered(params | moved, (unless_identity(of_operand),), (order,))


def _broadcast_problem(have: Shape, shape: Shape, dims: tuple[int, ...]) -> str:
    """Return the condition on `broadcast_dimensions` that does not hold, or an empty string."""
    if len(shape) < len(have):
        return "target broadcast shape must have equal or higher rank to the operand shape"
    if len(dims) != len(have):
        return "broadcast_dimensions must have length equal to operand ndim"
    if not all(0 <= d < len(shape) for d in dims):
        return "broadcast_dimensions must be a subset of output dimensions"
    if list(dims) != sorted(set(dims)):
        return "broadcast_dimensions must be strictly increasing"
    if not all(n in (1, shape[d]) for d, n in zip(dims, have, strict=True)):
        return (
            "operand dimension sizes must either be 1, or be equal to their corresponding "
            "dimensions in the target broadcast shape"
        )
    return ""


class Reshape(LinearPrimitive, SingleResult):
    """The elements in row-major order at shape `new_sizes`; `dimensions` permutes them first."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    is_cheap = True
    takes_literals: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.reshape",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        out = x.update(shape=params["new_sizes"])
        if out.size != x.size:
            raise ShapeError(
                f"cannot reshape array of shape {x.shape} (size {x.size}) into shape "
                f"{params['new_sizes']} (size {out.size})"
            )
        dimensions = params["dimensions"]
        if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
            raise ShapeError(
                "reshape dimensions must be a permutation of operand dimensions, got dimensions "
                f"{dimensions} for shape {x.shape}"
            )
        return out

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        is_permuted = params["dimensions"] is not None
        return [indexed_sharding_rules.reshaped_spec(avals[0], params["new_sizes"], is_permuted)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, (x,), (aval,) = ctx.aval_out, operands, ctx.avals_in
        if isinstance(x, Literal):
            return ctx.constant(x, out.shape)
        if params["dimensions"] is not None:
            aval = permuted(aval, params["dimensions"])
            x = _transpose(x, aval, params["dimensions"])
        return x if aval.shape == out.shape else mlir.op1("stablehlo.reshape", out, (x,))

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, dimensions=None, new_sizes=operation.aval_out.shape)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        shape, order = operands[0].aval.shape, params["dimensions"]
        if order is None:
            return [reshape(cotangent, shape)]
        x = reshape(cotangent, [shape[i] for i in order])
        return [op.transpose(x, permutation=inverse(order))]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        x, order = move_axis(args[0], dims[0] or 0, 0), params["dimensions"]
        moved = None if order is None else (0, *(d + 1 for d in order))
        return self.bind(x, dimensions=moved, new_sizes=(batched.size, *params["new_sizes"])), 0

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        """Split and merge axes in memory order; axes that are merged must be adjacent there."""
        order, sizes = orders[0], params["new_sizes"]
        blocks = blocks_of_reshape(avals[0].shape, sizes)
        if order is None or params["dimensions"] is not None or blocks is None:
            return None
        places = inverse(order)
        blocks.sort(key=lambda block: places[block[0][0]])
        first = [i for i in order if avals[0].shape[i] == 1]
        of_operand = (*first, *[i for axes, _ in blocks for i in axes])
        unit = [i for i, n in enumerate(sizes) if n == 1]
        out = (*unit, *[i for _, axes in blocks for i in axes])
        moved = params | {"new_sizes": in_order(sizes, out)}
        return Reordered(moved, (unless_identity(of_operand),), (unless_identity(out),))


def blocks_of_reshape(before: Shape, after: Shape) -> list[tuple[list[int], list[int]]] | None:
    """Return the smallest groups of axes with equal products that a reshape maps to each other.

    Axes of length 1 are left out.  None for an array without elements.

    >>> blocks_of_reshape((1, 12, 5, 5), (3, 4, 25))
    [([1], [0, 1]), ([2, 3], [2])]
    """
    old, new = ([i for i, n in enumerate(shape) if n != 1] for shape in (before, after))
    if 0 in before:
        return None
    blocks: list[tuple[list[int], list[int]]] = []
    while old:
        block: tuple[list[int], list[int]] = ([old.pop(0)], [new.pop(0)])
        m, n = before[block[0][0]], after[block[1][0]]
        while m != n:
            if m < n:
                block[0].append(old.pop(0))
                m *= before[block[0][-1]]
            else:
                block[1].append(new.pop(0))
                n *= after[block[1][-1]]
        blocks.append(block)
    return blocks


def permuted(x: ShapedArray, permutation: tuple[int, ...]) -> ShapedArray:
    """Return the aval of `x` with its axes in the order `permutation`."""
    return x.update(shape=tuple([x.shape[i] for i in permutation]))


def _transpose(x: Any, out: ShapedArray, permutation: tuple[int, ...]) -> Any:
    return mlir.op1("stablehlo.transpose", out, (x,), {"permutation": mlir.i64_array(permutation)})


class Transpose(LinearPrimitive, SingleResult):
    """Axis i of the result is axis `permutation[i]` of the operand."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    is_cheap = True
    is_transpose: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.transpose",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, permutation = avals[0], params["permutation"]
        if sorted(permutation) != list(range(x.ndim)):
            raise ShapeError(
                "transpose permutation isn't a permutation of operand dimensions, got permutation "
                f"{permutation} for operand shape {x.shape}"
            )
        return permuted(avals[0], params["permutation"])

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        spec = sharding_rules.spec_of(avals[0])
        return [tuple([spec[i] for i in params["permutation"]])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return _transpose(operands[0], ctx.aval_out, params["permutation"])

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, permutation=operation.ints("permutation"))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, permutation=inverse(params["permutation"]))]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim = dims[0] or 0
        return self.bind(args[0], permutation=(dim, *shift_all(params["permutation"], dim))), 0


class Squeeze(LinearPrimitive, SingleResult):
    """The operand without the axes `dimensions`, which have length 1."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    is_cheap = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        dims: tuple[int, ...] = params["dimensions"]
        check_axes("squeeze", x, dims)
        if any(x.shape[d] != 1 for d in dims):
            raise ShapeError(
                "cannot select an axis to squeeze out which has size not equal to one, got "
                f"shape={x.shape} and dimensions={dims}"
            )
        return x.update(shape=tuple([n for i, n in enumerate(x.shape) if i not in dims]))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.without(sharding_rules.spec_of(avals[0]), params["dimensions"])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return mlir.op1("stablehlo.reshape", ctx.aval_out, operands)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [reshape(cotangent, operands[0].aval.shape)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim = dims[0] or 0
        moved = shift_all(params["dimensions"], dim)
        return self.bind(args[0], dimensions=moved), dim - sum(i < dim for i in moved)

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order = orders[0]
        if order is None:
            return None
        dims = tuple([i for i, axis in enumerate(order) if axis in params["dimensions"]])
        rest = renumbered([axis for axis in order if axis not in params["dimensions"]])
        return Reordered({"dimensions": dims}, (order,), (rest,))


class Rev(LinearPrimitive, SingleResult):
    """The elements in reverse order along the axes `dimensions`."""

    raised_from: tuple[str, ...] = ("stablehlo.reverse",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        check_axes("rev", avals[0], params["dimensions"])
        return avals[0]

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.spec_of(avals[0])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        dims = {"dimensions": mlir.i64_array(params["dimensions"])}
        return mlir.op1("stablehlo.reverse", ctx.aval_out, operands, dims)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, dimensions=operation.ints("dimensions"))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(cotangent, dimensions=params["dimensions"])]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim = dims[0] or 0
        moved = shift_all(params["dimensions"], dim)
        return self.bind(args[0], dimensions=moved), dim

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order = orders[0]
        if order is None:
            return None
        dims = tuple([i for i, axis in enumerate(order) if axis in params["dimensions"]])
        return Reordered({"dimensions": dims}, (order,), (order,))


class Tile(LinearPrimitive, SingleResult):
    """The array repeated `reps[i]` times along axis i."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,), reps = avals, params["reps"]
        if len(reps) != x.ndim or any(r < 0 for r in reps):
            raise ShapeError(
                f"tile of {x.short_name()} needs {x.ndim} repetitions >= 0, and got {reps}"
            )
        return x.update(shape=tuple([n * r for n, r in zip(x.shape, reps, strict=True)]))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        spec, reps = sharding_rules.spec_of(avals[0]), params["reps"]
        for i, (count, entry) in enumerate(zip(reps, spec, strict=True)):
            if count != 1 and entry is not None:
                raise ShardingTypeError(
                    f"Operand cannot be sharded on dimension {i} when the tiling is non-trivial. "
                    f"Got input type: {avals[0].long_name()} with reps: {reps}"
                )
        return [spec]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (x,) = ctx.avals_in
        wide = tuple([n for pair in zip(params["reps"], x.shape, strict=True) for n in pair])
        repeated = mlir.broadcast(operands[0], x.update(shape=wide), tuple(range(1, len(wide), 2)))
        return mlir.op1("stablehlo.reshape", ctx.aval_out, (repeated,))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        shape, reps = operands[0].aval.shape, params["reps"]
        wide = tuple([n for pair in zip(reps, shape, strict=True) for n in pair])
        split = reshape(cotangent, wide)
        return [op.reduce_sum(split, axes=tuple(range(0, len(wide), 2)))]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim, reps = dims[0] or 0, params["reps"]
        return self.bind(args[0], reps=(*reps[:dim], 1, *reps[dim:])), dim


class Iota(SingleResult):
    """0, 1, 2, ... along axis `dimension` of an array of the given shape and dtype."""

    is_cheap = True
    raised_from: tuple[str, ...] = ("stablehlo.iota",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        shape, dimension, dtype = params["shape"], params["dimension"], params["dtype"]
        if dtypes.kind(dtype) not in "uifc":
            raise DTypeError(
                f"iota does not accept dtype {dtypes.long_name(dtype)}. Accepted dtypes are "
                "subtypes of integer, floating, complexfloating."
            )
        if not 0 <= dimension < len(shape):
            raise ShapeError(
                f"iota dimension must be between 0 and len(shape), got {dimension=} for {shape=}"
            )
        return shaped(shape, dtype)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        real = out.update(dtype=dtypes.to_real(out.dtype))
        along = {"iota_dimension": mlir.i64_attr(params["dimension"])}
        count = mlir.op1("stablehlo.iota", real, (), along)
        return count if real is out else mlir.op1("stablehlo.convert", out, (count,))

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        out = operation.aval_out
        dimension = operation.integer("iota_dimension")
        return self.bind(shape=out.shape, dimension=dimension, dtype=out.dtype)

    def produced(self, order: Order, avals: Avals, **params: Any) -> Reordered | None:
        shape, along = in_order(params["shape"], order), order.index(params["dimension"])
        return Reordered(params | {"shape": shape, "dimension": along}, (), (order,))


class Copy(LinearPrimitive, SingleResult):
    """The same array, as a separate value."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)
    is_cheap = True
    takes_literals: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        return avals[0]

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.spec_of(avals[0])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return ctx.full(operands[0], ctx.avals_in[0], ctx.aval_out.shape)

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        return None if orders[0] is None else Reordered(params, (orders[0],), (orders[0],))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [cotangent]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*args), dims[0]


broadcast_in_dim_p = BroadcastInDim("broadcast_in_dim")
reshape_p = Reshape("reshape")
transpose_p = Transpose("transpose")
squeeze_p = Squeeze("squeeze")
rev_p = Rev("rev")
tile_p = Tile("tile")
iota_p = Iota("iota")
copy_p = Copy("copy")
