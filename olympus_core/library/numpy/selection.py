"""Where elements are not zero, in `olympus.numpy`, and what is there.

Conditions and arrays enter; arrays leave, whose shapes follow from `size`, or, outside of a trace,
from the values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.errors import ArgumentError, ConcretizationError, ShapeError
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.cumulative import cumsum
from olympus_core.library.numpy.axes import operand, reject_out
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.fills import full, zeros
from olympus_core.library.numpy.indexing import getitem
from olympus_core.library.numpy.joining import stack
from olympus_core.library.numpy.logic import not_equal
from olympus_core.library.numpy.operands import choose as choose_between
from olympus_core.library.numpy.orders import moveaxis
from olympus_core.library.numpy.shapes import ravel
from olympus_core.library.promotion import convert
from olympus_core.library.structural import structural
from olympus_core.primitives.shape import iota_p
from olympus_core.tracer import Array, Tracer

__all__ = [
    "argwhere",
    "compress",
    "extract",
    "flatnonzero",
    "nonzero",
    "where",
]


@structural(1, 2)
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
    Raises ShapeError for shapes that do not broadcast, ArgumentError for just one of x and y.

    >>> where(asarray([True, False]), 1.0, asarray([2.0, 3.0]))
    Array([1., 3.], dtype=float32)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ArgumentError("where needs both x and y, or neither")
    if size is not None or fill_value is not None:
        raise ArgumentError("where takes size and fill_value with a condition alone")
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
                hint="pass size=, a bound of their number, or use where with three arguments",
            )
        wanted = dtypes.default_dtype("i")
        return tuple(asarray(i.astype(wanted)) for i in np.nonzero(np.asarray(a)))
    one = 0 if fill_value is None else fill_value
    fills = one if isinstance(one, tuple) else (one,) * aval.ndim
    if len(fills) != aval.ndim:
        raise ShapeError(f"nonzero needs {aval.ndim} fill values, and got {len(fills)}")
    mask = a if aval.dtype == dtypes.bool_ else not_equal(a, 0)
    return _nonzero_of(asarray(mask), size, fills)


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


@structural(1)
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
