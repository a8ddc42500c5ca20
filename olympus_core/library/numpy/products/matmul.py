"""Products of vectors, matrices and tensors: `matmul`, `dot`, `tensordot`, `kron`, `cross`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from olympus_core.base.avals import ShapedArray, get_aval, shape_of
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import one_axis
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.lax.dot import PrecisionLike, canonical_preferred
from olympus_core.library.operands import operand, reject_out
from olympus_core.library.promotion import (
    broadcast_shapes,
    broadcast_to,
    promote_dtypes,
    promote_shapes,
)
from olympus_core.primitives.dot import DotDimensions, dot_general_p
from olympus_core.primitives.elementwise.arithmetic import mul_p, neg_p, sub_p
from olympus_core.primitives.elementwise.conversion import conj_p
from olympus_core.primitives.joining import concatenate_p
from olympus_core.primitives.precision import canonical_precision
from olympus_core.primitives.shape import reshape_p, squeeze_p, transpose_p
from olympus_core.primitives.slicing import slice_p


def _operands(name: str, a: Any, b: Any) -> tuple[Any, Any, ShapedArray, ShapedArray]:
    """Return two operands in one dtype, and their avals."""
    if not (isinstance(a, Array) and isinstance(b, Array) and a.aval.dtype == b.aval.dtype):
        a, b = promote_dtypes(operand(name, a)[0], operand(name, b)[0])
    return a, b, get_aval(a), get_aval(b)


def contract(
    a: Any, b: Any, dimensions: DotDimensions, precision: Any, preferred_element_type: Any
) -> Array:
    """Apply `dot_general` to operands of one dtype, with the user's precision and dtype."""
    product: Array = dot_general_p.bind(
        a,
        b,
        dimension_numbers=dimensions,
        precision=canonical_precision(precision),
        preferred_element_type=canonical_preferred("dot", preferred_element_type),
    )
    return product


@functools.cache
def _unbatched(rank: int, axis: int) -> DotDimensions:
    """Return the dimensions that contract the last axis of an array of `rank` with `axis`."""
    return ((rank - 1,), (axis,)), ((), ())


@functools.cache
def _batched(rank: int) -> DotDimensions:
    """Return the dimensions of matrix products of two arrays of one rank, batched over the rest."""
    batch = tuple(range(rank - 2))
    return ((rank - 1,), (rank - 2,)), (batch, batch)


@out_sharded
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the matrix product of arrays of shapes (..., n, k) and (..., k, m): `a @ b`.

    Leading axes broadcast; a vector is a row on the left and a column on the right, and the result
    lacks its axis.  The result's dtype is `preferred_element_type`, or the promoted one.

    Raises ShapeError for scalars, or if the contracted sizes differ.

    >>> matmul(ones((5, 2, 3)), ones((3, 4))).shape
    (5, 2, 4)
    """
    a, b, left, right = _operands("matmul", a, b)
    rank, axis = left.ndim, right.ndim - 2 if right.ndim > 1 else 0
    if not rank or not right.ndim or left.shape[-1] != right.shape[axis]:
        raise ShapeError(_product_problem("matmul", left, right, axis))
    if right.ndim <= 2:
        return contract(a, b, _unbatched(rank, axis), precision, preferred_element_type)
    if rank == right.ndim and left.shape[:-2] == right.shape[:-2]:
        return contract(a, b, _batched(rank), precision, preferred_element_type)
    return _broadcasting_matmul(a, b, left, right, precision, preferred_element_type)


def _broadcasting_matmul(
    a: Any, b: Any, left: ShapedArray, right: ShapedArray, precision: Any, preferred: Any
) -> Array:
    """Return the product with broadcast leading axes: an axis of only one operand is not a batch
    axis, and is moved to its position after the product."""
    plan = _broadcast_plan(left.shape, right.shape)
    squeeze_a, squeeze_b, dimensions, order = plan
    if squeeze_a:
        a = squeeze_p.bind(a, dimensions=squeeze_a)
    if squeeze_b:
        b = squeeze_p.bind(b, dimensions=squeeze_b)
    out = contract(a, b, dimensions, precision, preferred)
    if order is not None:
        out = transpose_p.bind(out, permutation=order)
    return out


@functools.lru_cache(maxsize=1024)
def _broadcast_plan(
    left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], DotDimensions, tuple[int, ...] | None]:
    """Return the axes to squeeze of each operand, the product's dimensions, and its axes' order.

    Axes are counted from the end: -2 is the rows, -3 the last leading axis.
    """
    batch_shape = broadcast_shapes(left[:-2], right[:-2])
    names: list[list[int]] = []
    squeezed: list[tuple[int, ...]] = []
    for shape in (left, right):
        drop = [n for n in range(-len(shape), -2) if shape[n] == 1 != batch_shape[n + 2]]
        squeezed.append(tuple([n + len(shape) for n in drop]))
        names.append([n for n in range(-len(shape), 0) if n not in drop])
    a, b = names
    batch = [n for n in a if n < -2 and n in b]
    dimensions = (
        ((a.index(-1),), (b.index(-2),)),
        (tuple(map(a.index, batch)), tuple(map(b.index, batch))),
    )
    rows = [n for n in a if n not in batch and n != -1]
    columns = [n for n in b if n not in batch and n != -2]
    have = batch + rows + columns
    order = tuple(map(have.index, sorted(have)))
    return squeezed[0], squeezed[1], dimensions, None if have == sorted(have) else order


@out_sharded
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the product of a's last axis with b's second to last axis (or only axis).

    A scalar multiplies.  The result's axes are the rest of a's, then the rest of b's.

    Raises ShapeError if the contracted sizes differ.

    >>> dot(asarray([[1, 2], [3, 4]]), asarray([1, 1]))
    Array([3, 7], dtype=int32)
    """
    a, b, left, right = _operands("dot", a, b)
    if not left.ndim or not right.ndim:
        return contract(a, b, (((), ()), ((), ())), precision, preferred_element_type)
    axis = right.ndim - 2 if right.ndim > 1 else 0
    if left.shape[-1] != right.shape[axis]:
        raise ShapeError(_product_problem("dot", left, right, axis))
    return contract(a, b, _unbatched(left.ndim, axis), precision, preferred_element_type)


def _product_problem(name: str, left: ShapedArray, right: ShapedArray, axis: int) -> str:
    """Return the message for operands of `name`: a scalar, or another contracted size."""
    for i, aval in enumerate((left, right)):
        if not aval.ndim:
            return f"{name} input operand {i} must have ndim at least 1, but it has ndim 0"
    return (
        "dot_general requires contracting dimensions to have the same shape, got "
        f"{left.shape[-1:]} and {(right.shape[axis],)}, in {name} of {left.long_name()} and "
        f"{right.long_name()}"
    )


def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the scalar product of all elements, with `a` conjugated.

    Raises ShapeError if the arrays differ in size.

    >>> vdot(asarray([1j, 2]), asarray([1j, 2]))
    Array(5.+0.j, dtype=complex64)
    """
    a, left = operand("vdot", a)
    b, right = operand("vdot", b)
    a, b = (
        reshape_p.bind(x, dimensions=None, new_sizes=(v.size,)) for x, v in ((a, left), (b, right))
    )
    return dot(_conj(a), b, precision=precision, preferred_element_type=preferred_element_type)


def _conj(x: Any) -> Any:
    return conj_p.bind(x) if get_aval(x).dtype.kind == "c" else x


def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the products over the last axes of `a` and `b`; a scalar multiplies.

    Raises ShapeError if the last axes differ in size.

    >>> inner(asarray([1, 2]), asarray([3, 4]))
    Array(11, dtype=int32)
    """
    a, b, left, right = _operands("inner", a, b)
    if not left.ndim or not right.ndim:
        return contract(a, b, (((), ()), ((), ())), precision, preferred_element_type)
    dimensions = _unbatched(left.ndim, right.ndim - 1)
    return contract(a, b, dimensions, precision, preferred_element_type)


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Return the products of each element of `a` with each of `b`, of shape (a.size, b.size).

    >>> outer(asarray([1, 2]), asarray([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    reject_out("outer", out)
    a, b, left, right = _operands("outer", a, b)
    column, row = (
        reshape_p.bind(
            reshape_p.bind(x, dimensions=None, new_sizes=(aval.size,)) if aval.ndim > 1 else x,
            dimensions=None,
            new_sizes=sizes,
        )
        for x, aval, sizes in ((a, left, (left.size, 1)), (b, right, (1, right.size)))
    )
    return mul_p.bind(*promote_shapes("outer", column, row))


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: blocks of each element of `a` times `b`.

    >>> kron(asarray([1, 10]), asarray([1, 2]))
    Array([ 1,  2, 10, 20], dtype=int32)
    """
    a, b, left, right = _operands("kron", a, b)
    rank = max(left.ndim, right.ndim)
    rows, columns = ((1,) * (rank - x.ndim) + x.shape for x in (left, right))
    wide = [n for size in rows for n in (size, 1)], [n for size in columns for n in (1, size)]
    blocks = [
        reshape_p.bind(x, dimensions=None, new_sizes=tuple(sizes))
        for x, sizes in zip((a, b), wide, strict=True)
    ]
    product: Array = mul_p.bind(*promote_shapes("kron", *blocks))
    sizes = tuple([m * n for m, n in zip(rows, columns, strict=True)])
    result: Array = reshape_p.bind(product, dimensions=None, new_sizes=sizes)
    return result


@out_sharded
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the sum of products over pairs of axes.

    axes: a number n, for the last n of `a` with the first n of `b`, or the two lists of axes.

    Raises ShapeError if paired axes differ in number or size.

    >>> tensordot(ones((2, 3)), ones((3, 4)), 1).shape
    (2, 4)
    """
    a, b, left, right = _operands("tensordot", a, b)
    if isinstance(axes, (tuple, list)) and len(axes) == 2:
        first, second = (x if isinstance(x, (tuple, list)) else (x,) for x in axes)
        a_axes = tuple([one_axis("tensordot", left.ndim, x) for x in first])
        b_axes = tuple([one_axis("tensordot", right.ndim, x) for x in second])
    else:
        # a negative number pairs none, as in NumPy
        none = isinstance(axes, int) and axes < 0
        count = 0 if none else one_axis("tensordot", min(left.ndim, right.ndim) + 1, axes)
        a_axes, b_axes = tuple(range(left.ndim - count, left.ndim)), tuple(range(count))
    if len(a_axes) != len(b_axes):
        raise ShapeError(f"tensordot needs as many axes of a as of b, and got {axes}")
    return contract(a, b, ((a_axes, b_axes), ((), ())), precision, preferred_element_type)


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Return the vector product of the vectors of 3 (or 2) elements along an axis of each operand.

    axisa, axisb, axisc: the axis of the vectors in `a`, `b` and the result; `axis` sets all three.
    Two vectors of 2 elements give only the third component.

    Raises ShapeError for vectors of other lengths.

    >>> cross(asarray([1, 0, 0]), asarray([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b, left, right = _operands("cross", a, b)
    axisa, axisb = one_axis("cross", left.ndim, axisa), one_axis("cross", right.ndim, axisb)
    if left.shape[axisa] not in (2, 3) or right.shape[axisb] not in (2, 3):
        raise ShapeError(
            "cross needs vectors of 2 or 3 elements, and got "
            f"{left.shape[axisa]} of {left.long_name()} and {right.shape[axisb]} of "
            f"{right.long_name()}"
        )
    x, y = _components(a, left, axisa), _components(b, right, axisb)
    flat = len(x) == 2 and len(y) == 2
    components: list[Array] = [_minor(x, y, i) for i in ((2,) if flat else (0, 1, 2))]
    if flat:
        return components[0]
    shape: tuple[int, ...] = broadcast_shapes(*map(shape_of, components))
    place = one_axis("cross", len(shape) + 1, axisc)
    wide = (*shape[:place], 1, *shape[place:])
    components = [
        reshape_p.bind(broadcast_to(p, shape), dimensions=None, new_sizes=wide) for p in components
    ]
    result: Array = concatenate_p.bind(*components, dimension=place)
    return result


def _components(x: Any, aval: ShapedArray, axis: int) -> list[Any]:
    """Return the elements of vectors along an axis, as arrays without it."""
    components = []
    for i in range(aval.shape[axis]):
        start = tuple([i if d == axis else 0 for d in range(aval.ndim)])
        limit = tuple([i + 1 if d == axis else n for d, n in enumerate(aval.shape)])
        component = slice_p.bind(x, start_indices=start, limit_indices=limit, strides=None)
        components.append(squeeze_p.bind(component, dimensions=(axis,)))
    return components


def _minor(x: list[Any], y: list[Any], i: int) -> Any:
    """Return component i of a vector product; missing components are 0."""
    j, k = (i + 1) % 3, (i + 2) % 3
    terms = [
        mul_p.bind(*promote_shapes("cross", x[m], y[n])) if m < len(x) and n < len(y) else None
        for m, n in ((j, k), (k, j))
    ]
    if terms[0] is None:
        return neg_p.bind(terms[1])
    return terms[0] if terms[1] is None else sub_p.bind(*terms)
