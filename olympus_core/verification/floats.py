"""The range of a float dtype, the distance of floats in ulps, and the statistics of an array."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.dtypes import DType

Array = np.ndarray[Any, Any]


class Format(NamedTuple):
    """A float dtype: its unit roundoff, its range, and its unavoidable absolute error.

    `roundoff` is half the distance from 1 to the next number: the relative error of one rounding.
    `floor` is the absolute error that a result near zero may have: XLA's CPU runtime flushes
    subnormal numbers to zero if the hardware can, for float32, bfloat16 and float64.
    """

    roundoff: float
    mantissa: int
    smallest: float
    normal: float
    largest: float
    floor: float


#: the dtypes whose subnormals are computed with, as they are converted to float32 for it
_KEEP_SUBNORMALS = ("float16", "float8", "float6", "float4")


@functools.cache
def format_of(dtype: DType) -> Format:
    """Return the format of a float dtype; for a complex one, that of its parts.

    Example: `format_of(np.dtype("float32")).roundoff` is 2**-24.
    """
    part_dtype = dtypes.to_real(dtype)
    info = dtypes.finfo(part_dtype)
    smallest, normal = float(info.smallest_subnormal), float(info.smallest_normal)
    keeps = dtypes.long_name(part_dtype).startswith(_KEEP_SUBNORMALS)
    mantissa = int(info.nmant)
    return Format(
        2.0 ** -(mantissa + 1),
        mantissa,
        smallest,
        normal,
        float(info.max),
        smallest if keeps else normal,
    )


def is_inexact(dtype: DType) -> bool:
    """Return True for a float or complex dtype."""
    return dtypes.kind(dtype) in "fc"


def spacing(x: Array, dtype: DType) -> Array:
    """Return the distance of adjacent numbers of a float dtype at the magnitude of `x`, as float64.

    The numbers from a power of two to the next have equal distances (IEEE 754-2019, 3.3).
    """
    info = format_of(dtype)
    with np.errstate(all="ignore"):
        size = np.minimum(np.abs(np.nan_to_num(x, posinf=info.largest)), info.largest)
    _, exponent = np.frexp(np.asarray(size, np.float64))
    return np.asarray(np.maximum(np.ldexp(1.0, exponent - 1 - info.mantissa), info.smallest))


def ulps(a: Array, b: Array) -> Array:
    """Return the distance of two arrays in steps of their dtype, element by element, as float64.

    Zeros of both signs are equal, and so are NaNs; a NaN is infinitely far from a number. For
    complex numbers the larger distance of the two parts counts, for integers their difference.

    >>> ulps(np.float32([1.0]), np.nextafter(np.float32([1.0]), 2))
    array([1.])
    """
    kind = dtypes.kind(a.dtype)
    if kind == "c":
        return np.maximum(ulps(a.real, b.real), ulps(a.imag, b.imag))
    if kind != "f":
        wide = [np.asarray(x.astype(np.int64 if x.dtype.itemsize < 8 else object)) for x in (a, b)]
        return np.asarray(np.abs(wide[0] - wide[1]), np.float64)
    steps = _steps(_ordinals(a), _ordinals(b))
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    far = np.where(nan_a | nan_b, np.inf, steps)
    return np.asarray(np.where(nan_a & nan_b, 0.0, far))


def digits_lost(roundoff: float) -> float:
    """Return the relative error at which two thirds of a result's digits are wrong.

    It is the cube root of the unit roundoff: 0.004 of float32, 0.08 of float16, 0.16 of bfloat16.
    """
    return float(np.cbrt(roundoff))


def shares_digits(result: Array, expected: Array) -> Array:
    """Return True where ulps are a useful measure: the relative error is below `digits_lost`.

    Elsewhere, near zero, across zero and at infinities, the number of steps of the dtype has no
    relation to the size of the error. For integers and bools it is the error itself.
    """
    if not is_inexact(result.dtype):
        return np.ones(result.shape, bool)
    wide = np.complex128 if dtypes.kind(result.dtype) == "c" else np.float64
    limit = digits_lost(format_of(result.dtype).roundoff)
    with np.errstate(all="ignore"):
        wide_result, wide_expected = result.astype(wide), expected.astype(wide)
        return np.asarray(
            (wide_result == wide_expected)
            | (np.abs(wide_result - wide_expected) <= limit * np.abs(wide_expected))
        )


def _steps(a: Array, b: Array) -> Array:
    """Return the differences of ordinals; 64-bit ones of different signs are rounded."""
    same_sign = (a < 0) == (b < 0)
    near = np.abs(np.where(same_sign, a, 0) - np.where(same_sign, b, 0)).astype(np.float64)
    far = np.abs(a.astype(np.float64)) + np.abs(b.astype(np.float64))
    return np.asarray(np.where(same_sign, near, far))


def _ordinals(x: Array) -> Array:
    """Return the position of each number in the order of its dtype, 0 for zero, as int64."""
    bits = int(dtypes.finfo(x.dtype).bits)
    raw = np.ascontiguousarray(x).view(f"uint{x.dtype.itemsize * 8}").reshape(x.shape)
    if dtypes.long_name(x.dtype) == "float8_e8m0fnu":  # it has no sign
        return np.asarray(raw, np.int64)
    sign = raw.dtype.type(1 << (bits - 1))
    size = (raw & (sign - raw.dtype.type(1))).astype(np.int64)
    return np.asarray(np.where((raw & sign) != 0, -size, size))


class Statistics(NamedTuple):
    """The statistics of an array's finite elements, or of their magnitudes if complex.

    `minimum`, `maximum` and `mean` are None if no element is finite.
    """

    type: str
    minimum: float | None
    maximum: float | None
    mean: float | None
    nans: int = 0
    infinities: int = 0
    subnormals: int = 0

    def __str__(self) -> str:
        parts = [self.type]
        if self.mean is not None:
            parts.append(f"min {self.minimum:.6g}, max {self.maximum:.6g}, mean {self.mean:.6g}")
        for name in ("nans", "infinities", "subnormals"):
            count = getattr(self, name)
            if count:
                parts.append(f"{count} {name.replace('nans', 'NaNs')}")
        return ", ".join(parts)


def statistics(x: Array) -> Statistics:
    """Return the statistics of an array of any dtype.

    >>> str(statistics(np.float32([1, 3, np.nan])))
    'float32[3], min 1, max 3, mean 2, 1 NaNs'
    """
    dtype, shape = x.dtype, ",".join(map(str, x.shape))
    name, counts = f"{dtypes.long_name(dtype)}[{shape}]", (0, 0, 0)
    with np.errstate(all="ignore"):
        if dtypes.kind(dtype) == "c":
            values = np.abs(x.astype(np.complex128))
        else:
            values = x.astype(np.float64)
        if is_inexact(dtype):
            small = (values != 0) & (np.abs(values) < format_of(dtype).normal)
            masks = np.isnan(values), np.isinf(values), small
            counts = tuple(int(np.count_nonzero(mask)) for mask in masks)  # type: ignore[assignment]
            values = values[np.isfinite(values)]
        if not values.size:
            return Statistics(name, None, None, None, *counts)
        # half of each first, so that the sum of large numbers stays finite
        mean = 2 * float(np.mean(values / 2))
        return Statistics(name, float(values.min()), float(values.max()), mean, *counts)
