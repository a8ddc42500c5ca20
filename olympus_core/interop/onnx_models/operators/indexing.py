"""Reading and writing elements by their indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import (
    MAX_FOLDED,
    OnnxNode,
    checked_size,
    normalized_axis,
    operator,
)


def _wrapped(indices: Any, size: int) -> Any:
    """Return indices of which negative ones count from the end."""
    xp = np if isinstance(indices, np.ndarray) else jnp
    return xp.where(indices < 0, indices + np.asarray(size, indices.dtype), indices)


def _in_program(x: Any) -> Any:
    """Return a value as an array of the program."""
    return jnp.asarray(x)


@operator("Gather", folds=True)
def _gather(node: OnnxNode, x: Any, indices: Any) -> Any:
    axis = normalized_axis(node.get("axis", 0), x.ndim)
    rest = math.prod(x.shape[:axis]) * math.prod(x.shape[axis + 1 :])
    xp = node.namespace(checked_size([rest, indices.size]))
    if xp is np:
        return np.take(x, indices, axis=axis)
    indices = _wrapped(_in_program(indices), x.shape[axis])
    return jnp.take(_in_program(x), indices, axis=axis, mode="clip")


@operator("GatherElements")
def _gather_elements(node: OnnxNode, x: Any, indices: Any) -> Any:
    axis = normalized_axis(node.get("axis", 0), x.ndim)
    places = [lax.broadcasted_iota("int64", indices.shape, i) for i in range(x.ndim)]
    places[axis] = _wrapped(_in_program(indices), x.shape[axis]).astype("int64")
    return _in_program(x)[tuple(places)]


@operator("GatherND")
def _gather_nd(node: OnnxNode, x: Any, indices: Any) -> Any:
    batch = node.get("batch_dims", 0)
    depth = indices.shape[-1]
    if not 0 <= batch <= min(x.ndim, indices.ndim) - 1 or batch + depth > x.ndim:
        raise ArtifactError(f"indices of {depth} do not match {x.ndim} dimensions")
    indices = _in_program(indices)
    shape = indices.shape[:-1]
    places = [lax.broadcasted_iota("int64", shape, i) for i in range(batch)]
    for i in range(depth):
        places.append(_wrapped(indices[..., i], x.shape[batch + i]).astype("int64"))
    return _in_program(x)[tuple(places)]


_REDUCTIONS = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}


def _written(node: OnnxNode, x: Any, places: tuple[Any, ...], updates: Any) -> Any:
    reduction = node.get("reduction", "none")
    if reduction not in _REDUCTIONS:
        raise ArtifactError(f"the reduction {reduction!r:.40} is unknown")
    return getattr(_in_program(x).at[places], _REDUCTIONS[reduction])(_in_program(updates))


@operator("ScatterElements", "Scatter")
def _scatter_elements(node: OnnxNode, x: Any, indices: Any, updates: Any) -> Any:
    axis = normalized_axis(node.get("axis", 0), x.ndim)
    places = [lax.broadcasted_iota("int64", indices.shape, i) for i in range(x.ndim)]
    places[axis] = _wrapped(_in_program(indices), x.shape[axis]).astype("int64")
    return _written(node, x, tuple(places), updates)


@operator("ScatterND")
def _scatter_nd(node: OnnxNode, x: Any, indices: Any, updates: Any) -> Any:
    indices = _in_program(indices)
    depth = indices.shape[-1]
    if depth > x.ndim:
        raise ArtifactError(f"indices of {depth} do not match {x.ndim} dimensions")
    places = tuple(_wrapped(indices[..., i], x.shape[i]) for i in range(depth))
    return _written(node, x, places, updates)


@operator("TensorScatter")
def _tensor_scatter(node: OnnxNode, cache: Any, update: Any, start: Any = None) -> Any:
    axis = normalized_axis(node.get("axis", -2), cache.ndim)
    batch = cache.shape[0]
    offset = jnp.zeros((batch,), "int64") if start is None else _in_program(start)
    places = [lax.broadcasted_iota("int64", update.shape, i) for i in range(cache.ndim)]
    shifted = places[axis] + offset.astype("int64").reshape((batch, *(1,) * (cache.ndim - 1)))
    circular = node.get("mode", "linear") == "circular"
    places[axis] = shifted % cache.shape[axis] if circular else shifted
    return _in_program(cache).at[tuple(places)].set(_in_program(update))


@operator("Slice", static=(1, 2, 3, 4), folds=True)
def _slice(
    node: OnnxNode,
    x: Any,
    starts: Any = None,
    ends: Any = None,
    axes: Any = None,
    steps: Any = None,
) -> Any:
    bounds: tuple[Any, ...]
    if node.version < 10:
        bounds = node.required("starts"), node.required("ends"), node.get("axes"), None
    else:
        bounds = node.integers(1), node.integers(2), node.integers(3), node.integers(4)
    first, last = list(bounds[0] or ()), list(bounds[1] or ())
    along = list(range(len(first))) if bounds[2] is None else bounds[2]
    stride = [1] * len(first) if bounds[3] is None else bounds[3]
    places = [slice(None)] * x.ndim
    for start, end, axis, step in zip(first, last, along, stride, strict=True):
        axis = normalized_axis(axis, x.ndim)
        places[axis] = _bounds(start, end, step, x.shape[axis])
    return x[tuple(places)]


def _bounds(start: int, end: int, step: int, size: int) -> slice:
    """Return the bounds of ONNX as a slice of Python, in which -1 counts from the end."""
    if step == 0:
        raise ArtifactError("the step of a slice is 0")
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    if step > 0:
        return slice(max(0, min(start, size)), max(0, min(end, size)), step)
    start, end = max(0, min(start, size - 1)), max(-1, min(end, size - 1))
    return slice(start, None if end < 0 else end, step) if size else slice(0, 0)


@operator("OneHot", static=(1,))
def _one_hot(node: OnnxNode, indices: Any, depth: Any, values: Any) -> Any:
    known = node.static(1)
    count = int(known.reshape(()))
    shape = list(indices.shape)
    axis = normalized_axis(node.get("axis", -1), len(shape) + 1)
    shape.insert(axis, count)
    checked_size(shape)
    wrapped = jnp.expand_dims(_in_program(indices), axis)
    wrapped = jnp.where(wrapped < 0, wrapped + np.asarray(count, indices.dtype), wrapped)
    hot = lax.broadcasted_iota("int64", shape, axis) == wrapped.astype("int64")
    values = _in_program(values)
    return jnp.where(hot, values[1], values[0])


@operator("TopK", static=(1,))
def _top_k(node: OnnxNode, x: Any, k: Any = None) -> Any:
    axis = normalized_axis(node.get("axis", -1), x.ndim)
    count = node.required("k") if node.version < 10 else int(node.static(1).reshape(()))
    if not 0 <= count <= x.shape[axis]:
        raise ArtifactError(f"{count} elements of {x.shape[axis]} are requested")
    largest = node.get("largest", 1) if node.version >= 11 else 1
    x = _in_program(x)
    order = jnp.argsort(x, axis=axis, stable=True, descending=bool(largest))
    order = lax.slice_in_dim(order, 0, count, axis=axis)
    return jnp.take_along_axis(x, order, axis=axis), order.astype("int64")


@operator("ReverseSequence")
def _reverse_sequence(node: OnnxNode, x: Any, lengths: Any) -> Any:
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    if {time, batch} != {0, 1}:
        raise ArtifactError("time_axis and batch_axis are not 0 and 1")
    shape = [1] * x.ndim
    shape[batch] = x.shape[batch]
    lengths = _in_program(lengths).reshape(shape)
    position = lax.broadcasted_iota("int64", x.shape, time)
    places = [lax.broadcasted_iota("int64", x.shape, i) for i in range(x.ndim)]
    places[time] = jnp.where(position < lengths, lengths - 1 - position, position)
    return _in_program(x)[tuple(places)]


def _known(node: OnnxNode) -> list[Any]:
    """Return the known values of all inputs; an absent one is None."""
    values = [node.static(index) for index in range(len(node.inputs))]
    if any(value is not None and value.size > MAX_FOLDED for value in values):
        raise ArtifactError(f"an input of {node.op} has more than {MAX_FOLDED} elements")
    return values


@operator("NonZero", static=(0,), folds=True)
def _non_zero(node: OnnxNode, x: Any) -> Any:
    (value,) = _known(node)
    return np.array(np.nonzero(np.atleast_1d(value)), "int64").reshape((value.ndim, -1))


@operator("Compress", static=(1,))
def _compress(node: OnnxNode, x: Any, condition: Any) -> Any:
    selected = np.flatnonzero(node.static(1))
    axis = node.get("axis")
    x = _in_program(x)
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    axis = normalized_axis(axis, x.ndim)
    if selected.size and selected[-1] >= x.shape[axis]:
        raise ArtifactError(f"the condition is longer than axis {axis}")
    return jnp.take(x, selected, axis=axis)


@operator("Unique", static=(0,), folds=True)
def _unique(node: OnnxNode, x: Any) -> Any:
    (value,) = _known(node)
    axis = node.get("axis")
    unique, first, inverse, counts = np.unique(
        value, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not node.get("sorted", 1):
        order = np.argsort(first)
        unique = np.take(unique, order, axis=0 if axis is None else axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    outputs = (unique, *(part.astype("int64") for part in (first, inverse, counts)))
    return outputs[: node.output_count]
