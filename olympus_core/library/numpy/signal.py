"""Convolution, correlation and covariance of vectors, in `olympus.numpy`."""

from __future__ import annotations

import math
from typing import Any

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.library.composite import composite
from olympus_core.library.lax.conv import conv_general_dilated
from olympus_core.library.numpy.arithmetic import clip
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.complex import conj, imag, real
from olympus_core.library.numpy.creation import asarray, requested_dtype
from olympus_core.library.numpy.diagonals import diag
from olympus_core.library.numpy.exponential import sqrt
from olympus_core.library.numpy.fills import full
from olympus_core.library.numpy.joining import concatenate
from olympus_core.library.numpy.orders import flip
from olympus_core.library.numpy.products import dot
from olympus_core.library.numpy.reductions import average
from olympus_core.library.numpy.reductions import sum as sum_
from olympus_core.library.numpy.shapes import atleast_2d, expand_dims, squeeze
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.primitives.elementwise.conversion import complex_p
from olympus_core.tracer import Array

__all__ = ["convolve", "corrcoef", "correlate", "cov"]


def _vectors(name: str, a: Any, v: Any, mode: str) -> tuple[Any, Any]:
    a, v = promote_inexact(operand(name, a)[0], operand(name, v)[0])
    if len(shape_of(a)) != 1 or len(shape_of(v)) != 1:
        shapes = f"{shape_of(a)} and {shape_of(v)}"
        raise ShapeError(f"{name} needs two vectors, and got shapes {shapes}")
    if not shape_of(a)[0] or not shape_of(v)[0]:
        raise ShapeError(f"{name} needs vectors of one element or more")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{name} has the modes 'full', 'same' and 'valid', and got {mode!r}")
    return a, v


def _sliding(a: Any, v: Any, mode: str, precision: Any, element: Any) -> Array:
    """The products of `a` with the shorter `v` at each place, `v` as it lies."""
    n = shape_of(v)[0]
    pads = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}
    result = conv_general_dilated(
        expand_dims(a, (0, 1)),
        expand_dims(v, (0, 1)),
        (1,),
        [pads[mode]],
        precision=precision,
        preferred_element_type=element,
    )
    return squeeze(result, (0, 1))


@composite(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The convolution of two vectors: sum over j of a[j] v[k - j].

    `mode` "full" has every k with a term, "same" as many as the longer vector, "valid" those where
    the vectors overlap wholly.  Raises ShapeError for what is not a vector.

    >>> convolve(asarray([1.0, 2.0]), asarray([1.0, 1.0]))
    Array([1., 3., 2.], dtype=float32)
    """
    a, v = _vectors("convolve", a, v, mode)
    if shape_of(a)[0] < shape_of(v)[0]:
        a, v = v, a
    return _sliding(a, flip(v), mode, precision, preferred_element_type)


@composite(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The correlation of two vectors: sum over j of a[j + k] conj(v[j]); `mode` is `convolve`'s.

    >>> correlate(asarray([1.0, 2.0, 3.0]), asarray([0.0, 1.0]))
    Array([2., 3.], dtype=float32)
    """
    a, v = _vectors("correlate", a, v, mode)
    v = conj(v)
    if shape_of(a)[0] >= shape_of(v)[0]:
        return _sliding(a, v, mode, precision, preferred_element_type)
    swapped = _sliding(v, a, mode, precision, preferred_element_type)
    return flip(swapped)


@composite(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Array:
    """The covariance matrix of variables, the rows of `m` (the columns, without `rowvar`).

    `y` has more variables.  `fweights` says how often, and `aweights` how much each observation
    counts.  The sums are divided by the number of observations less `ddof`: 1, or 0 with `bias`.
    Raises ShapeError for more dimensions than two.

    >>> cov(asarray([1.0, 2.0, 3.0]))
    Array(1., dtype=float32)
    """
    x = _variables(m, y, rowvar, dtype)
    less = (0 if bias else 1) if ddof is None else ddof
    weights = None
    if fweights is not None:
        weights = _weights("fweights", fweights, "iu", shape_of(x)[1])
    if aweights is not None:
        a = _weights("aweights", aweights, "buif", shape_of(x)[1])
        weights = a if weights is None else weights * a
    if not shape_of(x)[1]:  # the mean of no observations is nan, and so is what is made of it
        count = shape_of(x)[0]
        return squeeze(full((count, count), math.nan, get_aval(x).dtype))
    mean, total = average(x, axis=1, weights=weights, returned=True)
    total = total if weights is None else total[0]
    if weights is None:
        factor: Any = shape_of(x)[1] - less
    elif less == 0:
        factor = total
    elif aweights is None:
        factor = total - less
    else:
        factor = total - less * sum_(weights * asarray(aweights)) / total
    x = x - mean[:, None]
    other = x.T if weights is None else (x * weights).T
    return squeeze(dot(x, conj(other)) / factor)


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    m, aval = operand("cov", m)
    if aval.ndim > 2:
        raise ShapeError(f"cov needs at most two dimensions, and got {aval.long_name()}")
    (x,) = promote_inexact(m)
    if dtype is not None:
        x = convert(x, requested_dtype("cov", dtype))
    x = atleast_2d(x)
    x = x if rowvar or aval.ndim != 2 else x.T
    if y is None:
        return x
    y, other = operand("cov", y)
    if other.ndim > 2:
        raise ShapeError(f"cov needs at most two dimensions, and got {other.long_name()}")
    x, y = promote_inexact(x, y)
    y = atleast_2d(y)
    y = y if rowvar or shape_of(y)[0] == 1 else y.T
    return concatenate([x, y], 0)


def _weights(name: str, weights: Any, kinds: str, count: int) -> Any:
    weights, aval = operand("cov", weights)
    if aval.shape != (count,):
        raise ShapeError(f"cov needs {count} {name}, and got {aval.long_name()}")
    if dtypes.kind(aval.dtype) not in kinds:
        raise DTypeError(f"cov cannot take {name} of type {aval.long_name()}")
    return abs(asarray(weights))


@composite(static_argnames=("rowvar", "dtype"))
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Array:
    """The correlation coefficients, in [-1, 1], of variables: see `cov`."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c  # type: ignore[no-any-return]
    scale = sqrt(real(diag(c)))
    c = c / scale[:, None] / scale[None, :]
    if dtypes.kind(get_aval(c).dtype) == "c":
        parts = [clip(part, -1, 1) for part in (real(c), imag(c))]
        return complex_p.bind(*parts)  # type: ignore[no-any-return]
    return clip(c, -1, 1)
