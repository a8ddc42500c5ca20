"""The windows of spectra, and the sum of overlapping segments."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, OlympusWarning, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.trigonometric import sin
from olympus_core.library.numpy.sorting.searching import where


def positions(n: int) -> Any:
    """Return 0 to n - 1: a constant, or an array if n is symbolic."""
    return arange(n) if is_symbolic_dim(n) else np.arange(n)


def _hann(n: int) -> Any:
    """Return the periodic Hann window, sin(pi k / n)^2, as float64 if n is not symbolic."""
    if is_symbolic_dim(n):
        size = asarray(n)
        return where(size == 1, 1.0, sin(np.pi * arange(n) / size) ** 2)
    return np.ones(1) if n == 1 else np.sin(np.linspace(0, np.pi, n, endpoint=False)) ** 2


def named_window(window: str | tuple[Any, ...], n: int) -> Any:
    """Return the window with a name of SciPy, which is needed for windows other than "hann".

    Raises ArgumentError if SciPy is not installed.
    """
    if window == "hann":
        return _hann(n)
    try:
        from scipy.signal import get_window  # type: ignore[import-untyped]
    except ImportError as e:
        raise ArgumentError(
            f"the window {window!r} needs SciPy, which is not installed",
            hint="pip install scipy, or pass the window as an array",
        ) from e
    return get_window(window, n)


def window_and_length(
    window: ArrayLike | str | tuple[Any, ...], nperseg: int | None, size: int, dtype: DTypeLike
) -> tuple[Array, int]:
    """Return a window as an array, and the length of the segments of a signal of length `size`.

    Raises ShapeError for an array that is no vector, or whose length is not `nperseg`.
    """
    if isinstance(window, (str, tuple)):
        length = size if nperseg is None else nperseg
        if length > size:
            text = f"nperseg={length} is greater than input_length={size}, using nperseg={size}"
            warnings.warn(text, OlympusWarning, stacklevel=2)
            length = size
        return asarray(named_window(window, length), dtype), length
    weights = asarray(window, dtype)
    if weights.ndim != 1:
        raise ShapeError(f"window must be 1-D, and has the shape {weights.shape}")
    if size < weights.size:
        raise ShapeError(
            f"window is longer than input signal: it has the lengths {weights.size} and {size}"
        )
    if nperseg not in (None, weights.size):
        raise ShapeError(
            f"the value {nperseg} of nperseg is different from the length {weights.size} of window"
        )
    return weights, weights.size


def overlap_and_add(segments: Any, step: int) -> Array:
    """Return the signal (..., n) that is the sum of segments (..., count, length), `step` apart."""
    *batch, count, length = segments.shape
    size = step * (count - 1) + length
    places = step * positions(count)[:, None] + positions(length)
    return zeros((*batch, size), segments.dtype).at[..., places].add(segments)
