"""Covariances and correlation coefficients of variables: `cov` and `corrcoef`."""

from __future__ import annotations

import math
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full
from olympus_core.library.numpy.creation.matrices import diag
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.elementwise.complex import conj, imag, real
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import atleast_2d, squeeze
from olympus_core.library.numpy.products.matmul import dot
from olympus_core.library.numpy.reductions.statistics import average
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.primitives.elementwise.conversion import complex_p


@composite(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the covariance matrix of variables, the rows of `m` (the columns, without `rowvar`).

    `y` has more variables.  `fweights` is the count and `aweights` the weight of each observation.
    The sums are divided by the number of observations less `ddof`: 1, or 0 with `bias`.
    Raises ShapeError for more than two dimensions.

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
    if not shape_of(x)[1]:  # the mean of no observations is nan, and so is the result
        count = shape_of(x)[0]
        return squeeze(full((count, count), math.nan, get_aval(x).dtype))
    mean, total = average(x, axis=1, weights=weights, returned=True)
    total = total if weights is None else total[0]
    if weights is None:
        factor: ArrayLike = shape_of(x)[1] - less
    elif less == 0:
        factor = total
    elif aweights is None:
        factor = total - less
    else:
        factor = total - less * sum_(weights * asarray(aweights)) / total
    x = x - mean[:, None]
    weighted = x.T if weights is None else (x * weights).T
    return squeeze(dot(x, conj(weighted)) / factor)


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    m, aval = operand("cov", m)
    if aval.ndim > 2:
        raise ShapeError(f"cov needs at most two dimensions, and got {aval.long_name()}")
    others = []
    if y is not None:
        y, y_aval = operand("cov", y)
        if y_aval.ndim > 2:
            raise ShapeError(f"cov needs at most two dimensions, and got {y_aval.long_name()}")
        others = [y]
    x, *others = promote_inexact(m, *others)
    if dtype is not None:
        requested = dtypes.requested("cov", dtype)
        x, *others = (convert(v, requested) for v in (x, *others))
    x = atleast_2d(x)
    x = x if rowvar or aval.ndim != 2 else x.T
    if not others:
        return x
    y = atleast_2d(others[0])
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
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """Return the correlation coefficients, in [-1, 1], of variables; see `cov`.

    >>> corrcoef(asarray([1.0, 2.0, 3.0]), asarray([6.0, 4.0, 2.0])).round(3)
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    scale = sqrt(real(diag(c)))
    c = c / scale[:, None] / scale[None, :]
    if dtypes.kind(get_aval(c).dtype) == "c":
        components = [clip(component, -1, 1) for component in (real(c), imag(c))]
        return complex_p.bind(*components)
    return clip(c, -1, 1)
