"""The linear algebra of `olympus.lax`: factors of matrices, the last two axes of arrays.

The CPU computes them by LAPACK, and other platforms by algorithms on array operations.  If an
algorithm fails, as on a matrix that is not positive definite, the results of that matrix are NaN.
"""

from __future__ import annotations

import enum
from typing import Any, Literal, overload

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import min_dim
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.elementwise.base import elementwise_constant
from olympus_core.primitives.linalg.algebra import adjoint, dot, swap, triangle
from olympus_core.primitives.linalg.base import check_square
from olympus_core.primitives.linalg.cholesky import cholesky_p
from olympus_core.primitives.linalg.eig import eig_p
from olympus_core.primitives.linalg.eigh import eigh_p
from olympus_core.primitives.linalg.lu import lu_p
from olympus_core.primitives.linalg.permutation import lu_pivots_to_permutation_p
from olympus_core.primitives.linalg.qr import householder_product_p, qr_p
from olympus_core.primitives.linalg.svd import svd_p
from olympus_core.primitives.linalg.triangular import triangular_solve_p


class EigImplementation(enum.Enum):
    """The algorithm of `eig`; the CPU supports LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """The algorithm of `eigh`: on the CPU QR (the default) or JACOBI, elsewhere JACOBI."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """The algorithm of `svd`: on the CPU DIVIDE_AND_CONQUER (the default), QR or JACOBI.

    Other platforms always use JACOBI.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ROUTINES = {
    None: "gesdd",
    SvdAlgorithm.DEFAULT: "gesdd",
    SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd",
    SvdAlgorithm.QR: "gesvd",
    SvdAlgorithm.JACOBI: "jacobi",
}


def matrices(name: str, x: Any, *, square: bool = False) -> Any:
    """Return function `name`'s operand of matrices; raise ShapeError or DTypeError otherwise."""
    check_arrays(name, x)
    aval = get_aval(x)
    if aval.ndim < 2:
        raise ShapeError(f"Input 0 to {name} must have rank at least 2, but got shape={aval.shape}")
    if square:
        check_square(name, aval)
    return x


def symmetrized(x: Any) -> Any:
    """Return the mean of matrices and their adjoints."""
    return op.mul(op.add(x, adjoint(x)), elementwise_constant(x, 0.5))


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Return the lower triangular L with L L^H = x, for Hermitian positive-definite matrices x.

    symmetrize_input: use (x + x^H) / 2; if False, only x's lower triangle is read.

    Returns an array of x's shape and dtype; NaN for matrices that are not positive definite.
    Raises ShapeError for matrices that are not square, DTypeError for dtypes other than float32,
    float64 and complex ones.

    >>> cholesky(array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    x = matrices("cholesky", x, square=True)
    return cholesky_p.bind(symmetrized(x) if symmetrize_input else x)


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solve x op(a) = b, or op(a) x = b if `left_side`, for x, with triangular matrices a.

    a: (..., m, m), of which only the triangle that `lower` selects is read; `unit_diagonal`: the
    diagonal is ones, and is not read.  op transposes if `transpose_a`, and conjugates if
    `conjugate_a`.
    b: (..., m, n) if `left_side`, else (..., n, m); or (..., m), a vector for each matrix.

    Returns an array of b's shape.  Raises ShapeError if the shapes do not match, DTypeError for
    different dtypes.

    >>> triangular_solve(array([[2.0, 0.0], [1.0, 1.0]]), array([2.0, 3.0]),
    ...                  left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    check_arrays("triangular_solve", a, b)
    shape, single = shape_of(b), len(shape_of(b)) == len(shape_of(a)) - 1
    if single and shape:
        wide = (*shape, 1) if left_side else (*shape[:-1], 1, shape[-1])
        b = op.reshape(b, dimensions=None, new_sizes=wide)
    out = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and dtypes.kind(get_aval(a).dtype) == "c",
        unit_diagonal=bool(unit_diagonal),
    )
    return op.reshape(out, dimensions=None, new_sizes=shape) if single else out


def lu(x: ArrayLike) -> list[Array]:
    """Return L U = x[permutation] with unit lower triangular L and upper triangular U.

    Returns L (without its diagonal of ones) and U in one array of x's shape (..., m, n); the
    pivots, int32 (..., min(m, n)): row i was swapped with row pivots[i], in turn; and the
    permutation of the rows, int32 (..., m).

    >>> lu(array([[1.0, 2.0], [2.0, 2.0]]))[0]
    Array([[2. , 2. ],
           [0.5, 1. ]], dtype=float32)
    """
    results: list[Array] = lu_p.bind(matrices("lu", x))
    return results


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """Return the permutation of `permutation_size` rows for the pivots of `lu` (int32).

    >>> lu_pivots_to_permutation(array([1, 1]), 3)
    Array([1, 0, 2], dtype=int32)
    """
    check_arrays("lu_pivots_to_permutation", pivots)
    size = int(permutation_size)
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=size)


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, ...]:
    """Return Q and R with Q R = x, orthonormal columns in Q, and upper triangular R.

    full_matrices: Q is (..., m, m) and R (..., m, n) for x of (..., m, n); if False, (..., m, k)
    and (..., k, n) with k = min(m, n).
    pivoting: Q R is x with its columns permuted so that R's diagonal descends in magnitude; the
    permutation, int32 (..., n), is a third result.
    use_magma: has no effect.

    Raises ShapeError for an array of fewer than two axes.

    >>> q, r = qr(array([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(r[0, 0])
    Array(5., dtype=float32)
    """
    x = matrices("qr", x)
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices)))


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """Return the first n columns of the product of reflectors, each given by a column of `a` and
    an element of `taus`, as LAPACK's geqrf returns them.

    a: (..., m, n) with m >= n; taus: (..., k) with k <= n.

    Raises ShapeError for other shapes.

    >>> householder_product(array([[1.0, 0.0], [0.0, 1.0]]), array([2.0, 0.0]))
    Array([[-1.,  0.],
           [-0.,  1.]], dtype=float32)
    """
    check_arrays("householder_product", a, taus)
    return householder_product_p.bind(a, taus)


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Return the eigenvalues of square matrices (..., n, n), unordered, and the eigenvectors.

    enable_eigvec_derivs: let the vectors have a derivative.  It is the derivative of LAPACK's
    choice of a factor for each (length 1, the greatest element real), and is correct where that
    choice is smooth.
    use_magma: has no effect.

    Returns complex arrays: w (..., n), then, as requested, the left vectors l with l^H x = w l^H
    and the right vectors r with x r = w r, as columns.  Raises ArgumentError for an implementation
    that the CPU lacks.

    >>> eig(array([[0.0, 1.0], [-1.0, 0.0]]), compute_left_eigenvectors=False)[0]
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    x = matrices("eig", x, square=True)
    if implementation not in (None, EigImplementation.LAPACK):
        raise ArgumentError(f"eig is computed by EigImplementation.LAPACK, not by {implementation}")
    return list(
        eig_p.bind(
            x,
            left=bool(compute_left_eigenvectors),
            right=bool(compute_right_eigenvectors),
            differentiable=bool(enable_eigvec_derivs),
        )
    )


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of Hermitian matrices (..., n, n).

    symmetrize_input: use (x + x^H) / 2; if False, only the triangle that `lower` selects is read.
    sort_eigenvalues: they ascend even if False.
    implementation: QR, the CPU's default, or JACOBI, by rotations; other platforms have only
    JACOBI.

    Returns v, of x's shape and dtype, whose columns are the vectors, and w, real (..., n).
    Raises ArgumentError for a part of the eigenvalues, or another implementation.

    >>> eigh(array([[2.0, 0.0], [0.0, 1.0]]))[1]
    Array([1., 2.], dtype=float32)
    """
    x = matrices("eigh", x, square=True)
    if implementation not in (None, EighImplementation.QR, EighImplementation.JACOBI):
        raise ArgumentError(f"eigh has the implementations QR and JACOBI, and not {implementation}")
    _check_subset("eigh", subset_by_index, shape_of(x)[-1])
    jacobi = implementation is EighImplementation.JACOBI
    x = symmetrized(x) if symmetrize_input else x
    v, w = eigh_p.bind(x, lower=bool(lower), jacobi=jacobi)
    return v, w


def _check_subset(name: str, subset: tuple[int, int] | None, count: int) -> None:
    if subset is not None and tuple(subset) != (0, count):
        raise UnsupportedError(
            f"subset_by_index not supported: {name} computes all {count} values, and not the "
            f"subset {subset}"
        )


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any: ...
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Return U, s and V^H with U diag(s) V^H = x, orthonormal U and V, and descending s.

    full_matrices: U is (..., m, m) and V^H (..., n, n) for x of (..., m, n); if False, (..., m, k)
    and (..., k, n) with k = min(m, n).

    algorithm: the algorithm of the CPU; see `SvdAlgorithm`.

    Returns (U, s, V^H), or s alone, real (..., k), without `compute_uv`.  Raises ArgumentError for
    a subset of the singular values, or an unknown algorithm.

    >>> svd(array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    x = matrices("svd", x)
    if algorithm not in _ROUTINES:
        raise ArgumentError(
            f"svd has DEFAULT, DIVIDE_AND_CONQUER, QR and JACOBI, and not {algorithm}"
        )
    _check_subset("svd", subset_by_index, min_dim(*shape_of(x)[-2:]))
    s, *uv = svd_p.bind(
        x,
        full_matrices=bool(full_matrices) and bool(compute_uv),
        compute_uv=bool(compute_uv),
        routine=_ROUTINES[algorithm],
    )
    return (uv[0], s, uv[1]) if uv else s


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Return alpha A A^T + beta C, for A of (..., m, n) and symmetric C of (..., m, m).

    symmetrize_output: mirror the result's lower triangle; without it only that triangle is valid.

    Raises ShapeError if the shapes do not match.

    >>> symmetric_product(array([[1.0, 2.0]]), array([[1.0]]), alpha=2.0, beta=3.0)
    Array([[13.]], dtype=float32)
    """
    a, c = matrices("symmetric_product", a_matrix), matrices("symmetric_product", c_matrix)
    if shape_of(c) != (*shape_of(a)[:-1], shape_of(a)[-2]):
        raise ShapeError(
            "symmetric_update expects a rectangular matrix of shape (m, n) and a square matrix of "
            f"shape (m, m). Got shapes {shape_of(a)} and {shape_of(c)}."
        )
    out = op.mul(dot(a, a, swap_b=True), convert(alpha, get_aval(a).dtype))
    out = op.add(out, op.mul(c, convert(beta, get_aval(c).dtype)))
    if symmetrize_output:
        low = triangle(out, lower=True, strict=True)
        out = op.add(triangle(out, lower=True), swap(low))
    return out  # type: ignore[no-any-return]
