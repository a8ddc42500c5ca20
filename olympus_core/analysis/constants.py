"""The values of small integers and truth values that a module computes from constants."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from olympus_core import mlir
from olympus_core.analysis.stablehlo import Reader, tensor_of

__all__ = ["Scope", "Value", "reduction"]

#: elements of one value: NumPy's array, of shape () where all elements of a tensor are equal
Value = np.ndarray[Any, Any]

_LARGEST = 4096  # elements; loops are seldom counted by longer vectors
_DEEPEST = 60  # operations that one value is followed through

#: dtypes of NumPy's own, of which loops have counters; their arithmetic is that of the program
_FOLLOWED = frozenset(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["bool", "float32", "float64"]
)

# The arithmetic is that of every backend of XLA: a rule gives None where they may differ, or differ
# from NumPy.


def _whole_division(x: Value, y: Value, rule: Callable[[Value, Value], Any]) -> Any | None:
    """A rule for integers, where the quotient exists and is one of the dtype."""
    if np.any(y == 0):
        return None
    if x.dtype.kind == "i" and np.any((y == -1) & (x == np.iinfo(x.dtype).min)):
        return None
    return rule(x, y)


def _divided(x: Value, y: Value) -> Any | None:
    """Division, of integers toward zero; of floats by powers of two, as others may be products."""
    if x.dtype.kind != "f":
        return _whole_division(x, y, lambda x, y: (x - np.fmod(x, y)) // y)
    is_power = y != 0 and np.isfinite(y) and abs(np.frexp(y)[0]) == 0.5
    return x / y if is_power else None


def _remainder(x: Value, y: Value) -> Any | None:
    return None if x.dtype.kind == "f" else _whole_division(x, y, np.fmod)


def _shifted(rule: Callable[[Value, Value], Any]) -> Callable[[Value, Value], Any | None]:
    """A shift by less than the bits that there are."""

    def apply(x: Value, y: Value) -> Any | None:
        return rule(x, y) if np.all((y >= 0) & (y < 8 * x.dtype.itemsize)) else None

    return apply


def _logical_shift(x: Value, y: Value) -> Any:
    bits = f"u{x.dtype.itemsize}"
    return np.right_shift(x.view(bits), y.view(bits)).view(x.dtype)


def _magnitude(x: Value) -> Any | None:
    is_least = x.dtype.kind == "i" and np.any(x == np.iinfo(x.dtype).min)
    return None if is_least else np.abs(x)


_BINARY: Mapping[str, Callable[[Value, Value], Any | None]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": _divided,
    "remainder": _remainder,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": _shifted(np.left_shift),
    "shift_right_arithmetic": _shifted(
        lambda x, y: np.right_shift(x.view(f"i{x.itemsize}"), y.view(f"i{x.itemsize}"))
    ),
    "shift_right_logical": _shifted(_logical_shift),
}
_UNARY: Mapping[str, Callable[[Value], Any | None]] = {
    "negate": np.negative,
    "abs": _magnitude,
    "sign": np.sign,
    "not": np.invert,
    "floor": np.floor,
    "ceil": np.ceil,
}
#: floats that were rounded may only be used by these: a compiler may take other operations together
_ENDS = frozenset(
    ["stablehlo.compare", "stablehlo.return", "stablehlo.maximum", "stablehlo.minimum"]
)
_COMPARE: Mapping[str, Callable[[Value, Value], Any]] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}
_REDUCE: Mapping[str, Callable[..., Any]] = {
    "stablehlo.or": np.bitwise_or.reduce,
    "stablehlo.and": np.bitwise_and.reduce,
    "stablehlo.maximum": np.maximum.reduce,
    "stablehlo.minimum": np.minimum.reduce,
}


class Scope:
    """What is known of values in one function or region, and in those around it.

    `known` are the block arguments that are, by value; None for one that is known not to be.
    """

    def __init__(
        self,
        reader: Reader,
        functions: Mapping[str, Any],
        known: Mapping[Any, Value | None],
        outer: Scope | None = None,
        depth: int = 0,
    ) -> None:
        self._reader = reader
        self._functions = functions
        self._values: dict[Any, Value | None] = dict(known)
        self._outer = outer
        self._depth = depth

    def inner(self, known: Mapping[Any, Value | None]) -> Scope:
        """The scope of a region of this one, in which these values are known too."""
        return Scope(self._reader, self._functions, known, self, self._depth)

    def of(self, value: Any) -> Value | None:
        """The elements of a value, or None where they are not known."""
        scope: Scope | None = self
        while scope is not None:
            if value in scope._values:
                return scope._values[value]
            scope = scope._outer
        if self._depth > _DEEPEST or not self._is_small(value):
            return None
        found: Value | None = None
        if not isinstance(value, mlir.ir.BlockArgument):
            self._depth += 1
            try:
                with np.errstate(all="ignore"):
                    found = self._computed(value.owner, value)
            finally:
                self._depth -= 1
        self._values[value] = found
        return found

    def _is_small(self, value: Any) -> bool:
        """Whether it is worth following: integers, truth values, and scalars of floats."""
        try:
            tensor = self._reader.tensor(value.type)
        except ValueError:
            return False
        most = 1 if tensor.is_float else sys.maxsize
        return tensor.dtype in _FOLLOWED and 0 < tensor.elements <= most

    def _computed(self, op: Any, value: Any) -> Value | None:
        name = op.name
        if name == "stablehlo.constant":
            return self._constant(op)
        if name == "func.call":
            return self._called(op, value)
        if name == "stablehlo.optimization_barrier":
            return self.of(op.operands[value.result_number])
        rule = _RULES.get(name)
        if rule is None:
            return None
        operands = [self.of(x) for x in op.operands]
        given = [x for x in operands if x is not None]
        if len(given) < len(operands):
            return None
        tensor = self._reader.tensor(value.type)
        found = rule(op, given, tensor.sizes)
        if found is None or found.size > _LARGEST:
            return None
        if found.dtype != tensor.dtype:
            found = found.astype(tensor.dtype)
        return found if found.dtype.kind != "f" or _is_certain(op, given, found) else None

    def _constant(self, op: Any) -> Value | None:
        attribute = op.attributes["value"]
        tensor = self._reader.tensor(op.results[0].type)
        if not isinstance(attribute, mlir.ir.DenseElementsAttr):
            return None
        if attribute.is_splat:
            found = np.asarray(attribute.get_splat_value().value).astype(tensor.dtype)
        elif tensor.elements > _LARGEST:
            return None
        else:
            found = np.array(attribute).astype(tensor.dtype).reshape(tensor.sizes)
        return found if found.dtype.kind != "f" or _is_plain(found) else None

    def _called(self, op: Any, value: Any) -> Value | None:
        function = self._functions.get(op.attributes["callee"].value)
        if function is None or not len(function.regions[0].blocks):
            return None
        block = function.regions[0].blocks[0]
        known = {formal: self.of(x) for formal, x in zip(block.arguments, op.operands, strict=True)}
        inside = Scope(self._reader, self._functions, known, depth=self._depth + 1)
        last = block.operations[len(block.operations) - 1].operation
        return inside.of(last.operands[value.result_number])


_Rule = Callable[[Any, Sequence[Value], tuple[int, ...]], Value | None]


def _full(x: Value, sizes: tuple[int, ...]) -> Value | None:
    """All elements of a value, of which one may stand for all."""
    if x.shape == sizes:
        return x
    return np.broadcast_to(x, sizes) if np.prod(sizes) <= _LARGEST else None


def _is_plain(x: Value) -> bool:
    """Whether a float is the same everywhere: NaN is not, nor what may be flushed to zero."""
    return not np.isnan(x) and (x == 0 or abs(x) >= np.finfo(x.dtype).tiny)


_EXACT: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "stablehlo.add": operator.add,
    "stablehlo.subtract": operator.sub,
    "stablehlo.multiply": operator.mul,
    "stablehlo.divide": operator.truediv,
}


def _is_certain(op: Any, given: Sequence[Value], found: Value) -> bool:
    """Whether a float is what the program computes, however it is compiled.

    A compiler may reassociate sums and products, and round once where two operations stand.
    """
    if not _is_plain(found):
        return False
    exact = _EXACT.get(op.name)
    if exact is None or all(use.owner.name in _ENDS for use in op.results[0].uses):
        return True
    if not all(np.isfinite(x) for x in (*given, found)):
        return False
    x, y = (Fraction(float(each)) for each in given)
    return exact(x, y) == Fraction(float(found))


def _converted(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    """A conversion: floats only without loss, or toward zero to an integer that there is."""
    (x,) = given
    dtype = np.dtype(tensor_of(op.results[0].type).dtype)
    if dtype.kind == "b":
        return np.asarray(x != 0)
    if x.dtype.kind == "f" and dtype.kind in "iu":
        if not np.isfinite(x):
            return None
        whole, limits = int(float(x)), np.iinfo(dtype)
        return np.asarray(whole, dtype) if limits.min <= whole <= limits.max else None
    made = x.astype(dtype)
    if dtype.kind == "f" and np.isfinite(x) and Fraction(x.item()) != Fraction(float(made)):
        return None
    return made


def _compared(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    direction = mlir.hlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
    x, y = given
    if x.dtype.kind == "f" and x == 0 and y == 0 and "TOTALORDER" in str(op.attributes):
        return None  # its zeros have an order
    return np.asarray(_COMPARE[direction](x, y))


def _reshaped(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    return given[0] if given[0].shape == () else given[0].reshape(sizes)


def _broadcast(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    (x,) = given
    if x.shape == () or x.size == 1:
        return x.reshape(())
    if np.prod(sizes) > _LARGEST:
        return None
    axes = list(op.attributes["broadcast_dimensions"])
    placed = [1] * len(sizes)
    for axis, n in zip(axes, x.shape, strict=True):
        placed[axis] = n
    order = np.argsort(axes)
    return np.broadcast_to(x.transpose(order).reshape(placed), sizes)


def _iota(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    if np.prod(sizes) > _LARGEST:
        return None
    axis = op.attributes["iota_dimension"].value
    shape = [n if i == axis else 1 for i, n in enumerate(sizes)]
    return np.broadcast_to(np.arange(sizes[axis]).reshape(shape), sizes)


def _sliced(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    (x,) = given
    if x.shape == ():
        return x
    parts = (op.attributes[k] for k in ("start_indices", "limit_indices", "strides"))
    return np.asarray(x[tuple([slice(*each) for each in zip(*parts, strict=True)])])


def reduction(op: Any) -> str | None:
    """The one operation that a reduction of one array applies, if that is what it does."""
    block = op.regions[0].blocks[0]
    if len(op.operands) != 2 or len(block.operations) != 2:
        return None
    inner, last = (each.operation for each in block.operations)
    is_plain = len(inner.results) == 1 and list(last.operands) == list(inner.results)
    both = {x.arg_number for x in inner.operands if isinstance(x, mlir.ir.BlockArgument)}
    return str(inner.name) if is_plain and both == {0, 1} else None


def _reduced(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    """A reduction of one array by one operation whose result for equal elements is each."""
    rule = _REDUCE.get(reduction(op) or "")
    if rule is None:
        return None
    x, start = given
    if x.shape:
        x = rule(x, axis=tuple(op.attributes["dimensions"]))
    return np.asarray(rule(np.stack(np.broadcast_arrays(x, start)), axis=0))


def _selected(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    return np.asarray(np.where(*given))


def _clamped(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    low, x, high = given
    return np.asarray(np.minimum(np.maximum(x, low), high))


def _joined(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    return (
        None
        if any(x.shape == () for x in given)
        else np.concatenate(given, axis=op.attributes["dimension"].value)
    )


def _two(rule: Callable[[Value, Value], Any]) -> _Rule:
    def apply(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
        made = rule(*given)
        return None if made is None else np.asarray(made)

    return apply


def _one(rule: Callable[[Value], Any | None]) -> _Rule:
    def apply(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
        made = rule(given[0])
        return None if made is None else np.asarray(made)

    return apply


_RULES: Mapping[str, _Rule] = {
    **{f"stablehlo.{name}": _two(rule) for name, rule in _BINARY.items()},
    **{f"stablehlo.{name}": _one(rule) for name, rule in _UNARY.items()},
    "stablehlo.compare": _compared,
    "stablehlo.select": _selected,
    "stablehlo.clamp": _clamped,
    "stablehlo.convert": _converted,
    "stablehlo.reshape": _reshaped,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.iota": _iota,
    "stablehlo.slice": _sliced,
    "stablehlo.concatenate": _joined,
    "stablehlo.reduce": _reduced,
}
