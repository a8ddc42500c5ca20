"""Convolutions and correlations of arrays of any rank, directly or by Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axes
from olympus_core.library.lax.conv import conv_general_dilated
from olympus_core.library.lax.dot import PrecisionLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.complex import conj
from olympus_core.library.numpy.fft.transforms import fftn as fft_fftn
from olympus_core.library.numpy.fft.transforms import ifftn as fft_ifftn
from olympus_core.library.numpy.fft.transforms import irfftn as fft_irfftn
from olympus_core.library.numpy.fft.transforms import rfftn as fft_rfftn
from olympus_core.library.numpy.manipulation.rearranging import flip
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.transforms.vmapping import vmap

Mode = Literal["full", "same", "valid"]
_MODES = ("full", "same", "valid")


def _checked_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ArgumentError(f"mode must be one of {list(_MODES)}, and is {mode!r}")


def _starts_and_sizes(full: Any, a: Any, b: Any, mode: str) -> tuple[list[int], list[int]]:
    """Return the part of a full convolution that a mode selects."""
    sizes = {
        "full": list(full),
        "same": list(a),
        "valid": [m - n + 1 for m, n in zip(a, b, strict=True)],
    }[mode]
    return [(f - n) // 2 for f, n in zip(full, sizes, strict=True)], sizes


def _ordered(a: Any, b: Any, message: str) -> tuple[Any, Any]:
    """Return two arrays, the one that is larger in every dimension first."""
    pairs = list(zip(a.shape, b.shape, strict=True))
    if all(m >= n for m, n in pairs):
        return a, b
    if all(m <= n for m, n in pairs):
        return b, a
    raise ShapeError(f"{message}; the shapes are {a.shape} and {b.shape}")


def _by_fourier(a: Any, b: Any, mode: str) -> Any:
    full = [m + n - 1 for m, n in zip(a.shape, b.shape, strict=True)]
    if mode == "valid":
        message = "in mode 'valid', one input must be at least as large in every dimension"
        a, b = _ordered(a, b, message)
    if all(1 in pair for pair in zip(a.shape, b.shape, strict=True)):
        product = a * b
    elif dtypes.kind(a.dtype) == "c":
        product = fft_ifftn(fft_fftn(a, full) * fft_fftn(b, full), full)
    else:
        product = fft_irfftn(fft_rfftn(a, full) * fft_rfftn(b, full), full)
    starts, sizes = _starts_and_sizes(full, a.shape, b.shape, mode)
    return product[tuple(slice(i, i + n) for i, n in zip(starts, sizes, strict=True))]


def _same_rank(name: str, in1: Any, in2: Any) -> tuple[Any, Any]:
    check_arrays(name, in1, in2)
    a, b = (asarray(x) for x in promote_inexact(in1, in2))
    if a.ndim != b.ndim:
        raise ShapeError(
            f"{name}: in1 and in2 must have the same number of dimensions, not {a.ndim} and "
            f"{b.ndim}"
        )
    return a, b


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: Mode = "full", axes: Sequence[int] | None = None
) -> Array:
    """Return the convolution of two arrays of one rank, by Fourier transforms.

    mode: "full" for all sums of products, "same" for the middle part of the shape of in1, "valid"
    for the sums without padding. axes: the axes to convolve along; along the others, both have the
    same lengths. Integers become floats.

    Raises ShapeError for arrays that do not match, ArgumentError for another mode.

    >>> fftconvolve(array([1.0, 2.0, 3.0]), array([0.0, 1.0]))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    a, b = _same_rank("fftconvolve", in1, in2)
    _checked_mode(mode)

    def convolved(x: Any, y: Any) -> Any:
        return _by_fourier(x, y, mode)

    if axes is not None:
        along = canonical_axes(axes, a.ndim)
        mapped = [i for i in range(a.ndim) if i not in along]
        if any(a.shape[i] != b.shape[i] for i in mapped):
            raise ShapeError(
                f"mapped axes must have same shape; got the shapes {a.shape} and {b.shape} and the "
                f"axes {along}"
            )
        for i in mapped:
            convolved = vmap(convolved, in_axes=i, out_axes=i)
    result: Array = convolved(a, b)
    return result


def _padding(large: Any, small: Any, mode: str, reference: Any) -> list[tuple[int, int]]:
    """Return the padding of the larger array; `reference` is the shape of the second argument."""
    if mode == "valid":
        return [(0, 0)] * len(small)
    if mode == "full":
        return [(n - 1, n - 1) for n in small]
    return [
        (n - 1 - (r - 1) // 2, n - r + (r - 1) // 2) for n, r in zip(small, reference, strict=True)
    ]


def _direct(name: str, in1: Any, in2: Any, mode: str, precision: Any) -> Any:
    _checked_mode(mode)
    a, b = _same_rank(name, in1, in2)
    if a.size == 0 or b.size == 0:
        raise ShapeError(
            f"zero-size arrays not supported in convolutions, got shapes {a.shape} and {b.shape}"
        )
    large, small = _ordered(a, b, "one input must be smaller than the other in every dimension")
    padding = _padding(large.shape, small.shape, mode, b.shape)
    strides = (1,) * a.ndim
    return conv_general_dilated(
        large[None, None], flip(small)[None, None], strides, padding, precision=precision
    )[0, 0]


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Return the convolution of two arrays of one rank; see `fftconvolve` for `mode`.

    method: "fft" for `fftconvolve`, "direct" and "auto" for sums of products of `precision`.

    Raises ShapeError for arrays that do not match or are empty, ArgumentError for another mode or
    method.

    >>> convolve(array([1.0, 2.0, 3.0]), array([0.0, 1.0]))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode=mode)
    if method not in ("direct", "auto"):
        raise ArgumentError(f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    result: Array = _direct("convolve", in1, in2, mode, precision)
    return result


def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Return the cross-correlation: `convolve` with the conjugate of in2 in reverse order.

    >>> correlate(array([1.0, 2.0, 3.0]), array([0.0, 1.0]))
    Array([1., 2., 3., 0.], dtype=float32)
    """
    check_arrays("correlate", in1, in2)
    return convolve(in1, flip(conj(asarray(in2))), mode, precision=precision, method=method)


def _check_plane(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> tuple[Any, Any]:
    """Return the matrices of a function; raise an error for others, or another boundary."""
    if boundary != "fill" or fillvalue != 0:
        raise UnsupportedError(f"{name}() only supports boundary='fill', fillvalue=0")
    check_arrays(name, in1, in2)
    a, b = asarray(in1), asarray(in2)
    if a.ndim != 2 or b.ndim != 2:
        raise ShapeError(f"{name}() only supports 2-dimensional inputs.")
    return a, b


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Return the convolution of two matrices; see `convolve`.

    Raises UnsupportedError for another boundary than zeros, ShapeError for other ranks.

    >>> convolve2d(ones((2, 2)), ones((1, 2)))
    Array([[1., 2., 1.],
           [1., 2., 1.]], dtype=float32)
    """
    a, b = _check_plane("convolve2d", in1, in2, boundary, fillvalue)
    result: Array = _direct("convolve2d", a, b, mode, precision)
    return result


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Return the cross-correlation of two matrices, with the conjugate of in2; see `convolve`.

    In mode "valid", the larger matrix may be the second one.

    Raises UnsupportedError for another boundary than zeros, ShapeError for other ranks.

    >>> correlate2d(ones((2, 2)), ones((1, 2)))
    Array([[1., 2., 1.],
           [1., 2., 1.]], dtype=float32)
    """
    a, b = _check_plane("correlate2d", in1, in2, boundary, fillvalue)
    is_swapped = all(m <= n for m, n in zip(a.shape, b.shape, strict=True))
    if mode == "full" and is_swapped:
        result: Array = conj(_direct("correlate2d", flip(b), conj(a), mode, precision))
    elif mode == "valid" and is_swapped and a.shape != b.shape:
        result = _direct("correlate2d", flip(b), conj(a), mode, precision)
    else:
        result = flip(_direct("correlate2d", flip(a), conj(b), mode, precision))
    return result
