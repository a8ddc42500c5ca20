"""Fourier transforms, windows of signals, and the weights of mel filters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.operators.table import (
    MAX_FOLDED,
    OnnxNode,
    checked_size,
    normalized_axis,
    operator,
)
from olympus_core.interop.onnx_models.tensors import element_dtype


def _number(node: OnnxNode, index: int) -> Any:
    """Return a known number; None if the input is absent."""
    value = node.static(index)
    return None if value is None else value.reshape(()).item()


def _complex(x: Any) -> Any:
    """Return an array of real parts, or of real and imaginary ones, as a complex array."""
    x = jnp.asarray(x)
    if x.shape[-1] not in (1, 2):
        raise ArtifactError("the last axis of a signal has the real and the imaginary part")
    real = x[..., 0].astype("float64")  # sums of a float32 transform cancel
    imaginary = x[..., 1].astype("float64") if x.shape[-1] == 2 else jnp.zeros_like(real)
    return real + 1j * imaginary


def _parts(x: Any, dtype: Any) -> Any:
    return jnp.stack([jnp.real(x), jnp.imag(x)], axis=-1).astype(dtype)


@operator("DFT", static=(1, 2))
def _dft(node: OnnxNode, x: Any, length: Any = None, axis: Any = None) -> Any:
    along = _number(node, 2) if node.version >= 20 else node.get("axis", 1)
    index = normalized_axis(-2 if along is None else along, x.ndim)
    size = _number(node, 1)
    inverse, onesided = bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    values = _complex(x)
    if size is not None:
        checked_size([*x.shape, size])
    if inverse and onesided:
        size = 2 * (values.shape[index] - 1) if size is None else size
        return jnp.fft.irfft(values, n=size, axis=index).astype(x.dtype)[..., None]
    transform = jnp.fft.ifft if inverse else jnp.fft.fft
    result = transform(values, n=size, axis=index)
    if onesided:
        result = jnp.take(result, np.arange(result.shape[index] // 2 + 1), axis=index)
    return _parts(result, x.dtype)


@operator("STFT", static=(1, 3))
def _stft(node: OnnxNode, x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    stride, size = _number(node, 1), _number(node, 3)
    size = window.shape[0] if size is None else size
    if stride < 1 or not 1 <= size <= x.shape[1]:
        raise ArtifactError(f"frames of {size} every {stride} do not fit {x.shape[1]} samples")
    count = (x.shape[1] - size) // stride + 1
    checked_size([count, size])
    places = np.arange(count)[:, None] * stride + np.arange(size)
    frames = _complex(x if x.ndim == 3 else jnp.asarray(x)[..., None])[:, places]
    if window is not None:
        frames = frames * window
    result = jnp.fft.fft(frames, axis=-1)
    if node.get("onesided", 1):
        result = result[..., : size // 2 + 1]
    return _parts(result, x.dtype)


#: The coefficients of cosines in the windows of signals.
_WINDOWS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@operator(*_WINDOWS, static=(0,))
def _window(node: OnnxNode, size: Any) -> Any:
    count = _number(node, 0)
    checked_size([count])
    period = count if node.get("periodic", 1) else count - 1
    dtype = element_dtype(node.get("output_datatype", 1))
    constant, first, second = _WINDOWS[node.op]
    angle = jnp.arange(count, dtype="float64") * (2 * math.pi / max(period, 1))
    return (constant - first * jnp.cos(angle) + second * jnp.cos(2 * angle)).astype(dtype)


@operator("MelWeightMatrix", static=(0, 1, 2, 3, 4))
def _mel_weights(node: OnnxNode, *inputs: Any) -> Any:
    bins, length, rate, low, high = (_number(node, i) for i in range(5))
    rows = length // 2 + 1
    if bins < 0 or checked_size([rows, bins + 2]) > MAX_FOLDED**2 // 2**8 or rate <= 0:
        raise ArtifactError(f"{bins} mel bins of {rows} frequencies at rate {rate} are invalid")
    mel_low, mel_high = (2595 * math.log10(1 + edge / 700) for edge in (low, high))
    mels = np.arange(bins + 2) * ((mel_high - mel_low) / (bins + 2)) + mel_low
    edges = np.floor((length + 1) * (700 * (10 ** (mels / 2595) - 1)) / rate).astype("int64")
    left, center, right = edges[:-2], edges[1:-1], edges[2:]
    places = np.arange(rows)[:, None]
    rising = (places - left) / np.maximum(center - left, 1)
    falling = (right - places) / np.maximum(right - center, 1)
    weights = np.where((places >= left) & (places <= center) & (center > left), rising, 0.0)
    weights = np.where((places == center) & (center == left), 1.0, weights)
    weights = np.where((places >= center) & (places < right), falling, weights)
    return weights.astype(element_dtype(node.get("output_datatype", 1)))
