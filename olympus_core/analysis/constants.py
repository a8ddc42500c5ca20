"""The values of small integers and truth values that a module computes from constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_core import mlir
from olympus_core.analysis.stablehlo import Reader

__all__ = ["Scope", "Value"]

#: elements of one value: NumPy's array, of shape () where all elements of a tensor are equal
Value = np.ndarray[Any, Any]

_LARGEST = 4096  # elements; loops are seldom counted by longer vectors
_DEEPEST = 60  # operations that one value is followed through

#: dtypes of NumPy's own, of which loops have counters; their arithmetic is that of the program
_FOLLOWED = frozenset(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["bool", "float32", "float64"]
)

_BINARY: Mapping[str, Callable[[Value, Value], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "remainder": np.fmod,
    "shift_left": np.left_shift,
}
_UNARY: Mapping[str, Callable[[Value], Any]] = {
    "negate": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "not": np.invert,
    "floor": np.floor,
    "ceil": np.ceil,
}
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
        return tensor.dtype in _FOLLOWED and (not tensor.is_float or tensor.elements == 1)

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
        return found if str(found.dtype) == tensor.dtype else found.astype(tensor.dtype)

    def _constant(self, op: Any) -> Value | None:
        attribute = op.attributes["value"]
        tensor = self._reader.tensor(op.results[0].type)
        if not isinstance(attribute, mlir.ir.DenseElementsAttr):
            return None
        if attribute.is_splat:
            return np.asarray(attribute.get_splat_value().value).astype(tensor.dtype)
        if tensor.elements > _LARGEST:
            return None
        return np.array(attribute).astype(tensor.dtype).reshape(tensor.sizes)

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


def _divided(x: Value, y: Value) -> Value | None:
    """Division, toward zero of integers; None where it is by zero."""
    if x.dtype.kind == "f":
        return np.asarray(x / y)
    if np.any(y == 0):
        return None
    return np.asarray(np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y)))


def _compared(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    direction = mlir.hlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
    return np.asarray(_COMPARE[direction](*given))


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


def _reduced(op: Any, given: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    """A reduction of one array by one operation whose result for equal elements is each."""
    body = op.regions[0].blocks[0].operations
    rule = _REDUCE.get(body[0].operation.name) if len(body) == 2 and len(given) == 2 else None
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


def _one(rule: Callable[[Value], Any]) -> _Rule:
    return lambda op, given, sizes: np.asarray(rule(given[0]))


_RULES: Mapping[str, _Rule] = {
    **{f"stablehlo.{name}": _two(rule) for name, rule in _BINARY.items()},
    **{f"stablehlo.{name}": _one(rule) for name, rule in _UNARY.items()},
    "stablehlo.divide": _two(_divided),
    "stablehlo.compare": _compared,
    "stablehlo.select": _selected,
    "stablehlo.clamp": _clamped,
    "stablehlo.convert": _one(lambda x: x),
    "stablehlo.reshape": _reshaped,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.iota": _iota,
    "stablehlo.slice": _sliced,
    "stablehlo.concatenate": _joined,
    "stablehlo.reduce": _reduced,
}
