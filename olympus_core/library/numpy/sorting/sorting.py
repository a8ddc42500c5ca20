"""Sorting: `sort`, `argsort`, `lexsort`, `partition`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArraySequence, DTypeLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.rearranging import flip
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, ravel
from olympus_core.library.operands import operand, scalar
from olympus_core.library.promotion import convert
from olympus_core.primitives.shape import iota_p, rev_p
from olympus_core.primitives.sort import sort_p

_STATIC = ("axis", "kind", "order", "stable", "descending", "dtype")
_INT32 = np.dtype("int32")


def _along(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """Return the array and the axis to sort along; None flattens the array in row-major order."""
    a, aval = operand(name, a)
    if axis is None:
        return (a if aval.ndim == 1 else ravel(a)), 0
    return a, canonical_axis(axis, aval.ndim, f"the axis of {name}")


def _check_kind(name: str, kind: Any, order: Any) -> None:
    for option, value in (("kind", kind), ("order", order)):
        if value is not None:
            raise ArgumentError(
                f"{option!r} argument to {name} is not supported: it is {value!r}",
                hint="the sort is stable; stable=False leaves that to the target",
            )


@composite(static_argnames=_STATIC[:-1])
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Return the elements in ascending order along `axis`, or flattened if it is None.

    NaNs come last, and complex elements compare by their real parts first.  descending: the
    reverse.

    Raises ShapeError for an axis that the array does not have.

    >>> sort(array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    _check_kind("sort", kind, order)
    a, place = _along("sort", a, axis)
    out: Array
    (out,) = sort_p.bind(a, dimension=place, is_stable=stable, num_keys=1)
    if descending:
        out = rev_p.bind(out, dimensions=(place,))
    return out


@composite(static_argnames=_STATIC)
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the indices that sort the array along `axis`, or flattened if it is None.

    `stable` keeps the order of equal elements.  dtype: the integer dtype of the indices.

    Raises ShapeError for an axis that the array does not have.

    >>> argsort(array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    _check_kind("argsort", kind, order)
    a, place = _along("argsort", a, axis)
    index = dtypes.requested("argsort", dtype, dtypes.default_dtype("i"))
    places = iota_p.bind(dtype=index, shape=get_aval(a).shape, dimension=place)
    if descending and stable:  # a reversed stable sort of the reverse keeps the order of equals
        a, places = (rev_p.bind(x, dimensions=(place,)) for x in (a, places))
    out: Array = sort_p.bind(a, places, dimension=place, is_stable=stable, num_keys=1)[1]
    if descending:
        out = rev_p.bind(out, dimensions=(place,))
    return out


def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> tuple[Array, Array]:
    """Return the `k` largest or smallest elements along `axis`, in order, and their indices.

    mode: "largest" or "smallest"; a NaN is the largest value.  sorted: the results are sorted also
    if it is False.

    Raises ArgumentError for another mode, or a `k` outside of 0 to the size of the axis, and
    ShapeError for an axis that the array does not have.

    >>> top_k(array([3, 1, 2]), 2)
    (Array([3, 2], dtype=int32), Array([0, 2], dtype=int32))
    """
    if mode not in ("largest", "smallest"):
        raise ArgumentError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    a, aval = operand("top_k", a)
    place, count = canonical_axis(axis, aval.ndim), operator.index(k)
    if not 0 <= count <= aval.shape[place]:
        bound = "nonnegative" if count < 0 else "no larger than size along axis"
        raise ArgumentError(
            f"k argument to top_k must be {bound}; got k={count} with shape={list(aval.shape)} and "
            f"axis={place}"
        )
    index = iota_p.bind(dtype=dtypes.default_dtype("i"), shape=aval.shape, dimension=place)
    both: list[Any] = [a, index]
    if mode == "largest":  # a reversed stable sort of the reverse keeps the order of equals
        both = [rev_p.bind(x, dimensions=(place,)) for x in both]
    both = sort_p.bind(*both, dimension=place, is_stable=True, num_keys=1)
    if mode == "largest":
        both = [rev_p.bind(x, dimensions=(place,)) for x in both]
    ends = tuple([count if i == place else n for i, n in enumerate(aval.shape)])
    starts = (0,) * aval.ndim
    values, places = (
        op.slice(x, start_indices=starts, limit_indices=ends, strides=None) for x in both
    )
    return values, places


def sort_complex(a: ArrayLike) -> Array:
    """Return `a` sorted along its last axis, as complex: by real part, then by imaginary part.

    Raises ShapeError for a scalar.

    >>> sort_complex(array([3, 1, 2]))
    Array([1.+0.j, 2.+0.j, 3.+0.j], dtype=complex64)
    """
    a = sort(a)
    return convert(a, dtypes.to_complex(dtypes.to_inexact(a.dtype)))


def lexsort(keys: ArraySequence, axis: int = -1) -> Array:
    """Return the indices that sort by several keys, arrays of one shape; the last key is primary.

    Raises ShapeError for no keys, or keys of different shapes.

    >>> lexsort((asarray([2, 1, 1]), asarray([0, 0, 1])))
    Array([1, 0, 2], dtype=int32)
    """
    arrays = [operand("lexsort", k)[0] for k in keys]
    if not arrays:
        raise ShapeError("lexsort needs at least one key, and got none")
    shape, index = get_aval(arrays[0]).shape, dtypes.default_dtype("i")
    if not shape:
        return broadcast_to(scalar(0, index), ())
    place = canonical_axis(axis, len(shape), "the axis of lexsort")
    places = iota_p.bind(dtype=index, shape=shape, dimension=place)
    operands = (*reversed(arrays), places)
    *_, order = sort_p.bind(*operands, dimension=place, is_stable=True, num_keys=len(arrays))
    result: Array = order
    return result


def _canonical_kth(name: str, a: Any, kth: int, axis: int) -> tuple[int, int]:
    shape = operand(name, a)[1].shape
    place = canonical_axis(axis, len(shape), f"the axis of {name}")
    return place, canonical_axis(kth, shape[place], f"kth of {name}")


def _parts(x: Array, axis: int, kth: int) -> tuple[Array, Array]:
    """Return the elements of `x` up to the position `kth` of an axis, and the others."""
    around = (slice(None),) * axis
    return x[(*around, slice(kth + 1))], x[(*around, slice(kth + 1, None))]


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return the elements along `axis` with the sorted element at `kth`, and smaller ones before.

    Both parts are sorted, NaNs last: the first up to `kth` ascending, the rest descending.

    Raises ShapeError for an axis, or a `kth`, that the array does not have.

    >>> partition(asarray([3, 1, 2]), 0)[0]
    Array(1, dtype=int32)
    """
    place, kth = _canonical_kth("partition", a, kth, axis)
    first, rest = _parts(sort(a, place), place, kth)
    return concatenate([first, flip(rest, place)], place)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return the indices that partition the array along `axis`: `kth`, the smaller ones, the rest.

    Those up to `kth` are in the order of the elements, and the rest ascend.

    Raises ShapeError for an axis, or a `kth`, that the array does not have.

    >>> argpartition(asarray([3, 1, 2]), 0)[0]
    Array(1, dtype=int32)
    """
    place, kth = _canonical_kth("argpartition", a, kth, axis)
    order = convert(argsort(a, place), _INT32)  # not int64 in x64 mode either, as in JAX
    first, rest = _parts(order, place, kth)
    return concatenate([first, sort(rest, place)], place)
