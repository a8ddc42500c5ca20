"""`olympus.scipy.stats.gennorm`: the generalized normal distribution.

The formulas are those of SciPy's `scipy.stats.gennorm`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import sign
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.scipy.special.gamma import gammaln
from olympus_core.library.scipy.special.incomplete import gammainc
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("gennorm.logpdf")
def _logpdf(x: Any, beta: Any) -> Any:
    return log(0.5 * beta) - gammaln(1 / beta) - abs_(x) ** beta


def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the logarithm of the density of the generalized normal distribution at `x`.

    beta: the shape parameter, which is positive: 1 is the Laplace distribution, and 2 the normal.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]), 2.0)
    Array([-0.5723648, -1.5723648], dtype=float32)
    """
    return _logpdf(x, beta)


def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the density of the generalized normal distribution at `x`.

    The other arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]), 2.0)
    Array([0.5641897 , 0.20755377], dtype=float32)
    """
    return exp(_logpdf(x, beta))


@of_floats("gennorm.cdf")
def _cdf(x: Any, beta: Any) -> Any:
    return 0.5 * (1 + sign(x) * gammainc(1 / beta, abs_(x) ** beta))


def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.0, 1.0]), 2.0)
    Array([0.5       , 0.92135036], dtype=float32)
    """
    return _cdf(x, beta)
