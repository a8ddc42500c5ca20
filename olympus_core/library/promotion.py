"""Promotion: conversion of operands of mixed dtypes and shapes to one dtype and rank.

Python scalars remain scalars (they become literals in the IR); weak types give way, as in
`dtypes.promote`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np

from olympus_core.arrays.device_array import put_array
from olympus_core.base import dtypes, source, tree
from olympus_core.base.avals import Shape, ShapedArray, get_aval, self_converted, shape_of, shaped
from olympus_core.base.context import state
from olympus_core.base.dimensions.expression import record_undecided
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import (
    ArgumentError,
    DTypeError,
    OlympusWarning,
    RangeError,
    ShapeError,
)
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.primitives.collective import varying
from olympus_core.primitives.elementwise.conversion import convert_element_type_p
from olympus_core.primitives.shape import broadcast_in_dim_p

_T = TypeVar("_T")
_SCALARS: dict[str, Any] = {"b": bool, "u": int, "i": int, "f": float, "c": complex}


def check_arrays(name: str, *xs: Any) -> None:
    """Raise DTypeError unless every operand of function `name` is an array or a scalar.

    A float0 array, the tangent of an integer, is the operand of no function.
    """
    for i, x in enumerate(xs):
        if x.__class__ is np.ndarray and x.dtype.kind == "V" and x.dtype == dtypes.float0:
            raise DTypeError(
                f"Called {name} with a float0 array. float0s do not support any operations by "
                "design: they are the gradients with respect to integers, and have no values",
                hint="np.zeros_like(x, dtype=float) has the shape of such an array x",
            )
        if not isinstance(x, (Array, np.ndarray, np.generic, bool, int, float, complex)):
            if hasattr(x, "__jax_array__"):
                continue
            if x.__class__ is tree.key_class:
                raise DTypeError(keys_term(name, xs))
            raise DTypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}",
                hint="turn lists and tuples into arrays with olympus.numpy.array",
            )


def keys_term(name: str, operands: Sequence[Any]) -> str:
    """Return the message for operands of function `name`, which has no numbers for random keys."""
    operand_dtypes = [getattr(x, "dtype", None) or get_aval(x).dtype for x in operands]
    names = [dtypes.long_name(d) for d in operand_dtypes]
    if len(set(names)) > 1:
        return f"{name} does not accept dtypes {', '.join(names)}."
    at = " at position 0" if len(names) > 1 else ""
    return (
        f"{name} does not accept dtype {names[0]}{at}. Accepted dtypes{at} are subtypes of "
        f"integer, floating and others: Cannot interpret '{names[0]}' as a data type"
    )


@overload
def convert(x: Array, dtype: DType, weak_type: bool = False) -> Array: ...


@overload
def convert(x: Any, dtype: DType, weak_type: bool = False) -> Any: ...


def convert(x: Any, dtype: DType, weak_type: bool = False) -> Any:
    """Return `x` with `dtype` and weak type; a scalar remains a scalar.

    An array that already has that type is returned as it is.  A Python int wraps around in a narrow
    or unsigned dtype; it has up to 64 bits (RangeError).
    """
    if dtypes.is_python_scalar(x) or (isinstance(x, np.generic) and x.shape == ()):
        return _convert_scalar(x, dtype, weak_type)
    x = self_converted(x)
    aval = get_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if isinstance(x, np.ndarray) and not x.shape and not weak_type:
        return x.astype(dtype)[()]
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)


def strong(x: Any) -> Any:
    """Return an array or a scalar with its dtype, without a weak type."""
    aval = get_aval(x)
    return convert(x, aval.dtype) if aval.weak_type else x


def convert_array(x: Any, dtype: DType, weak_type: bool = False) -> Array:
    """Return `x` as an array of `dtype` and weak type; a concrete value becomes a constant."""
    converted = convert(x, dtype, weak_type)
    if isinstance(converted, Array):
        return converted
    return put_array(converted, shaped(shape_of(converted), dtype, weak_type))


def _convert_scalar(x: Any, dtype: DType, weak_type: bool) -> Any:
    if x.__class__ is bool and dtype == dtypes.bool_ and not weak_type:
        return x
    kind = dtypes.kind(dtype)
    if isinstance(x, (complex, np.complexfloating)) and kind != "c":
        x = x.real
    if weak_type:
        return _SCALARS[kind](x.item() if isinstance(x, np.generic) else x)
    if kind in "iu" and isinstance(x, int):
        dtypes.check_python_int(x, np.dtype("uint64" if x > 0 else "int64"))
    elif kind in "iu" and not math.isfinite(x):
        x = 0 if math.isnan(x) else getattr(dtypes.iinfo(dtype), "max" if x > 0 else "min")
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(dtype)[()]


def convert_to_requested(x: Any, dtype: DType) -> Any:
    """Return `x` with the dtype that the caller of a function requested; a scalar remains a scalar.

    Warns (ComplexWarning) if imaginary parts are discarded.  A Python complex number has no real
    value: it is True or False as bool, and raises DTypeError for other real dtypes.
    """
    if dtypes.kind(dtype) == "c" or dtypes.kind(get_aval(x).dtype) != "c":
        return convert(x, dtype)
    warn_discarded(get_aval(x).dtype, dtype)
    if x.__class__ is complex:
        check_number(x, dtype)
        return bool(x)
    return convert(x, dtype)


def check_number(x: complex, dtype: DType) -> None:
    """Raise an error if a Python number has no value of the dtype: complex, nan or infinite.

    The error is DTypeError for a complex number, ArgumentError for nan and RangeError for infinity.
    """
    kind, name = dtypes.kind(dtype), dtypes.long_name(dtype)
    if isinstance(x, complex):
        if kind not in "cb":
            raise DTypeError(f"a value of {name} must be a real number, not 'complex': it is {x}")
    elif kind in "iu" and isinstance(x, float) and not math.isfinite(x):
        if math.isnan(x):
            raise ArgumentError(f"cannot convert float NaN to integer, a value of {name}")
        raise RangeError(f"cannot convert float infinity to integer, a value of {name}")


def warn_discarded(source_dtype: DType, dtype: DType) -> None:
    """Warn (ComplexWarning) if a conversion between the dtypes discards imaginary parts."""
    if dtypes.kind(source_dtype) == "c" and dtypes.kind(dtype) != "c":
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
            stacklevel=source.user_level(),
        )


def promote_dtypes(*xs: Any) -> list[Any]:
    """Return the operands in the least dtype that they share.

    Raises DTypeError if they share none.
    """
    operands = [*map(self_converted, xs)]
    first, *rest = avals = [get_aval(x) for x in operands]
    if all(a.dtype == first.dtype and a.weak_type == first.weak_type for a in rest):
        return operands
    dtype, weak = dtypes.promote(*((a.dtype, a.weak_type) for a in avals))
    return [_adapt(x, a.dtype, dtype, weak) for x, a in zip(operands, avals, strict=True)]


def _adapt(x: Any, have: DType, dtype: DType, weak: bool) -> Any:
    """Convert `x` only if its dtype differs: a weak operand of the dtype may stay weak.

    A scalar is first converted to its own dtype: a Python int must fit the default int
    (RangeError).
    """
    if have == dtype:
        return x
    if x.__class__ is int:
        dtypes.check_python_int(x, have)
    elif isinstance(x, np.generic) and x.dtype != have:
        x = x.astype(have)
    return convert(x, dtype, weak)


@overload
def promote_inexact(*xs: Array) -> list[Array]: ...


@overload
def promote_inexact(*xs: Any) -> list[Any]: ...


def promote_inexact(*xs: Any) -> list[Any]:
    """Return the operands in the least float or complex dtype that represents them."""
    operands = [*map(self_converted, xs)]
    avals = [get_aval(x) for x in operands]
    dtype, weak = dtypes.promote(*((a.dtype, a.weak_type) for a in avals))
    dtype = dtypes.to_inexact(dtype)
    return [_adapt(x, a.dtype, dtype, weak) for x, a in zip(operands, avals, strict=True)]


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that all `shapes` broadcast to by NumPy's rule; raise ShapeError if none."""
    if len(set(shapes)) == 1:
        return shapes[0]
    rank = max(map(len, shapes), default=0)
    result = []
    for dims in zip(*((1,) * (rank - len(s)) + s for s in shapes), strict=True):
        wide = {d for d in dims if d != 1}
        if len(wide) > 1:
            record_undecided(wide)
            raise ShapeError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_to(x: Any, shape: Shape) -> Array:
    """Return `x` broadcast to `shape` by NumPy's rule; raise ShapeError if it is impossible."""
    have = shape_of(x)
    if have == shape and isinstance(x, Array):
        return x
    check_broadcast(get_aval(x), shape)
    offset = len(shape) - len(have)
    dims = tuple(range(offset, len(shape)))
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims)


def check_broadcast(aval: ShapedArray, shape: Shape) -> None:
    """Raise ShapeError unless an array of type `aval` broadcasts to `shape`."""
    if len(aval.shape) > len(shape):
        raise ShapeError(
            "Cannot broadcast to shape with fewer dimensions: "
            f"arr_shape={tuple(aval.shape)} shape={tuple(shape)}"
        )
    lengths = zip(reversed(aval.shape), reversed(shape), strict=False)
    misfits = [{have, length} for have, length in lengths if have not in (1, length)]
    if misfits:
        record_undecided(misfits[-1])
        raise ShapeError(
            f"Incompatible types for broadcasting: input type={aval.long_name()} and requested "
            f"type={shaped(shape, aval.dtype).long_name()}"
        )


def promote_shapes(name: str, *xs: Any) -> list[Any]:
    """Return the operands broadcast to one shape; rank-0 ones stay, for elementwise primitives.

    Raises ShapeError, naming the function, if the shapes do not broadcast, or differ in rank while
    `numpy_rank_promotion` is "raise".
    """
    shapes = [shape_of(x) for x in xs]
    if len({s for s in shapes if s}) < 2:
        return list(xs)
    check_ranks(name, shapes)
    try:
        shape = broadcast_shapes(*shapes)
    except ShapeError as e:
        raise ShapeError(broadcast_problem(name, shapes, e)) from None
    return [x if not s else broadcast_to(x, shape) for x, s in zip(xs, shapes, strict=True)]


def broadcast_problem(name: str, shapes: Sequence[Shape], error: ShapeError) -> str:
    """Return the message for the operands of `name`, whose shapes do not broadcast.

    `error` is the one of `broadcast_shapes`, whose message is for shapes of different ranks.
    """
    if len({len(s) for s in shapes if s}) > 1:
        return f"{name}: {error}"
    text = ", ".join([str(s) for s in shapes if s])
    return f"{name} got incompatible shapes for broadcasting: {text}"


def check_ranks(name: str, shapes: Sequence[Shape]) -> None:
    """Report shapes of rank above 0 that differ in rank, according to `numpy_rank_promotion`.

    Raises ShapeError, naming the function, if that is "raise".
    """
    if state.numpy_rank_promotion == "allow" or len({len(s) for s in shapes if s}) < 2:
        return
    text = f"{name} on shapes {' '.join(map(str, shapes))}"
    if state.numpy_rank_promotion == "raise":
        raise ShapeError(
            f"Operands could not be broadcast together for {text} and with the config option "
            "jax_numpy_rank_promotion='raise'",
            hint="write the axes of length 1 out, with olympus.numpy.expand_dims or x[None]",
        )
    place = source.current_location().place()
    warnings.warn(
        f"Following NumPy automatic rank promotion for {text}. Set the jax_numpy_rank_promotion "
        f"config option to 'allow' to disable this warning{place}",
        OlympusWarning,
        stacklevel=2,
    )


def promote(name: str, *xs: Any) -> list[Any]:
    """Return the operands of function `name` in one dtype and shape; see the parts."""
    check_arrays(name, *xs)
    return promote_shapes(name, *promote_dtypes(*xs))


def wide_integer(dtype: DType) -> DType:
    """Return the dtype of sums: for bools and integers at least the default integer."""
    kind = dtypes.kind(dtype)
    if kind not in "bui":
        return dtype
    default = dtypes.default_dtype("u" if kind == "u" else "i")
    narrow = kind == "b" or dtypes.iinfo(dtype).bits < dtypes.iinfo(default).bits
    return default if narrow else dtype


def vary_together(values: _T, *beside: Any) -> _T:
    """Return the tree `values` typed to vary along the axes of any of its leaves or of `beside`.

    The carry of a loop keeps its type, so a carry that begins with constants begins with this.
    Outside of the body of a `shard_map` the result is `values`.

    >>> start = vary_together((key, full(shape, 0, dtype)), rate)
    """
    if not trace.checked_axes():
        return values
    every = frozenset[Any]().union(*[get_aval(x).vma for x in tree.leaves((values, beside))])
    varied: _T = tree.map(lambda x: varying(x, every), values)
    return varied
