"""Reductions over axes and windows, and cumulative reductions along an axis.

A sum of n terms, in any order, is within n u times the sum of their magnitudes
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2), and a product of n
within n u times itself (section 3.1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.primitives.reduction import highest, lowest
from olympus_core.verification.floats import is_inexact
from olympus_core.verification.reference.rule import Array, Call, Rule
from olympus_core.verification.reference.shapes import pad


def _count(call: Call) -> float:
    shape = call.avals_in[0].shape
    return float(math.prod(shape[i] for i in call.params["axes"]))


def _sum(call: Call) -> list[Array]:
    return [np.asarray(np.sum(call.operands[0], call.params["axes"], _own_dtype(call.operands[0])))]


def _own_dtype(x: Array) -> Any:
    """Return the dtype of the sum: NumPy would widen narrow integers."""
    return x.dtype


def _sum_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype):
        return [0.0]
    total = np.sum(np.abs(call.operands[0]), call.params["axes"])
    return [2 * (_count(call) + 1) * roundoff * total]


def _product(call: Call) -> list[Array]:
    return [
        np.asarray(np.prod(call.operands[0], call.params["axes"], _own_dtype(call.operands[0])))
    ]


def _product_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype):
        return [0.0]
    return [2 * (_count(call) + 1) * roundoff * np.abs(values[0])]


def _identity(x: Array, sign: int) -> Any:
    identity = np.asarray((lowest if sign < 0 else highest)(x.dtype))
    return identity.astype(x.dtype)[()]


def _extremum(reduce: Any, sign: int) -> Rule:
    def value(call: Call) -> list[Array]:
        (x,), axes = call.operands, call.params["axes"]
        if dtypes.kind(x.dtype) != "c":
            start = _identity(x, sign) if not x.size else np._NoValue
            return [np.asarray(reduce(x, axes, initial=start))]
        remaining_axes = [i for i in range(x.ndim) if i not in axes]
        flat = np.transpose(x, (*remaining_axes, *axes)).reshape(
            [x.shape[i] for i in remaining_axes] + [-1]
        )
        order = np.lexsort((flat.imag, flat.real), axis=-1)
        place = order[..., -1:] if sign < 0 else order[..., :1]
        return [np.take_along_axis(flat, place, -1)[..., 0]]

    return Rule(value)


def _logic(reduce: Any) -> Rule:
    return Rule(lambda call: [np.asarray(reduce(call.operands[0], axis=call.params["axes"]))])


def _cumulative(ufunc: Any) -> Callable[[Call], list[Array]]:
    def value(call: Call) -> list[Array]:
        return [_accumulated(ufunc, call.operands[0], call.params)]

    return value


def _accumulated(ufunc: Any, x: Array, params: dict[str, Any]) -> Array:
    axis = params["axis"]
    if params["reverse"]:
        return np.flip(
            _accumulated(ufunc, np.flip(x, axis), {"axis": axis, "reverse": False}), axis
        )
    return np.asarray(ufunc.accumulate(x, axis=axis, dtype=x.dtype))


def _length(call: Call) -> float:
    return float(call.out.shape[call.params["axis"]])


def _cumsum_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype):
        return [0.0]
    total = _accumulated(np.add, np.abs(call.operands[0]), call.params)
    return [2 * (_length(call) + 1) * roundoff * total]


def _cumprod_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype):
        return [0.0]
    return [2 * (_length(call) + 1) * roundoff * np.abs(values[0])]


def _log_add_exp(x: Array, y: Array) -> Array:
    if dtypes.kind(x.dtype) != "c":
        return np.asarray(np.logaddexp(x, y))
    larger, smaller = np.where(x.real >= y.real, (x, y), (y, x))
    total = larger + np.log1p(np.exp(smaller - larger))
    return np.asarray(total.real + 1j * np.angle(np.exp(1j * total.imag)))


def _cumlogsumexp(call: Call) -> list[Array]:
    axis, turn = call.params["axis"], slice(None, None, -1 if call.params["reverse"] else 1)
    rows = np.moveaxis(call.operands[0], axis, 0)[turn]
    sums = [*itertools.accumulate(rows, _log_add_exp)] if len(rows) else rows
    return [np.moveaxis(np.asarray(sums)[turn], 0, axis)]


def _cumlogsumexp_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    """Return the error of each step: roundings of a maximum and the logarithm of a sum."""
    size = np.nan_to_num(np.abs(values[0]), posinf=0.0) + 1
    return [8 * (_length(call) + 1) * roundoff * size]


def _window_views(call: Call, x: Array, fill: Any) -> Array:
    """Return the elements of each window along the last axes."""
    p, rank = call.params, x.ndim
    config = [
        (low, high, b - 1) for (low, high), b in zip(p["padding"], p["base_dilation"], strict=True)
    ]
    wide = pad(x, fill, config)
    spread = [
        (n - 1) * d + 1 for n, d in zip(p["window_dimensions"], p["window_dilation"], strict=True)
    ]
    views = np.lib.stride_tricks.sliding_window_view(wide, spread)
    steps = [slice(None, None, s) for s in (*p["window_strides"], *p["window_dilation"])]
    assert views.ndim == 2 * rank
    return views[tuple(steps)]


def _window_axes(call: Call) -> tuple[int, ...]:
    rank = call.out.ndim
    return tuple(range(rank, 2 * rank))


def _window_sum(call: Call) -> list[Array]:
    (x,) = call.operands
    if not call.out.size:
        return [np.zeros(call.out.shape, x.dtype)]
    return [_window_views(call, x, x.dtype.type(0)).sum(_window_axes(call), dtype=x.dtype)]


def _window_sum_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype) or not call.out.size:
        return [0.0]
    total = _window_views(call, np.abs(call.operands[0]), 0.0).sum(_window_axes(call))
    return [2 * (_window_size(call) + 1) * roundoff * total]


def _window_size(call: Call) -> float:
    return float(math.prod(call.params["window_dimensions"]))


def _window_extremum(function: Any, sign: int) -> Rule:
    def value(call: Call) -> list[Array]:
        (x,) = call.operands
        if not call.out.size:
            return [np.zeros(call.out.shape, x.dtype)]
        return [function(_window_views(call, x, _identity(x, sign)), axis=_window_axes(call))]

    return Rule(value)


REDUCTIONS: dict[str, Rule] = {
    "reduce_sum": Rule(_sum, _sum_error, _count, sums=True),
    "reduce_prod": Rule(_product, _product_error, _count),
    "reduce_max": _extremum(np.max, -1),
    "reduce_min": _extremum(np.min, 1),
    "reduce_and": _logic(np.bitwise_and.reduce),
    "reduce_or": _logic(np.bitwise_or.reduce),
    "reduce_xor": _logic(np.bitwise_xor.reduce),
    "cumsum": Rule(_cumulative(np.add), _cumsum_error, _length, sums=True),
    "cumprod": Rule(_cumulative(np.multiply), _cumprod_error, _length),
    "cummax": Rule(_cumulative(np.maximum)),
    "cummin": Rule(_cumulative(np.minimum)),
    "cumlogsumexp": Rule(_cumlogsumexp, _cumlogsumexp_error, _length),
    "reduce_window_sum": Rule(_window_sum, _window_sum_error, _window_size, sums=True),
    "reduce_window_max": _window_extremum(np.max, -1),
    "reduce_window_min": _window_extremum(np.min, 1),
}
