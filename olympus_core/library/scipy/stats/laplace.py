"""`olympus.scipy.stats.laplace`: the Laplace distribution.

The formulas are those of SciPy's `scipy.stats.laplace`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("laplace.logpdf")
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return -(abs_(x - loc) / scale + log(2 * scale))


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the Laplace distribution at `x`.

    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]))
    Array([-0.6931472, -1.6931472], dtype=float32)
    """
    return _logpdf(x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the Laplace distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]))
    Array([0.5       , 0.18393973], dtype=float32)
    """
    return exp(_logpdf(x, loc, scale))


@of_floats("laplace.cdf")
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(y <= 0, 0.5 * exp(y), 1 - 0.5 * exp(-y))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.0, 1.0]))
    Array([0.5      , 0.8160603], dtype=float32)
    """
    return _cdf(x, loc, scale)
