"""`olympus.scipy.fft`: discrete cosine transforms, by Fourier transforms of the same length.

The algorithm is that of J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE
Transactions on Acoustics, Speech, and Signal Processing 28 (1980): the elements with even indices,
followed by those with odd indices in reverse order, are transformed and turned by quarter periods.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import as_sequence
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.elementwise import complex as lax_complex
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.complex import imag, real
from olympus_core.library.numpy.elementwise.exponential import exp, sqrt
from olympus_core.library.numpy.fft.transforms import fft as fft_fft
from olympus_core.library.numpy.fft.transforms import ifft as fft_ifft
from olympus_core.library.numpy.indexing.taking import take
from olympus_core.library.numpy.manipulation.padding import pad
from olympus_core.library.numpy.manipulation.shapes import reshape
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.sorting.sorting import argsort
from olympus_core.library.promotion import check_arrays, promote_inexact


def _checked(name: str, x: Any, type: int, norm: str | None) -> Any:
    """Return the operand as an array; raise an error for an unsupported type or norm."""
    check_arrays(name, x)
    if type != 2:
        raise UnsupportedError(f"{name} supports only type 2, and got {type!r}")
    if norm not in (None, "backward", "ortho"):
        raise ArgumentError(f"{name} has the norms None, 'backward' and 'ortho', and got {norm!r}")
    return asarray(x)


def _resized(x: Any, lengths: dict[int, int]) -> Any:
    """Return x with zeros appended, or elements removed, at the end of some axes."""
    for axis, length in lengths.items():
        if length < x.shape[axis]:
            x = take(x, np.arange(length), axis=axis)
    widths = [(0, max(lengths.get(i, n) - n, 0)) for i, n in enumerate(x.shape)]
    return pad(x, widths)


def _of_parts(transform: Callable[[Any], Any], x: Any) -> Any:
    """Apply a transform of reals to a real array, or to both parts of a complex one."""
    if dtypes.kind(x.dtype) == "c":
        return lax_complex(transform(real(x)), transform(imag(x)))
    return transform(promote_inexact(x)[0])


def _along(values: Any, x: Any, axis: int) -> Any:
    """Return a vector that broadcasts along an axis of x."""
    return reshape(values, tuple(-1 if i == axis else 1 for i in range(x.ndim)))


def _order(n: int) -> Any:
    """Return the indices of the even elements, and of the odd ones in reverse order."""
    if is_symbolic_dim(n):
        k = arange(n)
        return where(2 * k < n, 2 * k, 2 * (n - k) - 1)
    return np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])


def _scale(x: Any, axis: int) -> Any:
    """Return the factors of an orthonormal transform."""
    n = x.shape[axis]
    factors = where(arange(n) == 0, 4, 2) * n
    return sqrt(_along(asarray(factors, x.dtype), x, axis))


def _turn(x: Any, axis: int) -> Any:
    """Return exp(-i pi k / (2 n)) for each index k of an axis."""
    k = arange(x.shape[axis], dtype=x.dtype)
    return _along(exp(-0.5j * np.pi * k / x.shape[axis]), x, axis)


def _forward(x: Any, axis: int, norm: str | None) -> Any:
    permuted = take(x, _order(x.shape[axis]), axis=axis)
    out = 2 * real(fft_fft(permuted, axis=axis) * _turn(x, axis))
    return out / _scale(x, axis) if norm == "ortho" else out


def _inverse(x: Any, axis: int, norm: str | None) -> Any:
    scale = _scale(x, axis)
    coefficients = x / scale if norm == "ortho" else x / scale**2
    spectrum = coefficients / _turn(x, axis) * 2 * x.shape[axis]
    permuted = real(fft_ifft(spectrum, axis=axis))
    order = _order(x.shape[axis])
    back = np.argsort(order) if isinstance(order, np.ndarray) else argsort(order)
    return take(permuted, back, axis=axis)


_Transform = Callable[[Any, int, "str | None"], Any]


def _axes(x: Any, s: Sequence[int] | None, axes: Sequence[int] | None) -> tuple[int, ...]:
    """Return the axes of a transform of several axes."""
    if s is not None and len(s) > x.ndim:
        raise ShapeError(f"s must have at most {x.ndim} elements, and got {len(s)}")
    if axes is not None:
        return canonical_axes(axes, x.ndim)
    return tuple(range(x.ndim - len(s), x.ndim)) if s is not None else tuple(range(x.ndim))


def _one(
    name: str,
    transform: _Transform,
    x: ArrayLike,
    type: int,
    n: int | None,
    axis: int,
    norm: str | None,
) -> Array:
    array = _checked(name, x, type, norm)
    axis = canonical_axis(axis, array.ndim)
    if n is not None:
        array = _resized(array, {axis: operator.index(n)})
    result: Array = _of_parts(lambda part: transform(part, axis, norm), array)
    return result


def _several(
    name: str,
    transform: _Transform,
    x: ArrayLike,
    type: int,
    s: Sequence[int] | int | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> Array:
    array = _checked(name, x, type, norm)
    lengths = None if s is None else [operator.index(n) for n in as_sequence(s)]
    every = _axes(array, lengths, axes)
    if lengths is not None:
        array = _resized(array, dict(zip(every, lengths, strict=False)))

    def each(part: Any) -> Any:
        for axis in every:
            part = transform(part, axis, norm)
        return part

    result: Array = _of_parts(each, array)
    return result


@composite(static_argnames=("type", "n", "axis", "norm"))
def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Return the discrete cosine transform of type 2 along `axis`.

    x: an array; integers become floats, and the parts of complex numbers are transformed. n: the
    length along the axis, for which x is padded with zeros or cut. norm: None or "backward" for
    2 sum x[k] cos(pi (2 k + 1) j / (2 n)), "ortho" for the orthonormal transform.

    Raises UnsupportedError for other types, ArgumentError for other norms, ShapeError for an axis
    that x does not have.

    >>> dct(array([1.0, 2.0, 3.0]))[:2]
    Array([12.       , -3.4641016], dtype=float32)
    """
    return _one("dct", _forward, x, type, n, axis, norm)


@composite(static_argnames=("type", "n", "axis", "norm"))
def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Return the inverse of `dct`, which has the same arguments and errors.

    >>> idct(dct(array([1.0, 2.0, 3.0])))
    Array([1.0000002, 2.       , 3.       ], dtype=float32)
    """
    return _one("idct", _inverse, x, type, n, axis, norm)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return `dct` along several axes.

    axes: by default the last ones of the lengths `s`, or all. s: the lengths along the axes.

    Raises ShapeError for more lengths than dimensions, and the errors of `dct`.

    >>> dctn(array([[1.0, 2.0], [3.0, 4.0]]))[0]
    Array([40.      , -5.656854], dtype=float32)
    """
    return _several("dctn", _forward, x, type, s, axes, norm)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `dctn`, which has the same arguments and errors.

    >>> idctn(dctn(array([[1.0, 2.0], [3.0, 4.0]])))
    Array([[1.0000005, 2.0000005],
           [3.0000007, 4.000001 ]], dtype=float32)
    """
    return _several("idctn", _inverse, x, type, s, axes, norm)
