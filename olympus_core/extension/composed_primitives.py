"""Primitives of JAX that OLYMPUS computes by functions of others, such as `log2_p`.

`make_olympuspr` of the functions shows the operations; a primitive that is bound is one equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError
from olympus_core.control.linear_solve import linear_solve_p
from olympus_core.extension.composed import ComposedPrimitive
from olympus_core.ir.primitive import op
from olympus_core.library.jaxprs import eval_jaxpr
from olympus_core.library.lax import conversion, shape, sort
from olympus_core.library.lax.linalg import symmetric_product
from olympus_core.library.lax.polynomials import log2, one_minus_square, polynomial
from olympus_core.library.lax.reflectors import cholesky_update, ormqr
from olympus_core.library.lax.wide_products import mulhi
from olympus_core.library.special import lax as special

__all__ = [
    "approx_top_k_p",
    "bessel_i0e_p",
    "cholesky_update_p",
    "closed_call_p",
    "eq_to_p",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac_p",
    "le_to_p",
    "linear_solve_p",
    "log2_p",
    "lt_to_p",
    "mulhi_p",
    "one_minus_square_p",
    "ormqr_p",
    "polynomial_p",
    "regularized_incomplete_beta_p",
    "stage_p",
    "symmetric_product_p",
]


def _order_key(name: str, x: Any) -> Any:
    """Return integers in the total order of IEEE 754, in which -nan < -0 < 0 < nan."""
    dtype = get_aval(x).dtype
    kind = dtypes.kind(dtype)
    if kind == "c":
        raise DTypeError(f"{name} needs real values, and got {dtypes.long_name(dtype)}")
    if kind != "f":
        return x
    word = np.dtype(f"int{8 * dtype.itemsize}")
    bits = conversion.bitcast_convert_type(x, word)
    last = np.asarray(np.iinfo(word).max, word)
    return op.select_n(op.lt(bits, shape.full_like(bits, 0)), bits, op.xor(bits, _as(bits, last)))


def _as(like: Any, value: Any) -> Any:
    return shape.full_like(like, value)


def _in_total_order(name: str, compare: Callable[[Any, Any], Any]) -> ComposedPrimitive:
    return ComposedPrimitive(name, lambda x, y: compare(_order_key(name, x), _order_key(name, y)))


def _approx_top_k(
    operand: Any,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[Any]:
    function = sort.approx_max_k if is_max_k else sort.approx_min_k
    return function(
        operand,
        k,
        reduction_dimension,
        recall_target,
        reduction_input_size_override,
        aggregate_to_topk,
    )


def _polynomial(x: Any, *coeffs: Any, unroll: int | None = None) -> Any:
    return polynomial(x, coeffs, unroll=unroll)


def _closed_call(*args: Any, call_jaxpr: Any, **_: Any) -> list[Any]:
    return list(eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args))


log2_p = ComposedPrimitive("log2", log2)
one_minus_square_p = ComposedPrimitive("one_minus_square", one_minus_square)
polynomial_p = ComposedPrimitive("polynomial", _polynomial)
mulhi_p = ComposedPrimitive("mulhi", mulhi)
stage_p = ComposedPrimitive("stage", shape.stage)
eq_to_p = _in_total_order("eq_to", op.eq)
le_to_p = _in_total_order("le_to", op.le)
lt_to_p = _in_total_order("lt_to", op.lt)
igamma_p = ComposedPrimitive("igamma", special.igamma)
igammac_p = ComposedPrimitive("igammac", special.igammac)
igamma_grad_a_p = ComposedPrimitive("igamma_grad_a", special.igamma_grad_a)
bessel_i0e_p = ComposedPrimitive("bessel_i0e", special.bessel_i0e)
regularized_incomplete_beta_p = ComposedPrimitive("regularized_incomplete_beta", special.betainc)
cholesky_update_p = ComposedPrimitive("cholesky_update", cholesky_update)
ormqr_p = ComposedPrimitive("ormqr", ormqr)
symmetric_product_p = ComposedPrimitive("symmetric_product", symmetric_product)
approx_top_k_p = ComposedPrimitive("approx_top_k", _approx_top_k, multiple_results=True)
closed_call_p = ComposedPrimitive("closed_call", _closed_call, multiple_results=True)
