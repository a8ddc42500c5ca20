"""Resizing of images along each axis: nearest, linear and cubic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.operators.table import (
    OnnxNode,
    checked_size,
    normalized_axis,
    operator,
)

_MAX_TAPS = 2**24  # elements of the matrix of one axis
_SUPPORTS = {"linear": 1, "cubic": 2}


@dataclass(frozen=True)
class Stretch:
    """The resizing of one axis from `size` to `target`, with the bounds of its region."""

    size: int
    target: int
    scale: float
    region: tuple[float, float]

    def coordinates(self, mode: str) -> Any:
        """Return the coordinate in the input of each element of the output."""
        i = np.arange(self.target, dtype="float64")
        first, last = self.region
        if mode == "asymmetric":
            return i / self.scale
        if mode == "align_corners":
            length = self.scale * self.size
            return i * (self.size - 1) / (length - 1) if length != 1 else i * 0
        if mode == "tf_half_pixel_for_nn":
            return (i + 0.5) / self.scale
        if mode == "tf_crop_and_resize":
            if self.target == 1:
                return np.array([0.5 * (first + last) * (self.size - 1)])
            step = (last - first) * (self.size - 1) / (self.target - 1)
            return first * (self.size - 1) + i * step
        if mode == "pytorch_half_pixel" and self.target == 1:
            return i * 0
        if mode == "half_pixel_symmetric":
            shift = self.size / 2 * (1 - self.target / (self.scale * self.size))
            return shift + (i + 0.5) / self.scale - 0.5
        if mode not in ("half_pixel", "pytorch_half_pixel"):
            raise ArtifactError(f"the coordinate transformation {mode!r:.40} is unknown")
        return (i + 0.5) / self.scale - 0.5


def _nearest(x: Any, mode: str) -> Any:
    roundings: dict[str, Callable[[Any], Any]] = {
        "round_prefer_floor": lambda x: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
    }
    if mode not in roundings:
        raise ArtifactError(f"the nearest_mode {mode!r:.40} is unknown")
    return roundings[mode](x).astype("int64")


def _kernel_weights(mode: str, distance: Any, a: float) -> Any:
    d = np.abs(distance)
    if mode == "linear":
        return np.clip(1 - d, 0, 1)
    inner = ((a + 2) * d - (a + 3)) * d * d + 1
    outer = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, inner, np.where(d < 2, outer, 0))


def _matrix(node: OnnxNode, stretch: Stretch, mode: str, coordinates: Any) -> Any:
    """Return the weights of the elements of an axis, one row for each element of the output."""
    if stretch.size * stretch.target > _MAX_TAPS:
        raise ArtifactError(f"resizing {stretch.size} elements to {stretch.target} is too large")
    scale = min(stretch.scale, 1.0) if node.get("antialias", 0) else 1.0
    low = math.floor(-_SUPPORTS[mode] / scale) + 1
    if low < -_MAX_TAPS // max(stretch.target, 1):
        raise ArtifactError(f"the scale {stretch.scale} is too small")
    taps = np.arange(low, 2 - low)
    floor = np.floor(coordinates)
    places = floor[:, None] + taps
    weights = _kernel_weights(
        mode, (places - coordinates[:, None]) * scale, node.get("cubic_coeff_a", -0.75)
    )
    if node.get("exclude_outside", 0):
        weights = np.where((places < 0) | (places >= stretch.size), 0, weights)
        weights = weights / weights.sum(axis=1, keepdims=True)
    elif scale < 1:
        weights = weights / weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((stretch.target, stretch.size))
    rows = np.broadcast_to(np.arange(stretch.target)[:, None], places.shape)
    np.add.at(matrix, (rows, np.clip(places, 0, stretch.size - 1).astype("int64")), weights)
    return matrix


def _resized(
    node: OnnxNode, x: Any, mode: str, transform: str, stretches: dict[int, Stretch]
) -> Any:
    dtype = x.dtype
    x = jnp.asarray(x)
    outside = jnp.asarray(False)
    for axis, stretch in stretches.items():
        is_crop = transform == "tf_crop_and_resize"
        if stretch.size == stretch.target and stretch.scale == 1.0 and not is_crop:
            continue
        if stretch.size == 0:
            raise ArtifactError("an axis of size 0 is resized")
        coordinates = stretch.coordinates(transform)
        if is_crop:
            beyond = (coordinates < 0) | (coordinates > stretch.size - 1)
            outside = outside | beyond.reshape((-1, *(1,) * (x.ndim - axis - 1)))
        if mode == "nearest":
            rounding = node.get("nearest_mode", "round_prefer_floor")
            places = _nearest(coordinates, rounding if node.version >= 11 else "floor")
            x = jnp.take(x, np.clip(places, 0, stretch.size - 1), axis=axis)
        else:
            work = jnp.promote_types(dtype, "float32")
            matrix = _matrix(node, stretch, mode, coordinates).astype(work)
            x = jnp.moveaxis(jnp.tensordot(x.astype(work), matrix, (axis, 1)), -1, axis)
    if transform == "tf_crop_and_resize":
        x = jnp.where(outside, np.asarray(node.get("extrapolation_value", 0.0), x.dtype), x)
    return x.astype(dtype)


def _targets(
    node: OnnxNode, x: Any, axes: Sequence[int], scales: Any, sizes: Any
) -> tuple[list[int], list[float]]:
    """Return the new sizes and the scales of axes, of which one is given."""
    if sizes is None:
        if scales is None or len(scales) != len(axes) or min(scales, default=1) <= 0:
            raise ArtifactError(f"the scales do not match {len(axes)} axes")
        return [math.floor(x.shape[a] * s) for a, s in zip(axes, scales, strict=True)], scales
    if len(sizes) != len(axes) or min((x.shape[axis] for axis in axes), default=1) == 0:
        raise ArtifactError(f"the sizes do not match {len(axes)} axes")
    scales = [size / x.shape[axis] for axis, size in zip(axes, sizes, strict=True)]
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scale = min(scales) if policy == "not_larger" else max(scales)
        scales = [scale] * len(axes)
        sizes = [math.floor(x.shape[axis] * scale + 0.5) for axis in axes]
    return list(sizes), scales


def _floats(node: OnnxNode, index: int) -> list[float] | None:
    """Return known floats as a list; None for an absent or empty input."""
    value = node.static(index)
    if value is None or value.size == 0:
        return None
    if value.size > 64 or not np.isfinite(value.astype("float64")).all():
        raise ArtifactError("the scales or the region of Resize are invalid")
    return [float(number) for number in value.ravel()]


@operator("Resize", since=11, static=(1, 2, 3))
def _resize(
    node: OnnxNode, x: Any, region: Any = None, scales: Any = None, sizes: Any = None
) -> Any:
    axes = [normalized_axis(a, x.ndim) for a in node.get("axes") or range(x.ndim)]
    wanted = node.integers(3) or None
    targets, factors = _targets(node, x, axes, _floats(node, 2), wanted)
    checked_size(targets)
    bounds = _floats(node, 1)
    transform = node.get("coordinate_transformation_mode", "half_pixel")
    if transform != "tf_crop_and_resize":
        bounds = None
    stretches = {}
    for i, axis in enumerate(axes):
        part = (0.0, 1.0) if bounds is None else (bounds[i], bounds[i + len(axes)])
        stretches[axis] = Stretch(x.shape[axis], targets[i], factors[i], part)
    return _resized(node, x, node.get("mode", "nearest"), transform, stretches)


def _upsampled(node: OnnxNode, x: Any, scales: Any) -> Any:
    targets, factors = _targets(node, x, range(x.ndim), scales, None)
    checked_size(targets)
    stretches = {
        axis: Stretch(x.shape[axis], targets[axis], factors[axis], (0.0, 1.0))
        for axis in range(x.ndim)
    }
    mode = "nearest" if node.get("mode", "nearest") == "nearest" else "linear"
    return _resized(node, x, mode, "asymmetric", stretches)


@operator("Resize", "Upsample", since=9, static=(1,))
def _upsample(node: OnnxNode, x: Any, scales: Any) -> Any:
    return _upsampled(node, x, _floats(node, 1))


@operator("Upsample", since=7)
def _upsample_by_attribute(node: OnnxNode, x: Any) -> Any:
    return _upsampled(node, x, node.required("scales"))
