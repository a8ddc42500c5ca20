"""Reductions of the rows of an array by the segment of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, get_aval
from olympus_core.base.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    ShapeError,
    concrete_value_expected,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax.slicing import host_indices
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full
from olympus_core.library.numpy.reductions.sums import max as max_of
from olympus_core.library.numpy.reductions.sums import min as min_of
from olympus_core.library.numpy.reductions.sums import prod, sum
from olympus_core.library.operands import operand
from olympus_core.primitives.elementwise.base import check_kinds
from olympus_core.primitives.gather import GatherScatterMode
from olympus_core.primitives.reduction import (
    Reduction,
    reduce_max_p,
    reduce_min_p,
    reduce_prod_p,
    reduce_sum_p,
)

_Effect = Literal["add", "multiply", "max", "min"]
#: for an update of an array: its reduction, which has the identity, and the function that joins
#: the results of buckets
_EFFECTS: dict[_Effect, tuple[Reduction, Callable[..., Array]]] = {
    "add": (reduce_sum_p, sum),
    "multiply": (reduce_prod_p, prod),
    "max": (reduce_max_p, max_of),
    "min": (reduce_min_p, min_of),
}


class _SegmentFunction(Protocol):
    """A function that reduces the rows of each segment."""

    def __call__(
        self,
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: str | GatherScatterMode | None = None,
        out_sharding: OutSharding = None,
    ) -> Array: ...


def _segment_function(
    name: str, effect: _Effect, what: str, empty: str, printed: str, details: str = ""
) -> _SegmentFunction:
    def segment_function(
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: str | GatherScatterMode | None = None,
        out_sharding: OutSharding = None,
    ) -> Array:
        rows, ids = _checked(name, data, segment_ids)
        reduced: Array = _reduced(
            asarray(rows),
            asarray(ids),
            effect=effect,
            count=_count(name, ids, num_segments),
            bucket=None if bucket_size is None else _number(name, "bucket_size", bucket_size, 1),
            options=(
                ("indices_are_sorted", bool(indices_are_sorted)),
                ("unique_indices", bool(unique_indices)),
                ("mode", GatherScatterMode.from_any(mode)),
            ),
        )
        return reduced

    segment_function.__name__ = segment_function.__qualname__ = name
    segment_function.__doc__ = f"""Return the {what} of the rows of each segment.

    data: an array [n, ...] of any dtype{" but bool" if effect in ("add", "multiply") else ""}.
    segment_ids: the segment of each row, n integers in any order.  The result is an array
    [num_segments, ...] of data's dtype; a segment without rows has {empty}.  num_segments: by
    default one more than the largest id; it is required if the ids are traced
    (ConcretizationTypeError).  indices_are_sorted, unique_indices: promises about the ids.
    bucket_size: the number of rows that are reduced first, to reduce rounding errors; then the
    results of these buckets are reduced.  mode: the treatment of ids that are negative or too
    large (see GatherScatterMode); by default their rows are omitted.  out_sharding: the sharding
    of the result along explicit axes.

    Raises ShapeError unless each row has one id, DTypeError for ids that are not integers, and
    ArgumentError for a number of segments below 0 or a bucket without rows.{details}

    >>> ops.{name}(numpy.arange(1, 6), numpy.array([0, 0, 2, 2, 2]), num_segments=3)
    {printed}
    """
    return out_sharded(segment_function)


def _checked(name: str, data: Any, segment_ids: Any) -> tuple[Any, Any]:
    """Return the operands; raise an error unless the ids are integers, one for each row."""
    (data, rows), (ids, aval) = operand(name, data), operand(name, segment_ids)
    if name in ("segment_prod", "segment_sum"):
        check_kinds(name, "uifc", rows)
    if dtypes.kind(aval.dtype) not in "iu":
        raise DTypeError(f"{name} needs integers as segment_ids, and got {aval.long_name()}")
    if aval.ndim != 1 or rows.shape[:1] != aval.shape:
        raise ShapeError(
            f"{name} needs a vector of segment_ids, one for each row of data, and got "
            f"{aval.long_name()} for {rows.long_name()}"
        )
    return data, host_indices(ids)


def _count(name: str, ids: Any, num_segments: int | None) -> int:
    if num_segments is not None:
        return _number(name, "num_segments", num_segments, 0)
    if isinstance(ids, Tracer):
        raise concrete_value_expected(
            f"{name} cannot know the shape of its result: segment_ids is {ids.origin()}",
            hint="pass num_segments, one more than the largest id",
        )
    if not get_aval(ids).size:
        raise ArgumentError(f"{name} needs num_segments if segment_ids is empty")
    return _number(name, "num_segments", int(np.max(np.asarray(ids))) + 1, 0)


def _number(name: str, option: str, value: Any, least: int) -> int:
    number: int | None
    try:
        number = dimension(value)
    except ConcretizationTypeError:
        raise
    except TypeError:
        number = None
    if number is None or number < least:
        raise ArgumentError(f"{name}: {option} is an int of {least} or more, and is {value!r:.60}")
    return number


@composite(static_argnames=("effect", "count", "bucket", "options"))
def _reduced(
    rows: Any,
    ids: Any,
    effect: _Effect,
    count: int,
    bucket: int | None,
    options: tuple[tuple[str, Any], ...],
) -> Array:
    """Scatter the rows into segments, for each bucket and then together."""
    aval = get_aval(rows)
    reduction, joined = _EFFECTS[effect]
    size = aval.shape[0]
    first = () if bucket is None else (-(-size // bucket),)
    empty = reduction.identity(aval.dtype)
    empty = empty if dtypes.kind(aval.dtype) != "c" else np.real(empty)  # like JAX, -inf + 0j
    start = full((*first, count, *aval.shape[1:]), empty, aval.dtype)
    index = ids if bucket is None else (np.arange(size, dtype=np.int32) // bucket, ids)
    update = getattr(start.at[index], effect)
    result: Array = update(rows, wrap_negative_indices=False, **dict(options))
    return result if bucket is None else joined(result, axis=0).astype(aval.dtype)


segment_sum = _segment_function(
    "segment_sum", "add", "sum", "zeros", "Array([ 3,  0, 12], dtype=int32)"
)
segment_prod = _segment_function(
    "segment_prod",
    "multiply",
    "product",
    "ones",
    "Array([ 2,  1, 60], dtype=int32)",
    details="\n    Only with unique_indices has it a derivative, as scatter_mul (TransformError).",
)
segment_max = _segment_function(
    "segment_max",
    "max",
    "maximum",
    "the least value of the dtype, or -inf",
    "Array([          2, -2147483648,           5], dtype=int32)",
)
segment_min = _segment_function(
    "segment_min",
    "min",
    "minimum",
    "the greatest value of the dtype, or inf",
    "Array([         1, 2147483647,          3], dtype=int32)",
)
