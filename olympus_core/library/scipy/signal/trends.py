"""The removal of a mean or of piecewise linear trends."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax.dot import Precision
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.linalg.equations import lstsq as la_lstsq
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.manipulation.shapes import reshape
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.products.matmul import matmul
from olympus_core.library.numpy.reductions.statistics import mean
from olympus_core.library.promotion import promote_inexact


def _without_line(x: Any) -> Any:
    """Return the columns of x without the line of least squares in each."""
    n = x.shape[0]
    line = stack([ones(n, x.dtype), arange(1, n + 1, dtype=x.dtype) / n], axis=1)
    coefficients = la_lstsq(line, x)[0]
    return x - matmul(line, coefficients, precision=Precision.HIGHEST)


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] = 0,
    overwrite_data: None = None,
) -> Array:
    """Return the data without its trend along `axis`.

    data: an array; integers become floats. type: "linear" to subtract lines of least squares, one
    between each pair of breakpoints `bp`, "constant" to subtract the mean.

    Raises ArgumentError for another type or breakpoints outside of the data, UnsupportedError for
    `overwrite_data`.

    >>> detrend(array([1.0, 2.0, 4.0]), type="constant")
    Array([-1.3333333 , -0.33333325,  1.6666667 ], dtype=float32)
    """
    if overwrite_data is not None:
        raise UnsupportedError("detrend does not support overwrite_data")
    if type not in ("constant", "linear"):
        raise ArgumentError(f"Trend type must be 'linear' or 'constant', and is {type!r}.")
    x = asarray(promote_inexact(asarray(data))[0])
    axis = canonical_axis(axis, x.ndim)
    if type == "constant":
        return x - mean(x, axis, keepdims=True)
    n = x.shape[axis]
    front = moveaxis(x, axis, 0)
    columns = reshape(front, (n, -1))
    if is_symbolic_dim(n) and not np.any(bp):
        return moveaxis(reshape(_without_line(columns), front.shape), 0, axis)
    points = np.unique(np.r_[0, np.asarray(bp), n])
    if points[0] < 0 or points[-1] > n:
        raise ArgumentError(
            "Breakpoints must be non-negative and less than length of data along given axis."
        )
    parts = [
        _without_line(columns[int(start) : int(end)]) for start, end in itertools.pairwise(points)
    ]
    return moveaxis(reshape(concatenate(parts), front.shape), 0, axis)
