"""The operators and methods of arrays: one table, attached to `Array`.

Importing the module is its effect: the library's functions become attributes of the class, so
that `x + y` is `numpy.add(x, y)` and `x.sum(axis=0)` is `numpy.sum(x, axis=0)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from olympus_core.library.numpy import arithmetic, bits, creation, logic
from olympus_core.tracer import Array

__all__: list[str] = []

_OPERANDS: Final = (Array, float, int, complex, np.ndarray, np.generic)


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function, but NotImplemented for what is no array: its class may know what to do."""

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS) or hasattr(other, "__jax_array__"):
            return function(self, other)
        return NotImplemented

    return method


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS) or hasattr(other, "__jax_array__"):
            return function(other, self)
        return NotImplemented

    return method


_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.divide,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder,
    "divmod": arithmetic.divmod,
    "pow": arithmetic.power,
    "and": bits.bitwise_and,
    "or": bits.bitwise_or,
    "xor": bits.bitwise_xor,
    "lshift": bits.left_shift,
    "rshift": bits.right_shift,
}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "eq": logic.equal,
    "ne": logic.not_equal,
    "lt": logic.less,
    "le": logic.less_equal,
    "gt": logic.greater,
    "ge": logic.greater_equal,
}
_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "__neg__": arithmetic.negative,
    "__pos__": arithmetic.positive,
    "__abs__": arithmetic.abs,
    "__invert__": bits.invert,
    "astype": creation.astype,
    "clip": arithmetic.clip,
    "copy": creation.copy,
}


def _attach() -> None:
    for name, function in _OPERATORS.items():
        setattr(Array, f"__{name}__", _operator(function))
        setattr(Array, f"__r{name}__", _reflected(function))
    for name, function in _COMPARISONS.items():
        setattr(Array, f"__{name}__", _operator(function))
    for name, function in _METHODS.items():
        setattr(Array, name, function)


_attach()
