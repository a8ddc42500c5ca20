"""Quantized operators: conversions between integers and floats, and products of integers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.casts import converted
from olympus_core.interop.onnx_models.operators.convolution import convolve, with_bias
from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.operators.table import OnnxNode, normalized_axis, operator
from olympus_core.interop.onnx_models.tensors import element_dtype


def _along(values: Any, node: OnnxNode, x: Any) -> Any:
    """Return scales or zero points in a shape that is broadcast with the operand.

    They are one number, one for each element of an axis, or one for each block along it.
    """
    values = jnp.asarray(values)
    if values.ndim == 0 or values.size == 1:
        return values.reshape(())
    axis = normalized_axis(node.get("axis", 1), x.ndim)
    if values.ndim == 1:
        shape = [1] * x.ndim
        shape[axis] = values.shape[0]
        return values.reshape(shape)
    block = node.get("block_size", 0) or -(-x.shape[axis] // values.shape[axis])
    if block < 1 or values.shape[axis] * block < x.shape[axis]:
        raise ArtifactError(f"blocks of {block} do not cover axis {axis}")
    return jnp.repeat(values, block, axis=axis, total_repeat_length=None)[
        tuple(slice(size) for size in x.shape)
    ]


def _limits(dtype: Any) -> tuple[int, int]:
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def _quantized(values: Any, dtype: Any, zero: Any = None) -> Any:
    """Return scaled values rounded to the nearest even integer of a dtype, with a zero point."""
    values = jnp.rint(values)
    low, high = _limits(dtype)
    values = values.astype("float64")  # a rounded float32 and a zero point are exact in it
    values = values if zero is None else values + zero.astype("float64")
    return jnp.clip(values, low, high).astype("int64").astype(dtype)


@operator("QuantizeLinear")
def _quantize_linear(node: OnnxNode, x: Any, scale: Any, zero: Any = None) -> Any:
    number = node.get("output_dtype", 0)
    dtype = zero.dtype if zero is not None else element_dtype(number) if number else "uint8"
    precision = node.get("precision", 0)
    work = element_dtype(precision) if precision else np.dtype(scale.dtype)
    work = np.dtype("float32") if work.name.startswith("float8") else work
    scale = _along(scale, node, x).astype(work)
    scaled = jnp.asarray(x).astype(work) / scale
    zero = None if zero is None else _along(zero, node, x)
    if "float" in np.dtype(dtype).name:
        return converted(jnp, scaled, dtype, bool(node.get("saturate", 1)))
    return _quantized(scaled, dtype, zero)


@operator("DequantizeLinear")
def _dequantize_linear(node: OnnxNode, x: Any, scale: Any, zero: Any = None) -> Any:
    number = node.get("output_dtype", 0)
    dtype = element_dtype(number) if number else scale.dtype
    work = jnp.promote_types("float32", scale.dtype)
    scale = _along(scale, node, x).astype(work)
    exact = "float32" if "float" in np.dtype(x.dtype).name else "int64"
    value = jnp.asarray(x).astype(exact)
    if zero is not None:
        value = value - _along(zero, node, x).astype(exact)
    return (value.astype(work) * scale).astype(dtype)


def _rows(zero: Any, operand: Any) -> Any:
    """Return the zero points of the left operand of a product, one for each row."""
    zero = jnp.asarray(zero).astype("int32")
    return zero[:, None] if zero.ndim == 1 and zero.size > 1 else _scalar(zero)


def _scalar(values: Any) -> Any:
    return values.reshape(()) if values.ndim == 1 and values.size == 1 else values


def _shifted(a: Any, zero: Any, rows: bool = False) -> Any:
    """Return an operand minus its zero point, as int32."""
    a = jnp.asarray(a).astype("int32")
    if zero is None:
        return a
    return a - (_rows(zero, a) if rows else _scalar(jnp.asarray(zero)).astype("int32"))


@operator("MatMulInteger")
def _matmul_integer(node: OnnxNode, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return jnp.matmul(_shifted(a, a_zero, rows=True), _shifted(b, b_zero))


@operator("QLinearMatMul")
def _qlinear_matmul(
    node: OnnxNode,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    y_scale: Any,
    y_zero: Any,
) -> Any:
    product = jnp.matmul(_shifted(a, a_zero, rows=True), _shifted(b, b_zero))
    left = jnp.asarray(a_scale)
    left = left[:, None] if left.ndim == 1 and left.size > 1 else _scalar(left)
    scale = left.astype("float64") * _scalar(jnp.asarray(b_scale)) / _scalar(jnp.asarray(y_scale))
    return _quantized(product * scale, y_zero.dtype, _scalar(jnp.asarray(y_zero)))


def _kernel(zero: Any, w: Any) -> Any:
    """Return the zero points of a kernel, one for each output channel."""
    zero = jnp.asarray(zero).astype("int32")
    return zero.reshape((-1, *(1,) * (w.ndim - 1))) if zero.size > 1 else zero.reshape(())


@operator("ConvInteger")
def _conv_integer(node: OnnxNode, x: Any, w: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    w_value = jnp.asarray(w).astype("int32")
    if w_zero is not None:
        w_value = w_value - _kernel(w_zero, w)
    return convolve(node, _shifted(x, x_zero), w_value)


@operator("QLinearConv")
def _qlinear_conv(
    node: OnnxNode,
    x: Any,
    x_scale: Any,
    x_zero: Any,
    w: Any,
    w_scale: Any,
    w_zero: Any,
    y_scale: Any,
    y_zero: Any,
    bias: Any = None,
) -> Any:
    w_value = jnp.asarray(w).astype("int32") - _kernel(w_zero, w)
    result = with_bias(convolve(node, _shifted(x, x_zero), w_value), bias)
    kernel_scale = jnp.asarray(w_scale).astype("float64")
    if kernel_scale.size > 1:
        kernel_scale = kernel_scale.reshape((-1, *(1,) * (result.ndim - 2)))
    else:
        kernel_scale = kernel_scale.reshape(())
    scale = kernel_scale * _scalar(jnp.asarray(x_scale)) / _scalar(jnp.asarray(y_scale))
    return _quantized(result * scale, y_zero.dtype, _scalar(jnp.asarray(y_zero)))


@operator("DynamicQuantizeLinear")
def _dynamic_quantize_linear(node: OnnxNode, x: Any) -> Any:
    x = jnp.asarray(x)
    low, high = jnp.minimum(jnp.min(x), 0.0), jnp.maximum(jnp.max(x), 0.0)
    scale = ((high - low) / 255).astype("float32")
    safe = jnp.where(scale == 0, 1, scale)
    zero = _quantized(jnp.clip(-low / safe, 0, 255), "uint8")
    return _quantized(x / safe, "uint8", zero), scale, zero
