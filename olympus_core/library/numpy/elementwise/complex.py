"""Complex numbers: their parts, angles and conjugates, and tests for them."""

from __future__ import annotations

import math
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, self_converted
from olympus_core.base.errors import DTypeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.elementwise import unary
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full_like, zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import multiply
from olympus_core.library.numpy.elementwise.logic import equal, not_equal
from olympus_core.library.operands import scalar_beside
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.primitives.elementwise.conversion import conj_p, imag_p, real_p
from olympus_core.primitives.elementwise.transcendental import atan2_p

real = unary(
    "real",
    "The real part.",
    {"c": real_p.bind, "buif": asarray},
    example=("real(asarray([1 + 2j, 3j]))", "Array([1., 0.], dtype=float32)"),
)
imag = unary(
    "imag",
    "The imaginary part.",
    {"c": imag_p.bind, "buif": zeros_like},
    example=("imag(asarray([1 + 2j, 3j]))", "Array([2., 3.], dtype=float32)"),
)
conjugate = unary(
    "conjugate",
    "The complex conjugate.",
    {"c": conj_p.bind, "buif": asarray},
    example=("conjugate(asarray([1 + 2j, 3j]))", "Array([1.-2.j, 0.-3.j], dtype=complex64)"),
)
conj = conjugate


def _compare_imaginary(comparison: Any, z: Any) -> Any:
    part = imag_p.bind(z)
    return comparison(part, scalar_beside(part, 0))


def _everywhere(x: Any, value: bool) -> Any:
    """Return a bool at the shape of `x`, weakly typed if `x` is so and has no axes, as in JAX."""
    aval = get_aval(x)
    return convert(full_like(x, value, dtype=bool), dtypes.bool_, aval.weak_type and not aval.shape)


iscomplex = unary(
    "iscomplex",
    "Whether the imaginary part is not 0.",
    {
        "c": lambda z: _compare_imaginary(not_equal, z),
        "buif": lambda x: _everywhere(x, False),
    },
    example=("iscomplex(asarray([1 + 2j, 3]))", "Array([ True, False], dtype=bool)"),
)
isreal = unary(
    "isreal",
    "Whether the imaginary part is 0.",
    {"c": lambda z: _compare_imaginary(equal, z), "buif": lambda x: _everywhere(x, True)},
    example=("isreal(asarray([1 + 2j, 3]))", "Array([False,  True], dtype=bool)"),
)


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of each element in the complex plane, in radians, or degrees with `deg`.

    >>> angle(1j, deg=True)
    Array(90., dtype=float32, weak_type=True)
    """
    check_arrays("angle", z)
    is_integer = dtypes.kind(get_aval(z).dtype) in "bui"
    (z,) = promote_inexact(z)
    dtype = dtypes.default_dtype("f") if is_integer else get_aval(z).dtype
    if dtypes.kind(dtype) == "c":
        x, y = real_p.bind(z), imag_p.bind(z)
    else:  # as in JAX, it is weak only for a complex number without a dtype
        x, y = convert(z, dtype), convert(0, dtype)
    result: Array = atan2_p.bind(y, x)
    return multiply(result, 180 / math.pi) if deg else result


def iscomplexobj(x: Any) -> bool:
    """Return True if `x` has a complex dtype, or is a Python complex; sequences become arrays.

    >>> iscomplexobj(asarray([1.0, 2.0]))
    False
    """
    if x is None:
        return False
    try:
        return dtypes.kind(get_aval(self_converted(x)).dtype) == "c"
    except DTypeError:
        return dtypes.kind(asarray(x).dtype) == "c"


def isrealobj(x: Any) -> bool:
    """Return True if `x` has no complex dtype.

    >>> isrealobj(asarray([1.0, 2.0]))
    True
    """
    return not iscomplexobj(x)
