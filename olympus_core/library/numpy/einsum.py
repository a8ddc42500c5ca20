"""numpy's einsum, and the products that are one: subscripts and arrays enter, an array leaves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.errors import ShapeError, TraceError
from olympus_core.library.lax.dot import canonical_preferred
from olympus_core.library.numpy.axes import one_axis, operand, reject_out
from olympus_core.library.numpy.einsum_plan import Step, find_path, plan, subscripts_of
from olympus_core.library.promotion import convert, promote_dtypes
from olympus_core.primitives.dot import dot_general_p
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.conversion import conj_p
from olympus_core.primitives.precision import Params, canonical_precision
from olympus_core.primitives.reduction import reduce_or_p, reduce_sum_p
from olympus_core.primitives.shape import copy_p, reshape_p, squeeze_p, transpose_p
from olympus_core.primitives.slicing import slice_p
from olympus_core.tracer import Array

__all__ = ["einsum", "einsum_path", "matvec", "vecdot", "vecmat"]


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Sums of products, by Einstein's convention.

    subscripts: such as "ij,jk->ik", with a letter for each axis of each operand, "..." for
    leading axes that broadcast, and the result's axes after the arrow; without an arrow the
    result has the letters that occur once, in order.  The other form, operands each followed by
    a list of numbers for its axes, is taken too.  optimize: the order of contraction of more
    than two operands, as `numpy.einsum_path` takes it.

    Raises ShapeError where subscripts and shapes do not fit, TraceError for wrong subscripts.

    >>> einsum("bij,bjk->bik", ones((2, 3, 4)), ones((2, 4, 5))).shape
    (2, 3, 5)
    """
    if out is not None:
        reject_out("einsum", out)
    text, values = subscripts_of((subscripts, *operands))
    if not values:
        raise TraceError(f"einsum needs operands, and got none for {text!r}")
    values = promote_dtypes(*[operand("einsum", x)[0] for x in values])
    shapes = tuple(map(shape_of, values))
    path = _path(text, shapes, optimize)
    settings = canonical_precision(precision), canonical_preferred(preferred_element_type)
    for step in plan(text, shapes, path):
        _take(values, step, *settings)
    (result,) = values
    preferred = settings[1]
    if preferred is not None and get_aval(result).dtype != preferred:
        result = convert(result, preferred)
    return result if isinstance(result, Array) else copy_p.bind(result)


def _path(
    text: str, shapes: tuple[tuple[int, ...], ...], optimize: Any
) -> tuple[tuple[int, ...], ...]:
    if len(shapes) <= 2:
        return ((0, 1),) if len(shapes) == 2 else ()
    how = optimize if isinstance(optimize, (str, bool)) else tuple(map(_hashable, optimize))
    return _cached_path(text, shapes, how)


def _hashable(step: Any) -> Any:
    return step if isinstance(step, str) else tuple(step)


@functools.lru_cache(maxsize=2048)
def _cached_path(
    text: str, shapes: tuple[tuple[int, ...], ...], optimize: Any
) -> tuple[tuple[int, ...], ...]:
    return tuple(find_path(text, shapes, optimize))


def _take(values: list[Any], step: Step, precision: Params, preferred: Any) -> None:
    """Take one step of a plan on the list of operands."""
    kind, at, argument = step
    if kind == "dot":
        product = dot_general_p.bind(
            values[at[0]],
            values[at[1]],
            dimension_numbers=argument,
            precision=precision,
            preferred_element_type=preferred,
        )
        for i in sorted(at, reverse=True):
            del values[i]
        values.append(product)
    else:
        x = values[at[0]]
        if kind == "sum" and preferred is not None and get_aval(x).dtype != preferred:
            x = convert(x, preferred)
        values[at[0]] = _UNARY[kind](x, argument)


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    return (reduce_or_p if get_aval(x).dtype == BOOL else reduce_sum_p).bind(x, axes=axes)


def _diagonal(x: Any, axes: tuple[int, ...]) -> Any:
    """The diagonal of two axes of one size n, as the last axis: every n + 1st element."""
    shape = shape_of(x)
    rest = tuple([i for i in range(len(shape)) if i not in axes])
    n, sizes = shape[axes[0]], tuple([shape[i] for i in rest])
    flat = reshape_p.bind(x, dimensions=(*rest, *axes), new_sizes=(*sizes, n * n))
    return slice_p.bind(
        flat,
        start_indices=(0,) * (len(rest) + 1),
        limit_indices=(*sizes, n * n),
        strides=(*[1] * len(rest), n + 1),
    )


_UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "squeeze": lambda x, axes: squeeze_p.bind(x, dimensions=axes),
    "diagonal": _diagonal,
    "sum": _sum,
    "transpose": lambda x, order: transpose_p.bind(x, permutation=order),
}


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[tuple[int, ...]], str]:
    """The order in which `einsum` contracts its operands, and a description of it.

    Each pair of the path is places in the list of operands; a result goes to the end of it.
    """
    text, values = subscripts_of((subscripts, *operands))
    shapes = tuple(map(shape_of, values))
    path = list(find_path(text, shapes, optimize))
    views = [np.broadcast_to(np.float32(0), s) for s in shapes]
    return path, str(np.einsum_path(text, *views, optimize=["einsum_path", *path])[1])


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The scalar products of vectors along `axis`, those of `x1` conjugated; the rest broadcasts.

    Raises ShapeError where the vectors differ in length.
    """
    x1, x2 = (_last(operand("vecdot", x)[0], axis) for x in (x1, x2))
    lengths = shape_of(x1)[-1], shape_of(x2)[-1]
    if lengths[0] != lengths[1]:  # not even 1: the axis of a product does not broadcast
        raise ShapeError(f"vecdot needs vectors of one length, and got {lengths[0]}, {lengths[1]}")
    return einsum(
        "...i,...i->...",
        _conj(x1),
        x2,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def matvec(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The products of matrices (..., n, k) with vectors (..., k); leading axes broadcast.

    Raises ShapeError where the contracted sizes differ.
    """
    return einsum(
        "...ij,...j->...i",
        x1,
        x2,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def vecmat(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The products of vectors (..., k), conjugated, with matrices (..., k, m).

    Raises ShapeError where the contracted sizes differ.
    """
    return einsum(
        "...i,...ij->...j",
        _conj(operand("vecmat", x1)[0]),
        x2,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _conj(x: Any) -> Any:
    return conj_p.bind(x) if dtypes.kind(get_aval(x).dtype) == "c" else x


def _last(x: Any, axis: int) -> Any:
    """`x` with an axis moved to the end."""
    rank = get_aval(x).ndim
    place = one_axis("vecdot", rank, axis)
    if place == rank - 1:
        return x
    return transpose_p.bind(x, permutation=(*[i for i in range(rank) if i != place], place))
