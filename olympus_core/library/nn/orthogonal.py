"""Initializers of orthogonal weights, which preserve the norms of activations and gradients."""

from __future__ import annotations

import math

from olympus_core.base.avals import canonical_shape
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike, ShapeLike
from olympus_core.library.nn.initializers import Initializer, initializer
from olympus_core.library.numpy.creation import array, fills
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.random import matrices
from olympus_core.library.random.keys import KeyLike


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Return an initializer of weights that, as a matrix, are orthogonal, times `scale`.

    column_axis: the axis of the matrix's columns; the others are its rows.  The initializer raises
    ShapeError for a shape of fewer than 2 axes.

    >>> orthogonal()(key(0), (3, 2)).shape
    (3, 2)
    """

    def init(key: KeyLike, shape: ShapeLike, dtype: DType) -> Array:
        shape = canonical_shape(shape)
        if len(shape) < 2:
            raise ShapeError(f"orthogonal needs a shape of 2 or more axes, and got {shape}")
        if 0 in shape:
            return fills.zeros(shape, dtype)
        columns = shape[column_axis]
        drawn = matrices.orthogonal(key, math.prod(shape) // columns, (), dtype, columns)
        rest = list(shape)
        del rest[column_axis]
        weights = moveaxis(drawn.reshape((*rest, columns)), -1, column_axis)
        return array.asarray(scale, dtype) * weights

    return initializer(init, dtype)


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Return an initializer of kernels that are orthogonal at the middle of the window, else 0.

    It preserves norms through convolutions (Xiao et al., 2018).  The initializer raises
    ShapeError unless the shape has 1 to 3 window axes, and at least as many outputs as inputs.

    >>> delta_orthogonal()(key(0), (3, 2, 2))[0]
    Array([[0., 0.],
           [0., 0.]], dtype=float32)
    """

    def init(key: KeyLike, shape: ShapeLike, dtype: DType) -> Array:
        shape = canonical_shape(shape)
        if len(shape) not in (3, 4, 5):
            raise ShapeError(f"delta_orthogonal needs a shape of 3 to 5 axes, and got {shape}")
        if shape[-1] < shape[-2]:
            raise ShapeError(
                f"delta_orthogonal needs at least as many outputs as inputs, and got {shape}"
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        return fills.zeros(shape, dtype).at[middle].set(matrix)

    return initializer(init, dtype)
