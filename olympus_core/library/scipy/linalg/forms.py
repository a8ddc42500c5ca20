"""Schur and Hessenberg forms, and what they solve: functions of matrices, Sylvester equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import condensed, linalg
from olympus_core.library.lax.control import fori_loop
from olympus_core.library.lax.slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.matrices import diagonal, eye, triu
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.complex import conj, real
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.functional import vectorize
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.manipulation.padding import pad
from olympus_core.library.numpy.products.matmul import matmul
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert, promote_inexact


def _square(name: str, a: Any) -> Any:
    """Return an operand of square matrices of floats; raise ShapeError for other shapes."""
    a, aval = operand(name, a)
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(f"{name} needs square matrices (..., n, n), and got {aval.long_name()}")
    return promote_inexact(a)[0]


def _complex(a: Any) -> Any:
    return convert(a, dtypes.to_complex(get_aval(a).dtype))


def schur(a: ArrayLike, output: str = "real") -> list[Array]:
    """Return T and Z of the Schur decomposition a = Z T Z^H of square matrices (..., n, n).

    output: "real" for blocks of 2 x 2 on the diagonal of T where a real matrix has complex
    eigenvalues, or "complex" for an upper triangular T.  Only the CPU implements it.

    Raises ArgumentError for another output, and ShapeError for other shapes.

    >>> schur(asarray([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ArgumentError(f"expected 'output' to be 'real' or 'complex', and got {output!r}")
    a = _square("schur", a)
    return condensed.schur(_complex(a) if output == "complex" else a)


def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """Return the Hessenberg form H of square matrices and, with `calc_q`, Q with a = Q H Q^H.

    overwrite_a, check_finite: have no effect.  Raises ShapeError for other shapes.

    >>> hessenberg(asarray([[1.0, 2.0], [3.0, 4.0]]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    a = _square("hessenberg", a)
    shape = shape_of(a)
    if shape[-1] == 0:
        return (asarray(a), asarray(a)) if calc_q else asarray(a)
    form, taus = condensed.hessenberg(a)
    h = triu(form, -1)
    if not calc_q:
        return h
    inner = linalg.householder_product(form[..., 1:, :-1], taus)
    corner = np.zeros((shape[-1], shape[-1]))
    corner[0, 0] = 1
    around = [(0, 0)] * (len(shape) - 2) + [(1, 0), (1, 0)]
    return h, pad(inner, around) + asarray(corner).astype(h.dtype)


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Convert a real Schur decomposition to a complex one, by a rotation for each block of 2 x 2.

    check_finite: has no effect.  Raises ShapeError unless both are square and of one size.

    >>> rsf2csf(asarray([[1.0, 2.0], [0.0, 3.0]]), eye(2))[0]
    Array([[1.+0.j, 2.+0.j],
           [0.+0.j, 3.+0.j]], dtype=complex64)
    """
    t, z = _square("rsf2csf", T), _square("rsf2csf", Z)
    if shape_of(t)[-1] != shape_of(z)[-1]:
        raise ShapeError(f"rsf2csf needs one size, and got {shape_of(t)} and {shape_of(z)}")
    pair: tuple[Array, Array] = vectorize(_triangular, signature="(n,n),(n,n)->(n,n),(n,n)")(
        *promote_inexact(_complex(t), _complex(z))
    )
    return pair


@composite()
def _triangular(t: Any, z: Any) -> tuple[Any, Any]:
    """Rotate rows and columns m - 1 and m, from the last m to the first, so that T[m, m-1] is 0.

    G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., 7.4.
    """
    size = shape_of(t)[-1]
    eps = float(dtypes.finfo(get_aval(t).dtype).eps)

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, z = state
        k = size - 2 - i
        block = dynamic_slice_in_dim(dynamic_slice_in_dim(t, k, 2, 0), k, 2, 1)
        (a, b), (c, d) = block
        half = (a - d) / 2
        shift = half + sqrt(half * half + b * c)  # an eigenvalue of the block, minus d
        length = sqrt(abs_(shift) ** 2 + abs_(c) ** 2)
        cosine, sine = shift / length, c / length
        rotation = stack([stack([conj(cosine), sine]), stack([-sine, cosine])])
        is_block = abs_(c) > eps * (abs_(a) + abs_(d))
        rotation = where(is_block, rotation, eye(2, dtype=rotation.dtype))
        back = conj(rotation).T
        rows = matmul(rotation, dynamic_slice_in_dim(t, k, 2, 0))
        t = dynamic_update_slice_in_dim(t, rows, k, 0)
        t, z = (
            dynamic_update_slice_in_dim(x, matmul(dynamic_slice_in_dim(x, k, 2, 1), back), k, 1)
            for x in (t, z)
        )
        return t.at[k + 1, k].set(0), z

    return fori_loop(0, size - 1, step, (t, z)) if size > 1 else (t, z)


Column = Callable[[Any, Any, Any], tuple[Any, Any, Any]]


def _by_columns(t: Any, diagonal_of: Callable[[Any], Any], column: Column) -> Any:
    """Return the upper triangular F of which column j above the diagonal solves an equation.

    `column(j, F, f)` returns the matrix, the right side, and the shift of the equation.
    """
    size = shape_of(t)[-1]
    values = diagonal_of(diagonal(t))
    is_symbolic = is_symbolic_dim(size)
    index = arange(size) if is_symbolic else np.arange(size)
    is_diagonal = index[:, None] == index

    def step(j: Any, f: Any) -> Any:
        matrix, right, shift = column(j, f, values)
        inside = index < j
        block = where(inside[:, None] & inside[None, :], matrix, 0)
        on_diagonal = where(inside, diagonal(matrix) + shift, 1)
        on_diagonal = where(on_diagonal == 0, 1, on_diagonal)
        system = where(is_diagonal, on_diagonal[None, :], block)
        right = where(inside, right, 0)[:, None]
        solved = linalg.triangular_solve(system, right, left_side=True, lower=False)[:, 0]
        return f.at[:, j].add(where(inside, solved, 0))

    start = where(is_diagonal, values[None, :], 0)
    return fori_loop(1, size, step, start) if is_symbolic or size > 1 else start


def _conjugated(z: Any, f: Any) -> Any:
    return matmul(matmul(z, f, precision="highest"), conj(z).T, precision="highest")


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Return the square root of a matrix (n, n), complex, by its Schur form.

    blocksize: only 1.  Raises ShapeError for other shapes, and UnsupportedError for other sizes of
    blocks.

    >>> sqrtm(asarray([[4.0, 0.0], [0.0, 9.0]]))
    Array([[2.+0.j, 0.+0.j],
           [0.+0.j, 3.+0.j]], dtype=complex64)
    """
    if blocksize > 1:
        raise UnsupportedError("sqrtm has no blocked version")
    t, z = schur(_matrix("sqrtm", A), "complex")
    root: Array = _root(t, z)
    return root


def _matrix(name: str, a: Any) -> Any:
    a = _square(name, a)
    if len(shape_of(a)) != 2:
        raise ShapeError(f"{name} needs one square matrix, and got the shape {shape_of(a)}")
    return a


@composite()
def _root(t: Any, z: Any) -> Any:
    """Solve U U = T by columns: (U[:j, :j] + U[j, j]) U[:j, j] = T[:j, j].

    A. Bjorck and S. Hammarling, "A Schur method for the square root of a matrix", 1983.
    """
    return _conjugated(z, _by_columns(t, sqrt, lambda j, f, u: (f, t[:, j], u[j])))


def funm(
    A: ArrayLike, func: Callable[[Array], Array], disp: bool = True
) -> Array | tuple[Array, Array]:
    """Return a function of a matrix (n, n), which `func` computes for its eigenvalues.

    disp: False to return an estimate of the error too.  Eigenvalues that are close to each other
    make it inaccurate.  The result of a real matrix is real if the function's is.

    Raises ShapeError for other shapes.

    >>> funm(asarray([[4.0, 1.0], [0.0, 9.0]]), sqrt).real
    Array([[2. , 0.2],
           [0. , 3. ]], dtype=float32)
    """
    a = _matrix("funm", A)
    t, z = schur(a, "complex")
    values = func(diagonal(t))

    def column(j: Any, f: Any, u: Any) -> tuple[Any, Any, Any]:
        above = t[:, j]
        before = where(np.arange(shape_of(t)[-1]) < j, above, 0)
        return t, matmul(f, before) - above * u[j], -t[j, j]

    f = _by_columns(t, lambda _: values, column)
    result: Array = _conjugated(z, f)
    if disp:
        return result
    return result, _error(t, f)


def _error(t: Any, f: Any) -> Array:
    """Return an estimate of the relative error, from the least distance of eigenvalues.

    G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., 9.1.4.
    """
    size = shape_of(t)[-1]
    eps = float(dtypes.finfo(get_aval(t).dtype).eps)
    distances = abs_(diagonal(t)[:, None] - diagonal(t)[None, :])
    apart = where(np.eye(size, dtype=bool) | (distances == 0), abs_(t[0, 0]), distances)
    least = apart.min()
    least = where(least == 0, eps, least)
    error = where(least < 1, 1, eps / least) * abs_(triu(t, 1)).sum(axis=0).max()
    error = where(error < 1, error, 1)
    return where(abs_(f).sum() < np.inf, where(error > eps, error, eps), np.inf)


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """Return the solution X of A X + X B = C.

    A: (..., m, m); B: (..., n, n); C: (..., m, n).  method: "schur" or "eigen", which are the same
    here.  The result is NaN where eigenvalues of A and -B differ by `tol` or less.

    Raises ShapeError for other shapes, and ArgumentError for another method.

    >>> solve_sylvester(asarray([[1.0]]), asarray([[3.0]]), asarray([[8.0]]))
    Array([[2.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ArgumentError(f"solve_sylvester has the methods 'schur' and 'eigen', not {method!r}")
    a, b = _square("solve_sylvester", A), _square("solve_sylvester", B)
    c, aval = operand("solve_sylvester", C)
    if aval.shape[-2:] != (shape_of(a)[-1], shape_of(b)[-1]):
        raise ShapeError(
            f"solve_sylvester: incompatible shapes {shape_of(a)}, {shape_of(b)} and {aval.shape}"
        )
    a, b, c = promote_inexact(a, b, c)
    solution = vectorize(_sylvester(float(tol)), signature="(m,m),(n,n),(m,n)->(m,n)")(
        _complex(a), _complex(b), _complex(c)
    )
    is_real = dtypes.kind(get_aval(a).dtype) != "c"
    return real(solution) if is_real else solution


def _sylvester(tol: float) -> Callable[..., Any]:
    """Solve R Y + Y S = F by columns, with the Schur forms R of A and S of B.

    R. H. Bartels and G. W. Stewart, "Solution of the matrix equation AX + XB = C", 1972.
    """

    def solve(a: Any, b: Any, c: Any) -> Any:
        (r, u), (s, v) = condensed.schur(a), condensed.schur(b)
        f = matmul(matmul(conj(u).T, c), v)
        m, n = shape_of(f)

        def step(j: Any, y: Any) -> Any:
            before = where(np.arange(n) < j, s[:, j], 0)
            right = f[:, j] - matmul(y, before)
            system = r + s[j, j] * eye(m, dtype=r.dtype)
            solved = linalg.triangular_solve(system, right[:, None], left_side=True, lower=False)
            return y.at[:, j].set(solved[:, 0])

        y = fori_loop(0, n, step, zeros((m, n), get_aval(f).dtype))
        x = matmul(matmul(u, y), conj(v).T)
        sums = abs_(diagonal(r)[:, None] + diagonal(s)[None, :])
        return where((sums <= tol).any(), np.nan, x)

    return solve
