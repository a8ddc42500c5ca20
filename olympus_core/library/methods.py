"""The operators and methods of arrays: one table, attached to `Array`.

Importing the module is its effect: the library's functions become attributes of the class, so
that `x + y` is `numpy.add(x, y)` and `x.sum(axis=0)` is `numpy.sum(x, axis=0)`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from olympus_core.library.numpy import (
    arithmetic,
    bits,
    choosing,
    complex,
    creation,
    cumulative,
    diagonals,
    division,
    indexing,
    inspection,
    logic,
    orders,
    positions,
    products,
    reductions,
    repetition,
    rounding,
    selection,
    shapes,
    sorting,
    taking,
    variance,
    views,
)
from olympus_core.library.numpy.at import IndexUpdateHelper
from olympus_core.tracer import Array

__all__: list[str] = []

#: what the operators take; anything else is left to the other operand's class
_OPERANDS: Final = (Array, float, int, builtins.complex, np.ndarray, np.generic)


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
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
    "floordiv": division.floor_divide,
    "mod": division.remainder,
    "divmod": division.divmod,
    "pow": arithmetic.power,
    "matmul": products.matmul,
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


def _setitem(self: Any, index: Any, value: Any) -> NoReturn:
    raise TypeError(
        "arrays cannot be written to: for x[index] = y, write x = x.at[index].set(y), and for "
        "x[index] += y, x = x.at[index].add(y)"
    )


def _round(self: Any, ndigits: int | None = None) -> Any:
    """Python's `round`: to an integer, unless a number of digits is given."""
    if ndigits is None:
        return creation.astype(rounding.round(self), int)
    return rounding.round(self, decimals=ndigits)


def _compress(self: Any, condition: Any, axis: int | None = None, **options: Any) -> Any:
    return selection.compress(condition, self, axis, **options)


def _contains(self: Any, value: Any) -> bool:
    """Whether an element equals `value`, as NumPy has it."""
    return builtins.bool(reductions.any(logic.equal(self, value)))


_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "__abs__": arithmetic.abs,
    "__array_namespace__": inspection.array_namespace,
    "__contains__": _contains,
    "__getitem__": indexing.getitem,
    "__invert__": bits.invert,
    "__neg__": arithmetic.negative,
    "__pos__": arithmetic.positive,
    "__round__": _round,
    "__setitem__": _setitem,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": positions.argmax,
    "argmin": positions.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "astype": creation.astype,
    "choose": choosing.choose,
    "clip": arithmetic.clip,
    "compress": _compress,
    "conj": complex.conjugate,
    "conjugate": complex.conjugate,
    "copy": creation.copy,
    "cumprod": cumulative.cumprod,
    "cumsum": cumulative.cumsum,
    "diagonal": diagonals.diagonal,
    "dot": products.dot,
    "flatten": views.flatten,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "nonzero": selection.nonzero,
    "partition": sorting.partition,
    "prod": reductions.prod,
    "ptp": reductions.ptp,
    "ravel": shapes.ravel,
    "repeat": repetition.repeat,
    "reshape": views.reshape_method,
    "round": rounding.round,
    "searchsorted": sorting.searchsorted,
    "sort": sorting.sort,
    "squeeze": shapes.squeeze,
    "std": variance.std,
    "sum": reductions.sum,
    "swapaxes": orders.swapaxes,
    "take": taking.take,
    "to_device": inspection.to_device,
    "trace": diagonals.trace,
    "transpose": views.transpose_method,
    "var": variance.var,
    "view": views.view,
}
_PROPERTIES: Final[dict[str, Callable[[Any], Any]]] = {
    "T": orders.transpose,
    "at": IndexUpdateHelper,
    "imag": complex.imag,
    "mT": orders.matrix_transpose,
    "real": complex.real,
}


def _attach() -> None:
    for name, function in _OPERATORS.items():
        setattr(Array, f"__{name}__", _operator(function))
        setattr(Array, f"__r{name}__", _reflected(function))
    for name, function in _COMPARISONS.items():
        setattr(Array, f"__{name}__", _operator(function))
    for name, method in _METHODS.items():
        setattr(Array, name, method)
    for name, getter in _PROPERTIES.items():
        setattr(Array, name, property(getter))


_attach()
