"""Equations, inverses and determinants, with the signatures of `olympus.scipy.linalg`.

Matrices are the last two axes of arrays; integers become floats.  SciPy's switches for memory and
checks (`overwrite_a`, `check_finite` and such) have no effect.
"""

from __future__ import annotations

from typing import Any

from olympus_core.base.avals import shape_of
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import linalg
from olympus_core.library.numpy.linalg import determinants, equations
from olympus_core.library.operands import operand
from olympus_core.library.promotion import promote_inexact
from olympus_core.library.solving import solve_by_cholesky, solve_each
from olympus_core.primitives.linalg.algebra import adjoint, inverse_order, take_rows
from olympus_core.primitives.linalg.algebra import solve as solve_triangle


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the determinants of square matrices; see `numpy.linalg.det`.

    >>> det(array([[1.0, 0.0], [0.0, 2.0]]))
    Array(2., dtype=float32)
    """
    return determinants.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the inverses of square matrices; see `numpy.linalg.inv`.

    >>> inv(array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return equations.inv(a)


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """Solve a x = b for x, for square matrices; b is (m,) or (..., m, k).

    assume_a: "gen", "sym" and "her" solve by LU decomposition; "pos" solves Hermitian positive
    definite matrices by Cholesky's, and reads the triangle that `lower` selects.

    Raises ShapeError if the shapes do not match, ArgumentError for another assumption.

    >>> solve(array([[2.0, 0.0], [0.0, 4.0]]), array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
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

    def solve_one(a: Any, b: Any) -> Any:
        return solve_by_cholesky(a if lower else adjoint(a), b)

    return solve_each("solve", solve_one, a, b)


_TRANSPOSES = {
    0: (False, False),
    "N": (False, False),
    1: (True, False),
    "T": (True, False),
    2: (True, True),
    "C": (True, True),
}


@composite(
    static_argnames=(
        *("trans", "lower", "unit_diagonal"),
        *("overwrite_b", "debug", "check_finite"),
    )
)
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: None = None,
    check_finite: bool = True,
) -> Array:
    """Solve op(a) x = b for x, for triangular matrices a; b is (m,) or (..., m, k).

    trans: 0 or "N" for op(a) = a, 1 or "T" for a's transpose, 2 or "C" for its adjoint.
    lower: a's lower triangle is read, else the upper one; unit_diagonal: its diagonal is ones.

    Raises ShapeError if the shapes do not match, ArgumentError for another `trans`.

    >>> solve_triangular(array([[2.0, 0.0], [1.0, 1.0]]), array([2.0, 3.0]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    if trans not in _TRANSPOSES:
        raise ArgumentError(f"solve_triangular has trans {list(_TRANSPOSES)}, and not {trans!r}")
    transpose, conjugate = _TRANSPOSES[trans]
    (a, _), (b, _) = operand("solve_triangular", a), operand("solve_triangular", b)
    a, b = promote_inexact(a, b)

    def solve_one(a: Any, b: Any) -> Any:
        return solve_triangle(
            a, b, lower=lower, transpose=transpose, conjugate=conjugate, unit=unit_diagonal
        )

    return solve_each("solve_triangular", solve_one, a, b)


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve a x = b for x, given `cho_factor(a)`; b is (m,) or (..., m, k).

    Raises ShapeError if the shapes do not match.

    >>> cho_solve((array([[2.0, 0.0], [1.0, 1.0]]), True), array([4.0, 3.0]))
    Array([0.5, 1. ], dtype=float32)
    """
    factor, lower = c_and_lower
    return _cho_solve(factor, b, lower=bool(lower))


@composite(static_argnames=("lower",))
def _cho_solve(factor: Any, b: Any, *, lower: bool) -> Array:
    (c, _), (b, _) = operand("cho_solve", factor), operand("cho_solve", b)
    c, b = promote_inexact(c, b)

    def solve_both(c: Any, b: Any) -> Any:
        for turned in (not lower, lower):
            b = solve_triangle(c, b, lower=lower, transpose=turned, conjugate=turned)
        return b

    return solve_each("cho_solve", solve_both, c, b)


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve op(a) x = b for x, given `lu_factor(a)`; b is (m,) or (..., m, k).

    trans: 0 for op(a) = a, 1 for a's transpose, 2 for its adjoint.

    Raises ShapeError if the shapes do not match, ArgumentError for another `trans`.

    >>> lu_solve(lu_factor(array([[2.0, 0.0], [0.0, 4.0]])), array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    if trans not in (0, 1, 2):
        raise ArgumentError(f"lu_solve has trans 0, 1 and 2: not {trans!r}")
    return _lu_solve(*lu_and_piv, b, trans=trans)


@composite(static_argnames=("trans",))
def _lu_solve(factors: Any, pivots: Any, b: Any, *, trans: int) -> Array:
    (a, _), (b, _) = operand("lu_solve", factors), operand("lu_solve", b)
    a, b = promote_inexact(a, b)
    order = linalg.lu_pivots_to_permutation(pivots, shape_of(a)[-1])

    def solve_both(a: Any, b: Any, order: Any) -> Any:
        if trans == 0:
            return solve_triangle(a, solve_triangle(a, take_rows(b, order), lower=True, unit=True))
        orientation = {"transpose": True, "conjugate": trans == 2}
        b = solve_triangle(
            a, solve_triangle(a, b, **orientation), lower=True, unit=True, **orientation
        )
        return take_rows(b, inverse_order(order))

    return solve_each("lu_solve", solve_both, a, b, order)
