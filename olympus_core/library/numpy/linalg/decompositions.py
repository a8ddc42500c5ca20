"""Decompositions of matrices: Cholesky, QR, eigenvalues, singular values.

Matrices are the last two axes of arrays; integers become floats.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import linalg
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import sign
from olympus_core.library.numpy.indexing.taking import take_along_axis
from olympus_core.library.numpy.sorting.sorting import argsort
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.primitives.linalg.algebra import adjoint, swap


class QRResult(NamedTuple):
    """The result of `qr`: Q R is the matrix."""

    Q: Array
    R: Array


class EigResult(NamedTuple):
    """The result of `eig`: column i of the vectors is the eigenvector of value i."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """The result of `eigh`: column i of the vectors is the eigenvector of value i."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """The result of `svd`: U diag(S) Vh is the matrix."""

    U: Array
    S: Array
    Vh: Array


def inexact(name: str, x: ArrayLike, *, square: bool = False) -> Any:
    """Return matrices as floats or complex; raise ShapeError, naming `name`, for other arrays."""
    x, _ = operand(name, x)
    (x,) = promote_inexact(x)
    return linalg.matrices(name, x, square=square)


@composite(static_argnames=("upper", "symmetrize_input"))
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Return the lower triangular L with L L^H = a, or its adjoint if `upper`; NaN if none.

    symmetrize_input: use (a + a^H) / 2; if False, only a's lower triangle is read.

    Raises ShapeError for matrices that are not square.

    >>> cholesky(asarray([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    factor = linalg.cholesky(inexact("cholesky", a, square=True), symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


@overload
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete", "full", "raw"] = "reduced"
) -> QRResult: ...


@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...


@overload
def qr(a: ArrayLike, mode: str) -> Array | QRResult: ...


@composite(static_argnames=("mode",))
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """Return Q with orthonormal columns and upper triangular R, Q R = a of (..., m, n).

    mode: "reduced" (Q (..., m, k) and R (..., k, n), k = min(m, n)), "complete" (Q (..., m, m) and
    R (..., m, n)), "r" (R alone, reduced), or "raw" (LAPACK's reflectors, transposed, and their
    factors).  Raises ArgumentError for another mode.

    >>> q, r = qr(asarray([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(r[0, 0])
    Array(5., dtype=float32)
    """
    a = inexact("qr", a)
    if mode == "raw":
        reflectors, taus = op.geqrf(a)
        return QRResult(swap(reflectors), taus)
    if mode not in ("reduced", "complete", "full", "r"):
        raise ArgumentError(f"qr has the modes 'reduced', 'complete', 'r' and 'raw', not {mode!r}")
    q, r = linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@composite()
def eig(a: ArrayLike) -> EigResult:
    """Return the eigenvalues and the eigenvectors, as columns, of square matrices, both complex.

    The vectors have no derivative; see `lax.linalg.eig`.  Raises ShapeError for matrices that are
    not square.

    >>> eig(asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    a = inexact("eig", a, square=True)
    return EigResult(*linalg.eig(a, compute_left_eigenvectors=False))


@composite()
def eigvals(a: ArrayLike) -> Array:
    """Return the eigenvalues of square matrices, complex, unordered; see `eig`.

    >>> eigvals(asarray([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    a = inexact("eigvals", a, square=True)
    return linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@composite(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Return the ascending eigenvalues and the eigenvectors, as columns, of Hermitian matrices.

    symmetrize_input: use (a + a^H) / 2; if False, only the lower triangle is read, or the upper
    one if UPLO is "U".

    Raises ArgumentError for another UPLO, ShapeError for matrices that are not square.

    >>> eigh(asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    if UPLO not in (None, "L", "U"):
        raise ArgumentError(f"eigh needs 'L' or 'U' as UPLO, and got {UPLO!r}")
    a = inexact("eigh", a, square=True)
    v, w = linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@composite(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Return the ascending eigenvalues of Hermitian matrices; see `eigh`.

    >>> eigvalsh(asarray([[2.0, 0.0], [0.0, 1.0]]))
    Array([1., 2.], dtype=float32)
    """
    values: Array = eigh(a, UPLO, symmetrize_input).eigenvalues
    return values


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult: ...


@composite(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """Return U, S and Vh with U diag(S) Vh = a, orthonormal U and Vh, and descending S.

    full_matrices: U is (..., m, m) and Vh (..., n, n) for a of (..., m, n); if False, (..., m, k)
    and (..., k, n) with k = min(m, n).
    hermitian: a is Hermitian, and is decomposed by `eigh`.

    Returns U, S (real) and Vh; S alone without `compute_uv`.  Raises ArgumentError for a subset of
    the singular values.

    >>> svd(asarray([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    a = inexact("svd", a, square=hermitian)
    if hermitian:
        return _hermitian_svd(a, compute_uv, subset_by_index)
    factors = linalg.svd(
        a,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )
    return SVDResult(*factors) if compute_uv else factors


def _hermitian_svd(a: Any, compute_uv: bool, subset: tuple[int, int] | None) -> Array | SVDResult:
    """Return the eigenvalues' magnitudes, descending; a negative one flips the right vector."""
    v, w = linalg.eigh(a, subset_by_index=subset)
    order = argsort(abs_(w), axis=-1, descending=True)
    w = take_along_axis(w, order, axis=-1)
    if not compute_uv:
        return abs_(w)
    u = take_along_axis(v, order[..., None, :], axis=-1)
    signs = convert(sign(w), get_aval(u).dtype)
    return SVDResult(u, abs_(w), adjoint(u * signs[..., None, :]))


def svdvals(x: ArrayLike, /) -> Array:
    """Return the singular values of matrices, descending.

    >>> svdvals(asarray([[3.0, 0.0], [0.0, 4.0]]))
    Array([4., 3.], dtype=float32)
    """
    values: Array = svd(x, compute_uv=False)
    return values
