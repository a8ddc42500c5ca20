"""`lax.fft`: the discrete Fourier transforms of the last axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.promotion import check_arrays, convert, convert_array
from olympus_core.primitives.fft import FftType, fft_p

__all__ = ["FftType", "fft"]


def _kind(fft_type: FftType | str) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    if isinstance(fft_type, str) and fft_type.upper() in FftType.__members__:
        return FftType[fft_type.upper()]
    names = ", ".join(FftType.__members__)
    raise ArgumentError(f"Unknown FFT type {fft_type!r}: the types are {names}")


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """Return the discrete Fourier transform of the last axes, one for each length, at most 3.

    x: an array; complex for all kinds but RFFT, which takes floats (other dtypes are converted).
    fft_type: an `FftType`, or its name.  fft_lengths: the lengths of the signal; along the last
    axis, a real signal of n samples has n // 2 + 1 frequencies.

    Element k of a forward transform is the sum of x[j] exp(-2 pi i j k / n); the inverse has the
    other sign, and is divided by n.

    Raises ArgumentError for another kind, ShapeError for lengths that `x` does not have,
    ArgumentError for a complex `x` with RFFT.

    >>> fft(array([1.0, 2.0, 3.0]), "RFFT", (3,))
    Array([ 6. +0.j       , -1.5+0.8660254j], dtype=complex64)
    """
    check_arrays("fft", x)
    kind, lengths = _kind(fft_type), tuple(map(operator.index, fft_lengths))
    dtype = get_aval(x).dtype
    if kind is FftType.RFFT:
        if dtypes.kind(dtype) == "c":
            raise ArgumentError(f"only real valued inputs supported for rfft, and got {dtype}")
        dtype = dtypes.to_inexact(dtype)
    else:
        dtype = dtypes.to_complex(dtype)
    if not lengths:
        return convert_array(x, dtype)
    return fft_p.bind(convert(x, dtype), fft_type=kind, fft_lengths=lengths)
