"""`olympus.scipy.stats.multinomial`: the multinomial distribution.

The formulas are those of SciPy's `scipy.stats.multinomial`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.exponential import exp
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.operands import promote_numeric
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.library.scipy.special.entropy import xlogy
from olympus_core.library.scipy.special.gamma import gammaln


@composite()
def _logpmf(x: Any, n: Any, p: Any) -> Any:
    check_arrays("multinomial.logpmf", x, n, p)
    (p,) = promote_inexact(p)
    x, n = promote_numeric(x, n)
    dtype = get_aval(x).dtype
    if dtypes.kind(dtype) not in "iu":
        raise ArgumentError(f"multinomial.logpmf needs integers x and n, and got {dtype.name}")
    dtype = get_aval(p).dtype
    x, n = asarray(convert(x, dtype)), asarray(convert(n, dtype))
    value = gammaln(n + 1) + sum_(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return where(sum_(x) == n, value, -np.inf)


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Return the logarithm of the probability of the counts `x` in the multinomial distribution.

    x: the integer counts of the k outcomes, of shape (..., k). n: the integer number of trials.
    p: the probabilities of the outcomes, of shape (k,).

    The result is -inf if the sum of all of x is not n. Raises ArgumentError for counts that are no
    integers, ShapeError for shapes that do not broadcast.

    >>> logpmf(array([1, 3]), 4, array([0.5, 0.5]))
    Array(-1.3862944, dtype=float32)
    """
    result: Array = _logpmf(x, n, p)
    return result


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Return the probability of the counts `x`; the arguments are those of `logpmf`.

    >>> pmf(array([1, 3]), 4, array([0.5, 0.5]))
    Array(0.25, dtype=float32)
    """
    return exp(logpmf(x, n, p))
