"""Cumulative primitives: reductions of all elements up to each position along an axis.

They are lowered as window reductions over the whole axis, which XLA's backends turn into scans of
a logarithmic number of steps: no other form compiles or runs faster on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of
from olympus_core.base.dimensions.expression import at_most
from olympus_core.base.dtypes import DType
from olympus_core.ir import sharding_rules
from olympus_core.ir.axis_orders import Order, Reordered
from olympus_core.ir.primitive import Avals, Batched, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import check_kinds, elementwise_constant, zeros_like
from olympus_core.primitives.elementwise.logic import emit_compare, ne_p
from olympus_core.primitives.reduction import (
    Reduction,
    check_axes,
    lowest,
    reduce_max_p,
    reduce_min_p,
    reduce_prod_p,
    reduce_sum_p,
    same_bits,
    shifted,
)
from olympus_core.primitives.sort import along
from olympus_core.primitives.window import emit_reduce_window
from olympus_core.primitives.window_parameters import read_window

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

#: (tangent, result, operand, axis, reverse) -> tangent of the result
Tangent = Callable[[Any, Any, Any, int, bool], Any]


class Cumulative(SingleResult):
    """The reduction of the elements up to each along `axis`, or with `reverse` from it on."""

    raised_from: tuple[str, ...] = ("stablehlo.reduce_window",)

    def __init__(
        self,
        name: str,
        kinds: str,
        combine: Callable[[ShapedArray, Any, Any], Any],
        identity: Callable[[DType], Any],
        tangent: Tangent,
    ) -> None:
        super().__init__(name)
        self.kinds = kinds
        self.tangent = tangent
        self.combine = combine
        self.identity = identity

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        check_kinds(self.name, self.kinds, avals[0])
        check_axes(self.name, avals[0], (params["axis"],))
        return avals[0]

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        message = "Input should be unsharded over the axis being reduced"
        return [sharding_rules.unsplit_axis(self.name, avals, params["axis"], message)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, axis = ctx.aval_out, params["axis"]
        if out.size == 0:
            return operands[0]
        window = _whole_window(out.shape, axis, params["reverse"])
        scalar = out.update(shape=())
        init = ctx.numpy_constant(np.asarray(self.identity(out.dtype)).astype(out.dtype))
        return emit_reduce_window(
            ctx, operands[0], init, window, lambda x, y: (self.combine(scalar, x, y),)
        )

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        if len(operands) != 2:
            return None
        x, init = operands
        out, window = operation.aval_out, read_window(operation)
        scalar = out.update(shape=())
        axes = [i for i, n in enumerate(window["window_dimensions"]) if n > 1]
        if (
            len(axes) != 1
            or dtypes.kind(out.dtype) not in self.kinds
            or not same_bits(init, np.asarray(self.identity(out.dtype)).astype(out.dtype)[()])
        ):
            return None
        for reverse in (False, True):
            if window == _whole_window(out.shape, axes[0], reverse) and operation.region_equals(
                (scalar, scalar), lambda x, y: (self.combine(scalar, x, y),)
            ):
                return self.bind(x, axis=axes[0], reverse=reverse)
        return None

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = self.bind(x, **params)
        return out, self.tangent(t, out, x, params["axis"], params["reverse"])

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        if self is not cumsum_p:
            self._missing("transpose", "transposed")
        return [self.bind(cotangent, axis=params["axis"], reverse=not params["reverse"])]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        dim, axis = dims[0] or 0, params["axis"]
        moved = axis + (axis >= dim)
        return self.bind(args[0], axis=moved, reverse=params["reverse"]), dim

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        order = orders[0]
        if order is None:
            return None
        moved = params | {"axis": order.index(params["axis"])}
        return Reordered(moved, (order,), (order,))


def _whole_window(shape: Shape, axis: int, reverse: bool) -> dict[str, Any]:
    """Return the window of all elements up to a position along an axis, or from it on."""
    length, ones = shape[axis], (1,) * len(shape)
    before = (0, length - 1) if reverse else (length - 1, 0)
    return {
        "window_dimensions": tuple([length if i == axis else 1 for i in range(len(shape))]),
        "window_strides": ones,
        "padding": tuple([before if i == axis else (0, 0) for i in range(len(shape))]),
        "base_dilation": ones,
        "window_dilation": ones,
    }


def _of(name: str, reduction: Reduction, tangent: Tangent) -> Cumulative:
    kinds = reduction.kinds.replace("b", "")
    return Cumulative(name, kinds, reduction.combine, reduction.identity, tangent)


def _sum_tangent(t: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
    return op.cumsum(t, axis=axis, reverse=reverse)


def _product_tangent(t: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
    before = shifted(out, axis, -1 if reverse else 1, 1)
    return _recurrence(x, op.mul(t, before), axis, reverse)


def _extremum_tangent(t: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
    """Return the tangent of the last extremum up to each position; 0 after a NaN."""
    shape = shape_of(x)
    last = np.int32(shape[axis] - 1 if reverse else 0)
    positions = op.iota(shape=shape, dimension=axis, dtype=last.dtype)
    records = op.select_n(op.eq(x, out), last, positions)
    latest = op.cummin if reverse else op.cummax
    tangent = along(t, latest(records, axis=axis, reverse=reverse), axis)
    return op.select_n(op.ne(out, out), tangent, zeros_like(tangent))


def _log_sum_tangent(t: Any, out: Any, x: Any, axis: int, reverse: bool) -> Any:
    """Return the mean of the tangents up to each position, weighted by exp(x).

    If the sum is infinite, each infinite element so far has the weight 1, and others have 0.
    """
    before = shifted(out, axis, -1 if reverse else 1, -np.inf)
    out = op.select_n(op.eq(out, elementwise_constant(out, -np.inf)), out, zeros_like(out))
    greatest = elementwise_constant(out, dtypes.finfo(get_aval(out).dtype).max)
    before, out, x = (op.min(v, greatest) for v in (before, out, x))
    decay, weight = op.exp(op.sub(before, out)), op.exp(op.sub(x, out))
    return _recurrence(decay, op.mul(t, weight), axis, reverse)


def _recurrence(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """Return y with y_i = a_i y_(i-1) + b_i along an axis.

    The loop takes a logarithmic number of steps (Hillis and Steele, 1986): after each, y_i is the
    sum over the last `step` terms, and a_i the product of their factors.
    """
    length, step = at_most(shape_of(a)[axis]), 1  # further steps change nothing
    while step < length:
        by = -step if reverse else step
        part = op.mul(b, shifted(a, axis, -by, 0))  # a product with a 0 shifted in may be NaN
        b = op.add(shifted(part, axis, by, 0), b)
        step *= 2
        if step < length:
            a = op.mul(shifted(a, axis, by, 1), a)
    return b


def _log_add_exp(aval: ShapedArray, x: Any, y: Any) -> Any:
    """Emit log(exp x + exp y) = max + log1p(exp(-|x - y|)); x + y if x - y is NaN (infinities)."""
    greater = mlir.op1("stablehlo.maximum", aval, (x, y))
    delta = mlir.op1("stablehlo.subtract", aval, (x, y))
    is_nan = emit_compare(ne_p, aval, delta, delta)
    distance = mlir.op1("stablehlo.negate", aval, (mlir.op1("stablehlo.abs", aval, (delta,)),))
    small = mlir.op1("stablehlo.exponential", aval, (distance,))
    tail = mlir.op1("stablehlo.log_plus_one", aval, (small,))
    total = mlir.op1("stablehlo.add", aval, (greater, tail))
    plain = mlir.op1("stablehlo.add", aval, (x, y))
    return mlir.op1("stablehlo.select", aval, (is_nan, plain, total))


cumsum_p = _of("cumsum", reduce_sum_p, _sum_tangent)
cumprod_p = _of("cumprod", reduce_prod_p, _product_tangent)
cummax_p = _of("cummax", reduce_max_p, _extremum_tangent)
cummin_p = _of("cummin", reduce_min_p, _extremum_tangent)
cumlogsumexp_p = Cumulative("cumlogsumexp", "f", _log_add_exp, lowest, _log_sum_tangent)
