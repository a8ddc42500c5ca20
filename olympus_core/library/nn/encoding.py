"""Encodings of a layer's inputs: classes as vectors, features as standard scores."""

from __future__ import annotations

from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, get_aval
from olympus_core.base.dimensions.expression import known_at_least
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import Axis, accepts_list_axis, one_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.shape import broadcasted_iota
from olympus_core.library.lax.slicing import host_indices
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import maximum, subtract
from olympus_core.library.numpy.reductions.statistics import mean as mean_of
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.elementwise.conversion import convert_element_type_p
from olympus_core.primitives.elementwise.logic import eq_p
from olympus_core.primitives.shape import broadcast_in_dim_p


def _has_classes(dtype: dtypes.DType, count: int) -> bool:
    """Return True if a dtype is float, or can represent `count` class numbers."""
    kind = dtypes.kind(dtype)
    if kind not in "iu":
        return kind != "b"
    return not known_at_least(count - 1, int(dtypes.iinfo(dtype).max) + 1)


def one_hot(
    x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: int = -1
) -> Array:
    """Return 1 at index x of a new axis of `num_classes` elements, 0 elsewhere.

    An x out of range gives zeros.  `axis` is the index of the new axis in the result; the dtype is
    the default float.

    >>> one_hot(numpy.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    count = dimension(num_classes) if isinstance(num_classes, Array) else num_classes
    target_dtype = dtypes.requested("one_hot", dtype)
    return _one_hot(host_indices(x), num_classes=count, dtype=target_dtype, axis=axis)


@composite(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, *, num_classes: int, dtype: dtypes.DType, axis: int) -> Array:
    x, count = asarray(x), dimension(num_classes)
    if not _has_classes(get_aval(x).dtype, count):
        x = convert(x, dtypes.default_dtype("i"))
    aval = get_aval(x)
    axis = one_axis("one_hot", aval.ndim + 1, axis)
    shape = (*aval.shape[:axis], count, *aval.shape[axis:])
    class_axes = tuple([i for i in range(len(shape)) if i != axis])
    spread = broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=class_axes)
    is_class = eq_p.bind(spread, broadcasted_iota(aval.dtype, shape, axis))
    if dtype == dtypes.bool_:
        return is_class
    return convert_element_type_p.bind(is_class, new_dtype=dtype, weak_type=False)


@accepts_list_axis
@composite(static_argnames=("axis", "algorithm"))
def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """(x - mean) / sqrt(variance + epsilon), by default those along `axis`.

    The variance is mean(x**2) - mean(x)**2, or with the algorithm "stable" the variance of
    x - mean.

    Raises ArgumentError (a ValueError) for another algorithm, and for complex values with the
    algorithm "fast", which clamps the variance at 0.

    >>> standardize(array([1.0, 3.0]), epsilon=0.0)
    Array([-1.,  1.], dtype=float32)
    """
    check_arrays("standardize", x, *[a for a in (mean, variance, where) if a is not None])
    values = asarray(x)
    if algorithm not in ("fast", "stable"):
        raise ArgumentError(f"standardize is 'fast' or 'stable', and not {algorithm!r}")
    if values.dtype == dtypes.bool_:
        values = convert(values, dtypes.canonicalize("int32"))
    if mean is None:
        mean = mean_of(values, axis, keepdims=True, where=where)
    centred = subtract(values, mean)
    if variance is None and algorithm == "stable":
        variance = mean_of(lax.square(centred), axis, keepdims=True, where=where)
    elif variance is None:
        if dtypes.kind(values.dtype) == "c":
            raise ArgumentError("standardize needs real values, or the algorithm 'stable'")
        squares = mean_of(lax.square(values), axis, keepdims=True, where=where)
        variance = maximum(squares - lax.square(asarray(mean)), 0)
    return centred * lax.rsqrt(asarray(variance + epsilon))
