"""Decompositions of matrices: Cholesky, QR, eigenvalues, singular values.

Matrices are the last two axes of arrays; integers become floats.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from olympus_core.avals import get_aval
from olympus_core.errors import ArgumentError
from olympus_core.library.composite import composite
from olympus_core.library.lax import linalg
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import sign
from olympus_core.library.numpy.indexing.taking import take_along_axis
from olympus_core.library.numpy.sorting.sorting import argsort
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.library.typing import ArrayLike
from olympus_core.primitive import op
from olympus_core.primitives.linalg.algebra import adjoint, swap
from olympus_core.tracer import Array

__all__ = [
    "cholesky",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inexact",
    "qr",
    "svd",
    "svdvals",
]


class QRResult(NamedTuple):
    """What `qr` gives: Q R is the matrix."""

    Q: Array
    R: Array


class EigResult(NamedTuple):
    """What `eig` gives: column i of the vectors goes with value i."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What `eigh` gives: column i of the vectors goes with value i."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """What `svd` gives: U diag(S) Vh is the matrix."""

    U: Array
    S: Array
    Vh: Array


def inexact(name: str, x: ArrayLike, *, square: bool = False) -> Any:
    """Matrices as floats or complex numbers; raises ShapeError, for function `name`, for others."""
    x, _ = operand(name, x)
    (x,) = promote_inexact(x)
    return linalg.matrices(name, x, square=square)


@composite(static_argnames=("upper", "symmetrize_input"))
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with L L^H = a, or its adjoint if `upper`; NaN where there is none.

    symmetrize_input: take (a + a^H) / 2; if False, a's lower triangle is read alone.

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
    """Q with orthonormal columns and upper triangular R, Q R = a of (..., m, n).

    mode: "reduced" (Q (..., m, k) and R (..., k, n), k = min(m, n)), "complete" (Q (..., m, m) and
    R (..., m, n)), "r" (R alone, reduced), or "raw" (LAPACK's reflectors, transposed, and their
    factors).  Raises ArgumentError for another.

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
    """The eigenvalues and the eigenvectors, as columns, of square matrices; both are complex.

    The vectors have no derivative; see `lax.linalg.eig`.  Raises ShapeError for matrices that are
    not square.
    """
    a = inexact("eig", a, square=True)
    return EigResult(*linalg.eig(a, compute_left_eigenvectors=False))


@composite()
def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices, complex, in no order; see `eig`.

    >>> eigvals(asarray([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    a = inexact("eigvals", a, square=True)
    return linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@composite(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues, rising, and the eigenvectors, as columns, of Hermitian matrices.

    symmetrize_input: take (a + a^H) / 2; if False, the lower triangle is read alone, or the upper
    one if UPLO is "U".

    Raises ArgumentError for another UPLO, ShapeError for matrices that are not square.

    >>> eigh(asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    if UPLO not in (None, "L", "U"):
        raise ArgumentError(f"eigh reads the triangle 'L' or 'U', and was asked for {UPLO!r}")
    a = inexact("eigh", a, square=True)
    v, w = linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@composite(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of Hermitian matrices, rising; see `eigh`."""
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
    """U diag(S) Vh = a with orthonormal columns in U and rows in Vh, and S falling.

    full_matrices: U is (..., m, m) and Vh (..., n, n) for a of (..., m, n); if False, (..., m, k)
    and (..., k, n) with k = min(m, n).
    hermitian: a is Hermitian, and is decomposed by `eigh`.

    Returns U, S (real) and Vh; S alone without `compute_uv`.  Raises ArgumentError for a part of
    the singular values.

    >>> svd(asarray([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    a = inexact("svd", a, square=hermitian)
    if hermitian:
        return _hermitian_svd(a, compute_uv, subset_by_index)
    found = linalg.svd(
        a,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )
    return SVDResult(*found) if compute_uv else found


def _hermitian_svd(a: Any, compute_uv: bool, subset: tuple[int, int] | None) -> Array | SVDResult:
    """The eigenvalues' magnitudes, falling; a negative one turns the vector on the right."""
    v, w = linalg.eigh(a, subset_by_index=subset)
    order = argsort(abs_(w), axis=-1, descending=True)
    w = take_along_axis(w, order, axis=-1)
    if not compute_uv:
        return abs_(w)
    u = take_along_axis(v, order[..., None, :], axis=-1)
    signs = convert(sign(w), get_aval(u).dtype)
    return SVDResult(u, abs_(w), adjoint(u * signs[..., None, :]))


def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, falling."""
    values: Array = svd(x, compute_uv=False)
    return values
