"""Samples of images at computed positions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.interop.onnx_models.operators.convolution import node_windows, with_bias
from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.operators.table import OnnxNode, checked_size, operator

_CUBIC = -0.75  # the coefficient of cubic interpolation in GridSample


def _reflected(x: Any, low: float, high: float) -> Any:
    """Return coordinates mirrored at two bounds until they are between them."""
    span = high - low
    if span <= 0:
        return jnp.zeros_like(x)
    distance = jnp.abs(x - low) % (2 * span)
    return low + jnp.where(distance > span, 2 * span - distance, distance)


def _padded(x: Any, size: int, padding: str, corners: bool) -> Any:
    if padding == "border":
        return jnp.clip(x, 0, size - 1)
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        inside = (x >= low) & (x <= high)
        return jnp.where(inside, x, _reflected(x, low, high))
    return x


def _pixels(x: Any, batch: Any, places: list[Any], padding: str, corners: bool) -> Any:
    """Return the elements of images, channels last, at integer coordinates of any range."""
    valid: Any = True
    indices = [batch]
    for place, size in zip(places, x.shape[1:-1], strict=True):
        index = jnp.rint(_padded(place, size, padding, corners))
        valid = valid & (index >= 0) & (index <= size - 1)
        indices.append(jnp.clip(index, 0, size - 1).astype("int64"))
    values = x[tuple(indices)]
    if padding in ("border", "reflection"):
        return values
    return jnp.where(jnp.expand_dims(valid, -1), values, jnp.zeros((), x.dtype))


def _taps(coordinate: Any, mode: str) -> list[tuple[Any, Any]]:
    """Return integer coordinates and weights of the elements that a sample combines."""
    floor = jnp.floor(coordinate)
    t = coordinate - floor
    if mode == "linear":
        return [(floor, 1 - t), (floor + 1, t)]
    a = _CUBIC

    def outer(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    def inner(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    weights = outer(t + 1), inner(t), inner(1 - t), outer(2 - t)
    return [(floor + i - 1, weight) for i, weight in enumerate(weights)]


@operator("GridSample")
def _grid_sample(node: OnnxNode, x: Any, grid: Any) -> Any:
    x = jnp.moveaxis(jnp.asarray(x), 1, -1)
    spatial = x.shape[1:-1]
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(
        node.get("mode", "linear"), node.get("mode", "linear")
    )
    padding, corners = node.get("padding_mode", "zeros"), bool(node.get("align_corners", 0))
    if grid.shape[-1] != len(spatial) or mode not in ("linear", "cubic", "nearest"):
        raise ArtifactError(f"the grid or the mode {mode!r:.40} does not match the images")
    batch = np.arange(x.shape[0]).reshape((-1, *(1,) * (grid.ndim - 2)))
    coordinates = []
    for i, size in enumerate(spatial):
        normal = jnp.asarray(grid)[..., len(spatial) - 1 - i]
        place = (normal + 1) / 2 * (size - 1) if corners else ((normal + 1) * size - 1) / 2
        place = jnp.rint(place) if mode == "nearest" else place
        coordinates.append(_padded(place, size, padding, corners))
    if mode == "nearest":
        return jnp.moveaxis(_pixels(x, batch, coordinates, padding, corners), -1, 1)
    total: Any = 0
    for taps in itertools.product(*(_taps(place, mode) for place in coordinates)):
        weight = math.prod((weight for _, weight in taps), start=jnp.ones((), x.dtype))
        value = _pixels(x, batch, [place for place, _ in taps], padding, corners)
        total = total + value * jnp.expand_dims(weight, -1).astype(x.dtype)
    return jnp.moveaxis(total, -1, 1)


@operator("RoiAlign")
def _roi_align(node: OnnxNode, x: Any, rois: Any, batch: Any) -> Any:
    ratio = node.get("sampling_ratio", 0)
    if ratio < 1:
        raise UsageError("RoiAlign with a number of samples that depends on values has no shape")
    height, width = node.get("output_height", 1), node.get("output_width", 1)
    checked_size([height, width, ratio, ratio])
    is_shifted = node.version >= 16 and (
        node.get("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    )
    bounds = jnp.asarray(rois) * node.get("spatial_scale", 1.0) - (0.5 if is_shifted else 0.0)
    x = jnp.moveaxis(jnp.asarray(x), 1, -1)

    def axis_samples(first: Any, last: Any, count: int, size: int) -> tuple[Any, Any]:
        """Return the coordinates of the samples of one axis, and their taps."""
        extent = last - first if is_shifted else jnp.maximum(last - first, 1.0)
        steps = (np.arange(count * ratio) + 0.5) / ratio
        place = first[:, None] + steps.astype(x.dtype) * (extent / count)[:, None]
        valid = (place >= -1.0) & (place <= size)
        place = jnp.clip(place, 0, size - 1)
        low = jnp.floor(place)
        high = jnp.minimum(low + 1, size - 1)
        return valid, [(low, 1 - (place - low)), (high, place - low)]

    size_y, size_x = x.shape[1:3]
    valid_y, taps_y = axis_samples(bounds[:, 1], bounds[:, 3], height, size_y)
    valid_x, taps_x = axis_samples(bounds[:, 0], bounds[:, 2], width, size_x)
    valid = (valid_y[:, :, None] & valid_x[:, None, :])[..., None]
    images = jnp.asarray(batch).astype("int64")[:, None, None]
    parts = []
    for (y, weight_y), (column, weight_x) in itertools.product(taps_y, taps_x):
        places = images, y.astype("int64")[:, :, None], column.astype("int64")[:, None, :]
        weight = (weight_y[:, :, None] * weight_x[:, None, :])[..., None]
        parts.append(jnp.where(valid, x[places] * weight, jnp.zeros((), x.dtype)))
    is_average = node.get("mode", "avg").lower() == "avg"
    samples = sum(parts) if is_average else jnp.max(jnp.stack(parts), axis=0)
    samples = samples.reshape((x.shape[0] and rois.shape[0], height, ratio, width, ratio, -1))
    pooled = (jnp.mean if is_average else jnp.max)(samples, axis=(2, 4))
    return jnp.moveaxis(pooled, -1, 1)


@operator("Col2Im", static=(1, 2))
def _col2im(node: OnnxNode, x: Any, image_shape: Any, block_shape: Any) -> Any:
    spatial, block = node.integers(1), node.integers(2)
    assert spatial is not None and block is not None
    place = node_windows(node, spatial, block)
    padded = [s + low + high for s, (low, high) in zip(spatial, place.pads, strict=True)]
    counts = [
        (size - extent) // stride + 1
        for size, extent, stride in zip(padded, place.extents, place.strides, strict=True)
    ]
    channels = x.shape[1] // math.prod(block)
    checked_size([x.shape[0], channels, *padded])
    columns = jnp.asarray(x).reshape((x.shape[0], channels, *block, *counts))
    rank = len(spatial)
    indices = []
    for i in range(rank):
        index = (
            np.arange(block[i])[:, None] * place.dilations[i]
            + np.arange(counts[i]) * place.strides[i]
        )
        shape = [1] * (2 * rank)
        shape[i], shape[i + rank] = block[i], counts[i]
        indices.append(index.reshape(shape))
    image = jnp.zeros((x.shape[0], channels, *padded), x.dtype)
    image = image.at[(slice(None), slice(None), *indices)].add(columns)
    inside = tuple(
        slice(low, low + size) for size, (low, _) in zip(spatial, place.pads, strict=True)
    )
    return image[(slice(None), slice(None), *inside)]


@operator("DeformConv")
def _deform_conv(
    node: OnnxNode, x: Any, w: Any, offset: Any, bias: Any = None, mask: Any = None
) -> Any:
    x, w, offset = jnp.asarray(x), jnp.asarray(w), jnp.asarray(offset)
    kernel = tuple(w.shape[2:])
    place = node_windows(node, x.shape[2:], node.get("kernel_shape") or kernel)
    groups, parts = node.get("group", 1), node.get("offset_group", 1)
    rank, batch, channels, sizes = len(kernel), x.shape[0], x.shape[1], offset.shape[2:]
    offset = offset.reshape((batch, parts, *kernel, rank, *sizes))
    coordinates = []
    for i in range(rank):  # the positions without offsets, then with them
        taps = (np.arange(kernel[i]) * place.dilations[i]).reshape(
            [-1 if j == i else 1 for j in range(2 * rank)]
        )
        steps = (np.arange(sizes[i]) * place.strides[i] - place.pads[i][0]).reshape(
            [-1 if j == i + rank else 1 for j in range(2 * rank)]
        )
        own = offset[(slice(None), slice(None), *(slice(None),) * rank, i)]
        coordinates.append(own + (taps + steps).astype(x.dtype))
    images = jnp.moveaxis(x.reshape((batch * parts, channels // parts, *x.shape[2:])), 1, -1)
    index = np.arange(batch * parts).reshape((-1, *(1,) * (2 * rank)))
    flat = [c.reshape((batch * parts, *kernel, *sizes)) for c in coordinates]
    total: Any = 0
    for chosen in itertools.product(*(_taps(c, "linear") for c in flat)):
        weight = math.prod((weight for _, weight in chosen), start=jnp.ones((), x.dtype))
        value = _pixels(images, index, [p for p, _ in chosen], "zeros", True)
        total = total + value * weight[..., None]
    if mask is not None:
        total = total * jnp.asarray(mask).reshape((batch * parts, *kernel, *sizes, 1))
    # samples: batch, group, channel of the group, kernel, output
    samples = jnp.moveaxis(total, -1, 1).reshape((batch, channels, math.prod(kernel), *sizes))
    columns = samples.reshape((batch, groups, -1, math.prod(sizes)))
    weights = w.reshape((groups, w.shape[0] // groups, -1))
    result = jnp.einsum("gok,ngkp->ngop", weights, columns)
    return with_bias(result.reshape((batch, w.shape[0], *sizes)), bias)
