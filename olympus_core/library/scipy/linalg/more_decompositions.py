"""`qr_multiply` and `eigh_tridiagonal`, decompositions that are computed from others."""

from __future__ import annotations

from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import shape_of
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax import linalg
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.matrices import diag
from olympus_core.library.numpy.elementwise.complex import conj, real
from olympus_core.library.numpy.linalg.decompositions import eigh, eigvalsh
from olympus_core.library.numpy.manipulation.shapes import ravel
from olympus_core.library.numpy.products.matmul import matmul
from olympus_core.library.operands import operand
from olympus_core.library.promotion import promote_inexact


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """Return the product of `c` and Q of the QR decomposition of `a`, and R.

    a: (..., m, n), with k = min(m, n).  c: (..., p, m), for the product c Q of the mode "right", or
    (..., k, p) for Q c of the mode "left"; a vector is a row or a column.  pivoting: return the
    order of the columns too.  conjugate: multiply by the conjugate of Q.  overwrite_a and
    overwrite_c have no effect.

    Raises ArgumentError for another mode, and ShapeError for shapes that do not match.

    >>> qr_multiply(2 * eye(2), asarray([1.0, 3.0]))[1]
    Array([[-2., -0.],
           [ 0., -2.]], dtype=float32)
    """
    if mode not in ("right", "left"):
        raise ArgumentError(f"mode must be 'right' or 'left', and is {mode!r}")
    (a, of_a), (c, of_c) = operand("qr_multiply", a), operand("qr_multiply", c)
    if of_a.ndim < 2 or of_c.ndim < 1:
        raise ShapeError(f"qr_multiply needs matrices, and got {of_a.shape} and {of_c.shape}")
    a, c = promote_inexact(a, c)
    is_vector = of_c.ndim == 1
    if is_vector:
        c = asarray(c)[:, None] if mode == "left" else asarray(c)[None, :]
    rows, count = of_a.shape[-2], min(of_a.shape[-2:])
    have, need = (shape_of(c)[-2], count) if mode == "left" else (shape_of(c)[-1], rows)
    if have != need:
        raise ShapeError(
            f"qr_multiply: array shapes {of_a.shape} and {of_c.shape} are not compatible in the "
            f"mode {mode!r}, which needs {need} in place of {have}"
        )
    q, r, *order = linalg.qr(a, full_matrices=False, pivoting=pivoting)
    q = conj(q) if conjugate else q
    product: Any = matmul(q, c) if mode == "left" else matmul(c, q)
    return (ravel(product) if is_vector else product), r, *order


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Array | None = None,
) -> Array | tuple[Array, Array]:
    """Return the eigenvalues of a Hermitian tridiagonal matrix, ascending, and the eigenvectors.

    d: the diagonal (n,).  e: the elements beside it (n - 1,).  select: "a" for all eigenvalues, or
    "i" for those from `select_range[0]` to `select_range[1]`, both included.  The matrix is
    decomposed as a dense one.  tol and key have no effect.

    Raises ShapeError for other shapes, ArgumentError for another selection, and UnsupportedError
    for the selection by value, "v".

    >>> eigh_tridiagonal(asarray([2.0, 2.0]), asarray([1.0]), eigvals_only=True)
    Array([1., 3.], dtype=float32)
    """
    (d, of_d), (e, of_e) = operand("eigh_tridiagonal", d), operand("eigh_tridiagonal", e)
    if of_d.ndim != 1 or of_e.ndim != 1 or of_e.shape[0] != max(of_d.shape[0] - 1, 0):
        raise ShapeError(
            f"eigh_tridiagonal needs vectors (n,) and (n - 1,), and got {of_d.shape} and "
            f"{of_e.shape}"
        )
    if of_d.dtype != of_e.dtype or dtypes.kind(of_d.dtype) not in "fc":
        raise DTypeError(
            f"eigh_tridiagonal needs floats of one dtype, and got {of_d.dtype} and {of_e.dtype}"
        )
    chosen = _selection(of_d.shape[0], select, select_range)
    lower = real(diag(d)) if not of_e.shape[0] else diag(real(d)).astype(of_d.dtype) + diag(e, -1)
    lower = lower.astype(of_d.dtype)
    full = lower + conj(diag(e, -1)).T if of_e.shape[0] else lower
    if eigvals_only:
        return eigvalsh(full)[chosen]
    values, vectors = eigh(full)
    return values[chosen], vectors[:, chosen]


def _selection(size: int, select: str, select_range: tuple[float, float] | None) -> slice:
    if select == "a":
        return slice(size)
    if select == "i":
        if select_range is None:
            raise ArgumentError("eigh_tridiagonal: for select='i', select_range must be specified")
        first, last = int(select_range[0]), int(select_range[1])
        if first > last:
            raise ArgumentError(f"eigh_tridiagonal got an empty select_range: {select_range}")
        return slice(first, last + 1)
    if select == "v":
        raise UnsupportedError("eigh_tridiagonal(..., select='v') is not implemented")
    raise ArgumentError(f"'select' must have a value of 'a', 'i' and 'v', and has {select!r}")
