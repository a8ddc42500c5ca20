"""Products and updates by orthogonal factors in `olympus.lax.linalg`: `ormqr` and others."""

from __future__ import annotations

from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import scan
from olympus_core.library.lax.dot import dot_general
from olympus_core.library.lax.linalg import qr
from olympus_core.library.lax.reduction import reduce_sum
from olympus_core.library.lax.shape import broadcast_in_dim, broadcasted_iota, reshape
from olympus_core.library.lax.shape import transpose as permuted
from olympus_core.library.lax.slicing import concatenate, slice_in_dim
from olympus_core.library.operands import choose, scalar
from olympus_core.library.promotion import check_arrays


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Multiply `c` by the orthogonal Q of a QR decomposition, given by its reflectors.

    a: (..., m, n), the reflectors below the diagonal; taus: (..., k), their factors.  c: (..., m,
    p), or (..., p, m) if `left` is False: the result is c Q.  transpose: multiply by Q^H.

    Raises ShapeError for other shapes, and DTypeError for different dtypes.

    >>> ormqr(asarray([[1.0], [1.0]]), ones(1), eye(2))
    Array([[ 0., -1.],
           [-1.,  0.]], dtype=float32)
    """
    check_arrays("ormqr", a, taus, c)
    shape, factors, other = (get_aval(x).shape for x in (a, taus, c))
    ranks = len(shape) >= 2 and len(other) == len(shape) == len(factors) + 1
    if not ranks or shape[-2] != other[-2 if left else -1] or factors[-1] > min(shape[-2:]):
        raise ShapeError(
            f"ormqr needs reflectors (..., m, n), factors (..., k) and a matrix with an axis of m, "
            f"and got the shapes {shape}, {factors} and {other}"
        )
    return _multiplied(a, taus, c, left, transpose)


@composite(static_argnums=(3, 4))
def _multiplied(a: Any, taus: Any, c: Any, left: bool, transpose: bool) -> Array:
    """Apply the reflectors I - tau v v^H one after another."""
    aval = get_aval(a)
    rows, count, rank = aval.shape[-2], get_aval(taus).shape[-1], aval.ndim
    columns = slice_in_dim(a, 0, count, axis=rank - 1)
    index = [broadcasted_iota("int32", (rows, count), i) for i in (0, 1)]
    below, diagonal = lax.gt(*index), lax.eq(*index)
    full = get_aval(columns).shape
    below, diagonal = (broadcast_in_dim(m, full, (rank - 2, rank - 1)) for m in (below, diagonal))
    one = scalar(1, aval.dtype)
    v = choose("ormqr", diagonal, one, choose("ormqr", below, columns, scalar(0, aval.dtype)))
    is_complex = dtypes.kind(aval.dtype) == "c"
    taus = lax.conj(taus) if transpose and is_complex else taus
    reflectors = (_in_front(v, rank - 1), _in_front(taus, rank - 2))
    batch = tuple(range(rank - 2))

    def step(x: Any, reflector: Any) -> tuple[Any, None]:
        v, tau = reflector
        v_h = lax.conj(v) if is_complex else v
        axis = rank - 2 if left else rank - 1
        along = dot_general(v_h if left else v, x, (((rank - 2,), (axis,)), (batch, batch)))
        shape = get_aval(x).shape
        column = broadcast_in_dim(v if left else v_h, shape, (*batch, axis))
        row = broadcast_in_dim(along, shape, (*batch, rank - 1 if left else rank - 2))
        factor = broadcast_in_dim(tau, shape, batch)
        return lax.sub(x, lax.mul(factor, lax.mul(column, row))), None

    result: Array = scan(step, c, reflectors, reverse=left != transpose)[0]
    return result


def _in_front(x: Any, axis: int) -> Any:
    rest = [i for i in range(get_aval(x).ndim) if i != axis]
    return permuted(x, (axis, *rest))


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """Return the upper triangular R' with R'^T R' = R^T R + w w^T and a positive diagonal.

    r_matrix: (n, n), upper triangular.  w_vector: (n,).  R' is the factor of a QR decomposition of
    R with the row w.

    Raises ShapeError for other shapes.

    >>> cholesky_update(2 * eye(2), asarray([1.0, 0.0]))
    Array([[2.236068, 0.      ],
           [0.      , 2.      ]], dtype=float32)
    """
    check_arrays("cholesky_update", r_matrix, w_vector)
    shape, length = get_aval(r_matrix).shape, get_aval(w_vector).shape
    if len(shape) != 2 or shape[0] != shape[1] or length != shape[:1]:
        raise ShapeError(
            "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the "
            f"same size as input. Got shapes {shape} and {length} instead"
        )
    return _updated(r_matrix, w_vector)


@composite()
def _updated(r: Any, w: Any) -> Array:
    size = get_aval(w).shape[0]
    stacked = concatenate([r, reshape(w, (1, size))], 0)
    factor = qr(stacked, full_matrices=False)[1]
    index = broadcasted_iota("int32", (size, size), 0)
    is_diagonal = lax.eq(index, broadcasted_iota("int32", (size, size), 1))
    diagonal = reduce_sum(choose("cholesky_update", is_diagonal, factor, 0), (1,))
    dtype = get_aval(factor).dtype
    is_negative = lax.lt(diagonal, scalar(0, dtype))
    sign = choose("cholesky_update", is_negative, scalar(-1, dtype), scalar(1, dtype))
    result: Array = lax.mul(factor, broadcast_in_dim(sign, (size, size), (0,)))
    return result
