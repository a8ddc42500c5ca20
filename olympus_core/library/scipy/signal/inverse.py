"""The inverse of the short Fourier transform."""

from __future__ import annotations

import operator
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.complex import real
from olympus_core.library.numpy.fft.transforms import ifft as fft_ifft
from olympus_core.library.numpy.fft.transforms import irfft as fft_irfft
from olympus_core.library.numpy.manipulation.shapes import broadcast_to
from olympus_core.library.numpy.manipulation.transposing import moveaxis, swapaxes
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.library.scipy.signal.windows import named_window, overlap_and_add


def _axes(z: Any, time_axis: int, freq_axis: int) -> tuple[int, int]:
    """Return the axes of a transform as positive numbers; raise an error if they are equal."""
    if z.ndim < 2:
        raise ShapeError(f"Input stft must be at least 2d, and has the shape {z.shape}")
    time, frequency = canonical_axis(time_axis, z.ndim), canonical_axis(freq_axis, z.ndim)
    if time == frequency:
        raise ArgumentError("istft needs differing time and frequency axes")
    return time, frequency


def _lengths(
    bins: int, nperseg: int | None, noverlap: int | None, nfft: int | None, one_sided: bool
) -> tuple[int, int]:
    """Return the length of segments and the step between them."""
    default = 2 * (bins - 1) if one_sided else bins
    length = operator.index(nperseg or default)
    if length < 1:
        raise ArgumentError(f"nperseg must be a positive integer, and is {length}")
    transform = default + (one_sided and length == default + 1)
    if nfft is not None:
        transform = operator.index(nfft)
    if transform < length:
        raise ArgumentError(f"FFT length ({transform}) must be longer than nperseg ({length}).")
    overlap = operator.index(noverlap or length // 2)
    if overlap >= length:
        raise ArgumentError(f"noverlap must be less than nperseg: {overlap} >= {length}")
    return length, length - overlap


def _weights(window: Any, length: int, dtype: Any) -> Any:
    if isinstance(window, (str, tuple)):
        return convert(asarray(named_window(window, length)), dtype)
    weights = asarray(window)
    if weights.ndim != 1:
        raise ShapeError(f"window must be 1-D, and has the shape {weights.shape}")
    if weights.shape[0] != length:
        raise ShapeError(f"window must have length of {length}, and has {weights.shape[0]}")
    return weights


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: ArrayLike | str | tuple[object, ...] = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """Return the times and the signal whose short Fourier transform is `Zxx`.

    Zxx: coefficients of frequencies along `freq_axis` and times along `time_axis`, as `stft`
    returns them. window, nperseg, noverlap, nfft: those of `stft`. input_onesided: False for
    negative frequencies too. boundary: True if the signal was extended. The signal is along
    `time_axis`, without the axis of frequencies.

    Raises ArgumentError for lengths or axes that do not match, ShapeError for a wrong window.

    >>> istft(ones((3, 4)))[1].shape
    (6,)
    """
    check_arrays("istft", Zxx)
    z = asarray(Zxx)
    time, frequency = _axes(z, time_axis, freq_axis)
    z = convert(z, dtypes.to_complex(z.dtype))
    length, step = _lengths(z.shape[frequency], nperseg, noverlap, nfft, input_onesided)
    z = moveaxis(z, (frequency, time), (-2, -1))
    inverse = fft_irfft if input_onesided else fft_ifft
    segments = swapaxes(inverse(z, axis=-2, n=nfft)[..., :length, :], -2, -1)
    weights = _weights(window, length, segments.dtype)
    x = overlap_and_add(segments * sum_(weights) * weights, step)
    squares = broadcast_to(weights * weights, segments.shape[-2:])
    norm = overlap_and_add(squares, step)
    if boundary:
        inside = slice(length // 2, -(length // 2))
        x, norm = x[..., inside], norm[..., inside]
    x = x / where(real(norm) > 1e-10, norm, 1.0)
    if x.ndim > 1 and time != z.ndim - 1:
        x = moveaxis(x, -1, time - 1 if frequency < time else time)
    times = arange(x.shape[0], dtype=dtypes.finfo(x.dtype).dtype) / fs
    return times, x
