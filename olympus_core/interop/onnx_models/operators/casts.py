"""Conversions between element types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import OnnxNode, operator
from olympus_core.interop.onnx_models.tensors import element_dtype


def converted(xp: Any, x: Any, dtype: Any, saturate: bool = True) -> Any:
    """Return a value in another dtype; a float8 takes its nearest finite value if `saturate`."""
    dtype = np.dtype(dtype)
    source = np.dtype(x.dtype)
    if dtype.name.startswith("float8") and dtype.name != "float8_e8m0fnu" and saturate:
        top = np.asarray(ml_dtypes.finfo(dtype).max, "float32")
        wide = x.astype("float32")
        wide = xp.where(xp.isnan(wide), wide, xp.clip(wide, -top, top))
        return wide.astype(dtype)
    if dtype.kind == "b":
        return x != np.zeros((), source)
    return x.astype(dtype)


@operator("Cast", folds=True)
def _cast(node: OnnxNode, x: Any) -> Any:
    return converted(node.xp, x, element_dtype(node.required("to")), bool(node.get("saturate", 1)))


@operator("CastLike", folds=True)
def _cast_like(node: OnnxNode, x: Any, like: Any) -> Any:
    return converted(node.xp, x, like.dtype, bool(node.get("saturate", 1)))


@operator("BitCast")
def _bit_cast(node: OnnxNode, x: Any) -> Any:
    return lax.bitcast_convert_type(jnp.asarray(x), element_dtype(node.required("to")))
