"""Convolutions, transposed convolutions, and the geometry of their windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import OnnxNode, checked_size, operator


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution or a pooling, one entry for each spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """The size of each dilated window."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))


def node_windows(node: OnnxNode, spatial: Sequence[int], kernel: Sequence[int]) -> Windows:
    """Return the windows of a node; raise ArtifactError if its attributes are inconsistent."""
    rank = len(spatial)
    strides = tuple(node.get("strides") or (1,) * rank)
    dilations = tuple(node.get("dilations") or (1,) * rank)
    pads = list(node.get("pads") or (0,) * (2 * rank))
    kernel = tuple(kernel)
    if {len(kernel), len(strides), len(dilations)} != {rank} or len(pads) != 2 * rank:
        raise ArtifactError("the lengths of kernel_shape, strides, dilations and pads differ")
    if min((*kernel, *strides, *dilations), default=1) < 1 or min(pads, default=0) < 0:
        raise ArtifactError("a size of kernel_shape, strides, dilations or pads is out of range")
    shape = Windows(kernel, strides, dilations, tuple(zip(pads[:rank], pads[rank:], strict=True)))
    checked_size(shape.extents)
    checked_size([size + low + high for size, (low, high) in zip(spatial, shape.pads, strict=True)])
    automatic = node.get("auto_pad", "NOTSET")
    if automatic not in ("SAME_UPPER", "SAME_LOWER"):
        return shape
    chosen = []
    for size, stride, extent in zip(spatial, strides, shape.extents, strict=True):
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        half = total // 2
        chosen.append((half, total - half) if automatic == "SAME_UPPER" else (total - half, half))
    return Windows(kernel, strides, dilations, tuple(chosen))


def convolve(node: OnnxNode, x: Any, w: Any, preferred: str | None = None) -> Any:
    """Return the convolution of a batch with the attributes of a node."""
    place = node_windows(node, x.shape[2:], node.get("kernel_shape") or w.shape[2:])
    return lax.conv_general_dilated(
        jnp.asarray(x),
        jnp.asarray(w),
        place.strides,
        place.pads,
        rhs_dilation=place.dilations,
        feature_group_count=node.get("group", 1),
        preferred_element_type=preferred,
    )


def with_bias(result: Any, bias: Any) -> Any:
    """Return a batch with a bias for each channel."""
    return result if bias is None else result + bias.reshape((-1, *(1,) * (result.ndim - 2)))


@operator("Conv")
def _conv(node: OnnxNode, x: Any, w: Any, bias: Any = None) -> Any:
    return with_bias(convolve(node, x, w), bias)


@operator("ConvTranspose")
def _conv_transpose(node: OnnxNode, x: Any, w: Any, bias: Any = None) -> Any:
    groups = node.get("group", 1)
    spatial = x.shape[2:]
    rank = len(spatial)
    place = node_windows(node, (0,) * rank, node.get("kernel_shape") or w.shape[2:])
    extra = tuple(node.get("output_padding") or (0,) * rank)
    pads = _transposed_pads(node, place, spatial, extra)
    channels, outputs = w.shape[:2]
    # the kernel of the convolution has output channels first, and its window is mirrored
    w = jnp.flip(jnp.asarray(w), tuple(range(2, rank + 2)))
    w = w.reshape((groups, channels // groups, outputs, *w.shape[2:])).swapaxes(1, 2)
    w = w.reshape((groups * outputs, channels // groups, *w.shape[3:]))
    padding = [
        (extent - 1 - low, extent - 1 - high + more)
        for extent, (low, high), more in zip(place.extents, pads, extra, strict=True)
    ]
    result = lax.conv_general_dilated(
        jnp.asarray(x),
        w,
        (1,) * rank,
        padding,
        lhs_dilation=place.strides,
        rhs_dilation=place.dilations,
        feature_group_count=groups,
    )
    return with_bias(result, bias)


def _transposed_pads(
    node: OnnxNode, place: Windows, spatial: Sequence[int], extra: Sequence[int]
) -> Sequence[tuple[int, int]]:
    automatic = node.get("auto_pad", "NOTSET")
    shape = node.get("output_shape")
    if shape is None:
        if automatic not in ("SAME_UPPER", "SAME_LOWER"):
            return place.pads
        shape = [size * stride for size, stride in zip(spatial, place.strides, strict=True)]
    shape = shape[-len(spatial) :]
    checked_size(shape)
    pads = []
    for size, stride, more, extent, wanted in zip(
        spatial, place.strides, extra, place.extents, shape, strict=True
    ):
        total = stride * (size - 1) + more + extent - wanted
        half = total // 2
        pads.append((half, total - half) if automatic == "SAME_UPPER" else (total - half, half))
    checked_size([math.prod(shape)])
    return pads
