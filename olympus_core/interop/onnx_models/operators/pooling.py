"""Pooling over windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.convolution import Windows, node_windows
from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.reductions import least_value
from olympus_core.interop.onnx_models.operators.table import OnnxNode, checked_size, operator

_MAX_WINDOW = 2**12  # elements of a window whose positions are compared one by one


def _output_sizes(node: OnnxNode, place: Windows, spatial: Sequence[int]) -> list[int]:
    """Return the number of windows along each axis; with `ceil_mode`, the last may be partial."""
    sizes = []
    for size, stride, extent, (low, high) in zip(
        spatial, place.strides, place.extents, place.pads, strict=True
    ):
        room = size + low + high - extent
        count = (-(-room // stride) if node.get("ceil_mode", 0) else room // stride) + 1
        if node.get("ceil_mode", 0) and (count - 1) * stride >= size + low:
            count -= 1
        sizes.append(count)
    checked_size(sizes)
    return sizes


def _full_pads(
    place: Windows, spatial: Sequence[int], counts: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the pads with which all windows, and no others, are complete."""
    return [
        (low, (count - 1) * stride + extent - size - low)
        for size, stride, extent, (low, _), count in zip(
            spatial, place.strides, place.extents, place.pads, counts, strict=True
        )
    ]


def _pooled(x: Any, neutral: Any, combine: Any, place: Windows, pads: Any) -> Any:
    return lax.reduce_window(
        x,
        np.asarray(neutral, x.dtype),
        combine,
        (1, 1, *place.kernel),
        (1, 1, *place.strides),
        ((0, 0), (0, 0), *_cut(pads)),
        window_dilation=(1, 1, *place.dilations),
    )


def _cut(pads: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return pads without negative ones: elements after the last window change nothing."""
    return [(low, max(high, 0)) for low, high in pads]


@operator("MaxPool")
def _max_pool(node: OnnxNode, x: Any) -> Any:
    x = jnp.asarray(x)
    spatial = x.shape[2:]
    place = node_windows(node, spatial, node.required("kernel_shape"))
    counts = _output_sizes(node, place, spatial)
    pads = _full_pads(place, spatial, counts)
    neutral = least_value(x.dtype, 1)
    if node.output_count == 1:
        return _pooled(x, neutral, lax.max, place, pads)
    return _max_with_positions(node, x, place, counts, neutral)


def _max_with_positions(
    node: OnnxNode, x: Any, place: Windows, counts: Sequence[int], neutral: Any
) -> Any:
    """Return the maxima and their positions in the flat input, the first of equal ones."""
    if math.prod(place.kernel) > _MAX_WINDOW:
        raise ArtifactError(f"a window of more than {_MAX_WINDOW} elements has no positions")
    spatial = x.shape[2:]
    order = range(len(spatial))
    steps = [math.prod(spatial[i + 1 :]) for i in order]
    if node.get("storage_order", 0):
        steps = [math.prod(spatial[:i]) for i in order]
    best = jnp.full((*x.shape[:2], *counts), neutral, x.dtype)
    where = jnp.zeros(best.shape, "int64")
    for offsets in itertools.product(*(range(k) for k in place.kernel)):
        value, position, valid = x, jnp.zeros((), "int64"), jnp.asarray(True)
        for i in order:
            start = offsets[i] * place.dilations[i] - place.pads[i][0]
            index = np.arange(counts[i]) * place.strides[i] + start
            inside = (index >= 0) & (index < spatial[i])
            index = np.clip(index, 0, max(spatial[i] - 1, 0))
            value = jnp.take(value, index, axis=i + 2)
            shape = [1] * x.ndim
            shape[i + 2] = counts[i]
            position = position + (index * steps[i]).reshape(shape)
            valid = valid & inside.reshape(shape)
        better = valid & (value > best)
        best = jnp.where(better, value, best)
        where = jnp.where(better, position, where)
    planes = np.arange(math.prod(x.shape[:2])).reshape((*x.shape[:2], *(1,) * len(spatial)))
    return best, where + planes * math.prod(spatial)


@operator("AveragePool")
def _average_pool(node: OnnxNode, x: Any) -> Any:
    x = jnp.asarray(x)
    spatial = x.shape[2:]
    place = node_windows(node, spatial, node.required("kernel_shape"))
    counts = _output_sizes(node, place, spatial)
    pads = _full_pads(place, spatial, counts)
    total = _pooled(x, 0, lax.add, place, pads)
    counted = jnp.ones((1, 1, *spatial), x.dtype)
    if node.get("count_include_pad", 0):
        counted = jnp.pad(counted, ((0, 0), (0, 0), *place.pads), constant_values=1)
        pads = [(0, high - own) for (_, high), (_, own) in zip(pads, place.pads, strict=True)]
    return total / _pooled(counted, 0, lax.add, place, pads)


@operator("LpPool")
def _lp_pool(node: OnnxNode, x: Any) -> Any:
    x = jnp.asarray(x)
    spatial = x.shape[2:]
    place = node_windows(node, spatial, node.required("kernel_shape"))
    pads = _full_pads(place, spatial, _output_sizes(node, place, spatial))
    p = node.get("p", 2)
    total = _pooled(jnp.abs(x) ** p, 0, lax.add, place, pads)
    return total ** np.asarray(1 / p, x.dtype)


def _spatial_axes(x: Any) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@operator("GlobalAveragePool")
def _global_average_pool(node: OnnxNode, x: Any) -> Any:
    return jnp.mean(x, axis=_spatial_axes(x), keepdims=True)


@operator("GlobalMaxPool")
def _global_max_pool(node: OnnxNode, x: Any) -> Any:
    return jnp.max(x, axis=_spatial_axes(x), keepdims=True)


@operator("GlobalLpPool")
def _global_lp_pool(node: OnnxNode, x: Any) -> Any:
    p = node.get("p", 2)
    total = jnp.sum(jnp.abs(jnp.asarray(x)) ** p, axis=_spatial_axes(x), keepdims=True)
    return total ** np.asarray(1 / p, x.dtype)


@operator("MaxUnpool", static=(2,))
def _max_unpool(node: OnnxNode, x: Any, positions: Any, shape: Any = None) -> Any:
    place = node_windows(node, x.shape[2:], node.required("kernel_shape"))
    natural = [
        (size - 1) * stride - low - high + extent
        for size, stride, extent, (low, high) in zip(
            x.shape[2:], place.strides, place.extents, place.pads, strict=True
        )
    ]
    sizes = node.integers(2) or [*x.shape[:2], *natural]
    checked_size(sizes)
    places = jnp.asarray(positions).reshape((-1,))
    if sizes[2:] != natural:  # positions are those of the natural shape
        natural_shape = [*x.shape[:2], *natural]
        coordinates = jnp.unravel_index(places, natural_shape)
        places = jnp.ravel_multi_index(coordinates, tuple(sizes), mode="clip")
    flat = jnp.zeros((math.prod(sizes),), x.dtype)
    return flat.at[places].set(jnp.asarray(x).reshape((-1,))).reshape(tuple(sizes))
