"""The inverse of the complementary error function, `erfcinv`."""

from __future__ import annotations

import math

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.library.scipy.special.gamma import erfinv
from olympus_core.library.scipy.stats.normal import ndtri


@composite()
def erfcinv(x: ArrayLike) -> Array:
    """Return the inverse of `erfc`, on [0, 2]; it is nan elsewhere.

    It is erfinv(1 - x) near 1, and the quantile -ndtri(x / 2) / sqrt(2) elsewhere, which is exact
    for small `x`.  Raises ArgumentError for complex values.

    >>> erfcinv(asarray([0.0, 0.5, 1.0]))
    Array([      inf, 0.47693628, 0.        ], dtype=float32)
    """
    check_arrays("erfcinv", x)
    (x,) = promote_inexact(x)
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) != "f":
        raise ArgumentError(f"erfcinv does not support complex-valued inputs: {aval.short_name()}")
    wide = dtypes.dtype("float32") if aval.dtype.itemsize < 4 else aval.dtype
    y = convert(x, wide)
    is_near = (y >= 0.5) & (y <= 1.5)
    far = where(is_near, 0.25, y)
    tail = ndtri(where(far > 1, 2 - far, far) / 2) * (-1 / math.sqrt(2))
    inverse = where(is_near, erfinv(1 - where(is_near, y, 1)), where(far > 1, -tail, tail))
    return convert(inverse, aval.dtype, aval.weak_type)
