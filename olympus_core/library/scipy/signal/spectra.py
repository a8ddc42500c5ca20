"""Spectra of signals: short Fourier transforms, and estimates of power by Welch's method.

The estimates are those of P. Welch, "The use of the fast Fourier transform for the estimation of
power spectra", IEEE Transactions on Audio and Electroacoustics 15 (1967), with SciPy's options.
"""

from __future__ import annotations

import dataclasses
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, OlympusWarning, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax.elementwise import complex as lax_complex
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.complex import conj, imag, real
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.fft.frequencies import fftfreq as fft_fftfreq
from olympus_core.library.numpy.fft.frequencies import rfftfreq as fft_rfftfreq
from olympus_core.library.numpy.fft.transforms import fft as fft_fft
from olympus_core.library.numpy.fft.transforms import rfft as fft_rfft
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.padding import pad
from olympus_core.library.numpy.manipulation.rearranging import flip
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.quantiles import median
from olympus_core.library.numpy.reductions.statistics import mean
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.promotion import broadcast_shapes, check_arrays, convert, promote_inexact
from olympus_core.library.scipy.signal.trends import detrend
from olympus_core.library.scipy.signal.windows import positions, window_and_length

Window = ArrayLike | str | tuple[Any, ...]
Detrend = bool | str | Callable[[Array], Array]
_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


@dataclasses.dataclass(frozen=True)
class _Segments:
    """The lengths of segments of a signal, of their overlap, and of their transforms."""

    length: int
    overlap: int
    transform: int

    @property
    def step(self) -> int:
        return self.length - self.overlap

    def count(self, size: int) -> int:
        """Return the number of segments of a signal of length `size`."""
        return (size - self.length) // self.step + 1

    @staticmethod
    def of(length: int, noverlap: int | None, nfft: int | None) -> _Segments:
        overlap = length // 2 if noverlap is None else operator.index(noverlap)
        transform = length if nfft is None else operator.index(nfft)
        if transform < length:
            raise ArgumentError(
                f"nfft must be greater than or equal to nperseg: {transform} < {length}"
            )
        if overlap >= length:
            raise ArgumentError(f"noverlap must be less than nperseg: {overlap} >= {length}")
        return _Segments(length, overlap, transform)


def _checked_length(nperseg: Any) -> int | None:
    if nperseg is None:
        return None
    length = operator.index(nperseg)
    if length < 1:
        raise ArgumentError(f"nperseg must be a positive integer, and is {length}")
    return length


def _odd_extension(x: Any, n: int) -> Any:
    """Return x with n elements at each end, reflected at the point of the end."""
    if n < 1:
        return x
    if n > x.shape[-1] - 1:
        raise ShapeError(
            f"The extension length n ({n}) is too big. It must not exceed {x.shape[-1] - 1}."
        )
    before = 2 * x[..., :1] - flip(x[..., 1 : n + 1], axis=-1)
    after = 2 * x[..., -1:] - flip(x[..., -n - 1 : -1], axis=-1)
    return concatenate([before, x, after], axis=-1)


def _extended(x: Any, n: int, boundary: str | None) -> Any:
    """Return x with n more elements at each end of its last axis."""
    if boundary is None:
        return x
    if boundary == "odd":
        return _odd_extension(x, n)
    mode = {"even": "reflect", "constant": "edge", "zeros": "constant"}[boundary]
    return pad(x, [*[(0, 0)] * (x.ndim - 1), (n, n)], mode)


def _lengthened(x: Any, extra: int) -> Any:
    return pad(x, [*[(0, 0)] * (x.ndim - 1), (0, extra)])


def _without_trend(x: Any, trend: Detrend, axis: int) -> Any:
    if isinstance(trend, str):
        return detrend(x, type=trend, axis=-1)
    if callable(trend):
        return moveaxis(trend(moveaxis(x, axis, -1)), -1, axis)
    return x


def _transformed(x: Any, window: Any, s: _Segments, trend: Any, axis: int, one_sided: bool) -> Any:
    """Return the Fourier transforms of the segments of x, of shape (..., segments, frequencies)."""
    starts = s.step * positions(s.count(x.shape[-1]))
    segments = x[..., starts[:, None] + positions(s.length)]
    segments = _without_trend(segments, trend, axis) * window
    if one_sided:
        return fft_rfft(real(segments), n=s.transform)
    return fft_fft(segments, n=s.transform)


def _times_in_spectrum(transform: int) -> Any:
    """Return 2 for the frequencies whose negative ones are left out, and 1 for 0 and n / 2."""
    places = positions(transform // 2 + 1)
    return 1 + ((places > 0) & (2 * places != transform)).astype("int32")


def _power(window: Any, fs: Any, scaling: str) -> Any:
    """Return the factor of a power spectrum."""
    if scaling == "density":
        return 1.0 / (fs * sum_(window * window))
    if scaling == "spectrum":
        return 1.0 / sum_(window) ** 2
    raise ArgumentError(f"Unknown scaling: {scaling!r}; it is 'density' or 'spectrum'")


def _operands(x: Any, y: Any, axis: Any) -> tuple[Any, Any, int]:
    """Return the signals with the axis of time last, both of one length, and that axis."""
    check_arrays("spectral analysis", x, *(() if y is None else (y,)))
    arrays = [asarray(v) for v in promote_inexact(*((x,) if y is None else (x, y)))]
    axis = canonical_axis(axis, arrays[0].ndim)
    if y is None:
        return moveaxis(arrays[0], axis, -1), None, axis
    if arrays[0].ndim != arrays[1].ndim:
        raise ShapeError(
            f"two-arguments must have the same rank ({arrays[0].ndim} vs {arrays[1].ndim})."
        )
    first, second = (moveaxis(v, axis, -1) for v in arrays)
    broadcast_shapes(first.shape[:-1], second.shape[:-1])
    size = max(first.shape[-1], second.shape[-1])
    if first.size and second.size:
        first, second = (_lengthened(v, size - v.shape[-1]) for v in (first, second))
    return first, second, axis


def _empty(x: Any, y: Any, axis: int, dtype: Any) -> tuple[Array, Array, Array]:
    """Return the results for signals without elements."""
    shape = x.shape
    if y is not None:
        outer = broadcast_shapes(x.shape[:-1], y.shape[:-1])
        shape = (*outer, min(x.shape[-1], y.shape[-1]))
    shape = np.moveaxis(np.empty(shape, bool), -1, axis).shape
    floats = dtypes.finfo(dtype).dtype
    return zeros(shape, floats), zeros(shape, floats), zeros(shape, dtype)


@dataclasses.dataclass(frozen=True)
class _Options:
    """The options that `stft` and `csd` share."""

    fs: Any
    window: Window
    nperseg: int | None
    noverlap: int | None
    nfft: int | None
    trend: Detrend
    one_sided: bool
    scaling: str
    boundary: str | None = None
    padded: bool = False


def _analyzed(
    x: Any, y: Any, axis: Any, o: _Options, *, is_power: bool
) -> tuple[Array, Array, Array]:
    """Return frequencies, times of segments, and transforms or powers (..., frequencies, times)."""
    if o.boundary not in _BOUNDARIES:
        raise ArgumentError(
            f"Unknown boundary option '{o.boundary}', must be one of: {list(_BOUNDARIES)}"
        )
    x, y, axis = _operands(x, y, axis)
    dtype = dtypes.to_complex(x.dtype)
    floats = dtypes.finfo(dtype).dtype
    nperseg = _checked_length(o.nperseg)
    if not x.size or (y is not None and not y.size):
        return _empty(x, y, axis, dtype)
    window, length = window_and_length(o.window, nperseg, x.shape[-1], x.dtype)
    s = _Segments.of(length, o.noverlap, o.nfft)
    one_sided = o.one_sided
    if one_sided and dtypes.kind(x.dtype) == "c":
        warnings.warn(
            "Input data is complex, switching to return_onesided=False",
            OlympusWarning,
            stacklevel=3,
        )
        one_sided = False
    signals = [x] if y is None else [x, y]
    signals = [_extended(v, length // 2, o.boundary) for v in signals]
    if o.padded:
        signals = [_lengthened(v, -(v.shape[-1] - length) % s.step % length) for v in signals]
    scale = _power(window, o.fs, o.scaling)
    spectra = [_transformed(v, window, s, o.trend, axis, one_sided) for v in signals]
    result = conj(spectra[0]) * spectra[-1] * scale if is_power else spectra[0] * sqrt(scale)
    if one_sided and is_power:  # the powers of negative frequencies are those of positive ones
        result = result * _times_in_spectrum(s.transform)
    frequencies = (fft_rfftfreq if one_sided else fft_fftfreq)(s.transform, 1 / o.fs, dtype=floats)
    times = s.step * arange(s.count(signals[0].shape[-1]), dtype=floats)
    if o.boundary is None:  # the middle of the first segment is not the begin of the signal
        times = times + length / 2
    times = times / o.fs
    result = convert(result, dtype)
    if y is None and is_power:
        result = real(result)
    return frequencies, times, moveaxis(result, -1, axis)


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Return the short Fourier transform: frequencies, times of segments, and coefficients.

    x: a signal along `axis`. fs: the sampling frequency. window: a name, or a vector of weights.
    nperseg, noverlap: the lengths of the segments and of their overlap, by default half. nfft: the
    length of the transforms, by default nperseg. detrend: "constant", "linear" or a function of
    segments. boundary: the extension at both ends: "zeros", "even", "odd", "constant" or None.
    padded: True to append zeros, so that segments cover the signal. The coefficients have the
    frequencies at `axis` and the times last.

    Raises ArgumentError for an unknown option, ShapeError for a window that does not match.

    >>> stft(ones(8), nperseg=4)[2].shape
    (3, 5)
    """
    options = _Options(
        *(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, "spectrum"),
        *(boundary, padded),
    )
    return _analyzed(x, None, axis, options, is_power=False)


def _averaged(powers: Any, average: str) -> Any:
    """Return the mean of segments, or their median without its bias."""
    if not is_symbolic_dim(powers.shape[-1]) and powers.shape[-1] == 1:
        return powers[..., 0]
    if average == "mean":
        return mean(powers, axis=-1)
    if average != "median":
        raise ArgumentError(f'average must be "median" or "mean", got {average!r}')
    k = np.arange(2.0, powers.shape[-1], 2)
    bias = float(1 + np.sum(1.0 / (k + 1) - 1.0 / k))
    if dtypes.kind(powers.dtype) == "c":
        return lax_complex(median(real(powers), axis=-1), median(imag(powers), axis=-1)) / bias
    return median(powers, axis=-1) / bias


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Return the frequencies and the cross power spectrum of two signals, by Welch's method.

    y: a signal of the rank of x, whose other axes broadcast with those of x; None for x itself.
    scaling: "density" or "spectrum". average: "mean" or "median" of the segments. The other
    arguments and the errors are those of `stft`.

    >>> csd(arange(8.0), arange(8.0), nperseg=4)[1].shape
    (3,)
    """
    options = _Options(
        fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, None, False
    )
    frequencies, _, powers = _analyzed(x, y, axis, options, is_power=True)
    if powers.ndim >= 2 and powers.size:
        powers = _averaged(powers, average)
    return frequencies, powers


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Return the frequencies and the power spectrum of a signal: `csd` of the signal and itself.

    >>> welch(arange(8.0), nperseg=4)[1].shape
    (3,)
    """
    frequencies, powers = csd(
        *(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling),
        *(axis, average),
    )
    return frequencies, real(powers)
