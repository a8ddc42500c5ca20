"""Products of matrices, determinants and Einstein sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.interop.onnx_models.operators.namespaces import jnp
from olympus_core.interop.onnx_models.operators.table import OnnxNode, operator


@operator("MatMul")
def _matmul(node: OnnxNode, a: Any, b: Any) -> Any:
    return jnp.matmul(a, b)


@operator("Gemm")
def _gemm(node: OnnxNode, a: Any, b: Any, c: Any = None) -> Any:
    a = jnp.asarray(a).T if node.get("transA", 0) else a
    b = jnp.asarray(b).T if node.get("transB", 0) else b
    result = jnp.matmul(a, b)
    if node.get("alpha", 1.0) != 1.0:
        result = result * np.asarray(node.get("alpha", 1.0), result.dtype)
    if c is None:
        return result
    if node.get("beta", 1.0) != 1.0:
        c = c * np.asarray(node.get("beta", 1.0), c.dtype)
    return result + c


@operator("Einsum")
def _einsum(node: OnnxNode, *operands: Any) -> Any:
    return jnp.einsum(node.required("equation").replace(" ", ""), *operands)


@operator("Det")
def _det(node: OnnxNode, x: Any) -> Any:
    return jnp.linalg.det(x)
