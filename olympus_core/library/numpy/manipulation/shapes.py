"""Changes of shape: `reshape`, `ravel`, `squeeze`, `expand_dims`, `broadcast_to`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

from olympus_core.base.avals import (
    Shape,
    as_sequence,
    canonical_shape,
    dimension,
    get_aval,
    shape_of,
)
from olympus_core.base.dimensions.expression import is_one, is_symbolic_dim
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayOrKeys, ShapeLike
from olympus_core.library import promotion
from olympus_core.library.axes import canonical_axes
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax import shape as lax
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.operands import operand
from olympus_core.library.structural import structural
from olympus_core.primitives.shape import broadcast_in_dim_p, reshape_p

broadcast_shapes = lax.broadcast_shapes


@out_sharded
@structural()
def reshape(
    a: ArrayOrKeys,
    shape: ShapeLike,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the elements of `a` in a new shape; a length of -1 is inferred from the size.

    `order` "F" reads and writes with the first axis changing fastest.  Raises ShapeError if the
    elements do not fill the shape.

    >>> reshape(asarray([1, 2, 3, 4]), (2, -1))
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    a, aval = operand("reshape", a)
    sizes = _sizes(shape, aval.shape, aval.size)
    if order == "F":
        return _fortran(a, sizes)
    if order in ("A", "K"):
        raise UnsupportedError(f"np.reshape order={order} is not implemented.")
    if order != "C":
        raise ArgumentError(f"Unexpected value for 'order' argument: {order}.")
    if sizes == aval.shape and isinstance(a, Array):
        return a
    result: Array = reshape_p.bind(a, dimensions=None, new_sizes=sizes)
    return result


def _sizes(shape: Any, have: Shape, size: int) -> Shape:
    is_traced = any(isinstance(n, Tracer) for n in as_sequence(shape))  # has no -1 to replace
    if is_traced or (shape.__class__ is tuple and -1 not in shape):
        return canonical_shape(shape, "the shape of reshape")
    sizes = [dimension(n) for n in as_sequence(shape)]
    if sizes.count(-1) > 1:
        raise ShapeError(
            f"reshape can only specify one unknown axis size with a `-1` value, got {tuple(sizes)}"
        )
    if -1 in sizes:
        known_size = -math.prod(sizes)
        if known_size <= 0 or size % known_size:
            raise ShapeError(
                f"cannot reshape array of shape {have} (size {size}) into shape {tuple(sizes)} "
                f"because the product of specified axis sizes ({known_size}) does not evenly "
                f"divide {size}",
                hint=f"add the constraint '{size} % {known_size} == 0'"
                if is_symbolic_dim(size)
                else None,
            )
        sizes[sizes.index(-1)] = size // known_size
    return canonical_shape(sizes, "the shape of reshape")


def _fortran(a: Any, sizes: Shape) -> Array:
    reverse = tuple(range(len(shape_of(a))))[::-1]
    flat: Array = reshape_p.bind(a, dimensions=reverse, new_sizes=sizes[::-1])
    return lax.transpose(flat, tuple(range(len(sizes)))[::-1])


@out_sharded
@structural()
def ravel(
    a: ArrayOrKeys,
    order: str = "C",
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the elements in one dimension, in row-major order (column-major for "F").

    >>> ravel(asarray([[1, 2], [3, 4]]))
    Array([1, 2, 3, 4], dtype=int32)
    """
    return reshape(a, (math.prod(shape_of(a)),), order)


@structural()
def expand_dims(a: ArrayOrKeys, axis: int | Sequence[int]) -> Array:
    """Return `a` with axes of length 1 inserted, at the positions `axis` of the result.

    >>> expand_dims(asarray([1, 2]), 0).shape
    (1, 2)
    """
    a, _ = operand("expand_dims", a)
    return lax.expand_dims(a, as_sequence(axis))


@structural()
def squeeze(a: ArrayOrKeys, axis: int | Sequence[int] | None = None) -> Array:
    """Return `a` without its axes of length 1, or without `axis`, which must have length 1.

    >>> squeeze(asarray([[1, 2]]))
    Array([1, 2], dtype=int32)
    """
    a, aval = operand("squeeze", a)
    if axis is None:
        return lax.squeeze(a, [i for i, n in enumerate(aval.shape) if is_one(n)])
    return lax.squeeze(a, canonical_axes(axis, aval.ndim))


@out_sharded
@structural()
def broadcast_to(
    array: ArrayOrKeys,
    shape: ShapeLike,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return `array` broadcast to `shape` by NumPy's rule; raise ShapeError if it is impossible.

    >>> broadcast_to(asarray([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    array, _ = operand("broadcast_to", array)
    result: Array = promotion.broadcast_to(array, canonical_shape(shape))
    return result


@structural(-1)
def broadcast_arrays(*args: ArrayOrKeys) -> tuple[Array, ...]:
    """Broadcast the arrays to their common shape; see `broadcast_to`.

    >>> broadcast_arrays(asarray([1, 2]), 3)
    (Array([1, 2], dtype=int32), Array([3, 3], dtype=int32, weak_type=True))
    """
    shape = promotion.broadcast_shapes(*(get_aval(x).shape for x in args))
    return tuple([broadcast_to(x, shape) for x in args])


def _at_least(name: str, rank: int, arrays: tuple[Any, ...]) -> Array | list[Array]:
    results = [_of_rank(operand(name, x)[0], rank) for x in arrays]
    return results[0] if len(results) == 1 else results


def _of_rank(x: Any, rank: int) -> Array:
    shape = shape_of(x)
    if len(shape) >= rank:
        return asarray(x)
    axes = {(3, 1): (1,), (3, 2): (0, 1)}.get((rank, len(shape)))
    if axes is None:
        axes = tuple(range(rank - len(shape), rank))
    sizes = [1] * rank
    for axis, n in zip(axes, shape, strict=True):
        sizes[axis] = n
    result: Array = broadcast_in_dim_p.bind(x, shape=tuple(sizes), broadcast_dimensions=axes)
    return result


@overload
def atleast_1d(ary: ArrayOrKeys, /) -> Array: ...


@overload
def atleast_1d(*arys: ArrayOrKeys) -> list[Array]: ...


@structural(-1)
def atleast_1d(*arys: ArrayOrKeys) -> Array | list[Array]:
    """Return each array with one dimension or more; one array, or a list for several.

    >>> atleast_1d(3)
    Array([3], dtype=int32, weak_type=True)
    """
    return _at_least("atleast_1d", 1, arys)


@overload
def atleast_2d(ary: ArrayOrKeys, /) -> Array: ...


@overload
def atleast_2d(*arys: ArrayOrKeys) -> list[Array]: ...


@structural(-1)
def atleast_2d(*arys: ArrayOrKeys) -> Array | list[Array]:
    """Return each array with two dimensions or more: a vector becomes a row.

    >>> atleast_2d(asarray([1, 2]))
    Array([[1, 2]], dtype=int32)
    """
    return _at_least("atleast_2d", 2, arys)


@overload
def atleast_3d(ary: ArrayOrKeys, /) -> Array: ...


@overload
def atleast_3d(*arys: ArrayOrKeys) -> list[Array]: ...


@structural(-1)
def atleast_3d(*arys: ArrayOrKeys) -> Array | list[Array]:
    """Return each array with three dimensions or more: (n,) is (1, n, 1), (m, n) is (m, n, 1).

    >>> atleast_3d(asarray([1, 2])).shape
    (1, 2, 1)
    """
    return _at_least("atleast_3d", 3, arys)
