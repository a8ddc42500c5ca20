"""`qdwh`, the polar decomposition by a dynamically weighted Halley iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import while_loop
from olympus_core.library.lax.linalg import cholesky, matrices, qr, triangular_solve
from olympus_core.library.lax.reduction import reduce_max, reduce_sum
from olympus_core.library.lax.shape import broadcast_in_dim, broadcasted_iota, full
from olympus_core.library.lax.slicing import concatenate, slice_in_dim
from olympus_core.library.operands import align, choose, scalar
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.primitives.dot import dot_general_p
from olympus_core.primitives.linalg.algebra import adjoint
from olympus_core.primitives.precision import Precision


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return u, h, the number of iterations and whether they converged, with x = u h.

    x: a matrix (m, n) of full rank with m >= n.  u has orthonormal columns, and h (n, n) is
    positive semidefinite.  is_hermitian: `x` is Hermitian, and so is u.  max_iterations: by default
    10.
    eps: the relative change at which the iteration ends, by default that of the dtype.
    dynamic_shape: the sizes of the part of `x` that counts, which may be traced.

    Raises ShapeError for other shapes, and ArgumentError for a number of iterations that is not
    positive.

    Y. Nakatsukasa, Z. Bai and F. Gygi, "Optimizing Halley's iteration for computing the matrix
    polar decomposition", SIAM J. Matrix Anal. Appl. 31(5), 2010.

    >>> qdwh(asarray([[0.0, -2.0], [3.0, 0.0]]))[1]
    Array([[3., 0.],
           [0., 2.]], dtype=float32)
    """
    (x,) = promote_inexact(matrices("qdwh", x, square=is_hermitian))
    shape = get_aval(x).shape
    if len(shape) != 2 or shape[0] < shape[1]:
        raise ShapeError(f"qdwh needs a matrix with no fewer rows than columns, and got {shape}")
    limit = 10 if max_iterations is None else max_iterations
    if limit <= 0:
        raise ArgumentError(f"qdwh needs a positive max_iterations, and got {limit}")
    u, h, count, converged = _iterated(x, dynamic_shape, bool(is_hermitian), int(limit), eps)
    return u, h, count, converged


def _product(x: Any, y: Any) -> Any:
    return dot_general_p.bind(
        x,
        y,
        dimension_numbers=(((1,), (0,)), ((), ())),
        precision=(Precision.HIGHEST, Precision.HIGHEST),
        preferred_element_type=None,
    )


def _weights(least: float) -> Iterator[tuple[float, float, float]]:
    """Yield the weights a, b, c of each step, for singular values from `least` to 1."""
    while True:
        square = least * least
        root = (4 * (1 / square - 1) / square) ** (1 / 3) if least < 1 else 0.0
        inner = math.sqrt(1 + root)
        a = inner + math.sqrt(max(8 - 4 * root + 8 * (2 - square) / (square * inner), 0)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        yield a, b, c
        least = min(least * (a + b * square) / (1 + c * square), 1.0)


@composite(static_argnums=(2, 3, 4))
def _iterated(x: Any, sizes: Any, is_hermitian: bool, limit: int, eps: float | None) -> Any:
    dtype = get_aval(x).dtype
    real_dtype = dtypes.to_real(dtype)
    tolerance = float(dtypes.finfo(dtype).eps) if eps is None else float(eps)
    if sizes is not None:
        x = _part(x, sizes)
    magnitude = lax.abs(x)
    norms = [reduce_max(reduce_sum(magnitude, (i,)), (0,)) for i in (0, 1)]
    norm = lax.sqrt(lax.mul(*norms))
    zero, one = scalar(0, real_dtype), scalar(1, real_dtype)
    norm = choose("qdwh", lax.eq(norm, zero), one, norm)
    u = _scaled(x, lax.div(one, norm))
    steps, is_complete = [], False
    weights = _weights(float(dtypes.finfo(dtype).eps))
    for _, (a, b, c) in zip(range(limit), weights, strict=False):
        steps.append((a, b, c))
        is_complete = a - 3 < 1e-2  # the weights of Halley's iteration, which do not change
        if is_complete:
            break
    for a, b, c in steps[:-1]:
        u = _step(u, a, b, c, is_hermitian)
    done = len(steps) - 1
    bound = scalar((4 * tolerance) ** (1 / 3), real_dtype)

    def continues(state: Any) -> Any:
        i, _, change = state
        return lax.bitwise_and(lax.lt(i, np.int32(limit)), lax.gt(change, bound))

    def step(state: Any) -> Any:
        i, u, _ = state
        following = _step(u, *steps[-1], is_hermitian)
        difference = lax.abs(lax.sub(following, u))
        size = lax.sqrt(reduce_sum(lax.mul(difference, difference), (0, 1)))
        return lax.add(i, np.int32(1)), following, size

    start = (full((), done, np.dtype("int32")), u, full((), np.inf, real_dtype))
    count, u, change = while_loop(continues, step, start)
    # one step of Newton and Schulz: the columns become orthonormal to rounding
    gram = _product(adjoint(u), u)
    u = lax.sub(
        _scaled(u, scalar(1.5, real_dtype)), _scaled(_product(u, gram), scalar(0.5, real_dtype))
    )
    h = _product(adjoint(u), x)
    h = _scaled(lax.add(h, adjoint(h)), scalar(0.5, real_dtype))
    return u, h, count, lax.bitwise_and(lax.le(change, bound), np.bool_(is_complete))


def _part(x: Any, sizes: Any) -> Any:
    """Return the matrix with zeros outside of its first rows and columns."""
    shape = get_aval(x).shape
    for axis, size in enumerate(sizes):
        index = broadcasted_iota("int32", shape, axis)
        x = choose("qdwh", lax.lt(*align("qdwh", index, convert(size, np.dtype("int32")))), x, 0)
    return x


def _scaled(x: Any, factor: Any) -> Any:
    aval = get_aval(x)
    return lax.mul(x, broadcast_in_dim(convert(factor, aval.dtype), aval.shape, ()))


def _step(u: Any, a: float, b: float, c: float, is_hermitian: bool) -> Any:
    """Return u (a + b u^H u) / (1 + c u^H u): by a QR decomposition for a large c."""
    aval = get_aval(u)
    rows, columns = aval.shape
    index = [broadcasted_iota("int32", (columns, columns), i) for i in (0, 1)]
    eye = convert(lax.eq(*index), aval.dtype)
    if c > 100:
        stacked = concatenate([_scaled(u, scalar(math.sqrt(c), aval.dtype)), eye], 0)
        q = qr(stacked, full_matrices=False)[0]
        upper, lower = slice_in_dim(q, 0, rows), slice_in_dim(q, rows, rows + columns)
        part = _product(upper, adjoint(lower))
        factor = (a - b / c) / math.sqrt(c)
    else:
        z = lax.add(eye, _scaled(_product(adjoint(u), u), scalar(c, aval.dtype)))
        factor_of_z = cholesky(z, symmetrize_input=False)
        half = triangular_solve(factor_of_z, adjoint(u), left_side=True, lower=True)
        solved = triangular_solve(
            factor_of_z, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True
        )
        part = adjoint(solved)
        factor = a - b / c
    following = lax.add(
        _scaled(u, scalar(b / c, aval.dtype)), _scaled(part, scalar(factor, aval.dtype))
    )
    if not is_hermitian:
        return following
    return _scaled(lax.add(following, adjoint(following)), scalar(0.5, aval.dtype))
