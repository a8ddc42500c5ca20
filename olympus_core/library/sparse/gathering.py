"""Gathers and convolutions of BCOO arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.errors import UnsupportedError
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.conv import conv_general_dilated
from olympus_core.library.lax.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    gather,
)
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.sparse.base import JAXSparse
from olympus_core.library.sparse.coordinates import BCOO, bcoo_transpose
from olympus_core.library.sparse.shapes import (
    bcoo_dynamic_slice,
    bcoo_reshape,
    bcoo_squeeze,
    bcoo_update_layout,
)
from olympus_core.transforms.staging import stage
from olympus_core.transforms.vmapping import vmap


class BCOOProperties(NamedTuple):
    """The numbers of batch, sparse and dense axes of a BCOO array, and of its elements.

    >>> BCOOProperties(0, 2, 0, 3).nse
    3
    """

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


class BCSRProperties(NamedTuple):
    """The numbers of batch and dense axes of a BCSR array, and of its elements.

    >>> BCSRProperties(0, 0, 3).nse
    3
    """

    n_batch: int
    n_dense: int
    nse: int


class Buffer(Protocol):
    """The type of the arrays that a sparse array consists of: values with a shape and a dtype."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""

    @property
    def dtype(self) -> Any:
        """The type of the elements."""


def dense_aval(x: Any) -> ShapedArray:
    """Return the type of an array, of a sparse one as if it were dense.

    >>> dense_aval(BCOO.fromdense(array([0.0, 1.0])))
    ShapedArray(float32[2])
    """
    return shaped(x.shape, x.dtype) if isinstance(x, JAXSparse) else get_aval(x)


def bcoo_gather(
    operand: BCOO,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> BCOO:
    """Return windows of a BCOO array as one, as `lax.gather` does for a dense one.

    The indices are in bounds: `mode` is None or "promise_in_bounds".

    Raises UnsupportedError for another mode or for batching axes, and the errors of `lax.gather`.

    >>> mat = BCOO.fromdense(array([0.0, 1.0, 2.0]))
    >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    >>> bcoo_gather(mat, array([[2], [0]]), numbers, (1,)).todense()
    Array([2., 0.], dtype=float32)
    """
    promise = GatherScatterMode.PROMISE_IN_BOUNDS
    if mode is not None and GatherScatterMode.from_any(mode) != promise:
        raise UnsupportedError(f"bcoo_gather: mode={mode!r} not yet supported.")
    numbers = dimension_numbers
    if numbers.operand_batching_dims or numbers.start_indices_batching_dims:
        raise UnsupportedError("bcoo_gather does not support batching axes")
    starts = asarray(start_indices)
    stage(
        lambda x, i: [gather(x, i, numbers, slice_sizes, mode=mode)],
        [dense_aval(operand), dense_aval(starts)],
        what="bcoo_gather",
    )
    rows = starts.reshape(-1, starts.shape[-1])
    window = [n for d, n in enumerate(slice_sizes) if d not in numbers.collapsed_slice_dims]

    def read(row: Any) -> tuple[Any, Any]:
        at: list[Any] = [0] * operand.ndim
        for i, d in enumerate(numbers.start_index_map):
            at[d] = row[i]
        part = bcoo_dynamic_slice(operand, at, slice_sizes)
        part = bcoo_squeeze(part, dimensions=numbers.collapsed_slice_dims)
        return part.data, part.indices

    parts = vmap(read)(rows)
    result = BCOO(parts, shape=(rows.shape[0], *window))
    result = bcoo_reshape(result, new_sizes=(*starts.shape[:-1], *window))
    order = _order(starts.ndim - 1, numbers.offset_dims, len(window))
    if order == tuple(range(len(order))):
        return result
    if set(order[: result.n_batch]) != set(range(result.n_batch)):
        result = bcoo_update_layout(result, n_batch=0)
    return bcoo_transpose(result, permutation=order)


def _order(count: int, offsets: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return the axis of the windows' array at each place of the result of a gather.

    `count` are the axes of the indices, which come first, and `rank` those of a window.
    """
    indices, windows = iter(range(count)), iter(range(count, count + rank))
    return tuple([next(windows if d in offsets else indices) for d in range(count + rank)])


def bcoo_conv_general_dilated(
    lhs: BCOO | ArrayLike,
    rhs: BCOO | ArrayLike,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO:
    """Return the convolution of two vectors, one of which is sparse, as `lax` does for dense ones.

    lhs, rhs: arrays of shape (1, 1, n) of one dtype. The parameters are those of
    `lax.conv_general_dilated`; strides, dilations and groups are 1.

    Raises UnsupportedError for other shapes, strides, dilations or groups, and the errors of the
    dense convolution.

    >>> x = BCOO.fromdense(array([[[0.0, 1.0, 2.0]]]))
    >>> y = bcoo_conv_general_dilated(x, ones((1, 1, 2)), window_strides=(1,), padding="VALID")
    >>> y.todense()
    Array([[[1., 3.]]], dtype=float32)
    """
    program = stage(
        lambda x, y: [
            conv_general_dilated(
                *(x, y, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers),
                feature_group_count=feature_group_count,
                batch_group_count=batch_group_count,
                precision=precision,
                preferred_element_type=preferred_element_type,
            )
        ],
        [dense_aval(lhs), dense_aval(rhs)],
        what="bcoo_conv_general_dilated",
    )
    (eqn,) = [e for e in program.eqns if e.primitive.name == "conv_general_dilated"]
    params = eqn.params
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        if any(n != 1 for n in params[name]):
            raise UnsupportedError(f"bcoo convolution with {name}={tuple(params[name])}.")
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        raise UnsupportedError("bcoo convolution with non-unit group counts.")
    shapes = [dense_aval(x).shape for x in (lhs, rhs)]
    if any(len(s) != 3 or s[:2] != (1, 1) for s in shapes):
        raise UnsupportedError("bcoo convolution with leading dimensions other than (1, 1)")
    ((before, _),) = params["padding"]
    (size,) = program.out_avals[0].shape[2:]
    (x, i), (y, j) = _vector(lhs), _vector(rhs)
    out = i[:, None] + before - j[None, :]
    is_inside = (i < shapes[0][2])[:, None] & (j < shapes[1][2])[None, :] & (out >= 0)
    data = (x[:, None] * y[None, :]).astype(program.out_avals[0].dtype)
    indices = where(is_inside, out, size)
    return BCOO((data.reshape(1, 1, -1), indices.reshape(1, 1, -1, 1)), shape=(1, 1, size))


def _vector(mat: Any) -> tuple[Any, Any]:
    """Return the elements and the indices of an array of shape (1, 1, n)."""
    if not isinstance(mat, JAXSparse):
        x = asarray(mat)
        return x[0, 0], arange(x.shape[2])
    if not isinstance(mat, BCOO):
        raise UnsupportedError(
            f"bcoo_conv_general_dilated: input of type {type(mat)} not recognized."
        )
    mat = bcoo_update_layout(mat, n_batch=0, n_dense=0)
    is_padding = (mat.indices[:, 0] > 0) | (mat.indices[:, 1] > 0)
    return mat.data, where(is_padding, mat.shape[2], mat.indices[:, 2])
