"""The geometry of windows: shapes and a window's parameters in, the shape of the windows out.

A window has `window_dimensions`, moves by `window_strides`, and takes every `window_dilation`-th
element of the operand, which has `base_dilation` - 1 holes between its elements and `padding`
(low, high) of the reduction's identity around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import mlir
from olympus_core.avals import Shape
from olympus_core.errors import ShapeError
from olympus_core.primitives.reduction import fill_region

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext
    from olympus_core.mlir import ir

__all__ = [
    "Padding",
    "dilated",
    "emit_reduce_window",
    "map_axis",
    "pairs_attr",
    "window_attributes",
    "window_shape",
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


def map_axis(params: dict[str, Any], dim: int) -> dict[str, Any]:
    """The parameters for an array that has a mapped axis at `dim` as well."""
    moved = dict(params)
    for name, value in (
        ("window_dimensions", 1),
        ("window_strides", 1),
        ("base_dilation", 1),
        ("window_dilation", 1),
        ("padding", (0, 0)),
    ):
        moved[name] = (*params[name][:dim], value, *params[name][dim:])
    return moved


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
