"""MLIR attributes of Python values, as operations with attributes of the user have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: the dtypes of Python scalars; a bool is an int, and so comes first
_SCALARS = ((bool, np.bool_), (int, np.int64), (float, np.float64))


def attribute(value: Any) -> ir.Attribute:
    """Return a value as an attribute.

    Python scalars are 64-bit; NumPy scalars have their dtype, and arrays are dense elements. A dict
    is a dictionary, and a list or a tuple an array of attributes. Attributes and types of MLIR stay
    as they are. Raises ArgumentError (a TypeError) for another value.

    >>> str(attribute({"axis": 1, "name": "x"}))
    '{axis = 1 : i64, name = "x"}'
    """
    ir, context = mlir.ir, mlir.context()
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, ir.Type):
        return ir.TypeAttr.get(value, context)
    if isinstance(value, str | bytes):
        return mlir.string_attr(value)
    if isinstance(value, dict):
        return ir.DictAttr.get({k: attribute(v) for k, v in value.items()}, context)
    if isinstance(value, list | tuple):
        return ir.ArrayAttr.get([attribute(v) for v in value], context)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return ir.TypeAttr.get(mlir.element_type(np.dtype(value)), context)
    if isinstance(value, np.generic):
        return _scalar(value)
    for kind, dtype in _SCALARS:
        if isinstance(value, kind):
            return _scalar(dtype(value))
    if isinstance(value, np.ndarray):
        return mlir.dense(np.ascontiguousarray(value))
    raise ArgumentError(f"No attribute handler defined for type: {type(value)}")


def _scalar(value: np.generic) -> ir.Attribute:
    ir, kind = mlir.ir, dtypes.kind(value.dtype)
    element = mlir.element_type(value.dtype)
    with mlir.context(), ir.Location.unknown():
        if kind == "b":
            return mlir.bool_attr(bool(value))
        if kind in "iu":
            return ir.IntegerAttr.get(element, int(value))
        if kind == "f":
            return ir.FloatAttr.get(element, float(value))
    raise ArgumentError(f"Unsupported scalar attribute type: {type(value)}")


def output_aliases(aliases: Mapping[int, int], num_results: int) -> ir.Attribute:
    """Return the pairs of operands and results of a call that share their memory.

    >>> str(output_aliases({1: 0}, 1)).count("operand_index = 1")
    1
    """
    texts = [
        f"#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{[j] if num_results > 1 else []}, operand_index = {i}, operand_tuple_indices = []>"
        for i, j in aliases.items()
    ]
    return mlir.parsed_attr(f"[{', '.join(texts)}]")
