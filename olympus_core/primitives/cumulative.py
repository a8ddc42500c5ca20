"""Cumulative primitives: an array in, the reductions of its elements so far along an axis out.

They are lowered as window reductions over the whole axis, which XLA's backends turn into scans of
a logarithmic number of steps: no other form compiles or runs faster on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import mlir
from olympus_core.avals import ShapedArray
from olympus_core.dtypes import DType
from olympus_core.primitive import Primitive
from olympus_core.primitives.elementwise import check_kinds, ne_p
from olympus_core.primitives.reduction import (
    Reduction,
    check_axes,
    emit_compare,
    lowest,
    reduce_max_p,
    reduce_min_p,
    reduce_prod_p,
    reduce_sum_p,
)
from olympus_core.primitives.window import emit_reduce_window

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["PRIMITIVES", "cumlogsumexp_p", "cummax_p", "cummin_p", "cumprod_p", "cumsum_p"]


class Cumulative(Primitive):
    """The reduction of the elements up to each one along `axis`, or with `reverse` from it on."""

    def __init__(
        self,
        name: str,
        kinds: str,
        combine: Callable[[ShapedArray, Any, Any], Any],
        identity: Callable[[DType], Any],
    ) -> None:
        super().__init__(name)
        self.kinds = kinds
        self.combine = combine
        self.identity = identity

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        check_kinds(self.name, self.kinds, avals[0])
        check_axes(self.name, avals[0], (params["axis"],))
        return avals[0]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out, axis = ctx.aval_out, params["axis"]
        length = out.shape[axis]
        if out.size == 0:
            return operands[0]
        before = (0, length - 1) if params["reverse"] else (length - 1, 0)
        ones = (1,) * out.ndim
        window = {
            "window_dimensions": tuple([length if i == axis else 1 for i in range(out.ndim)]),
            "padding": tuple([before if i == axis else (0, 0) for i in range(out.ndim)]),
            "window_strides": ones,
            "base_dilation": ones,
            "window_dilation": ones,
        }
        scalar = out.update(shape=())
        init = ctx.numpy_constant(np.asarray(self.identity(out.dtype)).astype(out.dtype))
        return emit_reduce_window(
            ctx, operands[0], init, window, lambda x, y: (self.combine(scalar, x, y),)
        )


def _of(name: str, reduction: Reduction) -> Cumulative:
    kinds = reduction.kinds.replace("b", "")
    return Cumulative(name, kinds, reduction.combine, reduction.identity)


def _log_add_exp(aval: ShapedArray, x: Any, y: Any) -> Any:
    """log(exp x + exp y) = max + log1p(exp(-|x - y|)); where x - y is NaN (infinities), x + y."""
    greater = mlir.op1("stablehlo.maximum", aval, (x, y))
    delta = mlir.op1("stablehlo.subtract", aval, (x, y))
    is_nan = emit_compare(ne_p, aval, delta, delta)
    distance = mlir.op1("stablehlo.negate", aval, (mlir.op1("stablehlo.abs", aval, (delta,)),))
    small = mlir.op1("stablehlo.exponential", aval, (distance,))
    tail = mlir.op1("stablehlo.log_plus_one", aval, (small,))
    total = mlir.op1("stablehlo.add", aval, (greater, tail))
    plain = mlir.op1("stablehlo.add", aval, (x, y))
    return mlir.op1("stablehlo.select", aval, (is_nan, plain, total))


cumsum_p = _of("cumsum", reduce_sum_p)
cumprod_p = _of("cumprod", reduce_prod_p)
cummax_p = _of("cummax", reduce_max_p)
cummin_p = _of("cummin", reduce_min_p)
cumlogsumexp_p = Cumulative("cumlogsumexp", "f", _log_add_exp, lowest)

PRIMITIVES: tuple[Primitive, ...] = (cumsum_p, cumprod_p, cummax_p, cummin_p, cumlogsumexp_p)
