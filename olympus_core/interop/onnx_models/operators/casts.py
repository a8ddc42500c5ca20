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
    if dtype.name.startswith("float8") and dtype.name != "float8_e8m0fnu":
        limits = ml_dtypes.finfo(dtype)
        wide = x.astype("float32")
        if saturate:
            top = np.asarray(limits.max, "float32")
            wide = xp.where(xp.isnan(wide), wide, xp.clip(wide, -top, top))
        if dtype.name.endswith("fnuz"):  # without a negative zero, whose bits are NaN
            half = np.asarray(limits.smallest_subnormal, "float32") / 2
            wide = xp.where(xp.abs(wide) <= half, np.float32(0), wide)
        return wide.astype(dtype)
    if dtype.kind == "b":
        return x != np.zeros((), source)
    if dtype.name in ("int4", "uint4") and source.kind not in "iub":
        x = x.astype("int32")  # whose low bits are the result
    return x.astype(dtype)


def _powers_of_two(x: Any, rounding: str, saturate: bool) -> Any:
    """Return a value as float8_e8m0fnu, which has exponents alone; infinities become NaN."""
    bits = lax.bitcast_convert_type(jnp.asarray(x).astype("float32"), "uint32")
    exponent, fraction = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if rounding == "up":
        is_up = fraction > 0
    elif rounding == "nearest":
        is_up = (fraction > 0x400000) | ((fraction == 0x400000) & (exponent > 0))
    else:
        is_up = jnp.zeros_like(fraction, dtype="bool")
    top = 0xFE if saturate else 0xFF
    rounded = jnp.minimum(exponent + is_up.astype("uint32"), top)
    special = jnp.where(exponent == 0xFF, exponent, rounded).astype("uint8")
    return lax.bitcast_convert_type(special, "float8_e8m0fnu")


@operator("Cast", folds=True)
def _cast(node: OnnxNode, x: Any) -> Any:
    if element_dtype(node.required("to")).name == "float8_e8m0fnu":
        return _powers_of_two(x, node.get("round_mode", "up"), bool(node.get("saturate", 1)))
    return converted(node.xp, x, element_dtype(node.required("to")), bool(node.get("saturate", 1)))


@operator("CastLike", folds=True)
def _cast_like(node: OnnxNode, x: Any, like: Any) -> Any:
    return converted(node.xp, x, like.dtype, bool(node.get("saturate", 1)))


@operator("BitCast")
def _bit_cast(node: OnnxNode, x: Any) -> Any:
    x = jnp.asarray(x)
    if x.dtype == "bool":
        x = x.astype("uint8")
    if element_dtype(node.required("to")).kind == "b":
        return lax.bitcast_convert_type(x, "uint8") != 0
    return lax.bitcast_convert_type(x, element_dtype(node.required("to")))
