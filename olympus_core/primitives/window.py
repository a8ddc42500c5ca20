"""Window primitives: an array in, a reduction of each of its windows out.

A window has `window_dimensions`, moves by `window_strides`, and takes every `window_dilation`-th
element of the operand, which has `base_dilation` - 1 holes between its elements and `padding`
(low, high) of the reduction's identity around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import mlir
from olympus_core.avals import Shape, ShapedArray, shaped
from olympus_core.errors import ShapeError
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitive import Primitive
from olympus_core.primitives.elementwise import check_kinds
from olympus_core.primitives.reduction import (
    Reduction,
    check_combiner,
    fill_region,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
    split_half,
)

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext
    from olympus_core.mlir import ir

__all__ = [
    "PRIMITIVES",
    "Padding",
    "dilated",
    "emit_reduce_window",
    "pairs_attr",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_sum_p",
    "windows",
]

Padding = tuple[tuple[int, int], ...]


def dilated(size: int, dilation: int) -> int:
    """The extent of `size` elements that are `dilation` apart."""
    return (size - 1) * dilation + 1 if size else 0


def windows(size: int, padding: tuple[int, int], window: int, stride: int) -> int:
    """How many windows fit along a dimension, its size and the window's being dilated ones."""
    return max(0, (size + sum(padding) - window) // stride + 1)


def window_shape(name: str, shape: Shape, params: dict[str, Any]) -> Shape:
    """The shape of a window reduction's result; raises ShapeError for parameters that don't fit."""
    for what, low in (
        ("window_dimensions", 1),
        ("window_strides", 1),
        ("base_dilation", 1),
        ("window_dilation", 1),
        ("padding", None),
    ):
        values = params[what]
        if len(values) != len(shape) or (low is not None and min(values, default=1) < low):
            raise ShapeError(
                f"{name} of an array of shape {shape} needs {what} of {len(shape)} "
                f"{'pairs' if low is None else 'positive ints'}, and got {values}"
            )
    sizes = zip(
        shape,
        params["base_dilation"],
        params["padding"],
        params["window_dimensions"],
        params["window_dilation"],
        params["window_strides"],
        strict=True,
    )
    return tuple(
        [windows(dilated(n, b), pad, dilated(w, d), stride) for n, b, pad, w, d, stride in sizes]
    )


def pairs_attr(pairs: Padding) -> ir.Attribute:
    """Pairs of ints as a dense attribute of shape (n, 2)."""
    return mlir.dense(np.asarray(pairs, np.int64).reshape(-1, 2))


def window_attributes(params: dict[str, Any]) -> dict[str, ir.Attribute]:
    """The attributes of `stablehlo.reduce_window`."""
    return {
        "window_dimensions": mlir.i64_array(params["window_dimensions"]),
        "window_strides": mlir.i64_array(params["window_strides"]),
        "base_dilations": mlir.i64_array(params["base_dilation"]),
        "window_dilations": mlir.i64_array(params["window_dilation"]),
        "padding": pairs_attr(params["padding"]),
    }


def emit_reduce_window(
    ctx: LoweringContext,
    operand: Any,
    init: Any,
    params: dict[str, Any],
    body: Callable[..., Sequence[Any]],
) -> Any:
    """Emit `stablehlo.reduce_window`; `body` emits the result for two scalars."""
    out = ctx.aval_out
    made = mlir.op(
        "stablehlo.reduce_window",
        (mlir.tensor_type(out),),
        (operand, init),
        window_attributes(params),
        regions=1,
    )
    fill_region(made, (out.update(shape=()),), body)
    return made.result


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


class ReduceWindow(Primitive):
    """Reduces the windows of several arrays at once by the program `olympuspr`.

    Operands are the arrays, then an initial scalar for each.
    """

    multiple_results = True

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


reduce_window_sum_p = WindowReduction("reduce_window_sum", reduce_sum_p)
reduce_window_max_p = WindowReduction("reduce_window_max", reduce_max_p)
reduce_window_min_p = WindowReduction("reduce_window_min", reduce_min_p)
reduce_window_p = ReduceWindow("reduce_window")

PRIMITIVES: tuple[Primitive, ...] = (
    reduce_window_sum_p,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
)
