"""Operands of library functions: checks, alignment to one shape, and selection."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, self_converted, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.library.promotion import (
    broadcast_problem,
    broadcast_shapes,
    broadcast_to,
    check_arrays,
    check_ranks,
    convert,
    promote_dtypes,
)
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.logic import ne_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.shape import broadcast_in_dim_p


def operand(name: str, x: Any) -> tuple[Any, ShapedArray]:
    """Return an operand of function `name` and its aval; raise DTypeError if it is not an array."""
    if isinstance(x, Array):
        return x, x.aval
    check_arrays(name, x)
    x = self_converted(x)
    return x, get_aval(x)


def reject_out(name: str, out: Any) -> None:
    """Raise UnsupportedError for an `out` argument: arrays are immutable."""
    if out is not None:
        raise UnsupportedError(
            f"{name} does not take 'out': arrays cannot be written to", hint="use the result"
        )


def mask(name: str, where: Any, shape: tuple[int, ...]) -> Any:
    """Return a `where` argument at `shape`; raise ArgumentError unless it is bool."""
    where = bool_operand(name, where)
    return where if not shape_of(where) else broadcast_to(where, shape)


def bool_operand(name: str, where: Any) -> Any:
    """Return a `where` argument, an array or a scalar; raise ArgumentError unless it is bool."""
    where, aval = operand(name, where)
    if aval.dtype != BOOL:
        raise ArgumentError(f"{name} needs a bool array as where, and got {aval.long_name()}")
    return where


def scalar(value: Any, dtype: DType) -> Any:
    """Return a value as a NumPy scalar of a dtype: a strongly typed literal of the IR."""
    if is_symbolic_dim(value):
        return convert(value, dtype)
    if value.__class__ is int:  # only ints are cached: 0.0 and -0.0 would be one key
        return _int_scalar(value, dtype)
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()]


def scalar_beside(x: Any, value: Any) -> Any:
    """Return a number for an operation with `x`: it is weakly typed if `x` has no axes, as in JAX.

    The result of an operation with a weakly typed array is then not weakly typed.
    """
    aval = get_aval(x)
    return scalar(value, aval.dtype) if aval.shape else value


@functools.lru_cache(maxsize=4096)
def _int_scalar(value: int, dtype: DType) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()]


_KIND_RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


_SCALAR_RANK: Final = {bool: 0, int: 1, float: 2}


_CASTABLE: Final = {
    np.dtype(name) for name in (*"?bBhHiIlL", "int64", "uint64", *"efdFD", dtypes.bfloat16)
}


Cast = tuple[Callable[[Any], Any], Any, Any]


class _Casts(dict[tuple[type, ShapedArray | None], Cast | None]):
    """The cast of a Python scalar of a class to an array's dtype, and the range of the cast.

    None if the pair must be promoted: the dtype changes, or the value is not a scalar.
    """

    def __missing__(self, key: tuple[type, ShapedArray | None]) -> Cast | None:
        cls, aval = key
        cast = None
        if aval is not None and not aval.weak_type and aval.dtype in _CASTABLE:
            rank = _SCALAR_RANK.get(cls, 4)
            if cls is bool and aval.dtype != dtypes.bool_:  # a bool is not weakly typed
                rank = 4
            if rank <= _KIND_RANK[dtypes.kind(aval.dtype)]:
                cast = (aval.dtype.type, *_range(aval.dtype))
        self[key] = cast
        return cast


def _range(dtype: DType) -> tuple[float, float]:
    """Return the finite Python scalars that NumPy casts to the dtype without an error or a warning.

    Ints outside of int32, the narrower default, are left to promotion.
    """
    kind = dtypes.kind(dtype)
    if kind in "iu":
        info, default = dtypes.iinfo(dtype), dtypes.iinfo("int32")
        return max(int(info.min), int(default.min)), min(int(info.max), int(default.max))
    return (0, 1) if kind == "b" else (-65504.0, 65504.0)  # the range of float16, the narrowest


casts: Final = _Casts()
#: values that a cast accepts too
_INFINITIES: Final = (float("inf"), -float("inf"))


def promote_numeric(*xs: Any) -> list[Any]:
    """Return the operands in the least dtype that they share, at least an integer dtype."""
    promoted = promote_dtypes(*xs)
    if get_aval(promoted[0]).dtype != dtypes.bool_:
        return promoted
    return [convert(x, dtypes.canonicalize("int32")) for x in promoted]


@functools.lru_cache(maxsize=4096)
def _axes(shapes: tuple[Shape, ...], shaped_from: int) -> tuple[Shape, Sequence[Shape | None]]:
    """Return the shape that `shapes` broadcast to, and the axes of each that must broadcast.

    Rank-0 shapes may stay, as elementwise primitives accept them, unless all from `shaped_from` on
    are rank 0.
    """
    shape = broadcast_shapes(*shapes)
    axes: list[Shape | None] = [
        None if s in ((), shape) else tuple(range(len(shape) - len(s), len(shape))) for s in shapes
    ]
    if shape and not any(shapes[shaped_from:]):
        axes[-1] = ()
    return shape, axes


def align(name: str, *xs: Any, shaped_from: int = 0) -> Sequence[Any]:
    """Return the operands of `name` broadcast to one shape, except rank-0 ones; see `_axes`."""
    shapes = tuple([shape_of(x) for x in xs])
    if len(set(shapes)) == 1:
        return xs
    check_ranks(name, shapes)
    try:
        shape, axes = _axes(shapes, shaped_from)
    except ShapeError as e:
        problem = f"{name}: {e}" if shaped_from else broadcast_problem(name, shapes, e)
        raise ShapeError(problem) from None
    return [
        x if dims is None else broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims)
        for x, dims in zip(xs, axes, strict=True)
    ]


def choose(name: str, condition: Any, x: Any, y: Any) -> Array:
    """Return `x` where `condition`, `y` elsewhere, for the function `name`."""
    condition = self_converted(condition)
    aval = getattr(condition, "aval", None)
    if aval is None or aval.dtype is not dtypes.bool_:
        check_arrays(name, condition)
        if get_aval(condition).dtype != dtypes.bool_:
            condition = ne_p.bind(condition, _zero(condition))
    x, y = _one_dtype(name, x, y)
    return select_n_p.bind(*align(name, condition, y, x, shaped_from=1))


def _zero(x: Any) -> Any:
    return convert(0, get_aval(x).dtype)


def _one_dtype(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    a, b = getattr(x, "aval", None), getattr(y, "aval", None)
    if a is not None and b is None:
        cast = casts[y.__class__, a]
        if cast is not None and (cast[1] <= y <= cast[2] or y in _INFINITIES):
            return x, cast[0](y)
    elif b is not None and a is None:
        cast = casts[x.__class__, b]
        if cast is not None and (cast[1] <= x <= cast[2] or x in _INFINITIES):
            return cast[0](x), y
    elif a is not None and b is not None and a.dtype is b.dtype:
        return x, y
    check_arrays(name, x, y)
    one, other = promote_dtypes(x, y)
    return one, other
