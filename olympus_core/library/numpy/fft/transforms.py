"""Discrete Fourier transforms along one axis or several axes.

All functions share one procedure: move the transformed axes to the end, crop them or pad them with
zeros to the requested lengths, transform, scale, and move the axes back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import dimension, get_aval
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.fft import FftType
from olympus_core.library.lax.fft import fft as lax_fft
from olympus_core.library.lax.slicing import pad
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.complex import conjugate
from olympus_core.library.numpy.fft.products import transformed_by_products
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert

_FORWARD = (FftType.FFT, FftType.RFFT)
_MAX_AXES = 3  # the largest number of axes that XLA transforms in one operation


def _scale_factor(name: str, kind: FftType, lengths: Sequence[int], norm: str | None) -> Any:
    """Return the scale factor that `norm` gives a transform of `lengths`; None is "backward"."""
    count: Any = math.prod(lengths) or 1
    root = (count * 1.0) ** 0.5 if is_symbolic_dim(count) else math.sqrt(count)
    forward = {None: 1.0, "backward": 1.0, "ortho": 1 / root, "forward": 1 / count}
    if norm not in forward:
        raise ArgumentError(f"{name} has the norms backward, ortho and forward, and got {norm!r}")
    back = {None: 1.0, "backward": 1.0, "ortho": root, "forward": count * 1.0}
    return (forward if kind in _FORWARD else back)[norm]


def _lengths(name: str, s: Any) -> tuple[int, ...] | None:
    if s is None:
        return None
    lengths = tuple(map(dimension, s))
    if any(n <= 0 for n in lengths):
        raise ShapeError(f"{name} needs lengths of one sample or more, and got {lengths}")
    return lengths


def _transform_last_axes(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """Transform the last `len(lengths)` axes of `x`, without scaling."""
    if any(map(is_symbolic_dim, lengths)):
        return transformed_by_products(x, kind, lengths)
    if len(lengths) <= _MAX_AXES:
        return lax_fft(x, kind, lengths)
    # a real transform has real values along one axis: the first one of all, or the last
    rest = FftType.FFT if kind in _FORWARD else FftType.IFFT
    first, last = lengths[:-_MAX_AXES], lengths[-_MAX_AXES:]
    axes = tuple(range(x.ndim - len(lengths), x.ndim - _MAX_AXES))
    ends = tuple(range(x.ndim - len(axes), x.ndim))
    if kind in _FORWARD:
        x = lax_fft(x, kind, last)
    x = moveaxis(_transform_last_axes(moveaxis(x, axes, ends), rest, first), ends, axes)
    return x if kind in _FORWARD else lax_fft(x, kind, last)


@composite(static_argnames=("name", "kind", "s", "axes", "norm"))
def _pad_and_transform(
    a: Any,
    name: str,
    kind: FftType,
    s: tuple[int, ...] | None,
    axes: tuple[int, ...],
    norm: str | None,
) -> Array:
    """Apply the procedure of this module to checked arguments; `s` are the requested lengths."""
    x = asarray(a)
    ends = tuple(range(x.ndim - len(axes), x.ndim))
    x = moveaxis(x, axes, ends)
    have = x.shape[x.ndim - len(axes) :]
    if s is None:
        s = (*have[:-1], max(0, 2 * (have[-1] - 1))) if kind is FftType.IRFFT else have
    wanted = (*s[:-1], s[-1] // 2 + 1) if kind is FftType.IRFFT else s
    if wanted != have:
        widths = [(0, n - m, 0) for m, n in zip(have, wanted, strict=True)]
        x = pad(x, convert(0, x.dtype), [*((0, 0, 0),) * (x.ndim - len(axes)), *widths])
    out, factor = _transform_last_axes(x, kind, s), _scale_factor(name, kind, s, norm)
    is_one = isinstance(factor, float) and factor == 1
    scaled = out if is_one else out * convert(factor, get_aval(out).dtype)
    return moveaxis(scaled, ends, axes)


def _check_and_transform(
    name: str, kind: FftType, a: Any, s: Any, axes: Sequence[int] | None, norm: str | None
) -> Array:
    """Check the arguments and transform `axes`: by default the last `len(s)` axes, or all axes."""
    x, aval = operand(name, a)
    lengths = _lengths(name, s)
    if axes is None:
        count = aval.ndim if lengths is None else len(lengths)
        if count > aval.ndim:
            raise ShapeError(f"{name} of {count} axes got {aval.long_name()}")
        axes = range(aval.ndim - count, aval.ndim)
    places = canonical_axes(tuple(axes), aval.ndim, f"the axis of {name}")
    if lengths is not None and len(lengths) != len(places):
        raise ShapeError(f"{name} got {len(lengths)} lengths for {len(places)} axes")
    _scale_factor(name, kind, (), norm)  # check `norm` before anything is staged
    if not places:
        return lax_fft(x, kind, ())
    return _pad_and_transform(x, name=name, kind=kind, s=lengths, axes=places, norm=norm)


def _transform_1d(
    name: str, kind: FftType, a: Any, n: int | None, axis: int | None, norm: str | None
) -> Array:
    x, aval = operand(name, a)
    if axis is None:
        places = tuple(range(aval.ndim))
    else:
        places = (canonical_axis(axis, aval.ndim, f"the axis of {name}"),)
    return _check_and_transform(name, kind, x, None if n is None else (n,), places, norm)


def _transform_2d(
    name: str, kind: FftType, a: Any, s: Any, axes: Sequence[int], norm: str | None
) -> Array:
    if len(tuple(axes)) != 2:
        raise ShapeError(f"{name} transforms two axes, and got {tuple(axes)}")
    return _check_and_transform(name, kind, a, s, axes, norm)


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the discrete Fourier transform along an axis, as complex numbers.

    n: crop the axis to this length, or pad it with zeros; by default the length of the axis.
    norm: "backward" (the default) divides the inverse transform by n, "forward" divides the
    forward transform by n, and "ortho" divides both transforms by sqrt(n).

    Raises ShapeError for an axis that `a` does not have and for n < 1, ArgumentError for an
    unknown norm.

    >>> fft(array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return _transform_1d("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `fft`, with the same arguments.

    >>> ifft(array([10, -2 + 2j, -2, -2 - 2j]))
    Array([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j], dtype=complex64)
    """
    return _transform_1d("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the n // 2 + 1 nonnegative frequencies of the `fft` of real numbers.

    Raises ArgumentError for a complex array, and the errors of `fft`.

    >>> rfft(array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _transform_1d("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `rfft`, with `n` real numbers; by default n = 2 (m - 1).

    m: the number of frequencies in `a`.

    >>> irfft(array([10, -2 + 2j, -2]))
    Array([1., 2., 3., 4.], dtype=float32)
    """
    return _transform_1d("irfft", FftType.IRFFT, a, n, axis, norm)


_INVERSE_NORMS = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _inverse_norm(name: str, norm: str | None) -> str:
    """Return the norm that gives the inverse transform the scale factor of this transform."""
    if norm not in _INVERSE_NORMS:
        _scale_factor(name, FftType.FFT, (), norm)
    return _INVERSE_NORMS[norm]


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the `fft` of a Hermitian signal, x[-j] = conj(x[j]); the result is real.

    a: the first m samples of the signal.  n: the length of the signal and the result, by default
    2 (m - 1).  norm: as in `fft`.

    >>> hfft(array([1.0, 2.0, 3.0]))
    Array([ 8., -2.,  0., -2.], dtype=float32)
    """
    x = conjugate(operand("hfft", a)[0])
    return _transform_1d("hfft", FftType.IRFFT, x, n, axis, _inverse_norm("hfft", norm))


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `hfft`: the first half of the Hermitian signal.

    >>> ihfft(array([8.0, -2.0, 0.0, -2.0]))
    Array([1.-0.j, 2.-0.j, 3.-0.j], dtype=complex64)
    """
    spectrum = _transform_1d(
        "ihfft", FftType.RFFT, asarray(a), n, axis, _inverse_norm("ihfft", norm)
    )
    return asarray(conjugate(spectrum))


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `fftn` along two axes, by default the last two axes.

    >>> fft2(asarray([[1.0, 2.0], [3.0, 4.0]])).real
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _transform_2d("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `ifftn` along two axes, by default the last two axes.

    >>> ifft2(asarray([[4.0, 0.0], [0.0, 0.0]])).real
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _transform_2d("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `rfftn` along two axes, by default the last two axes.

    >>> rfft2(ones((4, 6))).shape
    (4, 4)
    """
    return _transform_2d("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `irfftn` along two axes, by default the last two axes.

    >>> irfft2(asarray([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _transform_2d("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the discrete Fourier transform along several axes, as complex numbers.

    s: crop each axis to its length, or pad it with zeros; by default the lengths of the axes.
    axes: by default the last `len(s)` axes, or all axes without `s`.  norm: as in `fft`.

    Raises ShapeError for axes that `a` does not have or that repeat, for lengths below 1, and for
    different numbers of lengths and axes; ArgumentError for an unknown norm.

    >>> fftn(ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _check_and_transform("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `fftn`, with the same arguments.

    >>> ifftn(asarray([[4.0, 0.0], [0.0, 0.0]])).real
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _check_and_transform("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the `fftn` of real numbers, with the nonnegative frequencies of the last axis.

    Raises ArgumentError for a complex array, and the errors of `fftn`.

    >>> rfftn(ones((2, 4, 6))).shape
    (2, 4, 4)
    """
    return _check_and_transform("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `rfftn`, as real numbers; the last axis is as in `irfft`.

    >>> irfftn(asarray([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _check_and_transform("irfftn", FftType.IRFFT, a, s, axes, norm)
