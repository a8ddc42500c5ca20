"""Cumulative primitives: reductions of all elements up to each position along an axis.

They are lowered as window reductions over the whole axis, which XLA's backends turn into scans of
a logarithmic number of steps, with several kernels for each.  `cumulative_forms` has faster forms
for the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of
from olympus_core.base.dimensions.expression import at_most
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ShapeError
from olympus_core.ir import sharding_rules
from olympus_core.ir.axis_orders import Order, Reordered
from olympus_core.ir.primitive import Avals, Batched, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.cumulative_forms import cumulative_form
from olympus_core.primitives.elementwise.base import (
    check_kinds,
    elementwise_constant,
    zeros_like,
)
from olympus_core.primitives.elementwise.logic import emit_compare, emit_extremum, ne_p
from olympus_core.primitives.reduction import (
    Reduction,
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

_NAMES = {
    "stablehlo.add": "add",
    "stablehlo.multiply": "mul",
    "stablehlo.maximum": "max",
    "stablehlo.minimum": "min",
}
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
        binary: str | None = None,
    ) -> None:
        super().__init__(name)
        self.binary = binary  # the name of the primitive of two arrays
        self.kinds = kinds
        self.tangent = tangent
        self.combine = combine
        self.identity = identity

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        check_kinds(self.name, self.kinds, avals[0])
        if not 0 <= params["axis"] < avals[0].ndim:
            raise ShapeError(
                f"axis {params['axis']} is out of bounds for array of shape {avals[0].shape}, in "
                f"{self.name}"
            )
        return avals[0]

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        message = (
            "Input should be unsharded over the axis being reduced. "
            "Got input type={type} and axis={axis}"
        )
        return [sharding_rules.unsplit_axis(self.name, avals, params["axis"], message)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, axis = ctx.aval_out, params["axis"]
        if out.size == 0:
            return operands[0]
        form = cumulative_form(out, axis, self.binary) if ctx.is_for_unsplit_cpu else None
        if form is not None:
            start = {
                "combiner": self.binary,
                "identity": np.asarray(self.identity(out.dtype)).item(),
            }
            return ctx.form(form, operands, self.name, **start, **params)[0]
        window = _whole_window(out.shape, axis, params["reverse"])
        scalar = out.update(shape=())
        init = ctx.numpy_constant(np.asarray(self.identity(out.dtype)).astype(out.dtype))
        return emit_reduce_window(
            ctx, operands[0], init, window, lambda x, y: (self.combine(scalar, x, y),)
        )

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        direction = _direction(operation)
        if direction is None or _NAMES.get(operation.combiner or "") != self.binary:
            return False
        return cumulative_form(operation.aval_out, direction[0], self.binary) is not None

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        if len(operands) != 2:
            return None
        x, init = operands
        out, direction = operation.aval_out, _direction(operation)
        scalar = out.update(shape=())
        if (
            direction is None
            or dtypes.kind(out.dtype) not in self.kinds
            or not same_bits(init, np.asarray(self.identity(out.dtype)).astype(out.dtype)[()])
        ):
            return None
        axis, reverse = direction
        is_own = operation.region_equals(
            (scalar, scalar), lambda x, y: (self.combine(scalar, x, y),)
        )
        return self.bind(x, axis=axis, reverse=reverse) if is_own else None

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


def _direction(operation: StableHloOperation) -> tuple[int, bool] | None:
    """Return the axis of a reduction of cumulative windows, and whether they begin at its end."""
    shape, window = operation.aval_out.shape, read_window(operation)
    axes = [i for i, n in enumerate(window["window_dimensions"]) if n > 1]
    for reverse in (False, True) if len(axes) == 1 else ():
        if window == _whole_window(shape, axes[0], reverse):
            return axes[0], reverse
    return None


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
    binary = _NAMES[reduction.op]
    return Cumulative(name, kinds, reduction.combine, reduction.identity, tangent, binary)


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
    size = _real_part(out)
    out = op.select_n(op.eq(size, elementwise_constant(size, -np.inf)), out, zeros_like(out))
    before, out, x = (_without_infinity(v) for v in (before, out, x))
    decay, weight = op.exp(op.sub(before, out)), op.exp(op.sub(x, out))
    return _recurrence(decay, op.mul(t, weight), axis, reverse)


def _real_part(x: Any) -> Any:
    return op.real(x) if dtypes.kind(get_aval(x).dtype) == "c" else x


def _without_infinity(x: Any) -> Any:
    """Return `x`, whose real part is at most the greatest number of its dtype."""
    real = _real_part(x)
    bounded = op.min(real, elementwise_constant(real, dtypes.finfo(get_aval(real).dtype).max))
    return bounded if real is x else op.complex(bounded, op.imag(x))


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


def _log_of_zero(dtype: DType) -> Any:
    """Return minus infinity, or the least number of a dtype without infinities."""
    return -np.inf if dtypes.kind(dtype) == "c" else lowest(dtype)


def _log_add_exp(aval: ShapedArray, x: Any, y: Any) -> Any:
    """Emit log(exp x + exp y) = max + log1p(exp(-|x - y|)); x + y if x - y is NaN (infinities)."""
    if dtypes.kind(aval.dtype) == "c":
        return _complex_log_add_exp(aval, x, y)
    greater = mlir.op1("stablehlo.maximum", aval, (x, y))
    delta = mlir.op1("stablehlo.subtract", aval, (x, y))
    is_nan = emit_compare(ne_p, aval, delta, delta)
    distance = mlir.op1("stablehlo.negate", aval, (mlir.op1("stablehlo.abs", aval, (delta,)),))
    small = mlir.op1("stablehlo.exponential", aval, (distance,))
    tail = mlir.op1("stablehlo.log_plus_one", aval, (small,))
    total = mlir.op1("stablehlo.add", aval, (greater, tail))
    plain = mlir.op1("stablehlo.add", aval, (x, y))
    return mlir.op1("stablehlo.select", aval, (is_nan, plain, total))


def _complex_log_add_exp(aval: ShapedArray, x: Any, y: Any) -> Any:
    """Emit log(exp x + exp y), whose imaginary part is in [-pi, pi)."""
    part = aval.update(dtype=dtypes.to_real(aval.dtype))
    greater = emit_extremum("stablehlo.maximum", aval, x, y)
    lesser = emit_extremum("stablehlo.minimum", aval, x, y)
    delta = mlir.op1("stablehlo.subtract", aval, (lesser, greater))
    is_nan = emit_compare(ne_p, aval, delta, delta)
    small = mlir.op1("stablehlo.exponential", aval, (delta,))
    tail = mlir.op1("stablehlo.log_plus_one", aval, (small,))
    total = mlir.op1("stablehlo.add", aval, (greater, tail))
    real, angle = (mlir.op1(f"stablehlo.{name}", part, (total,)) for name in ("real", "imag"))
    turn = mlir.full(part, 2 * math.pi)
    above = mlir.op1("stablehlo.add", part, (angle, mlir.full(part, math.pi)))
    turns = mlir.op1("stablehlo.floor", part, (mlir.op1("stablehlo.divide", part, (above, turn)),))
    excess = mlir.op1("stablehlo.multiply", part, (turns, turn))
    angle = mlir.op1("stablehlo.subtract", part, (angle, excess))
    total = mlir.op1("stablehlo.complex", aval, (real, angle))
    plain = mlir.op1("stablehlo.add", aval, (x, y))
    return mlir.op1("stablehlo.select", aval, (is_nan, plain, total))


cumsum_p = _of("cumsum", reduce_sum_p, _sum_tangent)
cumprod_p = _of("cumprod", reduce_prod_p, _product_tangent)
cummax_p = _of("cummax", reduce_max_p, _extremum_tangent)
cummin_p = _of("cummin", reduce_min_p, _extremum_tangent)
cumlogsumexp_p = Cumulative("cumlogsumexp", "fc", _log_add_exp, _log_of_zero, _log_sum_tangent)
