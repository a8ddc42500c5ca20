"""Choosing elements in `olympus.numpy`: by conditions, by indices, by where they are not zero.

Conditions and arrays enter; arrays leave, whose shapes follow from the arguments' shapes or from
`size`, or, outside of a trace, from the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval
from olympus_core.errors import ConcretizationError, DTypeError, IndexingError, ShapeError
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.numpy.arithmetic import clip, remainder
from olympus_core.library.numpy.axes import operand, reject_out
from olympus_core.library.numpy.creation import asarray, full, zeros
from olympus_core.library.numpy.elementwise import choose as choose_between
from olympus_core.library.numpy.indexing import getitem
from olympus_core.library.numpy.joining import stack, unstack
from olympus_core.library.numpy.logic import not_equal
from olympus_core.library.lax.cumulative import cumsum
from olympus_core.library.numpy.shapes import (
    broadcast_arrays,
    broadcast_to,
    moveaxis,
    ravel,
    reshape,
)
from olympus_core.library.promotion import convert, promote_dtypes
from olympus_core.primitives.elementwise import select_n_p
from olympus_core.primitives.shape import iota_p
from olympus_core.tracer import Array, Tracer

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "extract",
    "flatnonzero",
    "nonzero",
    "piecewise",
    "place",
    "put",
    "select",
    "where",
]


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """`x` where `condition` holds, `y` elsewhere; the three are broadcast to one shape.

    `condition` is bool, or a number that is not 0.  With `condition` alone, `nonzero(condition)`.
    Raises ShapeError for shapes that do not broadcast, ValueError for just one of x and y.

    >>> where(asarray([True, False]), 1.0, asarray([2.0, 3.0]))
    Array([1., 3.], dtype=float32)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where needs both x and y, or neither")
    if size is not None or fill_value is not None:
        raise ValueError("where takes size and fill_value with a condition alone")
    return choose_between("where", condition, x, y)


@composite(static_argnames=("size",))
def _nonzero_of(mask: Any, size: int, fill_value: Any) -> tuple[Array, ...]:
    shape = mask.shape
    wanted = dtypes.default_dtype("i")
    if not mask.size or not size:
        return (full((size,), 0, wanted),) * len(shape)
    flat = ravel(mask)
    rank = cumsum(flat.astype(wanted)) - 1  # where each true element goes in the result
    target = choose_between("nonzero", flat, rank, size)
    count = iota_p.bind(dtype=wanted, shape=(mask.size,), dimension=0)
    found = zeros((size,), wanted).at[target].set(count, mode="drop")
    missing = iota_p.bind(dtype=wanted, shape=(size,), dimension=0) > rank[-1]
    results = []
    for axis, n in enumerate(shape):
        index = (found // math.prod(shape[axis + 1 :])) % n
        results.append(choose_between("nonzero", missing, fill_value[axis], index))
    return tuple(convert(x, wanted) for x in results)


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The indices of the elements that are not 0: a vector for each axis.

    Under a trace the number of them must be given as `size`: further ones are left out, and
    missing ones are `fill_value` (0 unless given; one for each axis if a tuple).  Raises
    ConcretizationError where it is not given, ShapeError for an array without dimensions.

    >>> nonzero(asarray([0, 5, 6]))
    (Array([1, 2], dtype=int32),)
    """
    a, aval = operand("nonzero", a)
    if not aval.shape:
        raise ShapeError("nonzero needs an array with dimensions: use atleast_1d")
    if size is None:
        if isinstance(a, Tracer):
            raise ConcretizationError(
                f"nonzero of {aval.long_name()}: how many elements are not 0 is not known while "
                f"tracing, and the array is {a.origin()}",
                hint="pass size=, an upper bound of their number, or use where with three arguments",
            )
        wanted = dtypes.default_dtype("i")
        return tuple(asarray(i.astype(wanted)) for i in np.nonzero(np.asarray(a)))
    one = 0 if fill_value is None else fill_value
    fills = one if isinstance(one, tuple) else (one,) * aval.ndim
    if len(fills) != aval.ndim:
        raise ShapeError(f"nonzero needs {aval.ndim} fill values, and got {len(fills)}")
    mask = a if aval.dtype == dtypes.bool_ else not_equal(a, 0)
    return _nonzero_of(asarray(mask), size, fills)  # type: ignore[no-any-return]


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices of the elements of the flattened array that are not 0; see `nonzero`."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices of the elements that are not 0, as the rows of a matrix; see `nonzero`."""
    a, aval = operand("argwhere", a)
    if not aval.shape:
        count = size if size is not None else int(bool(np.asarray(a)))
        return zeros((count, 0), dtypes.default_dtype("i"))
    return stack(nonzero(a, size=size, fill_value=fill_value), axis=1)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Array:
    """The elements of the flattened `arr` where the flattened condition holds; see `nonzero`."""
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Array:
    """The slices of `a` along an axis (or its elements, flattened) where the condition holds.

    With `size`, so many: slices that are missing are filled with `fill_value`.

    >>> compress(asarray([True, False, True]), asarray([1, 2, 3]))
    Array([1, 3], dtype=int32)
    """
    reject_out("compress", out)
    a, aval = operand("compress", a)
    condition, cond = operand("compress", condition)
    if cond.ndim != 1:
        raise ShapeError(f"compress needs a condition in one dimension, and got {cond.long_name()}")
    if axis is None:
        a, place = ravel(a), 0
    else:
        place = canonical_axis(axis, aval.ndim)
    a = moveaxis(a, place, 0)
    length = min(a.shape[0], cond.shape[0])
    condition = getitem(condition, slice(length))
    (index,) = nonzero(condition, size=size, fill_value=a.shape[0])
    taken = a.at[index].get(mode="fill", fill_value=fill_value)
    return moveaxis(taken, 0, place)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """For each element, the choice that goes with the first condition that holds, or `default`.

    Raises ValueError unless there are as many choices as conditions, and at least one.

    >>> x = asarray([-1.0, 0.0, 2.0])
    >>> select([x < 0, x > 0], [-x, x * 10], 5)
    Array([ 1.,  5., 20.], dtype=float32)
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select needs as many choices as conditions, at least one: it got {len(condlist)} "
            f"conditions and {len(choicelist)} choices"
        )
    conditions = [convert(asarray(c), dtypes.bool_) for c in condlist]
    choices = promote_dtypes(default, *choicelist)
    result = choices[0]
    for condition, choice in zip(reversed(conditions), reversed(choices[1:]), strict=True):
        result = choose_between("select", condition, choice, result)
    return asarray(result)


def piecewise(
    x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> Array:
    """For each element, the function of the last condition that holds, applied to it.

    `funclist` has functions of an array (called with `args` and `kw` too) or values, one for each
    condition, and perhaps one more for where none holds (0 otherwise).  Raises ValueError for
    another number.

    >>> piecewise(asarray([-1.0, 2.0]), [asarray([True, False])], [lambda v: -v, 7.0])
    Array([1., 7.], dtype=float32)
    """
    x, aval = operand("piecewise", x)
    if not isinstance(condlist, (Array, np.ndarray)) and np.isscalar(condlist):
        condlist = [condlist]
    conditions = [convert(asarray(c), dtypes.bool_) for c in condlist]
    count = len(conditions)
    if len(funclist) not in (count, count + 1):
        raise ValueError(f"piecewise needs {count} or {count + 1} functions, and got {len(funclist)}")
    functions = list(funclist)
    otherwise = functions.pop() if len(functions) > count else 0
    result = _value(otherwise, x, args, kw)
    for condition, function in zip(conditions, functions, strict=True):
        result = choose_between("piecewise", condition, _value(function, x, args, kw), result)
    return convert(broadcast_to(result, aval.shape), aval.dtype)  # type: ignore[no-any-return]


def _value(function: Any, x: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    aval = get_aval(x)
    value = function(x, *args, **kw) if callable(function) else function
    return convert(value, aval.dtype)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """For each element of `a`, a number, the element of the choice of that number at its place.

    `choices` is a sequence of arrays, or the rows of one array, which broadcast with `a`.  Numbers
    out of range are moved to the nearest one for `mode` "clip", counted around for "wrap", and
    refused for "raise" (IndexingError; ConcretizationError under a trace).

    >>> choose(asarray([1, 0]), [asarray([1, 2]), asarray([3, 4])])
    Array([3, 2], dtype=int32)
    """
    reject_out("choose", out)
    index, aval = operand("choose", a)
    if dtypes.kind(aval.dtype) not in "iu":
        raise DTypeError(f"choose needs integers to choose by, and got {aval.long_name()}")
    cases = unstack(choices) if isinstance(choices, (Array, np.ndarray)) else choices
    count = len(cases)
    if mode == "raise":
        _check_range(index, count)
    elif mode == "wrap":
        index = remainder(index, count)
    elif mode != "clip":
        raise ValueError(f"choose takes mode 'raise', 'wrap' or 'clip', and got {mode!r}")
    index = clip(index, 0, count - 1)
    index, *cases = broadcast_arrays(index, *promote_dtypes(*cases))
    result: Array = select_n_p.bind(convert(index, np.dtype("int32")), *cases)
    return result


def _check_range(index: Any, count: int) -> None:
    if isinstance(index, Tracer):
        raise ConcretizationError(
            f"choose cannot check, while tracing, that each number is below {count}",
            hint="pass mode='clip' or mode='wrap'",
        )
    values = np.asarray(index)
    if values.size and not 0 <= values.min() <= values.max() < count:
        raise IndexingError(f"choose of {count} choices got a number that is not below {count}")


def _in_place(name: str) -> ValueError:
    return ValueError(f"{name} cannot write to an array: pass inplace=False, and use the result")


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Array:
    """A copy of `arr` with the elements where `mask` holds replaced by `vals`, in turn.

    `vals` is repeated as often as needed.  Raises ValueError without `inplace=False`.
    """
    if inplace:
        raise _in_place("place")
    array, condition, values = asarray(arr), asarray(mask), ravel(vals)
    if array.size != condition.size:
        raise ShapeError(f"place needs a mask of {array.size} elements, and got {condition.size}")
    if not values.size:
        if array.size:
            raise ShapeError("place needs at least one value")
        return array
    flat = ravel(condition != 0)
    turn = remainder(cumsum(flat.astype(np.int32)) - 1, values.size)
    chosen = convert(getitem(values, turn), array.dtype)
    return reshape(choose_between("place", flat, chosen, ravel(array)), array.shape)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Array:
    """A copy of `a` with the elements at flat indices replaced by `v`, repeated as needed.

    Indices out of range are moved to the nearest one, or, for `mode` "wrap", counted around.
    Raises ValueError without `inplace=False`.
    """
    if inplace:
        raise _in_place("put")
    array, index, values = asarray(a), ravel(ind), ravel(v)
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put takes mode None, 'clip' or 'wrap', and got {mode!r}")
    if not array.size or not index.size or not values.size:
        return array
    if mode == "wrap":
        index = remainder(index, array.size)
    values = getitem(values, np.arange(index.size) % values.size)
    flat = ravel(array).at[index].set(convert(values, array.dtype), mode="clip")
    return reshape(flat, array.shape)
