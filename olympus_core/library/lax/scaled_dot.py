"""`scaled_dot`, the product of narrow floats with a scale for each block of contracted elements."""

from __future__ import annotations

from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.dot import DotDimensionNumbers, dot_general
from olympus_core.library.lax.shape import broadcast_in_dim, reshape
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.elementwise.arithmetic import mul_p


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return `dot_general` of `lhs * lhs_scale` and `rhs * rhs_scale`, which are bfloat16.

    A scale has the rank of its operand and its sizes, except along contracted axes, where each of
    its elements scales a block of 2 or more.  dimension_numbers: those of `dot_general`, by
    default of a product of matrices with batch axes before.  The result is
    `preferred_element_type`, by default bfloat16.

    Raises ShapeError for other shapes.

    >>> scaled_dot(ones((1, 4)), ones((4, 1)), lhs_scale=asarray([[2.0, 3.0]]))
    Array([[10]], dtype=bfloat16)
    """
    given = {"lhs": lhs, "rhs": rhs, "lhs_scale": lhs_scale, "rhs_scale": rhs_scale}
    arrays = {name: x for name, x in given.items() if x is not None}
    check_arrays("scaled_dot", *arrays.values())
    avals = {name: get_aval(x) for name, x in arrays.items()}
    ranks = {aval.ndim for aval in avals.values()}
    if len(ranks) != 1 or min(ranks) < 2:
        shapes = {name: aval.shape for name, aval in avals.items()}
        raise ShapeError(f"scaled_dot needs operands of one rank of 2 or more, and got {shapes}")
    (rank,) = ranks
    batch = tuple(range(rank - 2))
    (contract, contract_rhs), (lhs_batch, rhs_batch) = dimension_numbers or (
        ((rank - 1,), (rank - 2,)),
        (batch, batch),
    )
    numbers = (
        (tuple(contract), tuple(contract_rhs)),
        (tuple(lhs_batch), tuple(rhs_batch)),
    )
    for side, axes in (("lhs", numbers[0][0]), ("rhs", numbers[0][1])):
        if f"{side}_scale" in avals:
            _check_scale(side, avals[side], avals[f"{side}_scale"], axes)
    kind = dtypes.bfloat16 if preferred_element_type is None else preferred_element_type
    return _product(lhs, rhs, lhs_scale, rhs_scale, numbers, dtypes.requested("scaled_dot", kind))


def _check_scale(side: str, aval: ShapedArray, scale: ShapedArray, axes: tuple[int, ...]) -> None:
    for axis, (size, count) in enumerate(zip(aval.shape, scale.shape, strict=True)):
        fits = size % count == 0 and size // count >= 2 if axis in axes else size == count
        if not fits:
            need = "a divisor, of which it is at least the double" if axis in axes else "equal"
            raise ShapeError(
                f"scaled_dot: axis {axis} of {side} has size {size}, and that of its scale must be "
                f"{need}, and is {count}"
            )


@composite(static_argnums=(4, 5))
def _product(lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, numbers: Any, dtype: Any) -> Array:
    left, right = _scaled(lhs, lhs_scale), _scaled(rhs, rhs_scale)
    return dot_general(left, right, numbers, preferred_element_type=dtype)


def _scaled(x: Any, scale: Any) -> Any:
    wide = convert(x, dtypes.bfloat16)
    if scale is None:
        return wide
    shape, counts = get_aval(x).shape, get_aval(scale).shape
    blocks = [n for size, count in zip(shape, counts, strict=True) for n in (count, size // count)]
    repeated = broadcast_in_dim(scale, blocks, tuple(range(0, len(blocks), 2)))
    return mul_p.bind(wide, convert(reshape(repeated, shape), dtypes.bfloat16))
