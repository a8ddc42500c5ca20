"""Joining primitives: they join arrays along an axis, or split one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base.avals import ShapedArray, shape_of
from olympus_core.base.errors import ShapeError
from olympus_core.ir import sharding_rules, unreduced_rules
from olympus_core.ir.axis_orders import Order, Reordered, most_common
from olympus_core.ir.primitive import (
    Avals,
    Batched,
    Linear,
    LinearPrimitive,
    MultipleResults,
    SingleResult,
    op,
)
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    at_front,
    check_one_dtype,
    shapes_text,
    spread,
    zeros_like,
)
from olympus_core.primitives.slicing import emit_slice

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation


def _concatenate(xs: Any, out: ShapedArray, dimension: int) -> Any:
    along = {"dimension": mlir.i64_attr(dimension)}
    return mlir.op1("stablehlo.concatenate", out, xs, along)


def _check_ranks(name: str, avals: tuple[ShapedArray, ...]) -> None:
    check_one_dtype(name, avals)
    if len({a.ndim for a in avals}) > 1:
        raise ShapeError(
            f"Cannot {name} arrays with different numbers of dimensions: got {shapes_text(avals)}"
        )


def _check_axis(name: str, x: ShapedArray, axis: int, rank: int) -> None:
    if not 0 <= axis < rank:
        raise ShapeError(f"{name} of {x.short_name()} has no axis {axis}")


def _zero(aval: ShapedArray) -> Any:
    """Return zero as a scalar of the dtype of `aval`."""
    return np.zeros((), aval.dtype)[()]


class _Joined(SingleResult):
    """A primitive that joins its operands, and is linear in all of them together."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.joined)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        out = self.bind(*primals, **params)
        if all(t is None for t in tangents):
            return out, None
        full = [zeros_like(x) if t is None else t for x, t in zip(primals, tangents, strict=True)]
        return out, self.bind(*full, **params)


class Concatenate(_Joined):
    """The operands one after the other along axis `dimension`."""

    raised_from: tuple[str, ...] = ("stablehlo.concatenate",)

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        first, d = avals[0], params["dimension"]
        if not 0 <= d < first.ndim:
            raise ShapeError(
                f"concatenate dimension out of bounds: dimension {d} for shapes "
                f"{', '.join([str(a.shape) for a in avals])}."
            )
        _check_ranks("concatenate", avals)
        if len({(a.shape[:d], a.shape[d + 1 :]) for a in avals}) > 1:
            raise ShapeError(
                "Cannot concatenate arrays with shapes that differ in dimensions other than the "
                f"one being concatenated: along dimension {d} for shapes {shapes_text(avals)}"
            )
        shape = list(first.shape)
        shape[d] = sum([a.shape[d] for a in avals])
        weak = all(a.weak_type for a in avals)
        return first.update(shape=tuple(shape), weak_type=weak)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.same(self.name, avals)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        return _concatenate(operands, ctx.aval_out, params["dimension"])

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.bind(*operands, dimension=operation.integer("dimension"))

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        d = params["dimension"]
        shapes = [x.aval.shape if isinstance(x, Linear) else shape_of(x) for x in operands]
        parts = op.split(cotangent, sizes=tuple([s[d] for s in shapes]), axis=d)
        return [p if isinstance(x, Linear) else None for p, x in zip(parts, operands, strict=True)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        xs = [at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*xs, dimension=params["dimension"] + 1), 0

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order = most_common(orders)
        if order is None:
            return None
        place = order.index(params["dimension"])
        return Reordered({"dimension": place}, (order,) * len(orders), (order,))


class Stack(_Joined):
    """The operands, of one shape, along a new axis `axis`."""

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        first, axis = avals[0], params["axis"]
        _check_axis("stack", first, axis, first.ndim + 1)
        check_one_dtype("stack", avals)
        if any(a.shape != first.shape for a in avals):
            raise ShapeError(
                f"All input arrays must have the same shape, and stack got {shapes_text(avals)}"
            )
        shape = (*first.shape[:axis], len(avals), *first.shape[axis:])
        return first.update(shape=shape, weak_type=all(a.weak_type for a in avals))

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        spec = sharding_rules.same(self.name, avals)
        return [sharding_rules.inserted(spec, params["axis"])]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, axis, shape = ctx.aval_out, params["axis"], ctx.avals_in[0].shape
        one = out.update(shape=(*shape[:axis], 1, *shape[axis:]), sharding=out.explicit)
        parts = [ctx.unreduced(mlir.op1("stablehlo.reshape", one, (x,)), one) for x in operands]
        return parts[0] if len(parts) == 1 else _concatenate(parts, out, axis)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        parts = op.unstack(cotangent, axis=params["axis"])
        return [p if isinstance(x, Linear) else None for p, x in zip(parts, operands, strict=True)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        xs = [at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*xs, axis=params["axis"] + 1), 0


class Split(LinearPrimitive, MultipleResults):
    """Parts of the lengths `sizes` along axis `axis`."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (x,), sizes, axis = avals, params["sizes"], params["axis"]
        _check_axis("split", x, axis, x.ndim)
        if any(n < 0 for n in sizes):
            raise ShapeError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
        if sum(sizes) != x.shape[axis]:
            raise ShapeError(
                f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape "
                f"{list(x.shape)}; got sizes {list(sizes)}"
            )
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        return tuple([x.update(shape=(*before, n, *after)) for n in sizes])

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.resized(self.name, avals[0], out.shape) for out in outs]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return _parts(ctx.avals_in[0], operands[0], params["axis"], ctx.avals_out)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, axis = operands[0].aval, params["axis"]
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        parts = [
            spread(_zero(x), (*before, n, *after)) if c is None else c
            for c, n in zip(cotangent, params["sizes"], strict=True)
        ]
        return [op.concatenate(*parts, dimension=axis)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        axis, dim = params["axis"], dims[0] or 0
        outs = self.bind(args[0], sizes=params["sizes"], axis=axis + (dim <= axis))
        return outs, [dim] * len(outs)

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order = orders[0]
        if order is None:
            return None
        moved = params | {"axis": order.index(params["axis"])}
        return Reordered(moved, (order,), (order,) * len(params["sizes"]))


def _parts(x: ShapedArray, value: Any, axis: int, outs: tuple[ShapedArray, ...]) -> list[Any]:
    start, limit, strides = [0] * x.ndim, list(x.shape), (1,) * x.ndim
    parts, position = [], 0
    for out in outs:
        start[axis], limit[axis] = position, position + out.shape[axis]
        parts.append(emit_slice(value, out, tuple(start), tuple(limit), strides))
        position = limit[axis]
    return parts


class Unstack(LinearPrimitive, MultipleResults):
    """The slices at each index of axis `axis`, without that axis."""

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.unchanged)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        (x,), axis = avals, params["axis"]
        _check_axis("unstack", x, axis, x.ndim)
        part = x.update(shape=(*x.shape[:axis], *x.shape[axis + 1 :]))
        return tuple([part] * x.shape[axis])

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        axis = params["axis"]
        sharding_rules.unsplit(self.name, avals[0], (axis,), avals, "unstacking axis")
        return [sharding_rules.without(sharding_rules.spec_of(avals[0]), (axis,))] * len(outs)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        (x,), axis = ctx.avals_in, params["axis"]
        one = x.update(shape=(*x.shape[:axis], 1, *x.shape[axis + 1 :]), sharding=x.explicit)
        parts = _parts(x, operands[0], axis, (one,) * x.shape[axis])
        outs = zip(parts, ctx.avals_out, strict=True)
        return [
            mlir.op1("stablehlo.reshape", out, (ctx.unreduced(part, one),)) for part, out in outs
        ]

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, axis = operands[0].aval, params["axis"]
        part = x.update(shape=(*x.shape[:axis], *x.shape[axis + 1 :]), weak_type=False)
        parts = [spread(_zero(x), part.shape) if c is None else c for c in cotangent]
        return [op.stack(*parts, axis=axis)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        axis, dim = params["axis"], dims[0] or 0
        outs = self.bind(args[0], axis=axis + (dim <= axis))
        return outs, [dim - (axis < dim)] * len(outs)


concatenate_p = Concatenate("concatenate")
stack_p = Stack("stack")
split_p = Split("split")
unstack_p = Unstack("unstack")
