"""Sums of products: matrix products, convolutions and Fourier transforms.

A sum of n products is within n u times the sum of their magnitudes (Higham, Accuracy and Stability
of Numerical Algorithms, 2nd ed., section 3.1), in any order.  A fast Fourier
transform is within a small multiple of u log2(n) times the 2-norm of its result (section 24.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.primitives.fft import FftType
from olympus_core.primitives.precision import Precision
from olympus_core.verification.floats import is_inexact
from olympus_core.verification.reference.rule import Array, Call, Rule
from olympus_core.verification.reference.shapes import pad

_COMPLEX = 4  # real products in one of complex numbers
_COARSE = 2.0**-8  # roundoff of bfloat16, the narrowest dtype that an algorithm may request


def coarse(call: Call, roundoff: float) -> float:
    """Return the roundoff of the products: larger if an algorithm rounds the operands first."""
    precision = call.params.get("precision")
    plain = precision is None or isinstance(precision, Precision | tuple)
    named = getattr(precision, "name", "")
    return roundoff if plain or named in ("F32_F32_F32", "F64_F64_F64") else _COARSE


def _in_one_dtype(call: Call) -> tuple[Array, Array]:
    x, y = call.operands
    if is_inexact(call.out.dtype):
        kind = np.complex128 if dtypes.kind(call.out.dtype) == "c" else np.float64
        return x.astype(kind), y.astype(kind)
    return x.astype(call.out.dtype), y.astype(call.out.dtype)


def _dot(x: Array, y: Array, params: dict[str, Any]) -> Array:
    (contracted_x, contracted_y), (batch_x, batch_y) = params["dimension_numbers"]
    free_x = [i for i in range(x.ndim) if i not in contracted_x and i not in batch_x]
    free_y = [i for i in range(y.ndim) if i not in contracted_y and i not in batch_y]
    shape = [x.shape[i] for i in (*batch_x, *free_x)] + [y.shape[i] for i in free_y]
    count = math.prod(x.shape[i] for i in contracted_x)
    groups = math.prod(x.shape[i] for i in batch_x)
    x_matrix = np.transpose(x, (*batch_x, *free_x, *contracted_x)).reshape(
        groups, math.prod(x.shape[i] for i in free_x), count
    )
    y_matrix = np.transpose(y, (*batch_y, *contracted_y, *free_y)).reshape(
        groups, count, math.prod(y.shape[i] for i in free_y)
    )
    return np.asarray(np.matmul(x_matrix, y_matrix)).reshape(shape)


def _dot_value(call: Call) -> list[Array]:
    return [_dot(*_in_one_dtype(call), call.params)]


def _dot_terms(call: Call) -> float:
    (contracted, _), _ = call.params["dimension_numbers"]
    return float(max(1, math.prod(call.avals_in[0].shape[i] for i in contracted)))


def _dot_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype):
        return [0.0]
    x, y = _in_one_dtype(call)
    total = _dot(np.abs(x), np.abs(y), call.params)
    return [_of_terms(call, _dot_terms(call), roundoff) * total]


def _of_terms(call: Call, terms: float, roundoff: float) -> float:
    factor = _COMPLEX if dtypes.kind(call.out.dtype) == "c" else 1
    rounded = coarse(call, roundoff)
    return 2 * factor * ((terms + 1) * roundoff + (2 * rounded if rounded > roundoff else 0))


def _windows(x: Array, kernel: Sequence[int], params: dict[str, Any]) -> Array:
    """Return windows (batch, feature, place..., offset...) of (batch, feature, space...)."""
    config = [(0, 0, 0), (0, 0, 0)] + [
        (low, high, grow - 1)
        for (low, high), grow in zip(params["padding"], params["lhs_dilation"], strict=True)
    ]
    wide = pad(x, np.zeros((), x.dtype), config)
    spread = [(n - 1) * d + 1 for n, d in zip(kernel, params["rhs_dilation"], strict=True)]
    axes = tuple(range(2, x.ndim))
    views = np.lib.stride_tricks.sliding_window_view(wide, spread, axes) if axes else wide
    steps = [slice(None), slice(None)]
    steps += [slice(None, None, s) for s in params["window_strides"]]
    steps += [slice(None, None, d) for d in params["rhs_dilation"]]
    return views[tuple(steps)]


def _conv(x: Array, k: Array, call: Call) -> Array:
    params, numbers = call.params, call.params["dimension_numbers"]
    if not call.out.size or not x.size or not k.size:
        return np.zeros(call.out.shape, x.dtype)
    x, k = np.transpose(x, numbers.lhs_spec), np.transpose(k, numbers.rhs_spec)
    groups = max(params["feature_group_count"], params["batch_group_count"])
    split_axis = 1 if params["feature_group_count"] > 1 else 0
    space = x.ndim - 2
    axes = (1, *range(2 + space, 2 + 2 * space))
    group_results = []
    for x_group, kernel_group in zip(
        np.split(x, groups, split_axis), np.split(k, groups, 0), strict=True
    ):
        views = _windows(x_group, kernel_group.shape[2:], params)
        group_result = np.tensordot(views, kernel_group, (axes, tuple(range(1, kernel_group.ndim))))
        group_results.append(np.moveaxis(group_result, -1, 1))
    full = np.concatenate(group_results, 1)
    return np.transpose(full, np.argsort(numbers.out_spec))


def _conv_value(call: Call) -> list[Array]:
    return [_conv(*_in_one_dtype(call), call)]


def _conv_terms(call: Call) -> float:
    spec = call.params["dimension_numbers"].rhs_spec
    shape = call.avals_in[1].shape
    return float(max(1, math.prod(shape[i] for i in spec[1:])))


def _conv_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    if not is_inexact(call.out.dtype):
        return [0.0]
    x, k = _in_one_dtype(call)
    return [_of_terms(call, _conv_terms(call), roundoff) * _conv(np.abs(x), np.abs(k), call)]


_TRANSFORMS: dict[FftType, Any] = {
    FftType.FFT: np.fft.fftn,
    FftType.IFFT: np.fft.ifftn,
    FftType.RFFT: np.fft.rfftn,
    FftType.IRFFT: np.fft.irfftn,
}


def _fft(call: Call) -> list[Array]:
    (x,), lengths = call.operands, call.params["fft_lengths"]
    if not call.out.size or not x.size:
        wide = np.complex128 if dtypes.kind(call.out.dtype) == "c" else np.float64
        return [np.zeros(call.out.shape, wide)]
    axes = tuple(range(-len(lengths), 0))
    return [np.asarray(_TRANSFORMS[call.params["fft_type"]](x, s=lengths, axes=axes))]


def _fft_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    axes = tuple(range(-len(call.params["fft_lengths"]), 0))
    norm = np.sqrt(np.sum(np.abs(values[0]) ** 2, axes, keepdims=True))
    return [
        16 * (1 + math.log2(_fft_terms(call))) * roundoff * np.broadcast_to(norm, call.out.shape)
    ]


def _fft_terms(call: Call) -> float:
    return float(max(1, math.prod(call.params["fft_lengths"])))


CONTRACTIONS: dict[str, Rule] = {
    "dot_general": Rule(_dot_value, _dot_error, _dot_terms, sums=True, products=True),
    "conv_general_dilated": Rule(_conv_value, _conv_error, _conv_terms, sums=True, products=True),
    "fft": Rule(_fft, _fft_error, lambda call: 1 + math.log2(_fft_terms(call)), sums=True),
}
