"""Structured matrices, from a few vectors or a size: `toeplitz`, `block_diag`.

Vectors are the last axes of arrays; the axes before broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, get_aval, shape_of
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.slicing import pad
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones_like, zeros, zeros_like
from olympus_core.library.numpy.creation.matrices import eye
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.operands import operand
from olympus_core.library.promotion import (
    broadcast_shapes,
    broadcast_to,
    convert,
    promote_dtypes,
    promote_inexact,
)
from olympus_core.primitives.elementwise.base import scalar_zero
from olympus_core.primitives.linalg.algebra import conj


def _vector(name: str, x: Any) -> Any:
    """Return an array of one axis or more; a number is a vector of length 1."""
    x, aval = operand(name, x)
    return x if aval.ndim else asarray(x)[None]


def _together(*xs: Any) -> list[Any]:
    """Return vectors of one dtype and one batch shape."""
    xs = tuple(promote_dtypes(*xs))
    batch = broadcast_shapes(*(shape_of(x)[:-1] for x in xs))
    return [broadcast_to(x, (*batch, shape_of(x)[-1])) for x in xs]


def _skewed(column: Any, row: Any) -> Array:
    """Return Toeplitz matrices, by repeating a vector that is one longer than the rows.

    Each row then starts one earlier in the vector, which has the first row at its start and the
    first column, upwards, at its end.
    """
    (*batch, m), n = shape_of(column), shape_of(row)[-1]
    gap = zeros((*batch, 1), get_aval(row).dtype)
    upwards = op.rev(column, dimensions=(len(batch),))
    once = concatenate([column[..., :1], row[..., 1:], gap, upwards[..., :-1]], axis=-1)
    times = op.tile(once, reps=(*(1 for _ in batch), m))[..., : m * (m + n - 1)]
    skewed: Array = times.reshape((*batch, m, m + n - 1))[..., :n]
    return skewed


@composite()
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return the matrices with constant diagonals, first column `c`, and first row `r` after its
    first element; r is by default c's conjugate.

    >>> toeplitz(array([1, 2]), array([1, 3]))
    Array([[1, 3],
           [2, 1]], dtype=int32)
    """
    column = _vector("toeplitz", c)
    column, row = _together(column, conj(column) if r is None else _vector("toeplitz", r))
    (*batch, m), n = shape_of(column), shape_of(row)[-1]
    if not m or not n:
        return zeros((*batch, m, n), get_aval(row).dtype)
    return _skewed(column, row)


@composite()
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return the matrices with constant antidiagonals, first column `c`, and last row `r` after its
    first element; r is by default zeros.  Raises ShapeError for a number.

    >>> hankel(array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]], dtype=int32)
    """
    c, aval = operand("hankel", c)
    last = zeros_like(c) if r is None else operand("hankel", r)[0]
    if not aval.ndim or not shape_of(last):
        raise ShapeError("hankel needs vectors, and got a number")
    c, last = _together(c, last)
    (*batch, m), n = shape_of(c), shape_of(last)[-1]
    if not m or not n:
        return zeros((*batch, m, n), get_aval(c).dtype)
    along = len(batch)
    elements = concatenate([c, last[..., 1:]], axis=-1)
    upwards = _skewed(op.rev(c, dimensions=(along,)), elements[..., m - 1 :])
    result: Array = op.rev(upwards, dimensions=(along,))
    return result


@composite()
def circulant(c: ArrayLike) -> Array:
    """Return the matrices with first column `c`; each next column is moved down by one.

    >>> circulant(array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    column = _vector("circulant", c)
    back = op.rev(column, dimensions=(len(shape_of(column)) - 1,))
    return toeplitz(column, concatenate([column[..., :1], back[..., :-1]], axis=-1))


def _with_subdiagonal(first: Any, below: Any) -> Array:
    """Return matrices with a given first row and subdiagonal, and zeros elsewhere."""
    n = shape_of(first)[-1]
    low = below[..., None] * eye(n - 1, n, dtype=get_aval(below).dtype)
    return concatenate([first[..., None, :], low], axis=-2)


@composite()
def companion(a: ArrayLike) -> Array:
    """The matrices whose characteristic polynomial has the coefficients `a`, highest power first.

    Raises ShapeError for fewer than two coefficients.

    >>> companion(array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (x,) = promote_inexact(_vector("companion", a))
    if shape_of(x)[-1] < 2:
        raise ShapeError(f"companion needs two coefficients or more, and got shape {shape_of(x)}")
    first = -x[..., 1:] / x[..., :1]
    return _with_subdiagonal(first, ones_like(first[..., 1:]))


@composite()
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """The matrices with the fecundities `f` as first row, the survivals `s` below the diagonal.

    Raises ShapeError unless s is one shorter than f.

    >>> leslie(array([1.0, 2.0]), array([0.5]))
    Array([[1. , 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    f, s = _together(_vector("leslie", f), _vector("leslie", s))
    if not 2 <= shape_of(f)[-1] == shape_of(s)[-1] + 1:
        raise ShapeError(
            "leslie needs f of 2 elements or more, and s of one less, and got shapes "
            f"{shape_of(f)} and {shape_of(s)}"
        )
    return _with_subdiagonal(f, s)


@composite()
def fiedler(a: ArrayLike) -> Array:
    """Return the matrices of the distances |a_i - a_j|.

    >>> fiedler(array([1, 4]))
    Array([[0, 3],
           [3, 0]], dtype=int32)
    """
    a = asarray(_vector("fiedler", a))
    return abs_(a[..., None] - a[..., None, :])


_MODES = ("full", "valid", "same")


@composite(static_argnames=("n", "mode"))
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrices that convolve a vector of length `n` with `a`; see `numpy.convolve` for `mode`.

    Raises ShapeError for a size below 1, ArgumentError for another mode.

    >>> convolution_matrix(array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    a, aval = operand("convolution_matrix", a)
    size = dimension(n)
    if not aval.ndim or not aval.shape[-1] or size <= 0:
        raise ShapeError(
            f"convolution_matrix needs a vector and n > 0, and got {aval.long_name()} and n={n}"
        )
    if mode not in _MODES:
        raise ArgumentError(f"convolution_matrix has the modes {_MODES}, and not {mode!r}")
    m = aval.shape[-1]
    cut = {"full": 0, "same": min(size, m) - 1, "valid": 2 * (min(size, m) - 1)}[mode]
    top = cut // 2
    column = pad(a, scalar_zero(a), [(0, 0, 0)] * (aval.ndim - 1) + [(0, size - 1, 0)])
    full = toeplitz(column, zeros_like(column[..., :size]))
    return full[..., top : m + size - 1 - (cut - top), :]


@composite()
def block_diag(*arrs: ArrayLike) -> Array:
    """Return the matrix with the given matrices on its diagonal; vectors are rows.

    Raises ShapeError for an array of more than two axes.

    >>> block_diag(array([[1, 2]]), array([[3]]))
    Array([[1, 2, 0],
           [0, 0, 3]], dtype=int32)
    """
    operands = [operand("block_diag", x)[0] for x in arrs] or [zeros((1, 0))]
    if any(len(shape_of(x)) > 2 for x in operands):
        shapes = ", ".join(str(shape_of(x)) for x in operands)
        raise ShapeError(f"block_diag needs matrices, and got shapes {shapes}")
    blocks = promote_dtypes(*[_row(x) for x in operands])
    width, start, rows = sum(shape_of(x)[1] for x in blocks), 0, []
    for x in blocks:
        columns = shape_of(x)[1]
        around = [(0, 0, 0), (start, width - start - columns, 0)]
        rows.append(pad(x, scalar_zero(x), around))
        start += columns
    return concatenate(rows, axis=0)


def _row(x: Any) -> Any:
    shape = shape_of(x)
    return x if len(shape) == 2 else asarray(x).reshape((1, math.prod(shape)))


def _default(values: Any) -> Array:
    return asarray(np.asarray(values, dtypes.default_dtype("f")))


def hilbert(n: int) -> Array:
    """Return the n x n matrix of 1 / (i + j + 1).

    >>> hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    i = np.arange(n)
    return _default(1 / (i[:, None] + i + 1))


def helmert(n: int, full: bool = False) -> Array:
    """Orthonormal contrasts of n values as rows; `full` adds the row of the mean.

    Raises ShapeError for n < 1.

    >>> helmert(3).shape
    (2, 3)
    """
    if n < 1:
        raise ShapeError(f"helmert needs n >= 1, and got {n}")
    k = np.arange(1, n)[:, None]
    rows = (np.tri(n - 1, n) - k * np.eye(n - 1, n, 1)) / np.sqrt(k * (k + 1))
    return _default(np.vstack([np.full((1, n), n**-0.5), rows]) if full else rows)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Return the n x n matrix of 1 and -1 with orthogonal rows, by Sylvester's construction.

    Raises ShapeError unless n is a power of 2.

    >>> hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    if n < 1 or n & (n - 1):
        raise ShapeError(f"hadamard needs a power of 2, and got {n}")
    matrix: np.ndarray[Any, Any] = np.ones((1, 1))
    while len(matrix) < n:
        matrix = np.kron([[1, 1], [1, -1]], matrix)
    return asarray(matrix.astype(np.int8)).astype(dtypes.requested("hadamard", dtype))


def pascal(n: int, kind: str | None = None) -> Array:
    """Return the n x n matrix of binomial coefficients, as float32.

    kind: "symmetric" (the default) for those of i + j over i, "lower" for those of i over j, or
    "upper", its transpose.  Raises ArgumentError for another.

    >>> pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32)
    """
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ArgumentError(f"pascal has the kinds 'symmetric', 'lower', 'upper': not {kind!r}")
    is_symmetric, size = kind in (None, "symmetric"), max(dimension(n), 0)
    rows: Sequence[Sequence[int]] = [
        [math.comb(i + j, i) if is_symmetric else math.comb(i, j) for j in range(size)]
        for i in range(size)
    ]
    values = np.asarray(rows, np.float32).reshape(size, size)
    return asarray(values.T if kind == "upper" else values)


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Return the n x n matrix that `fft` multiplies with; `scale` divides it by "sqrtn" or by "n".

    Raises ArgumentError for another scale, DTypeError for a dtype that is not complex.

    >>> dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ArgumentError(f"dft has the scales 'sqrtn' and 'n', and not {scale!r}")
    target_dtype = dtypes.requested("dft", dtype, dtypes.default_dtype("c"))
    if dtypes.kind(target_dtype) != "c":
        raise DTypeError(f"dft needs a complex dtype, and got {dtypes.long_name(target_dtype)}")
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1) / max(n, 1)
    divisor = {None: 1.0, "sqrtn": math.sqrt(n), "n": n}[scale]
    return convert(
        asarray((np.exp(-2j * np.pi * turns) / divisor).astype(target_dtype)), target_dtype
    )


def fiedler_companion(a: ArrayLike) -> Array:
    """Return the pentadiagonal matrix (n, n) whose eigenvalues are the roots of a polynomial.

    a: the coefficients (..., n + 1), from the highest power.  Axes before are batch axes.

    Raises ShapeError for a vector without elements.

    M. Fiedler, "A note on companion matrices", Linear Algebra and its Applications 372, 2003.

    >>> fiedler_companion(array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (x,) = promote_inexact(_vector("fiedler_companion", a))
    n = shape_of(x)[-1] - 1
    if n < 0:
        raise ShapeError("fiedler_companion needs a vector of nonzero length")
    x = x / x[..., :1]
    rows, columns, places = [0], [0], [1]
    ones: list[tuple[int, int]] = [(1, 0)]
    for i in range(0, n, 2):
        cells = ((i, i + 1, i + 2), (i, i - 1, i + 1)) if i else ((i, i + 1, i + 2),)
        for row, column, place in cells:
            rows, columns, places = [*rows, row], [*columns, column], [*places, place]
        ones += [(i, i + 2), (i + 3, i + 1)]
    fitting = [k for k in range(len(rows)) if max(rows[k], columns[k]) < n]
    result = zeros((*shape_of(x)[:-1], n, n), get_aval(x).dtype)
    index = (..., np.array(rows)[fitting], np.array(columns)[fitting])
    if fitting:
        result = result.at[index].set(-x[..., np.array(places)[fitting]])
    inside = [pair for pair in ones if max(pair) < n]
    for row, column in inside:
        result = result.at[..., row, column].set(1)
    return result


def invhilbert(n: int) -> Array:
    """Return the inverse of the Hilbert matrix of size n, whose elements are whole numbers.

    >>> invhilbert(2)
    Array([[  4.,  -6.],
           [ -6.,  12.]], dtype=float32)
    """
    size = dimension(n)
    elements = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(size + i, size - j - 1)
            * math.comb(size + j, size - i - 1)
            * math.comb(i + j, i) ** 2
            for j in range(size)
        ]
        for i in range(size)
    ]
    return _of_integers(elements, size)


def invpascal(n: int, kind: str | None = None) -> Array:
    """Return the inverse of the Pascal matrix of size n, whose elements are whole numbers.

    kind: "symmetric", the default, "lower" or "upper".

    Raises ArgumentError for another kind.

    >>> invpascal(2)
    Array([[ 2., -1.],
           [-1.,  1.]], dtype=float32)
    """
    size = dimension(n)
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ArgumentError(f"invpascal has the kinds 'symmetric', 'lower', 'upper': not {kind!r}")
    lower = [[(-1) ** (i + j) * math.comb(i, j) for j in range(size)] for i in range(size)]
    matrix = np.array(lower, dtype=object).reshape(size, size)
    if kind == "upper":
        matrix = matrix.T
    elif kind != "lower":
        matrix = matrix.T @ matrix
    return _of_integers(matrix.tolist(), size)


def _of_integers(elements: list[list[int]], size: int) -> Array:
    """Return Python integers of any size as the default float dtype."""
    values = np.array([[float(x) for x in row] for row in elements]).reshape(size, size)
    return asarray(values.astype(dtypes.default_dtype("f")))
