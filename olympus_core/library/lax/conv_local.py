"""`conv_general_dilated_local`, a convolution with a kernel of its own at each position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import get_aval
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.conv import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    conv_general_dilated_patches,
)
from olympus_core.library.lax.dot import PrecisionLike, dot_general
from olympus_core.library.lax.shape import transpose
from olympus_core.library.lax.window import PaddingLike, ints
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.precision import canonical_precision


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: PaddingLike,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """Convolve `lhs` with a kernel that differs between the positions of the result.

    rhs: its space axes have the sizes of the result's, its input features are C *
    prod(filter_shape), ordered by the feature of `lhs` and then by the position in the window.
    The other arguments are those of `conv_general_dilated`.

    Raises ShapeError for shapes that do not match.

    >>> conv_general_dilated_local(ones((1, 2, 5)), ones((4, 6, 3)), (1,), "VALID", (3,)).shape
    (1, 4, 3)
    """
    check_arrays("conv_general_dilated_local", lhs, rhs)
    used = canonical_precision(precision)
    first: Any = used[0] if isinstance(used, tuple) else None
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        first,
    )
    aval = get_aval(lhs)
    numbers = conv_dimension_numbers(aval.shape, (1, 1, *ints(filter_shape)), dimension_numbers)
    out, kernel = numbers.out_spec, numbers.rhs_spec
    pairs = sorted(zip(out[2:], kernel[2:], strict=True))  # the space axes, in the result's order
    space, kernel_space = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    product = dot_general(
        patches,
        rhs,
        (((out[1],), (kernel[1],)), (space, kernel_space)),
        precision,
    )
    places = (*space, out[0], out[1])  # the axis of the result for each axis of the product
    return transpose(product, [places.index(i) for i in range(aval.ndim)])
