"""olympus.scipy.signal against JAX."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy
import jax.scipy.signal
import numpy as np
import pytest

import olympus as ox
import olympus.scipy.signal
from olympus.errors import ArgumentError, OlympusWarning, ShapeError, UnsupportedError
from tests.library.oracle import Row, check, check_derivatives, row

SIGNAL = {ox.numpy: olympus.scipy.signal, jax.numpy: jax.scipy.signal}
rng = np.random.default_rng(0)
X = rng.normal(size=(3, 40)).astype(np.float32)
SMALL = rng.normal(size=(3, 5)).astype(np.float32)
LINE, KERNEL = X[0, :12], SMALL[0]
C = (X[0, :12] + 1j * X[1, :12]).astype(np.complex64)


def of(name: str, *args: Any, **options: Any) -> Row:
    label = f"{name} {[(getattr(x, 'shape', x)) for x in args]} {options}"

    def call(n: Any, *given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(SIGNAL[n], name)(*given, **options)

    return row(label, call, *args, rtol=1e-4, atol=2e-5)


MODES = ("full", "same", "valid")
CONVOLUTIONS = [
    *[of(f, a, b, mode=m) for f in ("convolve", "correlate", "fftconvolve") for m in MODES
      for a, b in ((LINE, KERNEL), (KERNEL, LINE), (LINE[:4], LINE[4:8]))],
    *[of(f, X[:, :9], SMALL[:2], mode=m)
      for f in ("convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d")
      for m in MODES],
    *[of("correlate2d", SMALL[:2], X[:, :9], mode=m) for m in MODES],
    *[of("correlate2d", X[:, :4], SMALL[:, :4], mode=m) for m in MODES],
    of("convolve", C, KERNEL),
    of("correlate", C, C[:3] * 2j, method="fft"),
    of("fftconvolve", C, C[:3]),
    of("fftconvolve", X, SMALL, axes=1),
    of("fftconvolve", X, SMALL, axes=(-1,), mode="same"),
    of("fftconvolve", X[:1, :1], X[:1]),
    of("convolve", np.arange(5), np.arange(3)),
]  # fmt: skip
TRENDS = [
    of("detrend", X, type="constant"),
    of("detrend", X),
    of("detrend", X, axis=0),
    of("detrend", X, bp=[7, 20]),
    of("detrend", np.arange(10)),
]
WINDOW = np.hanning(8).astype(np.float32)
SPECTRA = [
    of("stft", X, nperseg=8),
    of("stft", X, nperseg=8, boundary="even", detrend="constant"),
    of("stft", X, nperseg=8, boundary="odd", noverlap=5, nfft=11, fs=10.0),
    of("stft", X, nperseg=8, boundary="constant", padded=False, return_onesided=False),
    of("stft", X, nperseg=8, boundary=None, window=WINDOW),
    of("stft", X.T, nperseg=8, axis=0, window="hamming", detrend="linear"),
    of("stft", X[0] + 1j * X[1], nperseg=8),
    of("csd", X, X[::-1], nperseg=8),
    of("csd", X[0], X[1, :30], nperseg=8, scaling="spectrum", average="median"),
    of("csd", X, X[:1], nperseg=9, axis=1),
    of("welch", X, nperseg=8, fs=4.0, nfft=9),
    of("welch", X, nperseg=8, average="median", detrend=False),
    of("welch", X, nperseg=8, detrend=lambda x: x - x[..., :1]),
    of("welch", X),
    of("welch", X, window=WINDOW),
    of("welch", X[:, :0]),
    of("istft", X[:, :40].reshape(5, 24)[:5], nperseg=8),
    of("istft", X.reshape(2, 5, 12), boundary=False),
    of("istft", X.reshape(5, 12, 2), freq_axis=0, time_axis=1, noverlap=6),
    of("istft", X.reshape(8, 15), input_onesided=False, window=WINDOW),
]


@pytest.mark.parametrize("rows", [CONVOLUTIONS, TRENDS, SPECTRA], ids=["sums", "trends", "spectra"])
def test_values(rows: list[Row]) -> None:
    check(rows, weak=False)


def test_eager_calls() -> None:
    check([CONVOLUTIONS[0], TRENDS[0], SPECTRA[0], SPECTRA[-1]], jit=False, weak=False)


def test_a_signal_is_restored() -> None:
    signal = olympus.scipy.signal
    _, _, z = signal.stft(X, nperseg=8)
    np.testing.assert_allclose(signal.istft(z, nperseg=8)[1][:, :40], X, atol=1e-5)


def test_derivatives() -> None:
    x = X[0, :9].astype(np.float64)
    with ox.enable_x64(True), jax.enable_x64(True):
        for call in (
            lambda n, x: SIGNAL[n].convolve(x, KERNEL),
            lambda n, x: SIGNAL[n].welch(x, nperseg=4)[1],
            lambda n, x: SIGNAL[n].detrend(x),
        ):
            check_derivatives(lambda n, x, call=call: n.sum(n.sin(call(n, x))), x)


def test_errors() -> None:
    s = olympus.scipy.signal
    for call, error, text in (
        (lambda: s.convolve(X, LINE), ShapeError, "same number of dimensions"),
        (lambda: s.convolve(X, X, mode="odd"), ArgumentError, "mode must be one of"),
        (lambda: s.convolve(LINE, LINE, method="odd"), ValueError, "Got method='odd'"),
        (lambda: s.convolve(LINE, LINE[:0]), ValueError, "zero-size"),
        (lambda: s.convolve(X[:2, :4], X[:3, :2]), ValueError, "smaller than the other"),
        (lambda: s.fftconvolve(X[:2, :4], X[:3, :2], "valid"), ValueError, "at least as large"),
        (lambda: s.fftconvolve(X, X[:2], axes=1), ValueError, "mapped axes"),
        (lambda: s.convolve2d(LINE, LINE), ValueError, "2-dimensional"),
        (lambda: s.correlate2d(X, X, boundary="wrap"), UnsupportedError, "boundary='fill'"),
        (lambda: s.detrend(X, type="odd"), ValueError, "Trend type"),
        (lambda: s.detrend(X, bp=99), ValueError, "Breakpoints"),
        (lambda: s.detrend(X, overwrite_data=True), NotImplementedError, "overwrite_data"),
        (lambda: s.stft(X, nperseg=8, boundary="odd one"), ValueError, "Unknown boundary"),
        (lambda: s.stft(X, nperseg=0), ValueError, "positive integer"),
        (lambda: s.stft(X, nperseg=8, noverlap=8), ValueError, "noverlap must be less"),
        (lambda: s.stft(X, nperseg=8, nfft=7), ValueError, "nfft must be greater"),
        (lambda: s.welch(X, window=X), ValueError, "window must be 1-D"),
        (lambda: s.welch(X, window=np.ones(99)), ValueError, "longer than input"),
        (lambda: s.welch(X, window=WINDOW, nperseg=3), ValueError, "different from the length"),
        (lambda: s.welch(X, nperseg=8, scaling="odd"), ValueError, "Unknown scaling"),
        (lambda: s.welch(X, nperseg=8, average="odd"), ValueError, "average must be"),
        (lambda: s.csd(X, LINE, nperseg=8), ValueError, "same rank"),
        (lambda: s.istft(LINE), ValueError, "at least 2d"),
        (lambda: s.istft(X, freq_axis=-1), ValueError, "differing"),
        (lambda: s.istft(X, nperseg=99), ValueError, "FFT length"),
        (lambda: s.istft(X, nperseg=4, noverlap=4), ValueError, "noverlap must be less"),
        (lambda: s.istft(X, window=np.ones(3)), ValueError, "window must have length"),
    ):
        with pytest.raises(error, match=text):
            call()
    with pytest.warns(OlympusWarning, match="greater than input_length"):
        s.welch(LINE, nperseg=99)
