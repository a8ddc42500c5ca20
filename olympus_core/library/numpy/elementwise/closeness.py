"""Equality within a tolerance, and of whole arrays: `isclose`, `allclose`, `array_equal`."""

from __future__ import annotations

from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, NestedArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import add, multiply, subtract
from olympus_core.library.numpy.elementwise.logic import (
    equal,
    isfinite,
    isnan,
    less_equal,
    logical_and,
    logical_or,
)
from olympus_core.library.numpy.reductions.sums import all as all_
from olympus_core.library.operands import align
from olympus_core.library.promotion import (
    broadcast_shapes,
    check_arrays,
    convert,
    promote_dtypes,
)
from olympus_core.library.structural import structural


@composite(static_argnames=("equal_nan",))
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Return |a - b| <= atol + rtol * |b|, element by element; infinities equal themselves.

    With `equal_nan`, nan equals nan.  Integers are converted to the default float.

    >>> isclose(1.0, asarray([1.0, 1.1]))
    Array([ True, False], dtype=bool)
    """
    check_arrays("isclose", a, b)
    a, b = align("isclose", *promote_dtypes(a, b))
    dtype = get_aval(a).dtype
    if dtype == dtypes.bool_:
        return equal(a, b)
    if dtypes.kind(dtype) not in "fc":
        a, b = (x.astype(dtypes.default_dtype("f")) for x in map(asarray, (a, b)))
    bound = add(atol, multiply(rtol, abs_(b)))
    near = less_equal(abs_(subtract(a, b)), bound)
    result = logical_or(logical_and(near, logical_and(isfinite(a), isfinite(b))), equal(a, b))
    if equal_nan:
        result = logical_or(result, logical_and(isnan(a), isnan(b)))
    return convert(result, dtypes.bool_)


@composite(static_argnames=("equal_nan",))
@structural(0, 1, every=True)
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Return True if all elements are close by `isclose`: a bool array without dimensions.

    >>> allclose(asarray([1.0, 2.0]), asarray([1.0, 2.1]))
    Array(False, dtype=bool)
    """
    return all_(isclose(a, b, rtol, atol, equal_nan))


def _as_array(x: Any) -> Array | None:
    """Return `x` as an array, or None if it cannot be converted."""
    try:
        return asarray(x)
    except (DTypeError, ShapeError):
        return None


@structural(0, 1, every=True)
def array_equal(a1: NestedArrayLike, a2: NestedArrayLike, equal_nan: bool = False) -> Array:
    """Return True if two arrays have equal shapes and elements; with `equal_nan`, nan equals nan.

    >>> array_equal(asarray([1, 2]), [1, 2])
    Array(True, dtype=bool)
    """
    a, b = _as_array(a1), _as_array(a2)
    if a is None or b is None or shape_of(a) != shape_of(b):
        return asarray(False)
    same = equal(a, b)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a), isnan(b)))
    return all_(same)


def array_equiv(a1: NestedArrayLike, a2: NestedArrayLike) -> Array:
    """Return True if two arrays broadcast to one shape and have equal elements in it.

    >>> array_equiv(asarray([1, 2]), asarray([[1, 2], [1, 2]]))
    Array(True, dtype=bool)
    """
    a, b = _as_array(a1), _as_array(a2)
    if a is None or b is None:
        return asarray(False)
    try:
        broadcast_shapes(a.shape, b.shape)
    except ShapeError:
        return asarray(False)
    return all_(equal(a, b))
