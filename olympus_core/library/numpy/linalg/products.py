"""Products and powers of matrices, with the signatures of `olympus.numpy.linalg`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import shape_of
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.dot import PrecisionLike
from olympus_core.library.numpy.creation import matrices
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.linalg.equations import inv
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, reshape
from olympus_core.library.numpy.products import matmul
from olympus_core.library.operands import operand
from olympus_core.library.promotion import check_arrays


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the products of each element of the vector `x1` and each of the vector `x2`.

    >>> outer(asarray([1, 2]), asarray([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    (x1, _), (x2, _) = operand("outer", x1), operand("outer", x2)
    if len(shape_of(x1)) != 1 or len(shape_of(x2)) != 1:
        raise ShapeError(f"outer needs vectors, and got shapes {shape_of(x1)} and {shape_of(x2)}")
    return matmul.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of three elements along an axis.

    >>> cross(asarray([1, 0, 0]), asarray([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    avals = [operand("cross", x)[1] for x in (x1, x2)]
    sizes = {a.shape[canonical_axis(axis, a.ndim, "the axis of cross")] for a in avals}
    if sizes != {3}:
        raise ShapeError(f"cross needs 3 elements along axis {axis}, and got {sorted(sizes)}")
    return matmul.cross(x1, x2, axis=axis)


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the sums of products over axes of two arrays; see `numpy.tensordot`.

    >>> tensordot(ones((2, 3)), ones((3, 4)), axes=1).shape
    (2, 4)
    """
    return matmul.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type
    )


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return the sum of the diagonal `offset` of the matrices in the last two axes.

    >>> trace(asarray([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    return matrices.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return the diagonal `offset` of the matrices in the last two axes.

    >>> diagonal(asarray([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    return matrices.diagonal(x, offset=offset, axis1=-2, axis2=-1)


@composite(static_argnames=("n",))
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Return the n-th power of square matrices, by repeated squaring; of the inverses if n < 0.

    Raises ShapeError for matrices that are not square.

    >>> matrix_power(asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    Array([[1., 3.],
           [0., 1.]], dtype=float32)
    """
    a, aval = operand("matrix_power", a)
    power = operator.index(n)
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(f"matrix_power needs square matrices, and got {aval.long_name()}")
    if power < 0:
        a, power = inv(a), -power
    if power == 0:
        return broadcast_to(matrices.eye(aval.shape[-1], dtype=aval.dtype), aval.shape)
    result = None
    while power:
        if power & 1:
            result = a if result is None else matmul.matmul(result, a)
        power >>= 1
        if power:
            a = matmul.matmul(a, a)
    return asarray(result)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the cheapest split of each run of matrices; matrix i is sizes[i] x sizes[i + 1]."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = {
                k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            }
            split[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[split[i, j]]
    return split


def multi_dot(arrays: Sequence[ArrayLike], *, precision: PrecisionLike = None) -> Array:
    """Return the product of matrices in the cheapest order; the first and last may be vectors.

    Raises ShapeError for fewer than two arrays.

    >>> multi_dot([ones((2, 3)), ones((3, 4)), ones((4, 5))]).shape
    (2, 5)
    """
    check_arrays("multi_dot", *arrays)
    operands = [asarray(x) for x in arrays]
    if len(operands) < 2:
        raise ShapeError(f"multi_dot needs two arrays or more, and got {len(operands)}")
    if any(x.ndim != 2 for x in operands[1:-1]) or any(x.ndim not in (1, 2) for x in operands):
        raise ShapeError("multi_dot needs matrices, and at the ends matrices or vectors")
    first, last = operands[0].ndim, operands[-1].ndim
    if first == 1:
        operands[0] = reshape(operands[0], (1, -1))
    if last == 1:
        operands[-1] = reshape(operands[-1], (-1, 1))
    split = _best_splits([operands[0].shape[0], *(x.shape[1] for x in operands)])

    def product(i: int, j: int) -> Any:
        if i == j:
            return operands[i]
        k = split[i, j]
        return matmul.matmul(product(i, k), product(k + 1, j), precision=precision)

    result: Array = product(0, len(operands) - 1)
    result_shape = [n for n, ndim in zip(result.shape, (first, last), strict=True) if ndim == 2]
    return reshape(result, tuple(result_shape))
