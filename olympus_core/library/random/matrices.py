"""Samples that are computed with matrices: orthogonal ones, and correlated normal vectors."""

from __future__ import annotations

import operator
from typing import Any

from olympus_core.base.avals import Shape, canonical_shape, get_aval
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.numpy.creation.matrices import diagonal
from olympus_core.library.numpy.elementwise.arithmetic import add, multiply, sign
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.linalg.decompositions import cholesky, eigh, qr, svd
from olympus_core.library.numpy.manipulation.shapes import expand_dims
from olympus_core.library.numpy.manipulation.transposing import matrix_transpose
from olympus_core.library.numpy.products.einsum import einsum
from olympus_core.library.promotion import broadcast_shapes, check_arrays, promote_inexact
from olympus_core.library.random.keys import KeyLike, one_key
from olympus_core.library.random.normal import normal_floats
from olympus_core.library.random.uniform import float_dtype

_METHODS = ("svd", "eigh", "cholesky")


@composite(static_argnums=(1, 2, 3, 4))
def _orthogonal(key: Any, rows: int, columns: int, shape: Shape, dtype: DType) -> Array:
    """Return the factor Q of a normal matrix; its columns have the signs for which R > 0.

    F. Mezzadri, "How to generate random matrices from the classical compact groups", Notices of
    the AMS 54(5), 2007.
    """
    z = normal_floats(key, (*shape, max(rows, columns), min(rows, columns)), dtype)
    q, r = qr(z)
    x: Array = multiply(q, expand_dims(sign(diagonal(r, axis1=-2, axis2=-1)), -2))
    return matrix_transpose(x) if rows < columns else x


@out_sharded
def orthogonal(
    key: KeyLike,
    n: int,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return matrices of shape (n, m), by default (n, n), with orthonormal rows or columns.

    They are drawn evenly from the orthogonal group, or from the unitary group for a complex dtype.
    shape: the axes before those of the matrices.

    Raises ArgumentError for a dtype that is neither float nor complex.

    >>> orthogonal(key(0), 3, (2,)).shape
    (2, 3, 3)
    """
    words = one_key("orthogonal", key)
    rows = operator.index(n)
    columns = rows if m is None else operator.index(m)
    kind = float_dtype("orthogonal", dtype, "fc")
    return _orthogonal(words, rows, columns, canonical_shape(shape), kind)


@composite(static_argnums=(3, 4, 5))
def _multivariate(key: Any, mean: Any, cov: Any, shape: Shape, dtype: DType, method: str) -> Array:
    if method == "svd":
        u, s, _ = svd(cov)
        factor: Any = multiply(u, expand_dims(sqrt(s), -2))
    elif method == "eigh":
        w, v = eigh(cov)
        factor = multiply(v, expand_dims(sqrt(w), -2))
    else:
        factor = cholesky(cov)
    samples = normal_floats(key, shape, dtype)
    return add(mean, einsum("...ij,...j->...i", factor, samples))


@out_sharded
def multivariate_normal(
    key: KeyLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return normal vectors of a mean and a covariance.

    mean: shape (..., n).  cov: a positive definite matrix of shape (..., n, n), or a positive
    semidefinite one with the method "svd" or "eigh".  shape: that of the result without its last
    axis; by default the broadcast axes of `mean` and `cov`.  method: the factorization of `cov`.

    Raises ShapeError for shapes that do not match, and ArgumentError for another method or dtype.

    >>> multivariate_normal(key(0), ones(2), eye(2), (5,)).shape
    (5, 2)
    """
    words = one_key("multivariate_normal", key)
    check_arrays("multivariate_normal", mean, cov)
    mean, cov = promote_inexact(mean, cov)
    if method not in _METHODS:
        names = ", ".join(map(repr, _METHODS))
        raise ArgumentError(f"method must be one of {{{names}}}, and is {method!r}")
    kind = float_dtype("multivariate_normal", get_aval(mean).dtype if dtype is None else dtype)
    sizes, square = get_aval(mean).shape, get_aval(cov).shape
    if not sizes:
        raise ShapeError("multivariate_normal requires mean.ndim >= 1, got mean.ndim == 0")
    if len(square) < 2:
        raise ShapeError(
            f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {len(square)}"
        )
    if square[-2:] != (sizes[-1], sizes[-1]):
        raise ShapeError(
            "multivariate_normal requires cov.shape == (..., n, n) for "
            f"n={sizes[-1]}, but got cov.shape == {square}."
        )
    batch = broadcast_shapes(sizes[:-1], square[:-2])
    if shape is not None:
        shape = canonical_shape(shape)
        if broadcast_shapes(shape, batch) != shape:
            raise ShapeError(
                f"multivariate_normal: the shape {shape} does not match the axes {batch} of mean "
                "and cov"
            )
        batch = shape
    return _multivariate(words, mean, cov, (*batch, sizes[-1]), kind, method)
