"""Counting in `olympus.numpy`: how often integers occur, where values fall; flat indices."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.errors import ArgumentError, ConcretizationError, DTypeError, ShapeError
from olympus_core.library.composite import composite
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.fills import ones_like, zeros
from olympus_core.library.numpy.operands import choose
from olympus_core.library.numpy.orders import flip
from olympus_core.library.numpy.sorting import searchsorted
from olympus_core.library.promotion import check_arrays
from olympus_core.tracer import Array, Tracer

__all__ = [
    "bincount",
    "digitize",
    "ravel_multi_index",
    "unravel_index",
]


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Array:
    """How often each of 0, 1, 2, ... occurs in a vector, or the sum of the `weights` of it.

    As many as `minlength` or the greatest element asks for, or, what a trace needs
    (ConcretizationError), just `length`: greater elements are then left out.  Negative ones count
    as 0.  Raises DTypeError for what is not integer, ShapeError for what is not a vector.

    >>> bincount(asarray([0, 2, 2]))
    Array([1, 0, 2], dtype=int32)
    """
    x, aval = operand("bincount", x)
    if dtypes.kind(aval.dtype) not in "iub":
        raise DTypeError(f"bincount needs integers, and got {aval.long_name()}")
    if aval.ndim != 1:
        raise ShapeError(f"bincount needs a vector, and got {aval.long_name()}")
    if weights is not None and shape_of(weights) != aval.shape:
        raise ShapeError(f"bincount needs {aval.size} weights, and got shape {shape_of(weights)}")
    least = operator.index(minlength)
    if length is None:
        if isinstance(x, Tracer):
            raise ConcretizationError(
                f"bincount cannot know the shape of its result: the array is {x.origin()}",
                hint="pass length=, one more than the greatest element",
            )
        length = max(least, int(np.max(np.asarray(x))) + 1 if aval.size else 0)
    else:
        length = operator.index(length)
    values = ones_like(x, dtype="int32") if weights is None else asarray(weights)
    return _counted(asarray(x), values, length)


@composite(static_argnames=("length",))
def _counted(x: Any, values: Any, length: int) -> Array:
    index = choose("bincount", x < 0, 0, x) if x.dtype.kind == "i" else x.astype("int32")
    result: Array = zeros((length,), values.dtype).at[index].add(values, mode="drop")
    return result


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Array:
    """The number of the bin that each element falls into, of those between edges in order.

    Bin i goes from edge i - 1 to before edge i; with `right`, from after the one to the other.
    The edges may also fall.  Raises ShapeError unless `bins` is a vector.

    >>> digitize(asarray([0.5, 2.0]), asarray([0.0, 1.0, 2.0]))
    Array([1, 3], dtype=int32)
    """
    check_arrays("digitize", x, bins)
    if len(shape_of(bins)) != 1:
        raise ShapeError(f"digitize needs a vector of bins, and got shape {shape_of(bins)}")
    if not shape_of(bins)[0]:
        return zeros(shape_of(x), "int32")
    return _digitized(x, bins, right=bool(right), method=method or "scan")


@composite(static_argnames=("right", "method"))
def _digitized(x: Any, bins: Any, *, right: bool, method: str) -> Array:
    side = "left" if right else "right"
    rising = searchsorted(bins, x, side=side, method=method)
    falling = len(bins) - searchsorted(flip(bins), x, side=side, method=method)
    return choose("digitize", bins[-1] >= bins[0], rising, falling)  # type: ignore[no-any-return]


def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Array, ...]:
    """The index along each axis of elements given by their place in the flattened array.

    Places out of bounds are moved to the nearest element; negative ones count from the end.

    >>> unravel_index(asarray([5]), (2, 3))
    (Array([1], dtype=int32), Array([2], dtype=int32))
    """
    indices, _ = operand("unravel_index", indices)
    sizes = (shape,) if isinstance(shape, int) else tuple(operator.index(n) for n in shape)
    total = math.prod(sizes)
    flat = asarray(indices)
    flat = choose("unravel_index", flat < 0, flat + total, flat).clip(0, max(total - 1, 0))
    result = []
    for n in sizes[:0:-1]:
        result.append(flat % n)
        flat = flat // n
    return (flat, *reversed(result)) if sizes else ()


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Array:
    """The place in the flattened array of elements given by their index along each axis.

    Indices out of bounds are moved to the nearest for `mode` "clip", counted around for "wrap",
    and refused for "raise" (ArgumentError; ConcretizationError under a trace).

    >>> ravel_multi_index((asarray([1]), asarray([2])), (2, 3))
    Array([5], dtype=int32)
    """
    if len(multi_index) != len(dims):
        raise ShapeError(f"ravel_multi_index got {len(multi_index)} indices for {len(dims)} axes")
    if order not in ("C", "F"):
        raise ArgumentError(f"ravel_multi_index takes order 'C' or 'F', and got {order!r}")
    wanted = dtypes.default_dtype("i") if dtype is None else dtypes.canonicalize(dtype)
    for index in multi_index:
        if dtypes.kind(get_aval(index).dtype) not in "iu":
            raise DTypeError(
                f"ravel_multi_index needs integers, and got {get_aval(index).long_name()}"
            )
    # in the wide dtype from the start: a narrow one may not hold the lengths
    wide = [asarray(i) if isinstance(i, int) else asarray(i).astype(wanted) for i in multi_index]
    pairs = [(_bounded(i, n, mode), n) for i, n in zip(wide, dims, strict=True)]
    result: Any = zeros((), wanted)
    for index, n in pairs if order == "C" else reversed(pairs):
        result = result * n + asarray(index).astype(wanted)
    return result  # type: ignore[no-any-return]


def _bounded(index: Any, length: int, mode: str) -> Any:
    if mode == "wrap":
        return asarray(index) % length
    if mode == "clip":
        return asarray(index).clip(0, length - 1)
    if mode != "raise":
        raise ArgumentError(f"ravel_multi_index takes mode 'raise', 'wrap' or 'clip', not {mode!r}")
    if isinstance(index, Tracer):
        raise ConcretizationError(
            f"ravel_multi_index cannot check an index while tracing: it is {index.origin()}",
            hint="pass mode='clip' or mode='wrap'",
        )
    values = np.asarray(index)
    if values.size and not 0 <= values.min() <= values.max() < length:
        raise ArgumentError(f"ravel_multi_index got an index out of bounds for length {length}")
    return index
