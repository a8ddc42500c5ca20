"""Elementwise arithmetic, comparisons, logic and bits."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import (
    OnnxNode,
    checked_size,
    normalized_axis,
    operator,
)

#: Operators of one operand, by the name of their function in NumPy.
_UNARY = {
    "Abs": "abs",
    "Neg": "negative",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "rint",
    "Sqrt": "sqrt",
    "Exp": "exp",
    "Log": "log",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Atan": "arctan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "Sign": "sign",
    "Not": "logical_not",
    "IsNaN": "isnan",
    "BitwiseNot": "invert",
}
#: Operators of two operands, by the name of their function in NumPy.
_BINARY = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "Equal": "equal",
    "Less": "less",
    "Greater": "greater",
    "LessOrEqual": "less_equal",
    "GreaterOrEqual": "greater_equal",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
}


def _unary(node: OnnxNode, x: Any) -> Any:
    return getattr(node.xp, _UNARY[node.op])(x)


operator(*_UNARY, folds=True)(_unary)


def _aligned(node: OnnxNode, a: Any, b: Any) -> Any:
    """Return the second operand, with the axes that opsets before 7 give by an attribute."""
    if node.version >= 7 or not node.get("broadcast", 0):
        return b
    start = normalized_axis(node.get("axis", len(a.shape) - len(b.shape)), len(a.shape) + 1)
    trailing = len(a.shape) - start - len(b.shape)
    return b.reshape((*b.shape, *(1,) * trailing)) if trailing > 0 else b


def _result_namespace(node: OnnxNode, *operands: Any) -> Any:
    """Return the namespace for operands that are broadcast together."""
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    return node.namespace(checked_size(shape))


def _binary(node: OnnxNode, a: Any, b: Any) -> Any:
    b = _aligned(node, a, b)
    return getattr(_result_namespace(node, a, b), _BINARY[node.op])(a, b)


operator(*_BINARY, folds=True)(_binary)


@operator("Div", folds=True)
def _div(node: OnnxNode, a: Any, b: Any) -> Any:
    b = _aligned(node, a, b)
    xp = _result_namespace(node, a, b)
    if np.dtype(a.dtype).kind not in "iu":
        return xp.divide(a, b)
    if xp is jnp:
        return lax.div(*jnp.broadcast_arrays(a, b))
    quotient, rest = np.divmod(a, np.where(b == 0, np.ones((), b.dtype), b))
    truncated = (rest != 0) & ((a < 0) != (b < 0))  # an integer is truncated toward zero
    return (quotient + truncated.astype(a.dtype)).astype(a.dtype)


@operator("Mod", folds=True)
def _mod(node: OnnxNode, a: Any, b: Any) -> Any:
    xp = _result_namespace(node, a, b)
    return xp.fmod(a, b) if node.get("fmod", 0) else xp.mod(a, b)


@operator("Pow", folds=True)
def _pow(node: OnnxNode, a: Any, b: Any) -> Any:
    b = _aligned(node, a, b)
    xp = _result_namespace(node, a, b)
    if np.dtype(a.dtype).kind in "iu" and np.dtype(b.dtype).kind == "f":
        return xp.power(a.astype(b.dtype), b).astype(a.dtype)
    if np.dtype(b.dtype).kind in "iu" and np.dtype(a.dtype).kind not in "iu":
        return xp.power(a, b.astype(a.dtype))
    return xp.power(a, b).astype(a.dtype)


@operator("Reciprocal", folds=True)
def _reciprocal(node: OnnxNode, x: Any) -> Any:
    return node.xp.divide(np.ones((), x.dtype), x)


@operator("Max", folds=True)
def _max(node: OnnxNode, *operands: Any) -> Any:
    return functools.reduce(_result_namespace(node, *operands).maximum, operands)


@operator("Min", folds=True)
def _min(node: OnnxNode, *operands: Any) -> Any:
    return functools.reduce(_result_namespace(node, *operands).minimum, operands)


@operator("Sum", folds=True)
def _sum(node: OnnxNode, *operands: Any) -> Any:
    return functools.reduce(_result_namespace(node, *operands).add, operands)


@operator("Mean", folds=True)
def _mean(node: OnnxNode, *operands: Any) -> Any:
    xp = _result_namespace(node, *operands)
    total = functools.reduce(xp.add, operands)
    return xp.divide(total, np.asarray(len(operands), total.dtype))


@operator("Clip", folds=True)
def _clip(node: OnnxNode, x: Any, low: Any = None, high: Any = None) -> Any:
    if node.version < 11:
        low, high = (
            None if (bound := node.get(name)) is None else np.asarray(bound, x.dtype)
            for name in ("min", "max")
        )
    x = x if low is None else node.xp.maximum(x, low)
    return x if high is None else node.xp.minimum(x, high)


@operator("IsInf", folds=True)
def _is_inf(node: OnnxNode, x: Any) -> Any:
    result = node.xp.isinf(x)
    if not node.get("detect_positive", 1):
        result = result & (x < 0)
    return result if node.get("detect_negative", 1) else result & (x > 0)


@operator("BitShift", folds=True)
def _bit_shift(node: OnnxNode, a: Any, b: Any) -> Any:
    xp = _result_namespace(node, a, b)
    return (xp.left_shift if node.required("direction") == "LEFT" else xp.right_shift)(a, b)


@operator("Erf")
def _erf(node: OnnxNode, x: Any) -> Any:
    return lax.erf(jnp.asarray(x))


@operator("Where", folds=True)
def _where(node: OnnxNode, condition: Any, a: Any, b: Any) -> Any:
    return _result_namespace(node, condition, a, b).where(condition, a, b)


@operator("Identity", folds=True)
def _identity(node: OnnxNode, x: Any) -> Any:
    return x
