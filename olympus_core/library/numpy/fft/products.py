"""Discrete Fourier transforms along axes of symbolic length, as products with matrices.

StableHLO's transform has a fixed length.
"""

from __future__ import annotations

import math
from typing import Any

from olympus_core.base import dtypes
from olympus_core.library.lax.dot import Precision
from olympus_core.library.lax.elementwise import complex as lax_complex
from olympus_core.library.lax.fft import FftType
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.complex import imag, real
from olympus_core.library.numpy.elementwise.trigonometric import cos, sin
from olympus_core.library.numpy.products.einsum import einsum
from olympus_core.library.numpy.sorting.searching import where

_FORWARD = (FftType.FFT, FftType.RFFT)


def transformed_by_products(x: Any, kind: FftType, lengths: tuple[Any, ...]) -> Any:
    """Return the transform of the last axes of `x`, one for each of the `lengths`, not scaled.

    The product with the matrix of an axis of length n takes O(n) operations for each element.
    """
    place = len(x.shape) - len(lengths)
    if kind is FftType.RFFT:
        x = _real_to_half(x, lengths[-1])
    elif kind is not FftType.IRFFT:
        x = _transformed(x, len(x.shape) - 1, lengths[-1], kind)
    for i, length in enumerate(lengths[:-1]):
        x = _transformed(x, place + i, length, kind)
    return _half_to_real(x, lengths[-1]) if kind is FftType.IRFFT else x


def _tables(rows: Any, columns: Any, length: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the cosines and sines of 2 pi j k / length, for rows j and columns k."""
    product = arange(rows)[:, None] * arange(columns)
    angle = (product % length).astype(dtype) * (2 * math.pi) / length
    return cos(angle), sin(angle)


def _product(x: Any, table: Any, axis: int) -> Any:
    """Return the sums over an axis of `x` with each column of a table."""
    axes = list(range(len(x.shape)))
    result = [len(axes) if i == axis else i for i in axes]
    return einsum(x, axes, table, [axis, len(axes)], result, precision=Precision.HIGHEST)


def _transformed(x: Any, axis: int, length: Any, kind: FftType) -> Any:
    """Return the complex transform along an axis; an inverse one is divided by the length."""
    cosine, sine = _tables(length, length, length, dtypes.to_real(x.dtype))
    if kind in _FORWARD:
        sine = -sine
    out = _product(x, lax_complex(cosine, sine), axis)
    return out if kind in _FORWARD else out / length


def _real_to_half(x: Any, length: Any) -> Any:
    """Return the frequencies of real numbers that are not negative, along the last axis."""
    cosine, sine = _tables(length, length // 2 + 1, length, x.dtype)
    axis = len(x.shape) - 1
    return lax_complex(_product(x, cosine, axis), -_product(x, sine, axis))


def _half_to_real(x: Any, length: Any) -> Any:
    """Return the real numbers with these frequencies, along the last axis."""
    dtype, count, axis = dtypes.to_real(x.dtype), length // 2 + 1, len(x.shape) - 1
    cosine, sine = _tables(count, length, length, dtype)
    numbers = arange(count)
    # all but the first and the middle frequency are those of a pair
    weights = where((numbers == 0) | (2 * numbers == length), 1, 2).astype(dtype)[:, None]
    sums = _product(real(x), weights * cosine, axis) - _product(imag(x), weights * sine, axis)
    return sums / length
