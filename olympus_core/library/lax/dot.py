"""The contractions of `olympus.lax`: `dot`, `dot_general` and related functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.promotion import check_arrays, promote_dtypes
from olympus_core.primitives.dot import dot_general_p
from olympus_core.primitives.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    canonical_precision,
    default_matmul_precision,
)

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "batch_matmul",
    "default_matmul_precision",
    "dot",
    "dot_general",
]

#: ((lhs contracting axes, rhs contracting axes), (lhs batch axes, rhs batch axes))
DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]
#: the values of `precision`: None, a Precision or its name, a pair of these, or an algorithm
PrecisionLike = (
    None
    | str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
)


def canonical_preferred(name: str, dtype: Any) -> DType | None:
    """Return the argument `preferred_element_type` of a function as a dtype, or None without it."""
    return None if dtype is None else dtypes.requested(name, dtype)


@out_sharded
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Contract pairs of axes of `lhs` and `rhs`, separately for each index of the batch axes.

    `dimension_numbers` is ((lhs contracting axes, rhs contracting axes), (lhs batch axes, rhs batch
    axes)).  The axes of the result are the batch axes, then the other axes of lhs, then the other
    axes of rhs.  Its dtype is `preferred_element_type`, by default the wider dtype of the operands.

    Raises ShapeError if paired axes differ in size, DTypeError if the dtypes do not match.

    >>> dot_general(ones((2, 3, 4)), ones((2, 4, 5)), (((2,), (1,)), ((0,), (0,)))).shape
    (2, 3, 5)
    """
    check_arrays("dot_general", lhs, rhs)
    (contract, contract_rhs), (batch, batch_rhs) = dimension_numbers
    dimensions = (
        (_axes(contract), _axes(contract_rhs)),
        (_axes(batch), _axes(batch_rhs)),
    )
    return dot_general_p.bind(
        *_as_arrays(lhs, rhs),
        dimension_numbers=dimensions,
        precision=canonical_precision(precision),
        preferred_element_type=canonical_preferred("dot_general", preferred_element_type),
    )


def _axes(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([int(a) for a in np.asarray(axes, int)]) if len(axes) else ()


def _as_arrays(lhs: Any, rhs: Any) -> Sequence[Any]:
    """Return the operands as arrays; a Python scalar and the other operand are promoted."""
    if isinstance(lhs, Array) and isinstance(rhs, Array):
        return lhs, rhs
    weak = dtypes.is_python_scalar(lhs) or dtypes.is_python_scalar(rhs)
    return promote_dtypes(lhs, rhs) if weak else (lhs, rhs)


@out_sharded
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Multiply vectors and matrices; with `dimension_numbers`, this is `dot_general`.

    Raises ShapeError for operands of a rank other than 1 or 2, or if the contracted sizes differ.

    >>> dot(array([1, 2]), array([3, 4]))
    Array(11, dtype=int32)
    """
    check_arrays("dot", lhs, rhs)
    if dimension_numbers is None:
        a, b = get_aval(lhs), get_aval(rhs)
        fits = a.ndim in (1, 2) and b.ndim in (1, 2) and a.shape[-1] == b.shape[0]
        if not fits:
            raise ShapeError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={a.shape} rhs_shape={b.shape}"
            )
        dimension_numbers = (((a.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Return the matrix products of two arrays of shapes (..., n, k) and (..., k, m).

    Raises ShapeError for operands of different ranks, or of a rank below 2.

    >>> batch_matmul(ones((5, 2, 3)), ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    check_arrays("batch_matmul", lhs, rhs)
    a, b = get_aval(lhs), get_aval(rhs)
    if min(a.ndim, b.ndim) < 2:
        raise ShapeError(f"Arguments to batch_matmul must be at least 2D, got {a.ndim}, {b.ndim}")
    if a.ndim != b.ndim:
        raise ShapeError(
            f"Arguments to batch_matmul must have same ndim, got {a.ndim}, {b.ndim} (of "
            f"{a.long_name()} and {b.long_name()})"
        )
    batch = tuple(range(a.ndim - 2))
    return dot_general(lhs, rhs, (((a.ndim - 1,), (a.ndim - 2,)), (batch, batch)), precision)
