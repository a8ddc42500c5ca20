"""Decompositions and equations of `olympus.scipy.linalg`.

Matrices, the last two axes of arrays, enter, integers as floats; factors and solutions leave.
SciPy's switches for memory and checks (`overwrite_a`, `check_finite` and such) have no effect.
"""

from __future__ import annotations

from typing import Any

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.errors import ArgumentError
from olympus_core.library.composite import composite
from olympus_core.library.lax import linalg
from olympus_core.library.lax.solving import solve_by_cholesky, solve_each
from olympus_core.library.numpy import decompositions, determinants, equations
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.decompositions import inexact
from olympus_core.library.numpy.fills import zeros
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.primitive import op
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
from olympus_core.primitives.linalg.algebra import solve as solve_triangle
from olympus_core.tracer import Array

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "polar",
    "qr",
    "solve",
    "solve_triangular",
    "svd",
]


@composite(static_argnames=("lower", "overwrite_a", "check_finite"))
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """The upper triangular U with U^H U = a, or L with L L^H = a if `lower`; NaN if there is none.

    Of `a` that triangle is read alone.  Raises ShapeError for matrices that are not square.

    >>> cholesky(array([[4.0, 2.0], [2.0, 2.0]]), lower=True)
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    a = inexact("cholesky", a, square=True)
    factor = linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)  # type: ignore[no-any-return]


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """`cholesky(a, lower)` and `lower`, as `cho_solve` takes them."""
    return cholesky(a, lower=lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """x with a x = b, given `cho_factor(a)`; b is (m,) or (..., m, k).

    Raises ShapeError where the shapes do not fit.
    """
    factor, lower = c_and_lower
    return _cho_solve(factor, b, lower=bool(lower))


@composite(static_argnames=("lower",))
def _cho_solve(factor: Any, b: Any, *, lower: bool) -> Array:
    (c, _), (b, _) = operand("cho_solve", factor), operand("cho_solve", b)
    c, b = promote_inexact(c, b)

    def both(c: Any, b: Any) -> Any:
        for turned in (not lower, lower):
            b = solve_triangle(c, b, lower=lower, transpose=turned, conjugate=turned)
        return b

    return solve_each("cho_solve", both, c, b)  # type: ignore[no-any-return]


_TRANSPOSES = {
    0: (False, False),
    "N": (False, False),
    1: (True, False),
    "T": (True, False),
    2: (True, True),
    "C": (True, True),
}


@composite(static_argnames=("trans", "lower", "unit_diagonal", "debug", "overwrite_b", "check_finite"))
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """x with op(a) x = b, for triangular matrices a; b is (m,) or (..., m, k).

    trans: 0 or "N" for op(a) = a, 1 or "T" for a's transpose, 2 or "C" for its adjoint.
    lower: a's lower triangle is read, else the upper one; unit_diagonal: its diagonal is ones.

    Raises ShapeError where the shapes do not fit, ArgumentError for another `trans`.

    >>> solve_triangular(array([[2.0, 0.0], [1.0, 1.0]]), array([2.0, 3.0]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    if trans not in _TRANSPOSES:
        raise ArgumentError(f"solve_triangular has trans 0, 1, 2, 'N', 'T' and 'C': not {trans!r}")
    transpose, conjugate = _TRANSPOSES[trans]
    (a, _), (b, _) = operand("solve_triangular", a), operand("solve_triangular", b)
    a, b = promote_inexact(a, b)

    def one(a: Any, b: Any) -> Any:
        return solve_triangle(
            a, b, lower=lower, transpose=transpose, conjugate=conjugate, unit=unit_diagonal
        )

    return solve_each("solve_triangular", one, a, b)  # type: ignore[no-any-return]


@composite(static_argnames=("overwrite_a", "check_finite"))
def lu_factor(
    a: Any, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """L and U in one array, and the pivots, as `lu_solve` takes them; see `lax.linalg.lu`."""
    factors, pivots, _ = linalg.lu(inexact("lu_factor", a))
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """x with op(a) x = b, given `lu_factor(a)`; b is (m,) or (..., m, k).

    trans: 0 for op(a) = a, 1 for a's transpose, 2 for its adjoint.

    Raises ShapeError where the shapes do not fit, ArgumentError for another `trans`.
    """
    if trans not in (0, 1, 2):
        raise ArgumentError(f"lu_solve has trans 0, 1 and 2: not {trans!r}")
    return _lu_solve(*lu_and_piv, b, trans=trans)


@composite(static_argnames=("trans",))
def _lu_solve(factors: Any, pivots: Any, b: Any, *, trans: int) -> Array:
    (a, _), (b, _) = operand("lu_solve", factors), operand("lu_solve", b)
    a, b = promote_inexact(a, b)
    order = linalg.lu_pivots_to_permutation(pivots, shape_of(a)[-1])

    def both(a: Any, b: Any, order: Any) -> Any:
        if trans == 0:
            return solve_triangle(a, solve_triangle(a, take_rows(b, order), lower=True, unit=True))
        turned = {"transpose": True, "conjugate": trans == 2}
        b = solve_triangle(a, solve_triangle(a, b, **turned), lower=True, unit=True, **turned)
        return take_rows(b, inverse_order(order))

    return solve_each("lu_solve", both, a, b, order)  # type: ignore[no-any-return]


@composite(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """P, L and U with P L U = a: a permutation matrix, unit lower and upper triangular matrices.

    permute_l: give P L and U.  `a` is (m, n); L is (m, k) and U (k, n) with k = min(m, n).
    """
    a = inexact("lu", a)
    k = min(shape_of(a)[-2:])
    factors, _, order = linalg.lu(a)
    low = block(factors, columns=slice(k))
    low = op.add(triangle(low, lower=True, strict=True), eye(low))
    upper = triangle(block(factors, slice(k)), lower=False)
    back = inverse_order(order)
    if permute_l:
        return take_rows(low, back), upper
    rows = shape_of(a)[-2]
    real = zeros((*shape_of(a)[:-2], rows, rows), dtypes.to_real(get_aval(a).dtype))
    return take_rows(eye(real), back), low, upper


@composite(
    static_argnames=("overwrite_a", "lwork", "mode", "pivoting", "check_finite")
)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Q and R with Q R = a of (m, n), and the columns' permutation if `pivoting`.

    mode: "full" for Q of (m, m), "economic" for Q of (m, k) and R of (k, n) with k = min(m, n), or
    "r" for R of (m, n) alone, in a tuple.  Raises ArgumentError for another.
    """
    if mode not in ("full", "economic", "r"):
        raise ArgumentError(f"qr has the modes 'full', 'economic' and 'r', and not {mode!r}")
    found = linalg.qr(inexact("qr", a), pivoting=pivoting, full_matrices=mode != "economic")
    return found[1:] if mode == "r" else found


@composite(
    static_argnames=(
        "lower", "eigvals_only", "overwrite_a", "overwrite_b", "turbo", "eigvals", "type",
        "check_finite",
    )
)
def eigh(
    a: Any,
    b: None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """The eigenvalues w, rising, and the eigenvectors v, as columns, of Hermitian matrices.

    Returns (w, v), or w if `eigvals_only`.  Raises ArgumentError for a problem with a second matrix
    `b`, of another `type`, or for a part of the values.
    """
    if b is not None or eigvals is not None or type != 1:
        raise ArgumentError("eigh solves a v = w v for all values: b, eigvals and type have no use")
    v, w = linalg.eigh(inexact("eigh", a, square=True), lower=lower)
    return w if eigvals_only else (w, v)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """(U, s, V^H) with U diag(s) V^H = a, or s alone without `compute_uv`; see `numpy.linalg.svd`."""
    found = decompositions.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices; see `numpy.linalg.det`."""
    return determinants.det(a)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of square matrices; see `numpy.linalg.inv`."""
    return equations.inv(a)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """x with a x = b, for square matrices; b is (m,) or (..., m, k).

    assume_a: "gen", "sym" and "her" solve by LU decomposition; "pos" says that a is Hermitian and
    positive definite, and solves by Cholesky's, reading the triangle that `lower` names.

    Raises ShapeError where the shapes do not fit, ArgumentError for another assumption.
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ArgumentError(f"solve assumes 'gen', 'sym', 'her' or 'pos', and not {assume_a!r}")
    if assume_a != "pos":
        return equations.solve(a, b)
    return _solve_positive(a, b, lower=bool(lower))


@composite(static_argnames=("lower",))
def _solve_positive(a: Any, b: Any, *, lower: bool) -> Array:
    (a, _), (b, _) = operand("solve", a), operand("solve", b)
    a, b = promote_inexact(a, b)

    def one(a: Any, b: Any) -> Any:
        return solve_by_cholesky(a if lower else adjoint(a), b)

    return solve_each("solve", one, a, b)  # type: ignore[no-any-return]


@composite(static_argnames=("side", "method", "eps", "max_iterations"))
def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "svd",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """U with orthonormal columns or rows, and positive semidefinite P, with U P = a.

    side: "left" for P U = a.  The method is always the singular value decomposition, so `eps` and
    `max_iterations` have no effect.  Raises ArgumentError for another side.
    """
    if side not in ("left", "right"):
        raise ArgumentError(f"polar has the sides 'left' and 'right', and not {side!r}")
    u, s, vh = linalg.svd(inexact("polar", a), full_matrices=False)
    scale = convert(s, get_aval(u).dtype)
    if side == "right":
        return dot(u, vh), dot(conj(vh), scale[..., :, None] * vh, swap_a=True)
    return dot(u, vh), dot(u * scale[..., None, :], conj(u), swap_b=True)
