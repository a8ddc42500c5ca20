"""Window primitives: an array in, a reduction of each of its windows out.

See `window.py` for what a window is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core import mlir
from olympus_core.avals import ShapedArray, shape_of, shaped
from olympus_core.errors import ShapeError, TransformError
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitive import Batched, Primitive, op
from olympus_core.primitives.elementwise.base import at_front, check_kinds, zero_like
from olympus_core.primitives.reduction import (
    Reduction,
    check_combiner,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
    split_half,
)
from olympus_core.primitives.window import (
    dilated,
    emit_reduce_window,
    map_axis,
    window_attributes,
    window_shape,
)
from olympus_core.primitives.window_selection import select_and_gather_add_p

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = [
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_sum_p",
]


class WindowReduction(Primitive):
    """The reduction of each window by the operation of `reduction`."""

    def __init__(self, name: str, reduction: Reduction) -> None:
        super().__init__(name)
        self.reduction = reduction

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        (x,) = avals
        check_kinds(self.name, self.reduction.kinds, x)
        return x.update(shape=window_shape(self.name, x.shape, params))

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, rule = ctx.aval_out, self.reduction
        scalar = out.update(shape=())
        init = ctx.numpy_constant(np.asarray(rule.identity(out.dtype)).astype(out.dtype))
        return emit_reduce_window(
            ctx, operands[0], init, params, lambda x, y: (rule.combine(scalar, x, y),)
        )

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim = dims[0] or 0
        return self.bind(args[0], **map_axis(params, dim)), dim


class WindowSum(WindowReduction):
    """The sum of each window, which is linear."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(tangents[0], **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """Windows over the cotangents, dilated by the strides, of those that have an element."""
        shape = operands[0].aval.shape
        strides, ones = params["window_strides"], (1,) * len(shape)
        kept = zip(
            shape,
            params["base_dilation"],
            params["window_dimensions"],
            params["window_dilation"],
            params["padding"],
            shape_of(cotangent),
            strides,
            strict=True,
        )
        around = []
        for n, base, window, spread, (low, _), count, stride in kept:
            extent = dilated(window, spread)
            below = extent - low - 1
            above = dilated(n, base) + extent - 1 - dilated(count, stride) - below
            around.append((below, above, stride - 1))
        padded = op.pad(cotangent, zero_like(cotangent), padding_config=tuple(around))
        moved = params | {
            "window_strides": params["base_dilation"],
            "base_dilation": ones,
            "padding": ((0, 0),) * len(shape),
        }
        return [self.bind(padded, **moved)]


class WindowExtremum(WindowReduction):
    """The greatest or least element of each window."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        select = "ge" if self is reduce_window_max_p else "le"
        return self.bind(x, **params), select_and_gather_add_p.bind(
            t, x, select_prim=select, **params
        )


class ReduceWindow(Primitive):
    """Reduces the windows of several arrays at once by the program `olympuspr`.

    Operands are the arrays, then an initial scalar for each.
    """

    multiple_results = True
    higher_order: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        arrays, inits = split_half(self.name, avals)
        check_combiner(self.name, params["olympuspr"], arrays, inits)
        shape = window_shape(self.name, arrays[0].shape, params)
        if any(x.shape != arrays[0].shape for x in arrays):
            text = ", ".join(a.short_name() for a in arrays)
            raise ShapeError(f"reduce_window needs arrays of one shape, and got {text}")
        return tuple([shaped(shape, x.dtype) for x in arrays])

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        types = [mlir.tensor_type(a) for a in ctx.avals_out]
        program: Olympuspr = params["olympuspr"]
        attributes = window_attributes(params)
        made = mlir.op("stablehlo.reduce_window", types, operands, attributes, regions=1)
        ctx.region(made.regions[0], program)
        return list(made.results)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        raise TransformError(
            "lax.reduce_window with a function of one's own has no derivative rule",
            hint="use lax.add, lax.max or lax.min as the function",
        )

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        half = len(args) // 2
        if any(d is not None for d in dims[half:]):
            raise TransformError("vmap cannot map over the initial values of lax.reduce_window")
        arrays = [
            at_front(x, d, batched.size) for x, d in zip(args[:half], dims[:half], strict=True)
        ]
        outs = self.bind(*arrays, *args[half:], **map_axis(params, 0))
        return outs, [0] * len(outs)


reduce_window_sum_p = WindowSum("reduce_window_sum", reduce_sum_p)
reduce_window_max_p = WindowExtremum("reduce_window_max", reduce_max_p)
reduce_window_min_p = WindowExtremum("reduce_window_min", reduce_min_p)
reduce_window_p = ReduceWindow("reduce_window")
