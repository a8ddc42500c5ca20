"""Discrete Fourier transforms along one axis or several.

All functions share one procedure: the axes are moved to the end, cropped or padded with zeros to
the requested lengths, transformed, scaled, and moved back.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import get_aval
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
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert

_FORWARD = (FftType.FFT, FftType.RFFT)
_AT_ONCE = 3  # the number of axes that XLA transforms in one operation


def _factor(name: str, kind: FftType, lengths: Sequence[int], norm: str | None) -> float:
    """Return the scale of the transform: by default 1 forward and 1 / n back; `norm` changes it."""
    count = math.prod(lengths) or 1
    forward = {None: 1.0, "backward": 1.0, "ortho": 1 / math.sqrt(count), "forward": 1 / count}
    if norm not in forward:
        raise ArgumentError(f"{name} has the norms backward, ortho and forward, and got {norm!r}")
    back = {None: 1.0, "backward": 1.0, "ortho": math.sqrt(count), "forward": float(count)}
    return (forward if kind in _FORWARD else back)[norm]


def _lengths(name: str, s: Any) -> tuple[int, ...] | None:
    if s is None:
        return None
    lengths = tuple(map(operator.index, s))
    if any(n <= 0 for n in lengths):
        raise ShapeError(f"{name} needs lengths of one sample or more, and got {lengths}")
    return lengths


def _last_axes(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """Return the transform of the last axes, of any number."""
    if len(lengths) <= _AT_ONCE:
        return lax_fft(x, kind, lengths)
    # a real transform has real values along one axis: the first one of all, or the last
    rest = FftType.FFT if kind in _FORWARD else FftType.IFFT
    first, last = lengths[:-_AT_ONCE], lengths[-_AT_ONCE:]
    axes = tuple(range(x.ndim - len(lengths), x.ndim - _AT_ONCE))
    ends = tuple(range(x.ndim - len(axes), x.ndim))
    if kind in _FORWARD:
        x = lax_fft(x, kind, last)
    x = moveaxis(_last_axes(moveaxis(x, axes, ends), rest, first), ends, axes)
    return x if kind in _FORWARD else lax_fft(x, kind, last)


@composite(static_argnames=("name", "kind", "s", "axes", "norm"))
def _transformed(
    a: Any,
    name: str,
    kind: FftType,
    s: tuple[int, ...] | None,
    axes: tuple[int, ...],
    norm: str | None,
) -> Array:
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
    out, factor = _last_axes(x, kind, s), _factor(name, kind, s, norm)
    scaled = out if factor == 1 else out * convert(factor, get_aval(out).dtype)
    return moveaxis(scaled, ends, axes)


def _transform(
    name: str, kind: FftType, a: Any, s: Any, axes: Sequence[int] | None, norm: str | None
) -> Array:
    """Return the transform of an array along `axes`, or along the last ones without `axes`."""
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
    _factor(name, kind, (), norm)  # raises for another norm before anything is staged
    if not places:
        return lax_fft(x, kind, ())
    return _transformed(x, name=name, kind=kind, s=lengths, axes=places, norm=norm)


def _along_one(
    name: str, kind: FftType, a: Any, n: int | None, axis: int, norm: str | None
) -> Array:
    x, aval = operand(name, a)
    place = canonical_axis(axis, aval.ndim, f"the axis of {name}")
    return _transform(name, kind, x, None if n is None else (n,), (place,), norm)


def _along_two(
    name: str, kind: FftType, a: Any, s: Any, axes: Sequence[int], norm: str | None
) -> Array:
    if len(tuple(axes)) != 2:
        raise ShapeError(f"{name} transforms two axes, and got {tuple(axes)}")
    return _transform(name, kind, a, s, axes, norm)


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the discrete Fourier transform along an axis, complex.

    n: the length of the signal, which is cropped or padded with zeros; by default its own length.
    norm: "backward" (the default) does not scale this transform and divides the inverse by n;
    "forward" divides this one by n; "ortho" divides both by sqrt(n).

    Raises ShapeError for an axis that `a` does not have and for n < 1, ArgumentError for another
    norm.

    >>> fft(array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return _along_one("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `fft`, with the same arguments.

    >>> ifft(array([10, -2 + 2j, -2, -2 - 2j]))
    Array([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j], dtype=complex64)
    """
    return _along_one("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the `fft` of real numbers: the n // 2 + 1 nonnegative frequencies.

    Raises ArgumentError for a complex array, and the errors of `fft`.

    >>> rfft(array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _along_one("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `rfft`: `n` real numbers, by default 2 (m - 1) for m frequencies.

    >>> irfft(array([10, -2 + 2j, -2]))
    Array([1., 2., 3., 4.], dtype=float32)
    """
    return _along_one("irfft", FftType.IRFFT, a, n, axis, norm)


_REVERSED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _reversed(name: str, norm: str | None) -> str:
    if norm not in _REVERSED:
        _factor(name, FftType.FFT, (), norm)
    return _REVERSED[norm]


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the real `fft` of a Hermitian signal, x[-j] = conj(x[j]), given its first half.

    n: the number of results, 2 (m - 1) for m samples by default; norm as in `fft`.

    >>> hfft(array([1.0, 2.0, 3.0]))
    Array([ 8., -2.,  0., -2.], dtype=float32)
    """
    x = conjugate(operand("hfft", a)[0])
    return _along_one("hfft", FftType.IRFFT, x, n, axis, _reversed("hfft", norm))


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `hfft`: from real numbers, the half that determines the signal.

    >>> ihfft(array([8.0, -2.0, 0.0, -2.0]))
    Array([1.-0.j, 2.-0.j, 3.-0.j], dtype=complex64)
    """
    spectrum = _along_one("ihfft", FftType.RFFT, a, n, axis, _reversed("ihfft", norm))
    return asarray(conjugate(spectrum))


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `fftn` along two axes, the last ones by default.

    >>> fft2(asarray([[1.0, 2.0], [3.0, 4.0]])).real
    Array([[10., -2.],
           [-4.,  0.]], dtype=float32)
    """
    return _along_two("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `ifftn` along two axes, the last ones by default.

    >>> ifft2(asarray([[4.0, 0.0], [0.0, 0.0]])).real
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _along_two("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `rfftn` along two axes, the last ones by default.

    >>> rfft2(ones((4, 6))).shape
    (4, 4)
    """
    return _along_two("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Apply `irfftn` along two axes, the last ones by default.

    >>> irfft2(asarray([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _along_two("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the discrete Fourier transform along several axes, complex.

    s: the lengths of the signal along the axes; it is cropped or padded with zeros; by default its
    own lengths.  axes: by default the last ones, one for each length in `s`, or all without `s`.
    norm: as in `fft`.

    Raises ShapeError for axes that `a` does not have or that repeat, for lengths below 1 and for
    another number of them, ArgumentError for another norm.

    >>> fftn(ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _transform("fftn", FftType.FFT, a, s, axes, norm)


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
    return _transform("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the `fftn` of real numbers: of the last axis, the nonnegative frequencies.

    Raises ArgumentError for a complex array, and the errors of `fftn`.

    >>> rfftn(ones((2, 4, 6))).shape
    (2, 4, 4)
    """
    return _transform("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `rfftn`: real, with the last axis as in `irfft`.

    >>> irfftn(asarray([[4.0, 0.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _transform("irfftn", FftType.IRFFT, a, s, axes, norm)
