"""Repetitions of elements and arrays: `tile`, `repeat`, `resize`.

The arguments that determine the shape of the result must be known while tracing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import canonical_shape, get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ShapeError, ShardingTypeError, concrete_value_expected
from olympus_core.ir.sharding_rules import spec_of
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, ShapeLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import shape as lax
from olympus_core.library.lax.reduction import cumsum
from olympus_core.library.lax.slicing import slice_in_dim
from olympus_core.library.numpy.creation.fills import zeros, zeros_like
from olympus_core.library.numpy.indexing.reading import getitem
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, expand_dims, ravel, reshape
from olympus_core.library.operands import operand
from olympus_core.library.structural import structural
from olympus_core.primitives.shape import broadcast_in_dim_p

_INT32 = np.dtype("int32")


@structural()
def tile(A: ArrayOrKeys, reps: ShapeLike) -> Array:
    """Repeat the array `reps[i]` times along axis i; along the last axes, if `reps` is shorter.

    >>> tile(asarray([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    A, aval = operand("tile", A)
    times = canonical_shape(reps, "reps")
    rank = max(len(times), aval.ndim)
    times = (1,) * (rank - len(times)) + times
    return lax.tile(expand_dims(A, tuple(range(rank - aval.ndim))), times)


@out_sharded
@structural()
def repeat(
    a: ArrayOrKeys,
    repeats: ArrayLike | Sequence[int],
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Repeat each element along an axis (of the flattened array, for None).

    `repeats` is a number, or one for each element.  If it is traced, the length of the result must
    be given as `total_repeat_length` (ConcretizationTypeError otherwise): a longer result is
    truncated, and a shorter one is filled by repeating the last element.

    Raises ShardingTypeError along an axis that a mesh splits, without an `out_sharding`.

    >>> repeat(asarray([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int32)
    """
    x, aval = operand("repeat", a)
    if axis is None or not aval.shape:
        x, place = ravel(x), 0
    else:
        place = canonical_axis(axis, aval.ndim)
    if spec_of(get_aval(x))[place] is not None:
        raise ShardingTypeError(
            "Please pass sharding to `jnp.repeat` via `out_sharding` parameter: the elements are "
            f"repeated along axis {place} of {get_aval(x).long_name()}, which a mesh splits"
        )
    count: Any = repeats
    if (isinstance(count, int) or is_symbolic_dim(count)) and total_repeat_length is None:
        return _each(x, count, place)
    length = shape_of(x)[place]
    is_symbolic = is_symbolic_dim(length) or is_symbolic_dim(total_repeat_length)
    if not (isinstance(repeats, Tracer) or is_symbolic):
        counts = np.broadcast_to(np.ravel(np.asarray(repeats)), (length,))
        index = np.repeat(np.arange(length, dtype=_INT32), counts)
        if total_repeat_length is not None:
            index = _fitted(index, total_repeat_length, length)
        return getitem(x, (slice(None),) * place + (index,))
    if total_repeat_length is None:
        raise concrete_value_expected(
            "When jit-compiling jnp.repeat, the total number of repeats must be static: `repeats` "
            f"is {_origin(repeats)}",
            hint="pass total_repeat_length=, or make `repeats` static",
        )
    return _dynamic_repeat(x, repeats, place, total_repeat_length)


def _origin(repeats: Any) -> str:
    if isinstance(repeats, Tracer):
        return repeats.origin()
    return "an array, and the axis has a symbolic length"


def _each(a: Any, count: int, axis: int) -> Array:
    shape = shape_of(a)
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    dims = tuple([i for i in range(len(wide)) if i != axis + 1])
    repeated = broadcast_in_dim_p.bind(a, shape=wide, broadcast_dimensions=dims)
    return reshape(repeated, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _fitted(index: np.ndarray[Any, Any], total: int, length: int) -> np.ndarray[Any, Any]:
    if len(index) < total and length == 0:
        raise ShapeError(f"repeat cannot make {total} elements from an empty array")
    return np.pad(index, (0, max(0, total - len(index))), constant_values=length - 1)[:total]


@composite(static_argnames=("axis", "total"))
def _dynamic_repeat(a: Any, repeats: Any, axis: int, total: int) -> Array:
    length = shape_of(a)[axis]
    counts = broadcast_to(ravel(repeats), (length,)).astype(_INT32)
    starts = cumsum(counts) - counts  # element i of the result comes from the last start <= i
    marks = zeros((total,), _INT32).at[starts].add(1, mode="drop")
    index = cumsum(marks) - 1
    return getitem(a, (slice(None),) * axis + (index,))


@structural()
def resize(a: ArrayOrKeys, new_shape: ShapeLike) -> Array:
    """Return the elements of `a`, repeated as often as needed, in a new shape.

    >>> resize(asarray([1, 2]), (3,))
    Array([1, 2, 1], dtype=int32)
    """
    a, aval = operand("resize", a)
    shape = canonical_shape(new_shape)
    size = math.prod(shape)
    if not aval.size:
        return zeros_like(a, shape=shape)
    flat = tile(ravel(a), -(-size // aval.size))
    return reshape(slice_in_dim(flat, 0, size), shape)
