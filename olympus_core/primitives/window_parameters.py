"""The parameters of windows that move over an array, and the shapes that they give.

A window has `window_dimensions`, moves by `window_strides`, and takes every `window_dilation`-th
element of the operand, which has `base_dilation` - 1 holes between its elements and `padding`
(low, high) of the reduction's identity around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import Shape
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ShapeError
from olympus_core.ir.axis_orders import Order, Reordered, along_axes, most_common
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir
    from olympus_core.raising.stablehlo_operation import StableHloOperation

Padding = tuple[tuple[int, int], ...]


def dilated(size: int, dilation: int) -> int:
    """Return the extent of `size` elements that are `dilation` apart."""
    return (size - 1) * dilation + 1 if size else 0


def windows(size: int, padding: tuple[int, int], window: int, stride: int) -> int:
    """Return the number of windows along a dimension; `size` and `window` are dilated sizes."""
    return max(0, (size + sum(padding) - window) // stride + 1)


def window_shape(name: str, shape: Shape, params: dict[str, Any]) -> Shape:
    """Return the shape of a window reduction's result; raise ShapeError for invalid parameters."""
    for what, low in (
        ("window_dimensions", 1),
        ("window_strides", 1),
        ("base_dilation", 1),
        ("window_dilation", 1),
        ("padding", None),
    ):
        values = params[what]
        if len(values) != len(shape):
            raise ShapeError(
                f"{name} got the wrong number of {what} for operand: got operand shape {shape} "
                f"with {what} {values}."
            )
        if low is not None and min(values, default=1) < low:
            term = (
                "All dilations must be positive"
                if "dilation" in what
                else f"reduce_window {what} must have every element be strictly positive"
            )
            raise ShapeError(f"{term}, got {values}: {what} of {name}")
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
    """Return pairs of ints as a dense attribute of shape (n, 2); symbolic ones unchanged."""
    if any(is_symbolic_dim(n) for pair in pairs for n in pair):
        return mlir.SymbolicValues(tuple(pairs))
    return mlir.dense(np.asarray(pairs, np.int64).reshape(-1, 2))


def window_attributes(params: dict[str, Any]) -> dict[str, ir.Attribute]:
    """Return the attributes of `stablehlo.reduce_window`."""
    return {
        "window_dimensions": mlir.i64_array(params["window_dimensions"]),
        "window_strides": mlir.i64_array(params["window_strides"]),
        "base_dilations": mlir.i64_array(params["base_dilation"]),
        "window_dilations": mlir.i64_array(params["window_dilation"]),
        "padding": pairs_attr(params["padding"]),
    }


def read_window(operation: StableHloOperation) -> dict[str, Any]:
    """Return the parameters of a window from the attributes of `stablehlo.reduce_window`."""
    rank = operation.avals_in[0].ndim
    ones = (1,) * rank
    return {
        "window_dimensions": operation.ints("window_dimensions"),
        "window_strides": operation.ints("window_strides", ones),
        "padding": operation.pairs("padding", rank),
        "base_dilation": operation.ints("base_dilations", ones),
        "window_dilation": operation.ints("window_dilations", ones),
    }


def with_mapped_axis(params: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return the parameters for an array that also has a mapped axis at `dim`."""
    moved = dict(params)
    for name, value in (
        ("window_dimensions", 1),
        ("window_strides", 1),
        ("base_dilation", 1),
        ("window_dilation", 1),
        ("padding", (0, 0)),
    ):
        if name in params:
            moved[name] = (*params[name][:dim], value, *params[name][dim:])
    return moved


def reordered_window(
    orders: Sequence[Order | None], count: int, params: dict[str, Any]
) -> Reordered | None:
    """Return an operation of `count` arrays on windows in the most common of the orders.

    The axes along which a window has several elements keep their order, because that is the order
    in which equal elements of a window are compared.
    """
    order = most_common(orders[:count])
    if order is None:
        return None
    inside = [axis for axis in order if params["window_dimensions"][axis] > 1]
    if inside != sorted(inside):
        return None
    names = [n for n in _PER_AXIS if n in params]
    rest = (None,) * (len(orders) - count)
    return Reordered(along_axes(params, order, names), (order,) * count + rest, (order,))


_PER_AXIS = ("window_dimensions", "window_strides", "base_dilation", "window_dilation", "padding")
