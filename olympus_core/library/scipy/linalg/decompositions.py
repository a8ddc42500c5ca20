"""Decompositions of matrices, with the signatures of `olympus.scipy.linalg`.

Matrices are the last two axes of arrays; integers become floats.  SciPy's switches for memory and
checks (`overwrite_a`, `check_finite` and such) have no effect.
"""

from __future__ import annotations

from typing import Literal, overload

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import min_dim
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import linalg
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.linalg import decompositions
from olympus_core.library.numpy.linalg.decompositions import inexact
from olympus_core.library.promotion import convert
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    block,
    conj,
    dot,
    eye,
    inverse_order,
    take_rows,
    triangle,
)


@composite(static_argnames=("lower", "overwrite_a", "check_finite"))
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Return upper triangular U with U^H U = a, or L with L L^H = a if `lower`; NaN if none.

    Only that triangle of `a` is read.  Raises ShapeError for matrices that are not square.

    >>> cholesky(array([[4.0, 2.0], [2.0, 2.0]]), lower=True)
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    a = inexact("cholesky", asarray(a), square=True)
    factor = linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Return `cholesky(a, lower)` and `lower`, the arguments of `cho_solve`.

    >>> cho_factor(array([[4.0, 2.0], [2.0, 2.0]]), lower=True)[1]
    True
    """
    return cholesky(a, lower=lower), lower


@composite(static_argnames=("overwrite_a", "check_finite"))
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Return L and U in one array, and the pivots, for `lu_solve`; see `lax.linalg.lu`.

    >>> lu_factor(array([[1.0, 2.0], [2.0, 2.0]]))[1]
    Array([1, 1], dtype=int32)
    """
    factors, pivots, _ = linalg.lu(inexact("lu_factor", asarray(a)))
    return factors, pivots


@composite(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """Return P, L and U with P L U = a: a permutation matrix, unit lower and upper triangular.

    permute_l: return (P L, U).  `a` is (m, n); L is (m, k) and U (k, n) with k = min(m, n).

    >>> lu(array([[1.0, 2.0], [2.0, 2.0]]))[2]
    Array([[2., 2.],
           [0., 1.]], dtype=float32)
    """
    a = inexact("lu", asarray(a))
    k = min_dim(*shape_of(a)[-2:])
    factors, _, order = linalg.lu(a)
    low = block(factors, columns=slice(k))
    low = op.add(triangle(low, lower=True, strict=True), eye(low))
    upper = triangle(block(factors, slice(k)), lower=False)
    back = inverse_order(order)
    if permute_l:
        return take_rows(low, back), upper
    rows = shape_of(a)[-2]
    permutation = zeros((*shape_of(a)[:-2], rows, rows), dtypes.to_real(get_aval(a).dtype))
    return take_rows(eye(permutation), back), low, upper


@composite(static_argnames=("overwrite_a", "lwork", "mode", "pivoting", "check_finite"))
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Return Q and R with Q R = a of (m, n), and the columns' permutation if `pivoting`.

    mode: "full" for Q of (m, m), "economic" for Q of (m, k) and R of (k, n) with k = min(m, n), or
    "r" for R of (m, n) alone, in a tuple.  Raises ArgumentError for another.

    >>> qr(array([[3.0, 1.0], [4.0, 2.0], [0.0, 1.0]]), mode="economic")[0].shape
    (3, 2)
    """
    if mode not in ("full", "economic", "r"):
        raise ArgumentError(f"qr has the modes 'full', 'economic' and 'r', and not {mode!r}")
    factors = linalg.qr(
        inexact("qr", asarray(a)), pivoting=pivoting, full_matrices=mode != "economic"
    )
    return factors[1:] if mode == "r" else factors


@overload
def eigh(
    a: ArrayLike,
    b: None = None,
    lower: bool = True,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...


@overload
def eigh(
    a: ArrayLike,
    b: None = None,
    lower: bool = True,
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array: ...


@overload
def eigh(
    a: ArrayLike,
    b: None,
    lower: bool,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array: ...


@overload
def eigh(
    a: ArrayLike,
    b: None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]: ...


@composite(
    static_argnames=(
        "lower",
        "eigvals_only",
        "overwrite_a",
        "overwrite_b",
        "turbo",
        "eigvals",
        "type",
        "check_finite",
    )
)
def eigh(
    a: ArrayLike,
    b: None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """Return the ascending eigenvalues w and the eigenvectors v, as columns, of Hermitian matrices.

    Returns (w, v), or w if `eigvals_only`.  Raises UnsupportedError for a problem with a second
    matrix `b`, of another `type`, or for a subset of the values.

    >>> eigh(array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    refused = {"b=None": b is not None, "eigvals=None": eigvals is not None, "type=1": type != 1}
    for case, is_other in refused.items():
        if is_other:
            raise UnsupportedError(f"Only the {case} case of eigh is implemented")
    v, w = linalg.eigh(inexact("eigh", asarray(a), square=True), lower=lower)
    return w if eigvals_only else (w, v)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array]: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]: ...


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, ...]:
    """Return (U, s, V^H) with U diag(s) V^H = a, or s alone; see `numpy.linalg.svd`.

    >>> svd(array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    a = asarray(a)
    if not compute_uv:
        return decompositions.svd(a, full_matrices, compute_uv=False)
    return tuple(decompositions.svd(a, full_matrices))


@composite(static_argnames=("side", "method", "eps", "max_iterations"))
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Return U with orthonormal columns or rows, and positive semidefinite P, with U P = a.

    side: "left" for P U = a.  Both methods compute the singular value decomposition, so `eps` and
    `max_iterations` have no effect; only "svd" accepts a wide matrix with the side "right", or a
    tall one with "left".  Raises ArgumentError for another side or method, and UnsupportedError
    for a shape that the method does not accept.

    >>> polar(array([[2.0, 0.0], [0.0, 3.0]]))[1]
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if side not in ("left", "right"):
        raise ArgumentError(f"polar has the sides 'left' and 'right', and not {side!r}")
    if method not in ("qdwh", "svd"):
        raise ArgumentError(f"Unknown polar decomposition method {method}: polar has qdwh and svd")
    matrix = inexact("polar", asarray(a))
    rows, columns = shape_of(matrix)[-2:]
    if method == "qdwh" and (rows < columns if side == "right" else rows > columns):
        raise UnsupportedError(
            "method='qdwh' only supports mxn matrices where m < n where side='right' and m >= n "
            f"side='left', got {(rows, columns)} with {side=}",
            hint="pass method='svd'",
        )
    u, s, vh = linalg.svd(matrix, full_matrices=False)
    scale = convert(s, get_aval(u).dtype)
    if side == "right":
        return dot(u, vh), dot(conj(vh), scale[..., :, None] * vh, swap_a=True)
    return dot(u, vh), dot(u * scale[..., None, :], conj(u), swap_b=True)
