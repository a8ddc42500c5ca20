"""The incomplete gamma and beta functions and the Bessel functions of `olympus.lax`.

They are built from functions of `olympus.numpy`, and so are not in `library/lax`.  Their operands
have one float dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.elementwise.bessel import scaled_i0, scaled_i1
from olympus_core.library.promotion import broadcast_shapes, broadcast_to, check_arrays, convert
from olympus_core.library.special import incomplete
from olympus_core.primitives.elementwise.base import check_kinds, check_one_dtype


def _in_floats(name: str, formula: Callable[..., Any], *operands: Any) -> Array:
    """Apply the formula to operands of one shape, in float32 if their dtype is narrower."""
    check_arrays(name, *operands)
    avals = tuple(get_aval(x) for x in operands)
    check_kinds(name, "f", *avals)
    check_one_dtype(name, avals)
    dtype = avals[0].dtype
    wide = dtypes.dtype("float32") if dtype.itemsize < 4 else dtype
    shape = broadcast_shapes(*(a.shape for a in avals))
    out: Array = formula(*(broadcast_to(convert(x, wide), shape) for x in operands))
    return convert(out, dtype, all(a.weak_type for a in avals))


@composite()
def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete gamma function P(a, x): integral of t^(a-1) exp(-t) / gamma(a).

    a, x: floats >= 0 of one dtype, of shapes that broadcast; the result is nan for others.  It
    has derivatives of every order in both.  The integral is from 0 to x.

    Raises DTypeError for other dtypes, ShapeError for shapes that do not broadcast.

    >>> igamma(2.0, 1.0)
    Array(0.26424113, dtype=float32, weak_type=True)
    """
    return _in_floats("igamma", lambda a, x: incomplete.gamma_parts(a, x)[0], a, x)


@composite()
def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the complement Q(a, x) = 1 - P(a, x) of `igamma`, exact where it is small.

    >>> igammac(2.0, 50.0)
    Array(9.836656e-21, dtype=float32, weak_type=True)
    """
    return _in_floats("igammac", lambda a, x: incomplete.gamma_parts(a, x)[1], a, x)


@composite()
def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative of `igamma` in `a`.

    >>> igamma_grad_a(2.0, 1.0)
    Array(-0.27..., dtype=float32, weak_type=True)
    """
    return _in_floats("igamma_grad_a", incomplete.gamma_slope, a, x)


@composite()
def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative in `a` of a sample `x` of the gamma distribution, at constant probability.

    It is minus the derivative of P(a, x) in `a`, over the density at `x`.

    >>> random_gamma_grad(1.0, 1.0)
    Array(1.17..., dtype=float32, weak_type=True)
    """

    def slope(a: Any, x: Any) -> Any:
        return -incomplete.gamma_slope(a, x) / incomplete.gamma_density(a, x)

    return _in_floats("random_gamma_grad", slope, a, x)


@composite()
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function: integral of t^(a-1) (1-t)^(b-1) / beta(a, b).

    a, b, x: floats of one dtype, of shapes that broadcast, a and b >= 0 and x from 0 to 1; the
    result is nan for others.  The integral is from 0 to x.  It has derivatives of every order in
    all three.

    Raises DTypeError for other dtypes, ShapeError for shapes that do not broadcast.

    >>> betainc(1.0, 2.0, 0.5)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return _in_floats("betainc", incomplete.beta_below, a, b, x)


@composite()
def bessel_i0e(x: ArrayLike) -> Array:
    """exp(-|x|) times the modified Bessel function I0.  Raises DTypeError for other than floats.

    >>> bessel_i0e(1.0)
    Array(0.4657596, dtype=float32, weak_type=True)
    """
    return _in_floats("bessel_i0e", scaled_i0, x)


@composite()
def bessel_i1e(x: ArrayLike) -> Array:
    """exp(-|x|) times the modified Bessel function I1.  Raises DTypeError for other than floats.

    >>> bessel_i1e(1.0)
    Array(0.20791042, dtype=float32, weak_type=True)
    """
    return _in_floats("bessel_i1e", scaled_i1, x)
