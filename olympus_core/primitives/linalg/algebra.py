"""Matrix algebra for derivative rules and library functions, written on the primitives.

Matrices are the last two axes; the batch axes before are the same in all operands.  Products are
computed in the highest precision, like the decompositions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim, symbolic_slice
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import (
    elementwise_constant,
    reshape,
    scalar_zero,
    spread,
    zeros_like,
)
from olympus_core.primitives.gather import GatherDimensionNumbers, GatherScatterMode
from olympus_core.primitives.precision import Precision

_INT32 = np.dtype("int32")
_HIGHEST = (Precision.HIGHEST, Precision.HIGHEST)


def dot(a: Any, b: Any, *, swap_a: bool = False, swap_b: bool = False) -> Any:
    """Return the products of matrices; `swap_a` and `swap_b` transpose a and b."""
    n = len(shape_of(a)) - 2
    batch = tuple(range(n))
    contract = ((n if swap_a else n + 1,), (n + 1 if swap_b else n,))
    return op.dot_general(
        a,
        b,
        dimension_numbers=(contract, (batch, batch)),
        precision=_HIGHEST,
        preferred_element_type=None,
    )


def solve(
    a: Any,
    b: Any,
    *,
    left: bool = True,
    lower: bool = False,
    transpose: bool = False,
    conjugate: bool = False,
    unit: bool = False,
) -> Any:
    """Return x with a x = b (or x a = b, unless `left`) for triangular matrices a."""
    return op.triangular_solve(
        a,
        b,
        left_side=left,
        lower=lower,
        transpose_a=transpose,
        conjugate_a=conjugate and dtypes.kind(get_aval(a).dtype) == "c",
        unit_diagonal=unit,
    )


def swap(x: Any) -> Any:
    """Return the transposed matrices."""
    n = len(shape_of(x))
    return op.transpose(x, permutation=(*range(n - 2), n - 1, n - 2))


def conj(x: Any) -> Any:
    """Return the complex conjugate; a real array is itself."""
    return op.conj(x) if dtypes.kind(get_aval(x).dtype) == "c" else x


def real(x: Any) -> Any:
    """Return the real part; a real array is itself."""
    return op.real(x) if dtypes.kind(get_aval(x).dtype) == "c" else x


def adjoint(x: Any) -> Any:
    """Return the conjugated transposes."""
    return swap(conj(x))


def converted_like(x: Any, like: Any) -> Any:
    """`x` in the dtype of another value."""
    dtype = get_aval(like).dtype
    if get_aval(x).dtype == dtype:
        return x
    return op.convert_element_type(x, new_dtype=dtype, weak_type=False)


def _places(x: Any, dtype: Any) -> list[Any]:
    """Return the row and the column index of each element of matrices."""
    shape = shape_of(x)
    return [op.iota(dtype=dtype, shape=shape, dimension=len(shape) - i) for i in (2, 1)]


def triangle(x: Any, *, lower: bool, strict: bool = False) -> Any:
    """Return a triangle of matrices, without the diagonal if `strict`, and zeros elsewhere."""
    row, column = _places(x, _INT32)
    compare = (op.gt if strict else op.ge) if lower else (op.lt if strict else op.le)
    return op.select_n(compare(row, column), zeros_like(x), x)


def half_triangle(x: Any, *, lower: bool = True) -> Any:
    """Return the triangle of ones with halves on the diagonal, of x's shape: Phi(x) is x times it.

    For a Hermitian x, Phi(x) plus its adjoint is x.
    """
    row, column = _places(x, dtypes.to_real(get_aval(x).dtype))
    distance = op.sub(row, column) if lower else op.sub(column, row)
    half, one = elementwise_constant(distance, 0.5), elementwise_constant(distance, 1)
    return converted_like(op.clamp(scalar_zero(distance), op.add(distance, half), one), x)


def hermitian_of(x: Any, mask: Any) -> Any:
    """Return the Hermitian matrices that have x's triangle; `mask` is its `half_triangle`."""
    part = op.mul(x, mask)
    return op.add(part, adjoint(part))


def eye(x: Any) -> Any:
    """Return ones on the diagonals, of x's shape and dtype."""
    row, column = _places(x, _INT32)
    return converted_like(op.eq(row, column), x)


def diagonal(x: Any) -> Any:
    """Return the diagonals of square matrices, as vectors."""
    row, column = _places(x, _INT32)
    shape = shape_of(x)
    off_diagonal = op.select_n(op.eq(row, column), spread(scalar_zero(x), shape), x)
    return op.reduce_sum(off_diagonal, axes=(len(shape) - 2,))


def vectors(v: Any, shape: tuple[int, ...], *, along: int) -> Any:
    """Return vectors repeated to matrices of a shape: along -1 each is a row, along -2 a column."""
    n = len(shape)
    axes = (*range(n - 2), n + along)
    return op.broadcast_in_dim(v, shape=shape, broadcast_dimensions=axes)


def inverse_differences(w: Any, like: Any) -> Any:
    """1 / (w_j - w_i) off the diagonal, 0 on it, as matrices of the shape and dtype of `like`."""
    shape = shape_of(like)
    gaps = op.sub(vectors(w, shape, along=-1), vectors(w, shape, along=-2))
    on = eye(gaps)
    return converted_like(op.sub(op.div(elementwise_constant(gaps, 1), op.add(gaps, on)), on), like)


def block(x: Any, rows: slice = slice(None), columns: slice = slice(None)) -> Any:
    """Return a block of matrices, by slices of rows and columns without steps."""
    shape = shape_of(x)
    bounds = [_bounds(r, n) for r, n in zip((rows, columns), shape[-2:], strict=True)]
    starts = (*(0 for _ in shape[:-2]), *(b[0] for b in bounds))
    limits = (*shape[:-2], *(b[1] for b in bounds))
    if limits == shape and not any(starts):
        return x
    return op.slice(x, start_indices=starts, limit_indices=limits, strides=None)


def _bounds(index: slice, length: Any) -> tuple[Any, Any]:
    """Return the first index of a slice and the one after its last."""
    if any(map(is_symbolic_dim, (length, index.start, index.stop))):
        start, size, _ = symbolic_slice(index, length)
        return start, start + size
    return index.indices(length)[:2]


def join(a: Any, b: Any, *, axis: int) -> Any:
    """Return matrices beside each other along axis -1, or above each other along axis -2."""
    return op.concatenate(a, b, dimension=len(shape_of(a)) + axis)


def inverse_order(order: Any) -> Any:
    """Return the inverses of permutations, int32."""
    last = len(shape_of(order)) - 1
    places = op.iota(dtype=_INT32, shape=shape_of(order), dimension=last)
    _, inverse = op.sort(order, places, dimension=last, is_stable=False, num_keys=1)
    return inverse


def take_rows(x: Any, permutation: Any) -> Any:
    """Return the rows of each matrix in the order of its permutation."""
    *batch, rows, columns = shape_of(x)
    if not rows:
        return x
    n = len(batch)
    indices = reshape(permutation, (*shape_of(permutation), 1))
    return op.gather(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=(n + 1,),
            collapsed_slice_dims=(n,),
            start_index_map=(n,),
            operand_batching_dims=tuple(range(n)),
            start_indices_batching_dims=tuple(range(n)),
        ),
        slice_sizes=(*(min(1, b) for b in batch), 1, columns),
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def take_columns(x: Any, permutation: Any) -> Any:
    """Return the columns of each matrix in the order of its permutation."""
    return swap(take_rows(swap(x), permutation))


def solve_factored(a: Any, factors: Any, order: Any, b: Any) -> Any:
    """Return x with a x = b, given the factors and the permutation that `lu` returns for a."""
    rows, right = take_rows(a, order), take_rows(b, order)
    return op.factored_solve(rows, factors, right, by="lu", transpose_a=False)


def solve_by_lu(a: Any, b: Any) -> Any:
    """Return x with a x = b; the derivative solves the same equation, and reuses a's factors."""
    factors, _, order = op.lu(op.stop_gradient(a))
    return solve_factored(a, factors, order, b)
