"""Normalization of batches, instances, layers and vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base.errors import UsageError
from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import OnnxNode, normalized_axis, operator


def _per_channel(values: Any, x: Any) -> Any:
    return values.reshape((-1, *(1,) * (x.ndim - 2)))


@operator("BatchNormalization")
def _batch_normalization(
    node: OnnxNode, x: Any, scale: Any, bias: Any, mean: Any, variance: Any
) -> Any:
    x = jnp.asarray(x)
    training = node.get("training_mode", 0) if node.version >= 14 else 0
    if node.version < 7 and not node.get("is_test", 0):
        raise UsageError("training with BatchNormalization of opset 6 is not supported")
    running: tuple[Any, ...] = ()
    if training:
        momentum = node.get("momentum", 0.9)
        axes = (0, *range(2, x.ndim))
        batch_mean, batch_variance = jnp.mean(x, axis=axes), jnp.var(x, axis=axes)
        running = (
            mean * momentum + batch_mean * (1 - momentum),
            variance * momentum + batch_variance * (1 - momentum),
        )
        mean, variance = batch_mean, batch_variance
    epsilon = node.get("epsilon", 1e-5)
    if all(isinstance(value, np.ndarray) for value in (scale, bias, mean, variance)):
        return (_scaled(x, scale, bias, mean, variance, epsilon),)
    factor = scale / jnp.sqrt(variance + np.asarray(epsilon, variance.dtype))
    result = (x - _per_channel(mean, x)) * _per_channel(factor, x) + _per_channel(bias, x)
    return (result.astype(x.dtype), *running)[: node.output_count]


def _scaled(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    """Return a batch normalized by known numbers: one product and one sum for each element.

    XLA would divide and take a root for each element, where it fuses them with what follows.
    """
    factor = scale.astype("float64") / np.sqrt(variance.astype("float64") + epsilon)
    shift = bias - mean * factor
    dtype = x.dtype if x.dtype == np.float64 else np.dtype("float32")
    result = x * _per_channel(factor.astype(dtype), x) + _per_channel(shift.astype(dtype), x)
    return result.astype(x.dtype)


@operator("InstanceNormalization")
def _instance_normalization(node: OnnxNode, x: Any, scale: Any, bias: Any) -> Any:
    x = jnp.asarray(x)
    axes = tuple(range(2, x.ndim))
    mean = jnp.mean(x, axis=axes, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=axes, keepdims=True)
    normal = (x - mean) * lax.rsqrt(variance + node.get("epsilon", 1e-5))
    return normal * _per_channel(scale, x) + _per_channel(bias, x)


@operator("LayerNormalization")
def _layer_normalization(node: OnnxNode, x: Any, scale: Any, bias: Any = None) -> Any:
    axis = normalized_axis(node.get("axis", -1), x.ndim)
    axes = tuple(range(axis, x.ndim))
    dtype = x.dtype
    wide = jnp.asarray(x).astype(jnp.promote_types(dtype, "float32"))
    mean = jnp.mean(wide, axis=axes, keepdims=True)
    variance = jnp.mean((wide - mean) ** 2, axis=axes, keepdims=True)
    inverse = lax.rsqrt(variance + node.get("epsilon", 1e-5))
    result = ((wide - mean) * inverse).astype(dtype) * scale
    result = result if bias is None else result + bias
    return (result, mean, inverse)[: node.output_count]


@operator("LpNormalization")
def _lp_normalization(node: OnnxNode, x: Any) -> Any:
    x = jnp.asarray(x)
    axis, p = normalized_axis(node.get("axis", -1), x.ndim), node.get("p", 2)
    if p == 1:
        norm = jnp.sum(jnp.abs(x), axis=axis, keepdims=True)
    else:
        norm = jnp.sqrt(jnp.sum(x * x, axis=axis, keepdims=True))
    return jnp.where(norm == 0, jnp.zeros((), x.dtype), x / jnp.where(norm == 0, 1, norm))


@operator("LRN")
def _lrn(node: OnnxNode, x: Any) -> Any:
    x = jnp.asarray(x)
    size = node.required("size")
    before = (size - 1) // 2
    window = (1, size, *(1,) * (x.ndim - 2))
    pads = ((0, 0), (before, size - 1 - before), *((0, 0),) * (x.ndim - 2))
    total = lax.reduce_window(x * x, np.zeros((), x.dtype), lax.add, window, (1,) * x.ndim, pads)
    alpha, beta, bias = node.get("alpha", 1e-4), node.get("beta", 0.75), node.get("bias", 1.0)
    return x / (bias + (alpha / size) * total) ** beta


@operator("Dropout", static=(2,))
def _dropout(node: OnnxNode, x: Any, ratio: Any = None, training: Any = None) -> Any:
    mode = node.static(2)
    drops = mode is not None and bool(mode.reshape(()))
    drops = drops and (ratio is None or not isinstance(ratio, np.ndarray) or bool(ratio.any()))
    if drops:
        raise UsageError(
            "training with Dropout is not supported: the numbers that it draws are not defined"
        )
    mask = jnp.ones(x.shape, "bool" if node.version >= 10 else x.dtype)
    return (x, mask)[: node.output_count]


@operator("MeanVarianceNormalization", since=9)
def _mean_variance_normalization(node: OnnxNode, x: Any) -> Any:
    axes = tuple(normalized_axis(a, x.ndim) for a in node.get("axes", (0, 2, 3)))
    mean = jnp.mean(x, axis=axes, keepdims=True)
    centered = x - mean
    deviation = jnp.sqrt(jnp.mean(centered**2, axis=axes, keepdims=True))
    return centered / (deviation + 1e-9)


@operator("GroupNormalization", since=21)
def _group_normalization(node: OnnxNode, x: Any, scale: Any, bias: Any) -> Any:
    x = jnp.asarray(x)
    groups = node.required("num_groups")
    parts = x.reshape((x.shape[0], groups, math.prod(x.shape[1:]) // groups))
    mean = jnp.mean(parts, axis=2, keepdims=True)
    variance = jnp.mean((parts - mean) ** 2, axis=2, keepdims=True)
    normal = (parts - mean) * lax.rsqrt(variance + node.get("epsilon", 1e-5))
    return normal.reshape(x.shape) * _per_channel(scale, x) + _per_channel(bias, x)
