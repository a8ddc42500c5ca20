"""Reductions along axes, cumulative ones, and the positions of extrema."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import OnnxNode, normalized_axis, operator

#: The version from which the axes of a reduction are an input.
_AXES_INPUT = {"ReduceSum": 13}
_PLAIN = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin")
_COMPOSED = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")


def _reduced_axes(node: OnnxNode, x: Any) -> tuple[int, ...]:
    since = _AXES_INPUT.get(node.op, 18)
    axes = node.get("axes") if node.version < since else node.integers(1)
    if not axes:
        return () if node.get("noop_with_empty_axes", 0) else tuple(range(x.ndim))
    return tuple(sorted({normalized_axis(axis, x.ndim) for axis in axes}))


def least_value(dtype: Any, sign: int) -> Any:
    """Return the least value of a dtype for `sign` 1, the greatest for -1."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.asarray(sign < 0)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.asarray(limits.min if sign > 0 else limits.max, dtype)
    return np.asarray(-np.inf * sign, dtype)


def _extreme(xp: Any, op: str, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    is_max = op == "ReduceMax"
    if np.dtype(x.dtype).kind == "b":
        return (xp.any if is_max else xp.all)(x, axis=axes, keepdims=keep)
    initial = least_value(x.dtype, 1 if is_max else -1)
    return (xp.max if is_max else xp.min)(x, axis=axes, keepdims=keep, initial=initial)


@operator(*_PLAIN, static=(1,), folds=True)
def _reduce(node: OnnxNode, x: Any, axes: Any = None) -> Any:
    chosen, keep = _reduced_axes(node, x), bool(node.get("keepdims", 1))
    if not chosen:
        return x
    if node.op in ("ReduceMax", "ReduceMin"):
        return _extreme(node.xp, node.op, x, chosen, keep)
    name = {"ReduceSum": "sum", "ReduceProd": "prod", "ReduceMean": "mean"}[node.op]
    result = getattr(node.xp, name)(x, axis=chosen, keepdims=keep)
    return result.astype(x.dtype)


@operator(*_COMPOSED, static=(1,))
def _reduce_composed(node: OnnxNode, x: Any, axes: Any = None) -> Any:
    chosen, keep, dtype = _reduced_axes(node, x), bool(node.get("keepdims", 1)), x.dtype
    x = jnp.asarray(x)
    if node.op == "ReduceLogSumExp":
        top = jnp.max(x, axis=chosen, keepdims=True, initial=least_value(dtype, 1))
        top = jnp.where(jnp.isfinite(top), top, np.zeros((), dtype))
        total = jnp.sum(jnp.exp(x - top), axis=chosen, keepdims=True)
        result = (jnp.log(total) + top).astype(dtype)
        return result if keep else jnp.squeeze(result, chosen)
    if node.op == "ReduceL1":
        x = jnp.abs(x)
    elif node.op in ("ReduceL2", "ReduceSumSquare"):
        x = x * x
    total = jnp.sum(x, axis=chosen, keepdims=keep) if chosen else x
    if node.op == "ReduceL2":
        total = jnp.sqrt(total.astype(jnp.promote_types(dtype, "float32")))
    elif node.op == "ReduceLogSum":
        total = jnp.log(total)
    return total.astype(dtype)


@operator("ArgMax", "ArgMin")
def _arg_extreme(node: OnnxNode, x: Any) -> Any:
    axis, keep = normalized_axis(node.get("axis", 0), x.ndim), bool(node.get("keepdims", 1))
    function = jnp.argmax if node.op == "ArgMax" else jnp.argmin
    if not node.get("select_last_index", 0):
        return function(x, axis=axis, keepdims=keep).astype("int64")
    last = x.shape[axis] - 1
    return last - function(jnp.flip(jnp.asarray(x), axis), axis=axis, keepdims=keep).astype("int64")


@operator("CumSum", "CumProd", static=(1,))
def _cumulative(node: OnnxNode, x: Any, axis: Any) -> Any:
    along = node.integers(1)
    assert along is not None
    index = normalized_axis(along[0], x.ndim)
    reverse = bool(node.get("reverse", 0))
    x = jnp.asarray(x)
    if node.get("exclusive", 0):  # the elements move by one, and the first is neutral
        neutral = np.asarray(0 if node.op == "CumSum" else 1, x.dtype)
        config = [(0, 0, 0)] * x.ndim
        config[index] = (-1, 1, 0) if reverse else (1, -1, 0)
        x = lax.pad(x, neutral, config)
    function = lax.cumsum if node.op == "CumSum" else lax.cumprod
    return function(x, axis=index, reverse=reverse)
