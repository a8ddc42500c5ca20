"""The functions of `olympus.lax` that rearrange elements, or create arrays of one value.

A function that has nothing to do returns its operand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import (
    Shape,
    as_sequence,
    canonical_shape,
    dimension,
    get_aval,
    shape_of,
)
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, DTypeLike
from olympus_core.library import promotion
from olympus_core.library.axes import canonical_axes
from olympus_core.library.device import like, placed
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.structural import structural
from olympus_core.placement.sharding import NamedSharding, Sharding
from olympus_core.primitives import shape as p
from olympus_core.primitives.joining import concatenate_p


@out_sharded
@structural()
def broadcast(
    operand: ArrayOrKeys, sizes: Sequence[int], *, out_sharding: OutSharding = None
) -> Array:
    """Return the array repeated along new leading axes of lengths `sizes`.

    Raises ShapeError for a negative size.

    >>> broadcast(1.0, (2,))
    Array([1., 1.], dtype=float32, weak_type=True)
    """
    lead, have = canonical_shape(sizes, "broadcast_in_dim shape"), shape_of(operand)
    dims = tuple(range(len(lead), len(lead) + len(have)))
    return broadcast_in_dim(operand, lead + have, dims)


@out_sharded
@structural()
def broadcast_in_dim(
    operand: ArrayOrKeys,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the array at `shape`: its axis i is axis `broadcast_dimensions[i]`; others repeat it.

    Dimensions that do not ascend transpose the operand.  Raises ShapeError if its lengths are
    neither 1 nor those of `shape`.

    >>> broadcast_in_dim(array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    target = canonical_shape(shape, "broadcast_in_dim shape")
    dims = canonical_shape(broadcast_dimensions, "broadcast_in_dim broadcast_dimensions")
    if len(set(dims)) != len(dims):
        raise ShapeError(
            "broadcast_in_dim broadcast_dimensions must not contain duplicates, got "
            f"broadcast_dimensions {dims}"
        )
    is_same = dims == tuple(range(len(target)))
    if is_same and isinstance(operand, Array) and operand.aval.shape == target:
        return operand
    order = tuple(sorted(range(len(dims)), key=dims.__getitem__))
    if order != tuple(range(len(dims))) and len(dims) == len(shape_of(operand)):
        operand = p.transpose_p.bind(operand, permutation=order)
        dims = tuple([dims[i] for i in order])
    return p.broadcast_in_dim_p.bind(operand, shape=target, broadcast_dimensions=dims)


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """Return the shape that all `shapes` broadcast to by NumPy's rule; raise ShapeError if none.

    >>> broadcast_shapes((1,), (4,), (3, 1))
    (3, 4)
    """
    for shape in shapes:
        if any(not is_symbolic_dim(n) and n < 0 for n in as_sequence(shape)):
            raise ShapeError(
                "Only non-negative indices are allowed when broadcasting static shapes, but got "
                f"shape {shape}."
            )
    return promotion.broadcast_shapes(*map(canonical_shape, shapes))


@structural()
def broadcast_to_rank(x: ArrayOrKeys, rank: int) -> Array:
    """Return the array with leading axes of length 1 added, up to rank `rank`.

    An array of more axes is returned unchanged.

    >>> broadcast_to_rank(array([1, 2]), 3).shape
    (1, 1, 2)
    """
    ndim = len(shape_of(x))
    return expand_dims(x, tuple(range(rank - ndim)))


def iota(dtype: DTypeLike, size: int) -> Array:
    """0, 1, ..., size - 1 in the given dtype.

    >>> iota("int32", 3)
    Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


@out_sharded
def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[int], dimension: int, *, out_sharding: OutSharding = None
) -> Array:
    """Return an array of `shape` whose elements are their index along axis `dimension`.

    Raises DTypeError for a dtype that cannot count, ArgumentError for None, and ShapeError for an
    axis out of range.

    >>> broadcasted_iota("int32", (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    if dtype is None:
        raise ArgumentError("dtype must be specified, and is None for iota")
    target_dtype = dtypes.requested("iota", dtype)
    return p.iota_p.bind(dtype=target_dtype, shape=canonical_shape(shape), dimension=int(dimension))


@out_sharded
@structural()
def reshape(
    operand: ArrayOrKeys,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the elements in row-major order (of the axes in the order `dimensions`) reshaped.

    Raises ShapeError unless the sizes are given in full and the elements fill them.

    >>> reshape(iota("int32", 4), (2, 2))
    Array([[0, 1],
           [2, 3]], dtype=int32)
    """
    sizes, have = canonical_shape(new_sizes, "the new sizes of reshape"), shape_of(operand)
    order = None if dimensions is None else tuple(dimensions)
    if order == tuple(range(len(have))):
        order = None
    if sizes == have and order is None and isinstance(operand, Array):
        return operand
    return p.reshape_p.bind(operand, dimensions=order, new_sizes=sizes)


@structural()
def collapse(
    operand: ArrayOrKeys, start_dimension: int, stop_dimension: int | None = None
) -> Array:
    """Return the array with the axes from `start_dimension` to before `stop_dimension` merged.

    Raises ShapeError for axes out of range.

    >>> collapse(array([[[1, 2], [3, 4]]]), 0, 2)
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    have = shape_of(operand)
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(have))
    if high < low:
        raise ShapeError(f"Invalid dimension range passed to collapse: {have}[{low}:{high}]")
    return reshape(operand, (*have[:low], math.prod(have[low:high]), *have[high:]))


@structural()
def transpose(operand: ArrayOrKeys, permutation: Sequence[int]) -> Array:
    """Return the array with axis `permutation[i]` of the operand as axis i.

    Raises ShapeError unless `permutation` names each axis once.

    >>> transpose(array([[1, 2], [3, 4]]), (1, 0))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    order = tuple([int(i) for i in permutation])
    if isinstance(operand, Array) and order == tuple(range(operand.aval.ndim)):
        return operand
    return p.transpose_p.bind(operand, permutation=order)


@structural()
def squeeze(array: ArrayOrKeys, dimensions: Sequence[int]) -> Array:
    """Return the array without the given axes, whose length must be 1 (ShapeError otherwise).

    >>> squeeze(array([[1, 2]]), (0,))
    Array([1, 2], dtype=int32)
    """
    ndim = len(shape_of(array))
    dims = tuple(sorted(canonical_axes(dimensions, ndim, repeated="dimensions are not unique")))
    if not dims and isinstance(array, Array):
        return array
    return p.squeeze_p.bind(array, dimensions=dims)


@structural()
def expand_dims(array: ArrayOrKeys, dimensions: Sequence[int]) -> Array:
    """Return the array with axes of length 1 inserted, at these positions of the result.

    Raises ShapeError for a position that is out of range or given twice.

    >>> expand_dims(array([1, 2]), (0, 2)).shape
    (1, 2, 1)
    """
    have = shape_of(array)
    rank = len(have) + len(dimensions)
    repeated = "repeated axis in lax.expand_dims"
    new_axes = set(canonical_axes(dimensions, rank, repeated=repeated))
    dims = tuple([i for i in range(rank) if i not in new_axes])
    shape = [1] * rank
    for i, n in zip(dims, have, strict=True):
        shape[i] = n
    return broadcast_in_dim(array, shape, dims)


@structural()
def rev(operand: ArrayOrKeys, dimensions: Sequence[int]) -> Array:
    """The elements in reverse order along the given axes (each once; ShapeError otherwise).

    >>> rev(array([[1, 2], [3, 4]]), (1,))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    dims, ndim = canonical_shape(dimensions, "rev dimensions"), len(shape_of(operand))
    if not all(d < ndim for d in dims):
        raise ShapeError(
            "rev dimensions must all be less than operand ndim, got dimensions "
            f"{dims} for operand ndim {ndim}."
        )
    if len(set(dims)) != len(dims):
        raise ShapeError(f"rev dimensions must be unique, got {dims}.")
    return p.rev_p.bind(operand, dimensions=dims)


@structural()
def tile(operand: ArrayOrKeys, reps: Sequence[int]) -> Array:
    """The array repeated `reps[i]` times along axis i; one repetition an axis (ShapeError).

    >>> tile(array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    counts, ndim = tuple([dimension(r) for r in reps]), len(shape_of(operand))
    if len(counts) != ndim:
        raise ShapeError(
            "reps length must be equal to the ndim of x, got "
            f"len(reps)={len(counts)} and x.ndim={ndim}."
        )
    return p.tile_p.bind(operand, reps=counts)


@structural(1)
def full(
    shape: Sequence[int],
    fill_value: ArrayOrKeys,
    dtype: DTypeLike | None = None,
    *,
    sharding: OutSharding = None,
) -> Array:
    """Return an array of `shape` filled with the scalar `fill_value`, as `dtype` if given.

    It has the `sharding`; in a traced function only explicit axes of a sharding have an effect.
    Raises ShapeError if the value is not a scalar.

    >>> full((2,), 7, "int8")
    Array([7, 7], dtype=int8)
    """
    _check_fill_value(fill_value)
    if dtype is not None:
        fill_value = promotion.convert(fill_value, dtypes.requested("full", dtype))
    if isinstance(sharding, Sharding) and trace.is_eager():
        fill_value = promotion.strong(fill_value)
    is_typed = isinstance(sharding, NamedSharding) and sharding.mesh.has_explicit_axes
    if is_typed or not isinstance(sharding, Sharding):
        return broadcast(fill_value, canonical_shape(shape), out_sharding=sharding)
    return placed(broadcast(fill_value, canonical_shape(shape)), sharding)


def _check_fill_value(fill_value: ArrayOrKeys) -> None:
    if shape_of(fill_value):
        raise ShapeError(
            "full must be called with scalar fill_value, got fill_value.shape "
            f"{shape_of(fill_value)}."
        )


@structural(0, 1)
def full_like(
    x: ArrayOrKeys,
    fill_value: ArrayOrKeys,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    sharding: OutSharding = None,
) -> Array:
    """Return an array of one value with the shape and dtype of `x`, or those given.

    >>> full_like(array([1, 2]), 7)
    Array([7, 7], dtype=int32)
    """
    aval = get_aval(x)
    kind = dtypes.requested("full_like", dtype, aval.dtype)
    _check_fill_value(fill_value)
    value = promotion.convert(fill_value, kind, dtype is None and aval.weak_type)
    if shape is None and sharding is None:
        filled = like(broadcast(value, aval.shape, out_sharding=aval.explicit), x, None)
    else:
        filled = full(aval.shape if shape is None else shape, value, sharding=sharding)
    return promotion.vary_together(filled, x)


@out_sharded
def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: OutSharding = None) -> Array:
    """Return an array of `shape` and `dtype` with unspecified elements (they are zero).

    >>> empty((2,), "int32").shape
    (2,)
    """
    return full(shape, 0, dtype)


def broadcast_like(arr: ArrayOrKeys, like_arr: ArrayOrKeys) -> Array:
    """Broadcast an array to the shape of another one, whose values do not matter.

    Raises ShapeError if the shapes do not broadcast to that of `like_arr`.

    >>> broadcast_like(3, ones(2))
    Array([3, 3], dtype=int32)
    """
    shape = shape_of(like_arr)
    if len(shape_of(arr)) > len(shape):
        raise ShapeError(f"cannot broadcast the shape {shape_of(arr)} to fewer dimensions: {shape}")
    return promotion.broadcast_to(arr, shape)


def shape_as_value(shape: Sequence[int]) -> ArrayLike:
    """Return a shape as an integer vector; of a symbolic shape it is traced.

    >>> shape_as_value((2, 3))
    array([2, 3], dtype=int32)
    """
    if not any(is_symbolic_dim(n) for n in shape):
        return np.asarray(shape, np.int32)
    sizes = [promotion.convert_array(n, np.dtype("int32")) for n in shape]
    return concatenate_p.bind(*[expand_dims(n, (0,)) for n in sizes], dimension=0)


def stage(x: ArrayLike, /) -> Array:
    """Return a scalar or an array as an array, which is traced inside of a traced function.

    >>> stage(3)
    Array(3, dtype=int32, weak_type=True)
    """
    promotion.check_arrays("stage", x)
    aval = get_aval(x)
    return promotion.convert_array(x, aval.dtype, aval.weak_type)


def dtype(x: ArrayLike) -> DType:
    """Return the dtype of a value.

    >>> dtype(2.5)
    dtype('float32')
    """
    return get_aval(x).dtype
