"""Triangles of matrices in `olympus.numpy`, and matrices of ones and of powers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import shape_of
from olympus_core.context import switched
from olympus_core.errors import ShapeError
from olympus_core.library.composite import composite
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray, requested_dtype
from olympus_core.library.numpy.operands import choose
from olympus_core.library.placement import placed
from olympus_core.library.promotion import convert
from olympus_core.primitives.elementwise.arithmetic import add_p, pow_p
from olympus_core.primitives.elementwise.base import Elementwise
from olympus_core.primitives.elementwise.logic import eq_p, ge_p
from olympus_core.primitives.shape import broadcast_in_dim_p, iota_p
from olympus_core.tracer import Array

__all__ = [
    "check_sizes",
    "compared",
    "eye",
    "identity",
    "mask_indices",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "vander",
]

_INT32 = np.dtype("int32")


def compared(rows: int, columns: int, k: Any, compare: Elementwise) -> Any:
    """Where row + k stands in a relation to column, as bool[rows, columns]."""
    row, column = (iota_p.bind(dtype=_INT32, shape=(rows, columns), dimension=i) for i in (0, 1))
    if not (k.__class__ is int and k == 0):
        row = add_p.bind(row, convert(k, _INT32))
    return compare.bind(row, column)


def eye(
    N: int, M: int | None = None, k: Any = 0, dtype: Any = None, *, device: Any = None
) -> Array:
    """Ones on the diagonal `k` (above the main one if positive) of an N x M matrix of zeros.

    >>> eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    wanted = requested_dtype("eye", dtype)
    rows, columns = check_sizes("eye", N, N if M is None else M)
    ones = convert(compared(rows, columns, k, eq_p), wanted)
    return placed(ones, device)  # type: ignore[no-any-return]


def check_sizes(name: str, *sizes: Any) -> tuple[int, ...]:
    """The sizes as Python ints; raises ShapeError for a negative one."""
    found = tuple(map(operator.index, sizes))
    if any(n < 0 for n in found):
        raise ShapeError(f"{name} needs sizes >= 0, and got {found}")
    return found


def identity(n: int, dtype: Any = None) -> Array:
    """The n x n matrix with ones on its diagonal."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Array:
    """Ones on and below the diagonal `k` of an N x M matrix, zeros above."""
    wanted = requested_dtype("tri", dtype)
    rows, columns = check_sizes("tri", N, N if M is None else M)
    return convert(compared(rows, columns, k, ge_p), wanted)  # type: ignore[no-any-return]


def _triangle(name: str, m: Any, k: int, upper: bool) -> Array:
    m, aval = operand(name, m)
    if aval.ndim < 2:
        raise ShapeError(f"{name} needs two or more dimensions, and got {aval.long_name()}")
    rows, columns = aval.shape[-2:]
    below = compared(rows, columns, k - 1 if upper else k, ge_p)
    zero = convert(0, aval.dtype, aval.weak_type)
    with switched("numpy_rank_promotion", "allow"):
        result: Array = choose(name, below, zero, m) if upper else choose(name, below, m, zero)
    return result


@composite(static_argnames=("k",))
def tril(m: Any, k: int = 0) -> Array:
    """The matrices `m` with zeros above the diagonal `k`; ShapeError for under two dimensions.

    >>> tril(np.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return _triangle("tril", m, k, upper=False)


@composite(static_argnames=("k",))
def triu(m: Any, k: int = 0) -> Array:
    """The matrices `m` with zeros below the diagonal `k`; ShapeError for under two dimensions."""
    return _triangle("triu", m, k, upper=True)


def _positions(mask: Any) -> tuple[Array, ...]:
    wanted = dtypes.default_dtype("i")
    return tuple(asarray(i.astype(wanted)) for i in np.nonzero(mask))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """(rows, columns) of the elements on and below diagonal `k` of an n x m matrix."""
    return _positions(np.tri(n, n if m is None else m, k, dtype=bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """(rows, columns) of the elements on and above diagonal `k` of an n x m matrix."""
    return _positions(~np.tri(n, n if m is None else m, k - 1, dtype=bool))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """(rows, columns) of the elements of a matrix on and below diagonal `k`."""
    rows, columns = _matrix("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """(rows, columns) of the elements of a matrix on and above diagonal `k`."""
    rows, columns = _matrix("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def _matrix(name: str, arr: Any) -> tuple[int, int]:
    shape = shape_of(arr)
    if len(shape) != 2:
        raise ShapeError(f"{name} needs a matrix, and got an array of shape {shape}")
    return shape[0], shape[1]


def mask_indices(n: int, mask_func: Callable[[Any, int], Any], k: int = 0) -> tuple[Array, ...]:
    """(rows, columns) where `mask_func` (such as `triu`) leaves an n x n matrix of ones true."""
    return _positions(np.asarray(mask_func(asarray(np.ones((n, n), bool)), k)))


@composite(static_argnames=("N", "increasing"))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Array:
    """The matrix of the powers of a vector: N columns, from the highest power down to 0.

    >>> vander(asarray([1, 2]), 3)
    Array([[1, 1, 1],
           [4, 2, 1]], dtype=int32)
    """
    x, aval = operand("vander", x)
    if aval.ndim != 1:
        raise ShapeError(f"vander needs a vector, and got {aval.long_name()}")
    columns = aval.size if N is None else N
    check_sizes("vander", columns)
    powers: Any = iota_p.bind(dtype=_INT32, shape=(1, columns), dimension=1)
    if not increasing:
        powers = columns - 1 - powers
    base = broadcast_in_dim_p.bind(x, shape=(aval.size, columns), broadcast_dimensions=(0,))
    grid = broadcast_in_dim_p.bind(powers, shape=(aval.size, columns), broadcast_dimensions=(0, 1))
    if dtypes.kind(aval.dtype) in "iub":
        base = convert(base, aval.dtype if aval.dtype != dtypes.bool_ else _INT32)
        grid = convert(grid, base.dtype)
    result: Array = pow_p.bind(base, grid)
    return result
