"""Shapes and the order of elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import (
    OnnxNode,
    checked_size,
    normalized_axis,
    operator,
)


@operator("Shape", folds=True)
def _shape(node: OnnxNode, x: Any) -> Any:
    return np.array(x.shape[node.get("start", 0) : node.get("end")], "int64")


@operator("Size", folds=True)
def _size(node: OnnxNode, x: Any) -> Any:
    return np.array(math.prod(x.shape), "int64")


@operator("Reshape", static=(1,), folds=True)
def _reshape(node: OnnxNode, x: Any, shape: Any = None) -> Any:
    sizes = list(node.get("shape", ())) if node.version < 5 else node.integers(1)
    assert sizes is not None
    if not node.get("allowzero", 0):
        sizes = [x.shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    if any(size < -1 for size in sizes) or sizes.count(-1) > 1:
        raise ArtifactError(f"the shape {sizes!r:.80} is invalid")
    return x.reshape(tuple(sizes))


@operator("Flatten", folds=True)
def _flatten(node: OnnxNode, x: Any) -> Any:
    axis = normalized_axis(node.get("axis", 1), x.ndim + 1) if x.ndim else 0
    if node.get("axis", 1) < 0:
        axis = node.get("axis", 1) + x.ndim
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def _axes(node: OnnxNode, index: int, since: int = 13) -> list[int] | None:
    """Return the axes of a node: an attribute before version `since`, then an input."""
    return node.get("axes") if node.version < since else node.integers(index)


@operator("Squeeze", static=(1,), folds=True)
def _squeeze(node: OnnxNode, x: Any, axes: Any = None) -> Any:
    sizes = _axes(node, 1)
    if sizes is None:
        sizes = [axis for axis, size in enumerate(x.shape) if size == 1]
    return node.xp.squeeze(x, tuple(normalized_axis(axis, x.ndim) for axis in sizes))


@operator("Unsqueeze", static=(1,), folds=True)
def _unsqueeze(node: OnnxNode, x: Any, axes: Any = None) -> Any:
    return node.xp.expand_dims(x, tuple(_axes(node, 1) or ()))


@operator("Transpose", folds=True)
def _transpose(node: OnnxNode, x: Any) -> Any:
    return node.xp.transpose(x, node.get("perm"))


@operator("Concat", folds=True)
def _concat(node: OnnxNode, *parts: Any) -> Any:
    axis = node.get("axis", 1) if node.version < 4 else node.required("axis")
    size = sum(part.size for part in parts)
    return node.namespace(size).concatenate(parts, axis=normalized_axis(axis, parts[0].ndim))


@operator("Split", static=(1,), folds=True)
def _split(node: OnnxNode, x: Any, split: Any = None) -> Any:
    axis = normalized_axis(node.get("axis", 0), x.ndim)
    sizes = node.get("split") if node.version < 13 else node.integers(1)
    if sizes is None:
        count = node.output_count
        if node.get("num_outputs", count) != count or count > x.shape[axis] + 1:
            raise ArtifactError(f"{count} outputs do not match attribute num_outputs")
        step = -(-x.shape[axis] // count)
        sizes = [min(step, max(x.shape[axis] - i * step, 0)) for i in range(count)]
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0:
        raise ArtifactError(f"the sizes {sizes!r:.80} do not add up to {x.shape[axis]}")
    return tuple(node.xp.split(x, [int(end) for end in np.cumsum(sizes)[:-1]], axis=axis))


@operator("Expand", static=(1,), folds=True)
def _expand(node: OnnxNode, x: Any, shape: Any) -> Any:
    sizes = node.integers(1)
    assert sizes is not None
    checked_size(sizes)
    result = np.broadcast_shapes(x.shape, tuple(sizes))
    return node.namespace(checked_size(result)).broadcast_to(x, result)


@operator("Tile", static=(1,), since=6, folds=True)
def _tile(node: OnnxNode, x: Any, repeats: Any) -> Any:
    counts = node.integers(1)
    assert counts is not None
    if len(counts) != x.ndim:
        raise ArtifactError(f"{len(counts)} repeats do not match {x.ndim} dimensions")
    size = checked_size([s * count for s, count in zip(x.shape, counts, strict=True)])
    return node.namespace(size).tile(x, tuple(counts))


@operator("Trilu", static=(1,))
def _trilu(node: OnnxNode, x: Any, k: Any = None) -> Any:
    offset = node.static(1)
    rows = lax.broadcasted_iota("int32", x.shape, x.ndim - 2)
    columns = lax.broadcasted_iota("int32", x.shape, x.ndim - 1)
    shift = 0 if offset is None else max(-(2**30), min(2**30, int(offset.reshape(()))))
    selected = columns - rows >= shift if node.get("upper", 1) else columns - rows <= shift
    return jnp.where(selected, x, np.zeros((), x.dtype))


@operator("DepthToSpace")
def _depth_to_space(node: OnnxNode, x: Any) -> Any:
    n, c, h, w = x.shape
    b = node.required("blocksize")
    if node.get("mode", "DCR") == "DCR":
        x = x.reshape((n, b, b, c // b**2, h, w)).transpose((0, 3, 4, 1, 5, 2))
    else:
        x = x.reshape((n, c // b**2, b, b, h, w)).transpose((0, 1, 4, 2, 5, 3))
    return x.reshape((n, c // b**2, h * b, w * b))


@operator("SpaceToDepth")
def _space_to_depth(node: OnnxNode, x: Any) -> Any:
    n, c, h, w = x.shape
    b = node.required("blocksize")
    if node.get("mode", "DCR") == "DCR":
        x = x.reshape((n, c, h // b, b, w // b, b)).transpose((0, 3, 5, 1, 2, 4))
    else:
        x = x.reshape((n, c, h // b, b, w // b, b)).transpose((0, 1, 3, 5, 2, 4))
    return x.reshape((n, c * b * b, h // b, w // b))


def _pad_widths(node: OnnxNode, x: Any) -> list[tuple[int, int]]:
    """Return the elements to add before and after each axis, negative ones to remove."""
    pads = node.get("pads", node.get("paddings")) if node.version < 11 else node.integers(1)
    axes = node.integers(3) if node.version >= 18 else None
    axes = list(range(x.ndim)) if axes is None else [normalized_axis(a, x.ndim) for a in axes]
    if pads is None or len(pads) != 2 * len(axes):
        raise ArtifactError(f"the pads {pads!r:.80} do not match {len(axes)} axes")
    widths = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        widths[axis] = pads[i], pads[i + len(axes)]
    checked_size([s + low + high for s, (low, high) in zip(x.shape, widths, strict=True)])
    return widths


_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@operator("Pad", static=(1, 3))
def _pad(node: OnnxNode, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    widths = _pad_widths(node, x)
    mode = node.get("mode", "constant")
    if mode == "constant":
        if value is None:
            value = np.asarray(node.get("value", 0.0) if node.version < 11 else 0, x.dtype)
        value = jnp.asarray(value).reshape(()).astype(x.dtype)
        return lax.pad(jnp.asarray(x), value, [(low, high, 0) for low, high in widths])
    if mode not in _MODES:
        raise ArtifactError(f"the mode {mode!r:.40} is unknown")
    cut = tuple(
        slice(max(-low, 0), size - max(-high, 0))
        for size, (low, high) in zip(x.shape, widths, strict=True)
    )
    added = [(max(low, 0), max(high, 0)) for low, high in widths]
    return jnp.pad(jnp.asarray(x)[cut], added, mode=_MODES[mode])


@operator("CenterCropPad", static=(1,))
def _center_crop_pad(node: OnnxNode, x: Any, shape: Any) -> Any:
    sizes = node.integers(1)
    assert sizes is not None
    axes = node.get("axes") or list(range(x.ndim))
    x = jnp.asarray(x)
    for axis, size in zip(axes, sizes, strict=True):
        checked_size([size])
        axis = normalized_axis(axis, x.ndim)
        missing = size - x.shape[axis]
        low = missing // 2 if missing > 0 else -(-missing // 2)
        config = [(0, 0, 0)] * x.ndim
        config[axis] = (low, missing - low, 0)
        x = lax.pad(x, np.zeros((), x.dtype), config)
    return x
