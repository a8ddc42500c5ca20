"""Activation functions, softmax and its relatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax, nn
from olympus_core.interop.onnx_models.operators.table import OnnxNode, normalized_axis, operator


@operator("Relu", folds=True)
def _relu(node: OnnxNode, x: Any) -> Any:
    return node.xp.maximum(x, np.zeros((), x.dtype))


@operator("Sigmoid")
def _sigmoid(node: OnnxNode, x: Any) -> Any:
    return nn.sigmoid(jnp.asarray(x))


@operator("Softplus")
def _softplus(node: OnnxNode, x: Any) -> Any:
    return nn.softplus(x)


@operator("Softsign")
def _softsign(node: OnnxNode, x: Any) -> Any:
    return nn.soft_sign(jnp.asarray(x))


@operator("LeakyRelu")
def _leaky_relu(node: OnnxNode, x: Any) -> Any:
    return jnp.where(x < 0, x * node.get("alpha", 0.01), x)


@operator("PRelu")
def _prelu(node: OnnxNode, x: Any, slope: Any) -> Any:
    if node.version < 7 and slope.ndim == 1 and x.ndim > 1 and slope.shape[0] > 1:
        slope = slope.reshape((-1, *(1,) * (x.ndim - 2)))
    return jnp.where(x < 0, x * slope, x)


@operator("Elu")
def _elu(node: OnnxNode, x: Any) -> Any:
    return jnp.where(x < 0, node.get("alpha", 1.0) * jnp.expm1(x), x)


@operator("Celu")
def _celu(node: OnnxNode, x: Any) -> Any:
    alpha = node.get("alpha", 1.0)
    return jnp.maximum(x, 0.0) + jnp.minimum(alpha * jnp.expm1(x / alpha), 0.0)


@operator("Selu")
def _selu(node: OnnxNode, x: Any) -> Any:
    alpha, gamma = node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813)
    return gamma * jnp.where(x > 0, x, alpha * jnp.expm1(x))


@operator("HardSigmoid")
def _hard_sigmoid(node: OnnxNode, x: Any) -> Any:
    return jnp.clip(node.get("alpha", 0.2) * x + node.get("beta", 0.5), 0.0, 1.0)


@operator("HardSwish")
def _hard_swish(node: OnnxNode, x: Any) -> Any:
    return x * jnp.clip(x / 6.0 + 0.5, 0.0, 1.0)


@operator("Mish")
def _mish(node: OnnxNode, x: Any) -> Any:
    return nn.mish(jnp.asarray(x))


@operator("Gelu")
def _gelu(node: OnnxNode, x: Any) -> Any:
    if node.get("approximate", "none") == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1.0 + jnp.tanh(inner))
    return 0.5 * x * (1.0 + lax.erf(jnp.asarray(x * math.sqrt(0.5))))


@operator("Swish")
def _swish(node: OnnxNode, x: Any) -> Any:
    return x * nn.sigmoid(jnp.asarray(node.get("alpha", 1.0) * x))


@operator("ThresholdedRelu")
def _thresholded_relu(node: OnnxNode, x: Any) -> Any:
    return jnp.where(x > node.get("alpha", 1.0), x, np.zeros((), x.dtype))


@operator("Shrink")
def _shrink(node: OnnxNode, x: Any) -> Any:
    bias, threshold = node.get("bias", 0.0), node.get("lambd", 0.5)
    work = x.dtype if np.dtype(x.dtype).kind == "f" else "float64"  # an integer is truncated last
    wide = jnp.asarray(x).astype(work)
    below, above = (wide + bias).astype(x.dtype), (wide - bias).astype(x.dtype)
    zero = np.zeros((), x.dtype)
    return jnp.where(wide < -threshold, below, jnp.where(wide > threshold, above, zero))


def _softmax_like(node: OnnxNode, x: Any, function: Any) -> Any:
    """Apply a function along an axis; before version 13, along all axes from it on together."""
    x = jnp.asarray(x)
    if node.version >= 13:
        return function(x, normalized_axis(node.get("axis", -1), x.ndim))
    axis = node.get("axis", 1)
    axis = normalized_axis(axis, x.ndim) if axis < 0 else normalized_axis(axis, x.ndim + 1)
    flat = x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return function(flat, 1).reshape(x.shape)


@operator("Softmax")
def _softmax(node: OnnxNode, x: Any) -> Any:
    return _softmax_like(node, x, lambda x, axis: nn.softmax(x, axis=axis))


@operator("LogSoftmax")
def _log_softmax(node: OnnxNode, x: Any) -> Any:
    return _softmax_like(node, x, lambda x, axis: nn.log_softmax(x, axis=axis))


@operator("Hardmax")
def _hardmax(node: OnnxNode, x: Any) -> Any:
    def hardmax(x: Any, axis: int) -> Any:
        positions = lax.broadcasted_iota("int32", x.shape, axis)
        return (positions == jnp.argmax(x, axis=axis, keepdims=True)).astype(x.dtype)

    return _softmax_like(node, x, hardmax)
