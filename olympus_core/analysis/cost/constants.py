"""The values of small integers and truth values that a module computes from constants."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from olympus_core.analysis.cost.stablehlo import tensor_of
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from fractions import Fraction

T = TypeVar("T")

#: elements of one value: NumPy's array, of shape () where all elements of a tensor are equal
Value = np.ndarray[Any, Any]

_LARGEST = 4096  # elements; loops are seldom counted by longer vectors
_MAX_DEPTH = 100  # operations and calls that one value is followed through

#: NumPy's own dtypes, which loop counters have; their arithmetic is that of the program.
_FOLLOWED = frozenset(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["bool", "float32", "float64"]
)

# The arithmetic is that of every backend of XLA: a rule gives None where they may differ, or differ
# from NumPy.


def _whole_division(x: Value, y: Value, rule: Callable[[Value, Value], Any]) -> Any | None:
    """Apply a rule for integers, if the quotient exists and fits the dtype; else return None."""
    if np.any(y == 0):
        return None
    if x.dtype.kind == "i" and np.any((y == -1) & (x == np.iinfo(x.dtype).min)):
        return None
    return rule(x, y)


def _divided(x: Value, y: Value) -> Any | None:
    """Divide: integers toward zero, and floats by powers of two only; else return None."""
    if x.dtype.kind != "f":
        return _whole_division(x, y, lambda x, y: (x - np.fmod(x, y)) // y)
    is_power = y != 0 and np.isfinite(y) and abs(np.frexp(y)[0]) == 0.5
    return x / y if is_power else None


def _remainder(x: Value, y: Value) -> Any | None:
    return None if x.dtype.kind == "f" else _whole_division(x, y, np.fmod)


def _shifted(rule: Callable[[Value, Value], Any]) -> Callable[[Value, Value], Any | None]:
    """Return a shift that requires an amount below the number of bits."""

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
#: The only operations that may use rounded floats: a compiler may combine others with them.
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


class BlockArguments:
    """The arguments of a block by number, each evaluated at its first use."""

    def __init__(self, look: Callable[[int], Value | None]) -> None:
        self._evaluate = look
        self.queried: dict[int, Value | None] = {}

    def of(self, number: int) -> Value | None:
        """Return the value of an argument, or None if it is not known."""
        if number not in self.queried:
            self.queried[number] = self._evaluate(number)
        return self.queried[number]


class Memo(Generic[T]):
    """Cached results for a block, by the values of the arguments that were queried."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, ...], dict[tuple[Any, ...], T]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._found.values()))

    def get(self, arguments: BlockArguments) -> T | None:
        """Return the cached result for equal values of the queried arguments, or None."""
        for numbers, results in self._found.items():
            result = results.get(tuple([_key(arguments.of(n)) for n in numbers]))
            if result is not None:
                return result
        return None

    def save(self, arguments: BlockArguments, result: T) -> None:
        """Save a result under the arguments that were queried."""
        numbers = tuple(sorted(arguments.queried))
        key = tuple([_key(arguments.queried[n]) for n in numbers])
        self._found.setdefault(numbers, {})[key] = result


def _key(value: Value | None) -> Any:
    return None if value is None else (value.shape, value.tobytes())


class Budget:
    """The number of values that may still be computed, in the steps of loops or inside calls."""

    def __init__(self, left: int = 20_000) -> None:
        self.left = left


class Knowledge:
    """The state that the scopes of a module share: functions, results of calls, budgets."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions
        self.results: dict[tuple[str, int], Memo[tuple[Value | None]]] = {}
        self.steps, self.calls = Budget(), Budget()
        self.depth = 0
        self.is_cut = False  # something that could be known was left out

    @property
    def is_spent(self) -> bool:
        """True if a value may be unknown because its computation would take too long."""
        return self.is_cut or self.steps.left <= 0 or self.calls.left <= 0


class Scope:
    """The known values in one block, for given arguments, and in the blocks around it."""

    def __init__(
        self,
        knowledge: Knowledge,
        block: Any,
        arguments: BlockArguments,
        outer: Scope | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.knowledge = knowledge
        self.given = arguments
        self._block = block
        self._values: dict[Any, Value | None] = {}
        self._outer = outer
        self._budget = budget

    def inner(self, block: Any, arguments: BlockArguments, budget: Budget | None = None) -> Scope:
        """Return the scope of a block in this one, with a budget of its own or this one's."""
        return Scope(self.knowledge, block, arguments, self, budget or self._budget)

    def of(self, value: Any) -> Value | None:
        """Return the elements of a value, or None if they are not known."""
        scope: Scope | None = self
        if isinstance(value, mlir.ir.BlockArgument):
            block = value.owner
            while scope is not None and scope._block != block:
                scope = scope._outer
            return None if scope is None else self._deeper(scope.given.of, value.arg_number)
        while scope is not None:
            if value in scope._values:
                return scope._values[value]
            scope = scope._outer
        if not self._is_small(value):
            return None
        constant = self._values[value] = self._deeper(self._charged, value)
        return constant

    def _deeper(self, look: Callable[[Any], Value | None], key: Any) -> Value | None:
        """Return the result of a recursive look-up, or None if it is nested too deeply."""
        if self.knowledge.depth > _MAX_DEPTH:
            return None
        self.knowledge.depth += 1
        try:
            return look(key)
        finally:
            self.knowledge.depth -= 1

    def _charged(self, value: Any) -> Value | None:
        if self._budget is not None:
            if self._budget.left <= 0:
                return None
            self._budget.left -= 1
        with np.errstate(all="ignore"):
            return self._computed(value.owner, value)

    def _is_small(self, value: Any) -> bool:
        """Return True for values worth evaluating: integers, booleans, and scalar floats."""
        try:
            tensor = tensor_of(value.type)
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
        known = [x for x in operands if x is not None]
        if len(known) < len(operands):
            return None
        tensor = tensor_of(value.type)
        result = rule(op, known, tensor.sizes)
        if result is None or result.size > _LARGEST:
            return None
        if result.dtype != tensor.dtype:
            result = result.astype(tensor.dtype)
        return result if result.dtype.kind != "f" or _is_certain(op, known, result) else None

    def _constant(self, op: Any) -> Value | None:
        attribute = op.attributes["value"]
        tensor = tensor_of(op.results[0].type)
        if not isinstance(attribute, mlir.ir.DenseElementsAttr):
            return None
        if attribute.is_splat:
            value = np.asarray(attribute.get_splat_value().value).astype(tensor.dtype)
        elif tensor.elements > _LARGEST:
            return None
        else:
            value = np.array(attribute).astype(tensor.dtype).reshape(tensor.sizes)
        return value if value.dtype.kind != "f" or _is_plain(value) else None

    def _called(self, op: Any, value: Any) -> Value | None:
        shared, name = self.knowledge, op.attributes["callee"].value
        function = shared.functions.get(name)
        if function is None or not len(function.regions[0].blocks):
            return None
        operands = op.operands
        arguments = BlockArguments(lambda number: self.of(operands[number]))
        memo = shared.results.setdefault((name, value.result_number), Memo())
        values = memo.get(arguments)
        if values is None:
            block = function.regions[0].blocks[0]
            inside = Scope(shared, block, arguments, budget=self._budget or shared.calls)
            last = block.operations[len(block.operations) - 1].operation
            values = (inside.of(last.operands[value.result_number]),)
            memo.save(arguments, values)
        return values[0]


_Rule = Callable[[Any, Sequence[Value], tuple[int, ...]], Value | None]


def _full(x: Value, sizes: tuple[int, ...]) -> Value | None:
    """Return a value with all its elements; one element may represent all."""
    if x.shape == sizes:
        return x
    return np.broadcast_to(x, sizes) if np.prod(sizes) <= _LARGEST else None


def _is_plain(x: Value) -> bool:
    """Return True if a float is equal on every backend: not NaN, and not flushed to zero."""
    return not np.isnan(x) and (x == 0 or abs(x) >= np.finfo(x.dtype).tiny)


_EXACT: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "stablehlo.add": operator.add,
    "stablehlo.subtract": operator.sub,
    "stablehlo.multiply": operator.mul,
    "stablehlo.divide": operator.truediv,
}


def _is_certain(op: Any, operands: Sequence[Value], result: Value) -> bool:
    """Return True if every compilation of the program computes this float.

    A compiler may reassociate sums and products, and round once for two operations.
    """
    if not _is_plain(result):
        return False
    exact = _EXACT.get(op.name)
    if exact is None or all(use.owner.name in _ENDS for use in op.results[0].uses):
        return True
    if not all(np.isfinite(x) for x in (*operands, result)):
        return False
    from fractions import Fraction  # few programs compute floats of constants alone

    x, y = (Fraction(float(operand)) for operand in operands)
    return exact(x, y) == Fraction(float(result))


def _converted(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    """Convert a value: floats without loss, or toward zero to an integer in range; else None."""
    (x,) = operands
    dtype = np.dtype(tensor_of(op.results[0].type).dtype)
    if dtype.kind == "b":
        return np.asarray(x != 0)
    if x.dtype.kind == "f" and dtype.kind in "iu":
        if not np.isfinite(x):
            return None
        whole, limits = int(float(x)), np.iinfo(dtype)
        return np.asarray(whole, dtype) if limits.min <= whole <= limits.max else None
    converted = x.astype(dtype)
    if dtype.kind == "f" and np.isfinite(x) and x.item() != float(converted):  # Python's are exact
        return None
    return converted


def _compared(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    direction = mlir.hlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
    x, y = operands
    if x.dtype.kind == "f" and x == 0 and y == 0 and "TOTALORDER" in str(op.attributes):
        return None  # its zeros have an order
    return np.asarray(_COMPARE[direction](x, y))


def _reshaped(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    return operands[0] if operands[0].shape == () else operands[0].reshape(sizes)


def _broadcast(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    (x,) = operands
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


def _iota(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    if np.prod(sizes) > _LARGEST:
        return None
    axis = op.attributes["iota_dimension"].value
    shape = [n if i == axis else 1 for i, n in enumerate(sizes)]
    return np.broadcast_to(np.arange(sizes[axis]).reshape(shape), sizes)


def _sliced(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    (x,) = operands
    if x.shape == ():
        return x
    parts = (op.attributes[k] for k in ("start_indices", "limit_indices", "strides"))
    return np.asarray(x[tuple([slice(*bounds) for bounds in zip(*parts, strict=True)])])


def reduction(op: Any) -> str | None:
    """Return the name of the one operation that a reduction of one array applies, or None."""
    block = op.regions[0].blocks[0]
    if len(op.operands) != 2 or len(block.operations) != 2:
        return None
    inner, last = (inner.operation for inner in block.operations)
    is_plain = len(inner.results) == 1 and list(last.operands) == list(inner.results)
    both = {x.arg_number for x in inner.operands if isinstance(x, mlir.ir.BlockArgument)}
    return str(inner.name) if is_plain and both == {0, 1} else None


def _reduced(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    """Reduce one array by one operation that returns x for equal operands x; else return None."""
    rule = _REDUCE.get(reduction(op) or "")
    if rule is None:
        return None
    x, start = operands
    if x.shape:
        x = rule(x, axis=tuple(op.attributes["dimensions"]))
    return np.asarray(rule(np.stack(np.broadcast_arrays(x, start)), axis=0))


def _selected(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    return np.asarray(np.where(*operands))


def _clamped(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    low, x, high = operands
    return np.asarray(np.minimum(np.maximum(x, low), high))


def _joined(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
    return (
        None
        if any(x.shape == () for x in operands)
        else np.concatenate(operands, axis=op.attributes["dimension"].value)
    )


def _two(rule: Callable[[Value, Value], Any]) -> _Rule:
    def apply(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
        result = rule(*operands)
        return None if result is None else np.asarray(result)

    return apply


def _one(rule: Callable[[Value], Any | None]) -> _Rule:
    def apply(op: Any, operands: Sequence[Value], sizes: tuple[int, ...]) -> Value | None:
        result = rule(operands[0])
        return None if result is None else np.asarray(result)

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
