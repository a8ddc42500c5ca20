"""The operators and methods of arrays: one table, attached to `Array`.

Importing the module is its effect: the library's functions become attributes of the class, so
that `x + y` is `numpy.add(x, y)` and `x.sum(axis=0)` is `numpy.sum(x, axis=0)`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from olympus_core.base.avals import value_text
from olympus_core.base.errors import DTypeError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, IndexLike
from olympus_core.library.numpy import array_api
from olympus_core.library.numpy.creation import array, matrices
from olympus_core.library.numpy.elementwise import arithmetic, bits, logic, rounding
from olympus_core.library.numpy.elementwise import complex as complex_
from olympus_core.library.numpy.indexing import choosing, reading, taking
from olympus_core.library.numpy.indexing.at import IndexUpdateHelper
from olympus_core.library.numpy.manipulation import shapes, tiling, transposing, views
from olympus_core.library.numpy.products import matmul
from olympus_core.library.numpy.reductions import cumulative, statistics, sums
from olympus_core.library.numpy.sorting import searching, sorting

#: the classes of operands; for another class Python tries the other operand's method
_OPERANDS: Final = (Array, float, int, builtins.complex, np.ndarray, np.generic)


#: the sequences that Python would repeat or extend if the array returned NotImplemented
_SEQUENCES: Final = (str, bytes, bytearray, list, tuple)


def _is_convertible(x: Any) -> bool:
    """Return True for an object with `__jax_array__`, which is None for tracers of JAX."""
    return getattr(x, "__jax_array__", None) is not None


def _operator(
    symbol: str, function: Callable[[Any, Any], Any], refused: tuple[type, ...] = _SEQUENCES
) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS) or _is_convertible(other):
            return function(self, other)
        if other.__class__ in refused:
            _refuse(symbol, function, self, other)
        return NotImplemented

    return method


def _reflected(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS) or _is_convertible(other):
            return function(other, self)
        if other.__class__ in _SEQUENCES:
            _refuse(symbol, function, other, self)
        return NotImplemented

    return method


def _refuse(symbol: str, function: Callable[[Any, Any], Any], left: Any, right: Any) -> None:
    """Raise DTypeError for a string or a container as the other operand of an array.

    An integer without dimensions may be a count: Python repeats the sequence that many times.
    """
    array, other = (left, right) if isinstance(left, Array) else (right, left)
    repeats = function is arithmetic.multiply and array.dtype.kind in "iu" and not array.shape
    if not repeats:
        hint = "turn lists and tuples into arrays with olympus.numpy.array"
        if isinstance(other, str | bytes | bytearray):
            hint = "turn a text into a number with float(...) or int(...)"
        raise DTypeError(
            f"unsupported operand type(s) for {symbol}: {_class_name(left)} and "
            f"{_class_name(right)}: {function.__name__} needs arrays or scalars, and got "
            f"{value_text(array)} and {value_text(other)}",
            hint=hint,
        )


def _class_name(operand: Any) -> str:
    return "'Array'" if isinstance(operand, Array) else repr(type(operand).__name__)


_OPERATORS: Final[dict[str, tuple[str, Callable[[Any, Any], Any]]]] = {
    "add": ("+", arithmetic.add),
    "sub": ("-", arithmetic.subtract),
    "mul": ("*", arithmetic.multiply),
    "truediv": ("/", arithmetic.divide),
    "floordiv": ("//", arithmetic.floor_divide),
    "mod": ("%", arithmetic.remainder),
    "divmod": ("divmod()", arithmetic.divmod),
    "pow": ("** or pow()", arithmetic.power),
    "matmul": ("@", matmul.matmul),
    "and": ("&", bits.bitwise_and),
    "or": ("|", bits.bitwise_or),
    "xor": ("^", bits.bitwise_xor),
    "lshift": ("<<", bits.left_shift),
    "rshift": (">>", bits.right_shift),
}
#: the comparisons, and the containers that they refuse: in Python no array is equal to one
_CONTAINERS: Final = (dict, list, set, tuple)
_COMPARISONS: Final[dict[str, tuple[str, Callable[[Any, Any], Any], tuple[type, ...]]]] = {
    "eq": ("==", logic.equal, _CONTAINERS),
    "ne": ("!=", logic.not_equal, _CONTAINERS),
    "lt": ("<", logic.less, ()),
    "le": ("<=", logic.less_equal, ()),
    "gt": (">", logic.greater, ()),
    "ge": (">=", logic.greater_equal, ()),
}


def _setitem(self: Array, index: IndexLike, value: ArrayLike) -> NoReturn:
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = "
        "y, use x = x.at[idx].set(y), and instead of x[idx] += y, x = x.at[idx].add(y)"
    )


def _round(self: Array, ndigits: int | None = None) -> Array:
    """Python's `round`: to an integer, unless a number of digits is given."""
    if ndigits is None:
        return array.astype(rounding.round(self), int)
    return rounding.round(self, decimals=ndigits)


def _compress(
    self: Array,
    condition: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    return taking.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _flat(self: Array) -> NoReturn:
    raise UnsupportedError(
        "JAX Arrays do not implement the arr.flat property: consider arr.flatten() instead"
    )


def _contains(self: Array, value: ArrayLike) -> bool:
    """Return True if an element of a one-dimensional array equals `value`."""
    if self.ndim != 1:
        raise ShapeError(
            "Array.__contains__: search array must be one-dimensional, got "
            f"arr.shape={tuple(self.shape)}",
            hint="use (x == value).any()",
        )
    return builtins.bool(sums.any(logic.equal(self, value)))


_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "__abs__": arithmetic.abs,
    "__array_namespace__": array_api.array_namespace,
    "__contains__": _contains,
    "__getitem__": reading.getitem,
    "__invert__": bits.invert,
    "__neg__": arithmetic.negative,
    "__pos__": arithmetic.positive,
    "__round__": _round,
    "__setitem__": _setitem,
    "all": sums.all,
    "any": sums.any,
    "argmax": searching.argmax,
    "argmin": searching.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "astype": array.astype,
    "choose": choosing.choose,
    "clip": arithmetic.clip,
    "compress": _compress,
    "conj": complex_.conjugate,
    "conjugate": complex_.conjugate,
    "copy": array.copy,
    "cumprod": cumulative.cumprod,
    "cumsum": cumulative.cumsum,
    "diagonal": matrices.diagonal,
    "dot": matmul.dot,
    "flatten": views.flatten,
    "max": sums.max,
    "mean": statistics.mean,
    "min": sums.min,
    "nonzero": searching.nonzero,
    "partition": sorting.partition,
    "prod": sums.prod,
    "ptp": statistics.ptp,
    "ravel": shapes.ravel,
    "repeat": tiling.repeat,
    "reshape": views.reshape_method,
    "round": rounding.round,
    "searchsorted": searching.searchsorted,
    "sort": sorting.sort,
    "squeeze": shapes.squeeze,
    "std": statistics.std,
    "sum": sums.sum,
    "swapaxes": transposing.swapaxes,
    "take": taking.take,
    "to_device": array_api.to_device,
    "trace": matrices.trace,
    "transpose": views.transpose_method,
    "var": statistics.var,
    "view": views.view,
}
_PROPERTIES: Final[dict[str, Callable[[Any], Any]]] = {
    "T": transposing.transpose,
    "at": IndexUpdateHelper,
    "flat": _flat,
    "imag": complex_.imag,
    "mT": transposing.matrix_transpose,
    "real": complex_.real,
}


def _attach() -> None:
    for name, (symbol, function) in _OPERATORS.items():
        setattr(Array, f"__{name}__", _operator(symbol, function))
        setattr(Array, f"__r{name}__", _reflected(symbol, function))
    for name, (symbol, function, refused) in _COMPARISONS.items():
        setattr(Array, f"__{name}__", _operator(symbol, function, refused))
    for name, method in _METHODS.items():
        setattr(Array, name, method)
    for name, getter in _PROPERTIES.items():
        setattr(Array, name, property(getter))


_attach()
