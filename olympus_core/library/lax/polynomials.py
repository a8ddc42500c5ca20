"""`log2`, `one_minus_square` and `polynomial` of `olympus.lax`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from olympus_core.base.avals import get_aval
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.elementwise import log
from olympus_core.library.promotion import check_arrays, convert, promote
from olympus_core.primitives.elementwise.base import check_kinds
from olympus_core.primitives.precision import Accuracy


def log2(x: ArrayLike, *, accuracy: Accuracy | None = None) -> Array:
    """Return the logarithm of base 2 of floats or complex numbers; raise DTypeError for others.

    >>> log2(array([1.0, 8.0]))
    Array([0., 3.], dtype=float32)
    """
    check_arrays("log2", x)
    aval = get_aval(x)
    check_kinds("log2", "fc", aval)
    factor = convert(1 / math.log(2), aval.dtype, aval.weak_type)
    out: Array = op.mul(*promote("log2", log(x, accuracy=accuracy), factor))
    return out


def one_minus_square(x: ArrayLike) -> Array:
    """Return 1 - x**2 as the product (1 - x) (1 + x), exact near 1; raise DTypeError for bool.

    >>> one_minus_square(array([0.5, 2.0]))
    Array([ 0.75, -3.  ], dtype=float32)
    """
    check_arrays("one_minus_square", x)
    aval = get_aval(x)
    check_kinds("one_minus_square", "uifc", aval)
    one = convert(1, aval.dtype, aval.weak_type)
    less, more = (f(*promote("one_minus_square", one, x)) for f in (op.sub, op.add))
    out: Array = op.mul(less, more)
    return out


def polynomial(x: ArrayLike, coeffs: Sequence[ArrayLike], *, unroll: int | None = None) -> Array:
    """Return sum(c * x**i for i, c in enumerate(coeffs)), by Horner's rule.

    coeffs: scalars, or arrays of shapes that broadcast with that of `x`, from the lowest degree.
    unroll: accepted as in JAX; the rule is always written out.

    >>> polynomial(3.0, [1.0, 5.0, 2.0])
    Array(34., dtype=float32, weak_type=True)
    """
    check_arrays("polynomial", x, *coeffs)
    if not coeffs:
        aval = get_aval(x)
        zero: Array = op.mul(*promote("polynomial", x, convert(0, aval.dtype, aval.weak_type)))
        return zero
    dtype = get_aval(x).dtype
    own = [convert(c, dtype, get_aval(x).weak_type) if get_aval(c).weak_type else c for c in coeffs]
    x, *values = promote("polynomial", x, *own)
    check_kinds("polynomial", "uifc", get_aval(x))
    total: Array = values[-1]
    for c in reversed(values[:-1]):
        total = op.add(op.mul(total, x), c)
    return total
