"""Operands and axes as reductions take them: what the user writes enters, tuples of ints leave."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import ShapedArray, get_aval
from olympus_core.dtypes import DType
from olympus_core.errors import DTypeError, TraceError
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.promotion import broadcast_to, check_arrays
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.shape import broadcast_in_dim_p
from olympus_core.tracer import Array

__all__ = [
    "Axis",
    "axis_tuple",
    "keep_dims",
    "list_axis",
    "mask",
    "one_axis",
    "operand",
    "reject_out",
    "scalar",
    "wide_integer",
]

_F = TypeVar("_F", bound=Callable[..., Any])

Axis = Any  # int | Sequence[int] | None


def operand(name: str, x: Any) -> tuple[Any, ShapedArray]:
    """An operand of function `name`, and its aval; raises DTypeError if it is not an array."""
    if isinstance(x, Array):
        return x, x.aval
    check_arrays(name, x)
    if hasattr(x, "__jax_array__"):
        x = x.__jax_array__()
    return x, get_aval(x)


def reject_out(name: str, out: Any) -> None:
    """Raise TraceError for an `out` argument: arrays are immutable."""
    if out is not None:
        raise TraceError(
            f"{name} does not take 'out': arrays cannot be written to", hint="use the result"
        )


def one_axis(name: str, ndim: int, axis: Any) -> int:
    """An axis as an int from 0; raises ShapeError for one that the array does not have."""
    if axis.__class__ is int and 0 <= axis < ndim:
        return int(axis)
    return canonical_axis(axis, ndim, f"the axis of {name}")


def list_axis(function: _F) -> _F:
    """The function, which must take its axes as a tuple, for lists of axes too."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and isinstance(args[1], list):
            args = (args[0], tuple(args[1]), *args[2:])
        if isinstance(kwargs.get("axis"), list):
            kwargs["axis"] = tuple(kwargs["axis"])
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def axis_tuple(name: str, ndim: int, axis: Axis) -> tuple[int, ...]:
    """The axes that `axis` (an int, a sequence of ints, or None for all) names, in order.

    Raises ShapeError for an axis that the array does not have, or has twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if axis.__class__ is int or not isinstance(axis, (tuple, list)):
        return (one_axis(name, ndim, axis),)
    return canonical_axes(axis, ndim, f"an axis of {name}")


def keep_dims(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """A reduction's result with the axes that were reduced as axes of size 1."""
    if not axes:
        return x
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    sizes = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return broadcast_in_dim_p.bind(x, shape=sizes, broadcast_dimensions=kept)


def mask(name: str, where: Any, shape: tuple[int, ...]) -> Any:
    """A `where` argument at `shape`; raises DTypeError unless it is bool."""
    where, aval = operand(name, where)
    if aval.dtype != BOOL:
        raise DTypeError(f"{name} needs a bool array as where, and got {aval.long_name()}")
    return where if not aval.shape else broadcast_to(where, shape)


def scalar(value: Any, dtype: DType) -> Any:
    """A value as a NumPy scalar of a dtype: a literal of the IR that is not weak."""
    if value.__class__ is int:  # only ints are kept: 0.0 and -0.0 would be one key
        return _int_scalar(value, dtype)
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()]


@functools.lru_cache(maxsize=4096)
def _int_scalar(value: int, dtype: DType) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()]


def wide_integer(dtype: DType) -> DType:
    """A dtype for sums: bools and integers become at least the default integers."""
    kind = dtypes.kind(dtype)
    if kind not in "bui":
        return dtype
    default = dtypes.default_dtype("u" if kind == "u" else "i")
    narrow = kind == "b" or dtypes.iinfo(dtype).bits < dtypes.iinfo(default).bits
    return default if narrow else dtype
