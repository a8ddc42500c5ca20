"""Linear equations, inverses, and results of singular values: `solve`, `lstsq`, `matrix_rank`.

Matrices are the last two axes of arrays; integers become floats.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axes
from olympus_core.library.composite import composite
from olympus_core.library.lax.linalg import symmetrized
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.elementwise.logic import isnan, not_equal
from olympus_core.library.numpy.linalg.decompositions import inexact, svd, svdvals
from olympus_core.library.numpy.linalg.norms import norm
from olympus_core.library.numpy.manipulation.shapes import ravel, reshape
from olympus_core.library.numpy.manipulation.transposing import transpose
from olympus_core.library.numpy.reductions.sums import any as any_
from olympus_core.library.numpy.reductions.sums import max as max_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.library.solving import inverse, solve_each
from olympus_core.primitives.linalg.algebra import adjoint, conj, dot, solve_by_lu


@composite()
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solve a x = b for x, for square matrices a of (..., m, m), by LU decomposition.

    b: a vector (m,), or matrices (..., m, k); the batch axes broadcast.

    Raises ShapeError if the shapes do not match.

    >>> solve(asarray([[2.0, 0.0], [0.0, 4.0]]), asarray([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    (a, _), (b, _) = operand("solve", a), operand("solve", b)
    a, b = promote_inexact(a, b)
    return solve_each("solve", solve_by_lu, a, b)


@composite()
def inv(a: ArrayLike) -> Array:
    """Return the inverses of square matrices; for equations `solve` is faster and more exact.

    Raises ShapeError for matrices that are not square.

    >>> inv(asarray([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return inverse(inexact("inv", a, square=True))


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Return the inverse of `a` as a linear map, from its axes after `ind` to its first `ind` axes.

    Raises ArgumentError for `ind` below 1, ShapeError if the sizes of both groups differ.

    >>> tensorinv(np.eye(4).reshape(4, 2, 2), 1).shape
    (2, 2, 4)
    """
    a, _ = operand("tensorinv", a)
    shape, count = shape_of(a), operator.index(ind)
    if count <= 0:
        raise ArgumentError(f"tensorinv needs 1 axis or more to invert to, and got ind={ind}")
    size = math.prod(shape[:count])
    if size != math.prod(shape[count:]):
        raise ShapeError(
            f"tensorinv needs as many elements in the first {count} axes as in the others, "
            f"and got shape {shape}"
        )
    return reshape(inv(reshape(a, (size, size))), (*shape[count:], *shape[:count]))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solve tensordot(a, x, x.ndim) = b for x; `axes` of a are moved to its end first.

    Raises ShapeError if the shapes do not match.

    >>> tensorsolve(np.eye(4).reshape(4, 2, 2), asarray([1.0, 2.0, 3.0, 4.0]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    (a, _), (b, _) = operand("tensorsolve", a), operand("tensorsolve", b)
    if axes is not None:
        rank = len(shape_of(a))
        last = canonical_axes(tuple(axes), rank)
        a = transpose(a, (*(i for i in range(rank) if i not in last), *last))
    shape, b_shape = shape_of(a), shape_of(b)
    x_shape, size = shape[len(b_shape) :], math.prod(b_shape)
    if shape[: len(b_shape)] != b_shape or math.prod(x_shape) != size:
        raise ShapeError(
            f"tensorsolve needs b of the first axes of a, and as many elements in a's other axes, "
            f"and got a of shape {shape} and b of shape {b_shape}"
        )
    return reshape(solve(reshape(a, (size, size)), ravel(b)), x_shape)


def _epsilon(x: Any) -> float:
    return float(dtypes.finfo(dtypes.to_real(get_aval(x).dtype)).eps)


def _one_of(name: str, first: Any, second: Any, names: str) -> Any:
    if first is not None and second is not None:
        raise ArgumentError(f"{name} takes one of {names}, and got both")
    return second if first is None else first


@composite(static_argnames=("hermitian",))
def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """Return the number of singular values of matrices that are above `rtol`.

    rtol: by default the greatest singular value times max(m, n) times the dtype's epsilon; `tol`
    is another name of it.  The rank of a vector or a number is 1, or 0 if it is zero.

    Raises ArgumentError if both are given.

    >>> matrix_rank(asarray([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int32)
    """
    bound = _one_of("matrix_rank", rtol, tol, "'rtol' and 'tol'")
    x, aval = operand("matrix_rank", M)
    if aval.ndim < 2:
        return convert(any_(not_equal(x, 0)), np.dtype("int32"))
    s = svd(x, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if bound is None:
        bound = max_(s, axis=-1, initial=0) * (max(aval.shape[-2:]) * _epsilon(s))
    return sum_(s > asarray(bound)[..., None], axis=-1)


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Return the pseudo-inverses (..., n, m) of matrices (..., m, n), by their singular values.

    rtol: singular values below it times the greatest count as zero; by default 10 max(m, n) times
    the dtype's epsilon; `rcond` is another name of it.  hermitian: a is Hermitian.

    Raises ArgumentError if both are given.

    >>> pinv(asarray([[2.0, 0.0], [0.0, 0.0]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    bound = _one_of("pinv", rtol, rcond, "'rtol' and 'rcond'")
    return _bounded_pinv(inexact("pinv", a, square=hermitian), bound, hermitian=hermitian)


@composite(static_argnames=("hermitian",))
def _bounded_pinv(a: Any, bound: Any, *, hermitian: bool) -> Array:
    if bound is None:
        bound = 10 * max(shape_of(a)[-2:]) * _epsilon(a)
    if hermitian:
        a = symmetrized(a)
    result: Array = _pinv(a, convert(asarray(bound), dtypes.to_real(get_aval(a).dtype)))
    return result


@custom_jvp
def _pinv(a: Any, bound: Any) -> Any:
    u, s, vh = svd(a, full_matrices=False)
    if not s.size:
        return adjoint(a)
    is_significant = s > bound[..., None] * s[..., :1]
    scale = convert(where(is_significant, 1 / where(is_significant, s, 1), 0), get_aval(a).dtype)
    return dot(adjoint(vh), scale[..., :, None] * adjoint(u))


@_pinv.defjvp
def _pinv_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Compute dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P.

    Source: G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least
    squares problems whose variables separate", SIAM J. Numer. Anal. 10 (1973).
    """
    (a, bound), da = primals, tangents[0]
    p = _pinv(a, bound)
    back = adjoint(da)
    first = dot(dot(p, adjoint(p)), back)
    second = dot(back, dot(adjoint(p), p))
    inner = dot(dot(p, da), p)
    first = first - dot(first, dot(a, p))
    second = second - dot(dot(p, a), second)
    return p, first + second - inner


@composite()
def _lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any]:
    """Return the solution, the rank and the singular values."""
    u, s, vh = svd(a, full_matrices=False)
    if rcond is None:
        bound: ArrayLike = _epsilon(s) * max(shape_of(a))
    else:
        rcond = asarray(rcond)
        bound = where(rcond < 0, _epsilon(s), rcond)
    is_significant = (s > 0) & (s >= convert(asarray(bound), get_aval(s).dtype) * s[0])
    scale = convert(where(is_significant, 1 / where(is_significant, s, 1), 0), get_aval(a).dtype)
    x = dot(conj(vh), scale[:, None] * dot(conj(u), b, swap_a=True), swap_a=True)
    return x, sum_(is_significant), s


@composite()
def _residuals(a: Any, x: Any, b: Any) -> Any:
    return norm(b - dot(a, x), axis=0) ** 2


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Return the shortest x of least |a x - b|, by the singular values of a, (m, n).

    b: (m,), or (m, k) for k right-hand sides.  rcond: singular values below it times the greatest
    count as zero; by default max(m, n) times the dtype's epsilon.  numpy_resid: return no residuals
    in the cases of NumPy; this needs a known rank, and so is not possible under `jit`.

    Returns x, the squared residuals (k,), the rank, and the singular values.  Raises ShapeError
    if the shapes do not match.

    >>> lstsq(asarray([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), asarray([1.0, 4.0, 0.0]))[0]
    Array([1., 2.], dtype=float32)
    """
    (a, a_aval), (b, b_aval) = operand("lstsq", a), operand("lstsq", b)
    if a_aval.ndim != 2 or b_aval.ndim not in (1, 2) or b_aval.shape[0] != a_aval.shape[0]:
        raise ShapeError(
            f"lstsq needs a of (m, n) and b of (m,) or (m, k), and got {a_aval.long_name()} and "
            f"{b_aval.long_name()}"
        )
    a, b = promote_inexact(a, b)
    (rows, columns), vector = a_aval.shape, b_aval.ndim == 1
    b = reshape(b, (rows, 1)) if vector else b
    if rows and columns:
        x, rank, s = _lstsq(a, b, rcond)
    else:
        x = zeros((columns, *shape_of(b)[1:]), get_aval(a).dtype)
        rank, s = zeros((), dtypes.default_dtype("i")), zeros(0, dtypes.to_real(get_aval(a).dtype))
    if numpy_resid and (rows <= columns or int(rank) < columns):
        residuals: Array = asarray([])
    else:
        residuals = _residuals(a, x, b)
    return ravel(x) if vector else x, residuals, rank, s


@composite(static_argnames=("p",))
def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """Return the condition number of matrices: the norm times the norm of the inverse.

    p: an order of `norm`, or None or 2 for the greatest singular value over the least.

    Raises ShapeError for matrices that are empty, or not square if p needs an inverse.

    >>> cond(asarray([[1.0, 0.0], [0.0, 4.0]]))
    Array(4., dtype=float32)
    """
    x = inexact("cond", x)
    shape = shape_of(x)
    if not shape[-1] or not shape[-2]:
        raise ShapeError(f"cond needs matrices with elements, and got shape {shape}")
    if p in (None, 2, -2):
        s = svdvals(x)
        if p != -2:
            return s[..., 0] / s[..., -1]
        ratio = s[..., -1] / s[..., 0]
    else:
        size = functools.partial(norm, ord=p, axis=(-2, -1))
        ratio = size(x) * size(inv(x))
    undefined = isnan(ratio) & ~any_(isnan(x), axis=(-2, -1))
    return where(undefined, np.inf, ratio)
