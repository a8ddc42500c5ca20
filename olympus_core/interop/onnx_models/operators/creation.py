"""Constants, ranges and filled arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.operators.table import OnnxNode, checked_size, operator
from olympus_core.interop.onnx_models.tensors import element_dtype


@operator("Constant", folds=True)
def _constant(node: OnnxNode) -> Any:
    dtypes = {"value_float": "float32", "value_floats": "float32", "value_int": "int64"}
    for name, value in node.attributes.items():
        if name == "value":
            return value
        if name in (*dtypes, "value_ints"):
            return np.array(value, dtypes.get(name, "int64"))
    raise ArtifactError(f"the attribute {next(iter(node.attributes), 'value')!r} is not numeric")


@operator("ConstantOfShape", static=(0,), folds=True)
def _constant_of_shape(node: OnnxNode, shape: Any) -> Any:
    sizes = node.integers(0)
    assert sizes is not None
    value = node.get("value", np.zeros((1,), "float32")).reshape(())
    return node.namespace(checked_size(sizes)).full(tuple(sizes), value, dtype=value.dtype)


@operator("Range", static=(0, 1, 2), folds=True)
def _range(node: OnnxNode, start: Any, limit: Any, delta: Any) -> Any:
    first, last, step = (node.static(i).reshape(()) for i in range(3))
    dtype = first.dtype
    if step == 0:
        raise ArtifactError("the step of the range is 0")
    count = math.ceil((last.item() - first.item()) / step.item())
    count = max(count, 0)
    xp = node.namespace(checked_size([count]))
    return (xp.arange(count).astype(dtype) * step + first).astype(dtype)


@operator("EyeLike")
def _eye_like(node: OnnxNode, x: Any) -> Any:
    dtype = element_dtype(node.get("dtype")) if node.get("dtype") else x.dtype
    rows, columns = x.shape
    return jnp.eye(rows, columns, node.get("k", 0), dtype=dtype)
