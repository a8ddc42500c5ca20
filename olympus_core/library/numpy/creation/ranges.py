"""Evenly spaced numbers: `arange`, `linspace`, `logspace`, `geomspace`.

Their lengths are Python ints, known while tracing.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import shape_of
from olympus_core.base.context import switched
from olympus_core.base.dimensions.expression import is_symbolic_dim, max_dim
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    ShapeError,
    concrete_value_expected,
)
from olympus_core.ir.conversions import size_remedy
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.device import placed
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.dtypes.queries import result_type
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, expand_dims
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.promotion import broadcast_shapes, check_arrays, convert
from olympus_core.primitives.elementwise.arithmetic import add_p, floor_p, mul_p, sign_p
from olympus_core.primitives.elementwise.transcendental import log_p
from olympus_core.primitives.shape import iota_p
from olympus_core.xla import Device


@out_sharded
def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the numbers `start`, `start + step`, ... below `stop`; one argument is the stop.

    The arguments must be known while tracing (ConcretizationTypeError otherwise), because they
    determine the shape.  Raises ZeroDivisionError for a step of 0, and DTypeError for complex
    numbers, which have no order.

    >>> arange(1, 7, 2)
    Array([1, 3, 5], dtype=int32)
    """
    arguments = [x for x in (start, stop, step) if x is not None]
    names = ("start" if stop is not None else "stop", "stop", "step")
    for x, name in zip((start, stop, step), names, strict=True):
        if x is None:
            continue
        if isinstance(x, Tracer):
            raise concrete_value_expected(
                f"it arose in the jnp.arange argument '{name}', which is {x.origin()}",
                hint=f"{size_remedy(x.argument())}; or use a mask",
            )
        if shape_of(x):
            raise ShapeError(f"arange needs scalars, and got an array of shape {shape_of(x)}")
    target_dtype = dtypes.requested("arange", dtype, result_type(*arguments))
    bounds: list[Any] = [x if is_symbolic_dim(x) else np.asarray(x).item() for x in arguments]
    if any(isinstance(x, complex) for x in bounds):
        raise DTypeError(
            "arange needs bounds and a step that have an order, and got complex numbers",
            hint="make a real range, and multiply it: arange(n) * 1j",
        )
    if len(bounds) == 1:
        bounds = [0, *bounds]
    first, last = bounds[:2]
    by = bounds[2] if len(bounds) == 3 else 1
    if any(is_symbolic_dim(x) for x in bounds):
        count = _symbolic_count(first, last, by)
    else:
        count = max(math.ceil((last - first) / by), 0)
    return placed(progression(first, by, count, target_dtype), device)


def _symbolic_count(first: Any, last: Any, by: Any) -> Any:
    """Return the number of steps of a range with symbolic bounds."""
    if not all(is_symbolic_dim(x) or isinstance(x, int) for x in (first, last, by)):
        raise ArgumentError(
            "arange needs ints or symbolic dimensions as bounds if one is symbolic, and got "
            f"{first}, {last} and {by}"
        )
    if by < 0:
        first, last, by = -first, -last, -by
    return max_dim((last - first + by - 1) // by, 0)


def progression(first: Any, step: Any, count: int, dtype: DType) -> Array:
    if dtype == dtypes.bool_:
        return asarray(np.arange(first, first + step * count, step, dtype=bool))
    numbers: Array = iota_p.bind(dtype=dtype, shape=(count,), dimension=0)
    if step != 1:
        numbers = mul_p.bind(numbers, convert(step, dtype))
    if first != 0:
        numbers = add_p.bind(convert(first, dtype), numbers)
    return numbers


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Array: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Device | None = None,
) -> tuple[Array, Array]: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex,
    endpoint: bool,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> tuple[Array, Array]: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Array | tuple[Array, Array]: ...


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | None = None,
) -> Array | tuple[Array, Array]:
    """Return `num` evenly spaced numbers from `start` to `stop`, which `endpoint` includes.

    The bounds may be arrays that broadcast; the numbers are along the new axis `axis`.  With
    `retstep`, the result is (numbers, distance).  Raises ArgumentError for a negative `num`.

    >>> linspace(0, 1, 3)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    count = sample_count("linspace", num)
    samples = _linspace(start, stop, count, endpoint=bool(endpoint), dtype=dtype, axis=axis)
    numbers = placed(samples[0], device)
    return (numbers, placed(samples[1], device)) if retstep else numbers


def sample_count(name: str, num: Any) -> int:
    """Return the number of samples, an argument of the function `name`, as a Python int.

    It may be an array without dimensions.  Raises ArgumentError for another value and for a
    negative one, ConcretizationTypeError for a traced array.
    """
    if is_symbolic_dim(num):
        return num  # type: ignore[no-any-return]
    try:
        count = operator.index(num)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise ArgumentError(
            f"{name} needs an integer as the number of samples, and got {num!r:.80}"
        ) from None
    if count < 0:
        raise ArgumentError(f"{name} needs a number of samples >= 0, and got {count}")
    return count


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _linspace(
    start: Any, stop: Any, num: int, *, endpoint: bool, dtype: Any, axis: int
) -> tuple[Any, Any]:
    check_arrays("linspace", start, stop)
    target_dtype = dtypes.requested("linspace", dtype, dtypes.to_inexact(result_type(start, stop)))
    inexact = dtypes.to_inexact(target_dtype)
    shape = broadcast_shapes(shape_of(start), shape_of(stop))
    first, last = (broadcast_to(convert(x, inexact), shape) for x in (start, stop))
    gaps = num - 1 if endpoint else num
    has_step = is_symbolic_dim(gaps) or gaps > 0
    step = (last - first) / gaps if has_step else asarray(math.nan, dtype=inexact)
    numbers = _interpolated(first, last, num, gaps, endpoint)
    numbers = moveaxis(numbers, 0, canonical_axis(axis, len(shape) + 1))
    if dtypes.kind(target_dtype) in "iu" and dtypes.kind(inexact) == "f":
        numbers = floor_p.bind(numbers)
    return convert(numbers, target_dtype), step


def _interpolated(first: Array, last: Array, num: int, gaps: int, endpoint: bool) -> Array:
    """Return the numbers along axis 0; the last is exactly `last`, without a rounding error."""
    if is_symbolic_dim(num):
        gaps, endpoint = max_dim(gaps, 1), False
    elif num < 2:
        return broadcast_to(first, (num, *first.shape))
    count = gaps if endpoint else num
    column = (count,) + (1,) * first.ndim
    real_dtype = dtypes.to_real(first.dtype)
    at = iota_p.bind(dtype=real_dtype, shape=column, dimension=0) / convert(gaps, real_dtype)
    with switched("numpy_rank_promotion", "allow"):
        numbers: Array = first * (1 - at) + last * at
    return concatenate([numbers, expand_dims(last, 0)]) if endpoint else numbers


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """`base ** x` for the numbers x of `linspace`.

    >>> logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    check_arrays("logspace", start, stop, base)
    count = sample_count("logspace", num)
    return _logspace(start, stop, count, base, endpoint=bool(endpoint), dtype=dtype, axis=axis)


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(
    start: Any, stop: Any, num: int, base: Any, *, endpoint: bool, dtype: Any, axis: int
) -> Array:
    target_dtype = dtypes.requested("logspace", dtype, dtypes.to_inexact(result_type(start, stop)))
    inexact = dtypes.to_inexact(target_dtype)
    exponents = linspace(start, stop, num, endpoint, dtype=inexact, axis=axis)
    powers: Array = convert(base, inexact) ** exponents
    return convert(powers, target_dtype)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Return `num` numbers from `start` to `stop` with a constant ratio.

    >>> geomspace(1, 100, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    check_arrays("geomspace", start, stop)
    count = sample_count("geomspace", num)
    return _geomspace(start, stop, count, endpoint=bool(endpoint), dtype=dtype, axis=axis)


@composite(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, num: int, *, endpoint: bool, dtype: Any, axis: int) -> Array:
    target_dtype = dtypes.requested("geomspace", dtype, dtypes.to_inexact(result_type(start, stop)))
    inexact = dtypes.to_inexact(target_dtype)
    first, last = asarray(start, inexact), asarray(stop, inexact)
    sign = sign_p.bind(first)
    scale = convert(1 / math.log(10), inexact)
    low, high = (log_p.bind(x / sign) * scale for x in (first, last))
    numbers = logspace(low, high, num, endpoint, dtype=inexact, axis=0)
    return convert(moveaxis(sign * numbers, 0, axis), target_dtype)
