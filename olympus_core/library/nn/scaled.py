"""Products of matrices with scales of blocks."""

from __future__ import annotations

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.manipulation.tiling import repeat
from olympus_core.library.numpy.products.einsum import einsum
from olympus_core.library.promotion import check_arrays, convert

FLOAT32 = np.dtype("float32")


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = "float32",
) -> Array:
    """Return the products of scaled matrices: of rows of `lhs` and rows of `rhs`.

    lhs: (B, M, K).  rhs: (B, N, K).  lhs_scales: (B, M, k).  rhs_scales: (B, N, k).  Each scale
    multiplies K / k adjacent elements.  The product is computed in float32.  The result is
    (B, M, N), of `preferred_element_type`.

    Raises ShapeError (a ValueError) for other shapes.

    >>> a, scale = ones((1, 1, 4)), asarray([[[2.0, 3.0]]])
    >>> scaled_matmul(a, a, scale, ones((1, 1, 2)))
    Array([[[10.]]], dtype=float32)
    """
    given = (lhs, rhs, lhs_scales, rhs_scales)
    check_arrays("scaled_matmul", *given)
    _check_shapes(*[get_aval(x).shape for x in given])
    a, b, a_scales, b_scales = [asarray(x, FLOAT32) for x in given]
    block = a.shape[2] // a_scales.shape[2]
    product = einsum(
        "bmk,bnk->bmn", a * repeat(a_scales, block, axis=2), b * repeat(b_scales, block, axis=2)
    )
    return convert(product, dtypes.requested("scaled_matmul", preferred_element_type))


def _check_shapes(*shapes: tuple[int, ...]) -> None:
    if any(len(shape) != 3 for shape in shapes):
        raise ShapeError(
            f"scaled_matmul requires all inputs to be 3-dimensional arrays, and got {shapes}"
        )
    a, b, a_scales, b_scales = shapes
    for text, x, y in (("inputs a and b", a, b), ("scales", a_scales, b_scales)):
        if (x[0], x[2]) != (y[0], y[2]):
            raise ShapeError(
                f"scaled_matmul requires {text} to have matching batch (B) and contract (K) "
                f"dimensions, but got shapes {x} and {y}"
            )
    if a[:2] != a_scales[:2] or b[:2] != b_scales[:2]:
        raise ShapeError(
            "scaled_matmul requires scales to match non-contract dimensions of inputs, but got "
            f"shapes {shapes}"
        )
    if not a_scales[2] or a[2] % a_scales[2]:
        raise ShapeError(f"scaled_matmul divides {a[2]} elements into {a_scales[2]} equal blocks")
