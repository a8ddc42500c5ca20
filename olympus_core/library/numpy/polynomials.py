"""Polynomials: vectors of coefficients from the highest power down (`polyval`, `polyfit`)."""

from __future__ import annotations

import operator
from typing import Any, Literal, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim, max_dim
from olympus_core.base.errors import ArgumentError, ShapeError, concrete_value_expected
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.control import fori_loop, scan
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones, ones_like, zeros
from olympus_core.library.numpy.creation.matrices import diag, vander
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.rearranging import roll
from olympus_core.library.numpy.manipulation.shapes import atleast_1d, broadcast_to
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.signal.convolution import convolve
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.sorting.sorting import argsort
from olympus_core.library.operands import operand
from olympus_core.library.promotion import (
    broadcast_shapes,
    convert,
    promote_dtypes,
    promote_inexact,
)


def _coefficients(name: str, p: Any) -> Any:
    """Return the operand of function `name`, which must have an axis of coefficients."""
    p, aval = operand(name, p)
    if not aval.ndim:
        raise ShapeError(f"{name} needs a vector of coefficients, and got {aval.long_name()}")
    return p


@composite(static_argnames=("unroll",))
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Evaluate a polynomial at each element of `x`, by Horner's rule.

    >>> polyval(asarray([1, 2, 3]), 2)
    Array(11, dtype=int32)
    """
    p, x = promote_dtypes(_coefficients("polyval", p), operand("polyval", x)[0])
    shape = broadcast_shapes(shape_of(p)[1:], shape_of(x))
    start = broadcast_to(zeros((), get_aval(p).dtype), shape)

    def step(value: Any, coefficient: Any) -> tuple[Any, None]:
        return value * x + coefficient, None

    result: Array = scan(step, start, p, unroll=unroll)[0]
    return result


def _sum(name: str, a1: Any, a2: Any, sign: int) -> Array:
    """Return a1 + sign * a2 of coefficients along axis 0, from the last.

    The coefficients of the shorter one are broadcast to those of the longer one.
    """
    first, second = promote_dtypes(operand(name, a1)[0], operand(name, a2)[0])
    x, y = atleast_1d(first), atleast_1d(second) if sign > 0 else -atleast_1d(second)
    x, y = (x, y) if len(x) >= len(y) else (y, x)
    start = len(x) - len(y)
    total = x[start:] + broadcast_to(y, (len(y), *x.shape[1:]))
    return concatenate([x[:start], total]) if start else total


@composite()
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the sum of two polynomials.

    >>> polyadd(asarray([1, 2]), asarray([3]))
    Array([1, 5], dtype=int32)
    """
    return _sum("polyadd", a1, a2, 1)


@composite()
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the difference of two polynomials.

    >>> polysub(asarray([1, 2]), asarray([3]))
    Array([ 1, -1], dtype=int32)
    """
    return _sum("polysub", a1, a2, -1)


def _trimmed(name: str, p: Any, trim: bool) -> Array:
    """Return the vector, without the leading zeros if `trim`."""
    x = atleast_1d(operand(name, p)[0])
    if not trim:
        return x
    if isinstance(x, Tracer):
        raise concrete_value_expected(
            f"{name} cannot trim zeros while tracing: the coefficients are {x.origin()}",
            hint="leave trim_leading_zeros False",
        )
    used = np.flatnonzero(np.asarray(x))
    return x[int(used[0]) :] if len(used) else x[-1:]


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Return the product of two polynomials, as floats.

    >>> polymul(asarray([1.0, 1.0]), asarray([1.0, -1.0]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    x, y = (_trimmed("polymul", v, trim_leading_zeros) for v in (a1, a2))
    x, y = promote_inexact(x, y)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"polymul needs vectors, and got shapes {x.shape} and {y.shape}")
    if not x.size or not y.size:
        return zeros((max(x.size, y.size, 1),), x.dtype)
    return convolve(x, y, precision="highest")


@composite(static_argnames=("m",))
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Return the derivative of order `m` of a polynomial, as floats; raise ArgumentError for m < 0.

    >>> polyder(asarray([1.0, 2.0, 3.0]))
    Array([2., 2.], dtype=float32)
    """
    order = operator.index(m)
    if order < 0:
        raise ArgumentError(f"polyder needs an order >= 0, and got {m}")
    (p,) = promote_inexact(operand("polyder", p)[0])
    if order == 0:
        return asarray(p)
    p = _coefficients("polyder", p)
    degree = shape_of(p)[0] - 1
    powers: Any = (arange if is_symbolic_dim(degree) else np.arange)(degree, order - 1, -1)
    factors = powers * 0.0 + 1.0
    for k in range(order):
        factors = factors * (powers - k)
    result: Array = asarray(p)[:-order] * convert(factors, get_aval(p).dtype)
    return result


@composite(static_argnames=("m",))
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Return the integral of order `m` of a polynomial, as floats, with constants `k` (default 0).

    Raises ArgumentError for m < 0, ShapeError for another number of constants.

    >>> polyint(asarray([2.0, 2.0]))
    Array([1., 2., 0.], dtype=float32)
    """
    order = operator.index(m)
    if order < 0:
        raise ArgumentError(f"polyint needs an order >= 0, and got {m}")
    k = 0 if k is None else k
    p, constants = promote_inexact(operand("polyint", p)[0], operand("polyint", k)[0])
    constants = atleast_1d(constants)
    if order and constants.shape[0] not in (1, order):
        raise ShapeError(f"polyint of order {order} got {constants.shape[0]} constants")
    result = asarray(_coefficients("polyint", p) if order else p)
    for i in range(order):
        constant = constants[i if constants.shape[0] > 1 else 0]
        powers = arange(result.shape[0], 0, -1, dtype=result.dtype)
        result = concatenate([result / powers, atleast_1d(constant)])
    return result


@composite()
def poly(seq_of_zeros: ArrayLike) -> Array:
    """Return the polynomial with given zeros and leading coefficient 1; without zeros, 1.

    For a square matrix it is the characteristic polynomial.  Raises ShapeError for other shapes.

    >>> poly(asarray([1.0, 2.0]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    (zeros_,) = promote_inexact(operand("poly", seq_of_zeros)[0])
    zeros_ = atleast_1d(zeros_)
    if zeros_.shape == (0,):
        return ones((), zeros_.dtype)
    if zeros_.ndim == 2 and zeros_.shape[0] == zeros_.shape[1] > 0:
        # imported here because importing olympus does not import linear algebra
        from olympus_core.library.numpy.linalg.decompositions import eigvals

        zeros_ = eigvals(zeros_)
    if zeros_.ndim != 1:
        raise ShapeError(
            "poly needs a vector of zeros or a square matrix that is not empty, and got "
            f"{zeros_.aval.long_name()}"
        )
    if is_symbolic_dim(zeros_.shape[0]):
        return _poly_by_scan(zeros_)
    result = ones((1,), zeros_.dtype)
    for i in range(zeros_.shape[0]):
        result = convolve(
            result, concatenate([ones((1,), zeros_.dtype), -zeros_[i : i + 1]]), precision="highest"
        )
    return result


def _poly_by_scan(zeros_: Any) -> Array:
    """Return the polynomial with these zeros, whose number is symbolic."""

    def times(coefficients: Any, zero: Any) -> tuple[Any, None]:
        shifted = concatenate([coefficients[:1] * 0, coefficients[:-1]])
        return coefficients - zero * shifted, None

    first = zeros((zeros_.shape[0] + 1,), zeros_.dtype).at[0].set(1)
    result: Array = scan(times, first, zeros_)[0]
    return result


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Return (quotient, remainder) of two polynomials.

    The remainder has the length of `u`, unless `trim_leading_zeros` (not under a trace).

    >>> polydiv(asarray([1.0, 2.0, 3.0]), asarray([1.0, 2.0]))
    (Array([1., 0.], dtype=float32), Array([0., 0., 3.], dtype=float32))
    """
    x, y = promote_inexact(operand("polydiv", u)[0], operand("polydiv", v)[0])
    quotient, remainder = _divided(atleast_1d(x), atleast_1d(y))
    return quotient, _trimmed("polydiv", remainder, trim_leading_zeros)


@composite()
def _divided(u: Any, v: Any) -> tuple[Array, Array]:
    steps = u.shape[0] - v.shape[0] + 1
    quotient = zeros((max_dim(steps, 1),), u.dtype)
    places: Any = (arange if is_symbolic_dim(v.shape[0]) else np.arange)(v.shape[0])

    def step(k: Any, pair: Any) -> Any:
        q, rest = pair
        factor = rest[k] / v[0]
        return q.at[k].set(factor), rest.at[k + places].add(-factor * v)

    result: tuple[Array, Array] = fori_loop(0, max_dim(steps, 0), step, (quotient, u))
    return result


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    *,
    cov: Literal[True, "unscaled"],
) -> tuple[Array, Array]: ...


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    *,
    full: Literal[True],
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> tuple[Array, Array, Array, Array, Array]: ...


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None,
    full: Literal[True],
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> tuple[Array, Array, Array, Array, Array]: ...


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]: ...


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]:
    """Return the polynomial of degree `deg` with the best least-squares fit to points (x, y).

    x: a vector; y: a vector of its length, or a matrix with a set of values in each column.
    rcond: singular values below `rcond` times the greatest count as 0; by default the precision of
    the dtype times the number of points.  w: a weight for each point, which multiplies its
    residual.  full: also return the sum of squared residuals, the rank, the singular values and
    rcond.  cov: also return the covariance matrix of the coefficients, scaled by the residuals
    except for "unscaled".

    The columns of the Vandermonde matrix are scaled to length 1 before the solution.

    Raises ArgumentError for a negative degree, ShapeError for other shapes or no points, and
    for too few points to scale the covariance.

    >>> polyfit(array([0.0, 1.0, 2.0]), array([1.0, 3.0, 5.0]), 1)
    Array([2., 1.], dtype=float32)
    """
    # imported here because importing olympus does not import linear algebra
    from olympus_core.library.numpy.linalg.equations import lstsq

    order = operator.index(deg) + 1
    if order < 1:
        raise ArgumentError(f"polyfit needs a degree >= 0, and got {deg}")
    x, y = promote_inexact(operand("polyfit", x)[0], operand("polyfit", y)[0])
    x, rhs = asarray(x), asarray(y)
    if x.ndim != 1 or not x.size or rhs.ndim not in (1, 2) or rhs.shape[0] != x.shape[0]:
        raise ShapeError(
            "polyfit needs a vector of points, and as many values or rows of values, and got "
            f"{x.aval.long_name()} and {rhs.aval.long_name()}"
        )
    rcond = x.size * float(dtypes.finfo(x.dtype).eps) if rcond is None else rcond
    lhs = vander(x, order)
    if w is not None:
        weights = asarray(operand("polyfit", w)[0])
        if weights.shape != x.shape:
            raise ShapeError(
                f"polyfit needs a weight for each of {x.size} points, and got "
                f"{weights.aval.long_name()}"
            )
        lhs = lhs * weights[:, None]
        rhs = rhs * (weights[:, None] if rhs.ndim == 2 else weights)
    scale = sqrt(sum_(lhs * lhs, axis=0))
    scale = where(scale == 0, 1, scale)
    lhs = lhs / scale
    fitted, residuals, rank, singular = lstsq(lhs, rhs, rcond)
    c = (fitted.T / scale).T
    if full:
        return c, residuals, rank, singular, asarray(rcond)
    return (c, _covariance(lhs, scale, residuals, rhs.ndim, cov)) if cov else c


def _covariance(lhs: Any, scale: Any, residuals: Any, ndim: int, cov: bool | str) -> Array:
    from olympus_core.library.numpy.linalg.equations import inv

    points, order = lhs.shape
    base = inv(lhs.T @ lhs) / (scale[:, None] * scale)
    factor = ones((), base.dtype)
    if cov != "unscaled":
        if points <= order:
            raise ShapeError(
                f"polyfit of degree {order - 1} needs more than {order} points to scale the "
                f"covariance, and got {points}"
            )
        factor = residuals / (points - order)
    result: Array = base * factor if ndim == 1 else base[:, :, None] * factor
    return result


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Return the zeros of a polynomial, complex, as the eigenvalues of its companion matrix.

    strip_zeros: remove leading and trailing zeros first, which needs values: under a trace it must
    be False, and the last roots are then nan, one for each leading coefficient of 0.

    Raises ShapeError for an array that is not a vector, ConcretizationTypeError for a traced one
    with `strip_zeros`.

    >>> roots(array([1.0, -3.0, 2.0]))
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    (p,) = promote_inexact(operand("roots", p)[0])
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ShapeError(f"roots needs a vector of coefficients, and got {p.aval.long_name()}")
    if not strip_zeros:
        return _roots_and_nans(p)
    if isinstance(p, Tracer):
        raise concrete_value_expected(
            f"roots cannot strip zeros while tracing: the coefficients are {p.origin()}",
            hint="pass strip_zeros=False",
        )
    used = np.flatnonzero(np.asarray(p))
    if not len(used):
        return zeros((0,), dtypes.to_complex(p.dtype))
    nonzero_roots = _roots(p[int(used[0]) : int(used[-1]) + 1])
    return concatenate([nonzero_roots, zeros((p.size - 1 - int(used[-1]),), nonzero_roots.dtype)])


def _roots_and_nans(p: Any) -> Array:
    """Return as many roots as the length allows: nan for each leading coefficient of 0."""
    is_leading = (p != 0).cumsum() == 0
    missing = is_leading.sum()
    found = _roots(where(is_leading.all(), ones_like(p), roll(p, -missing)))
    found = found[argsort(found == 0)]  # each leading zero became a trailing one: a root of 0
    is_root = arange(found.size) < found.size - missing
    return where(is_root, found, asarray(complex("nan+nanj"), found.dtype))


def _roots(p: Any) -> Array:
    from olympus_core.library.numpy.linalg.decompositions import eigvals

    degree = p.shape[0] - 1
    if degree < 1:
        return zeros((0,), dtypes.to_complex(p.dtype))
    below = diag(ones((degree - 1,), p.dtype), -1)
    row = convert(-p[1:] / p[0], p.dtype)
    companion = concatenate([row[None], below[1:]])
    return eigvals(companion)
