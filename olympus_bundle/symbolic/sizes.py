"""Symbolic sizes: expressions in variables as text, and the variables of a call from its shapes."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olympus_bundle.errors import DataError, SignatureError

_MOST_CHARACTERS, _MOST_POWER = 2000, 16
_NONLINEAR = math.inf
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


class Expression:
    """An expression of a size, such as `2*b + floordiv(d, 4)`; `text` is a canonical one.

    Raises DataError for another text.

    >>> Expression("2*b + 1").value({"b": 3})
    7
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            if len(text) > _MOST_CHARACTERS:
                raise ValueError
            self._tree = ast.parse(text.replace("^", "**"), mode="eval").body
            self.variables = frozenset(_checked(self._tree))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise DataError(f"{text!r:.80} is no expression of sizes") from None

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def value(self, values: Mapping[str, int]) -> int:
        """Return the value; raise ZeroDivisionError for a division by zero."""
        return _value(self._tree, values)

    def is_linear(self, variable: str) -> bool:
        """Return True if the expression is linear in a variable."""
        return _degree(self._tree, variable) == 1


def _checked(node: ast.expr) -> Iterator[str]:
    """Yield the variables; raise ValueError for what an expression does not have."""
    match node:
        case ast.Name():
            yield node.id
        case ast.Constant(value=int(value)) if type(value) is int and value < 2**63:
            pass
        case ast.UnaryOp(ast.USub(), operand):
            yield from _checked(operand)
        case ast.BinOp(base, ast.Pow(), ast.Constant(value=int(power))) if power <= _MOST_POWER:
            yield from _checked(base)
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            yield from _checked(left)
            yield from _checked(right)
        case ast.Call(ast.Name(name), [left, right], []) if name in _FUNCTIONS:
            yield from _checked(left)
            yield from _checked(right)
        case _:
            raise ValueError


def _value(node: Any, values: Mapping[str, int]) -> int:
    match node:
        case ast.Name():
            return values[node.id]
        case ast.Constant():
            return int(str(node.value))
        case ast.UnaryOp():
            return -_value(node.operand, values)
        case ast.BinOp():
            operation = _OPERATIONS[type(node.op)]
            return operation(_value(node.left, values), _value(node.right, values))
    left, right = (_value(part, values) for part in node.args)
    return _FUNCTIONS[node.func.id](left, right)


def _degree(node: Any, variable: str) -> float:
    """Return the degree of a polynomial in a variable; infinity if it is none."""
    match node:
        case ast.Name():
            return node.id == variable
        case ast.Constant():
            return 0
        case ast.UnaryOp():
            return _degree(node.operand, variable)
        case ast.BinOp(left, ast.Mult(), right):
            return _degree(left, variable) + _degree(right, variable)
        case ast.BinOp(left, ast.Pow(), right):
            return 0 if _degree(left, variable) == 0 else _NONLINEAR
        case ast.BinOp():
            return max(_degree(node.left, variable), _degree(node.right, variable))
    return _NONLINEAR if any(_degree(part, variable) for part in node.args) else 0


Size = int | Expression


@dataclass(frozen=True)
class SizeConstraint:
    """`difference` is 0, or at least 0 without `is_equality`; `text` is the user's."""

    text: str
    difference: Expression
    is_equality: bool


@dataclass(frozen=True)
class SymbolicShape:
    """The name and the symbolic shape of an argument or a result."""

    name: str
    shape: tuple[Size, ...]

    def at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape for the values of the variables."""
        return tuple([n if isinstance(n, int) else n.value(sizes) for n in self.shape])


class Sizes:
    """The variables in the shapes of arguments, with the constraints on them.

    Raises DataError if a variable cannot be solved from the shapes.
    """

    def __init__(
        self, arguments: Sequence[SymbolicShape], constraints: Sequence[SizeConstraint]
    ) -> None:
        self._arguments, self._constraints = arguments, constraints
        places = [
            (i, axis, n)
            for i, x in enumerate(arguments)
            for axis, n in enumerate(x.shape)
            if isinstance(n, Expression)
        ]
        self._steps: list[tuple[str, int, int, Expression]] = []
        known: set[str] = set()
        wanted = {variable for *_, n in places for variable in n.variables}
        while known < wanted:
            step = next((s for place in places if (s := _step(place, known)) is not None), None)
            if step is None:
                raise DataError(f"its sizes {', '.join(sorted(wanted - known))} cannot be solved")
            self._steps.append(step)
            known.add(step[0])

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, in the order in which they are solved."""
        return tuple([step[0] for step in self._steps])

    def of(self, shapes: Sequence[tuple[int, ...]], function: str) -> dict[str, int]:
        """Return the variables for the shapes of a call of `function`.

        Raises SignatureError if the shapes do not match, or break a constraint.
        """
        for x, shape in zip(self._arguments, shapes, strict=True):
            if len(shape) != len(x.shape):
                self._refuse(function, shapes, f"{x.name!r} has {len(shape)} axes")
        values: dict[str, int] = {}
        for variable, i, axis, expression in self._steps:
            rest = expression.value({**values, variable: 0})
            factor = expression.value({**values, variable: 1}) - rest
            if factor == 0:
                self._refuse(function, shapes, f"{variable} is not determined")
            values[variable] = (shapes[i][axis] - rest) // factor
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        for x, shape in zip(self._arguments, shapes, strict=True):
            for axis, (n, wanted) in enumerate(zip(shape, self._at(x, values), strict=True)):
                if n != wanted:
                    place = f"axis {axis} of {x.name!r}"
                    what = f"{wanted} elements" + (f" for {shown}" if shown else "")
                    self._refuse(function, shapes, f"{place} has {n} elements, and needs {what}")
        self.check(values, lambda fault: self._refuse(function, shapes, fault))
        return values

    def check(self, values: Mapping[str, int], refuse: Callable[[str], object]) -> None:
        """Call `refuse` with the fault of values that break a constraint."""
        for name, value in values.items():
            if value < 1:
                refuse(f"{name} must be 1 or more, and is {value}")
        for constraint in self._constraints:
            variables = constraint.difference.variables
            if variables <= values.keys():
                found = constraint.difference.value(values)
                if found < 0 or (constraint.is_equality and found):
                    shown = " and ".join(f"{name} = {values[name]}" for name in sorted(variables))
                    refuse(f"the constraint {constraint.text} does not hold for {shown}")

    def _at(self, x: SymbolicShape, values: Mapping[str, int]) -> tuple[int, ...]:
        try:
            return x.at(values)
        except ZeroDivisionError:
            raise SignatureError(f"a size of {x.name!r} is divided by zero") from None

    def _refuse(self, function: str, shapes: Sequence[tuple[int, ...]], fault: str) -> None:
        given = "; ".join(
            f"{x.name!r} takes {_shape_text(x.shape)} and got {_shape_text(shape)}"
            for x, shape in zip(self._arguments, shapes, strict=True)
            if any(isinstance(n, Expression) for n in x.shape) or shape != x.shape
        )
        raise SignatureError(f"'{function}' cannot be called with these sizes: {fault} ({given})")


def _step(
    place: tuple[int, int, Expression], known: set[str]
) -> tuple[str, int, int, Expression] | None:
    """Return the only unknown variable of a size with its place, if the size is linear in it."""
    argument, axis, size = place
    unknown = size.variables - known
    if len(unknown) != 1:
        return None
    (variable,) = unknown
    return (variable, argument, axis, size) if size.is_linear(variable) else None


def _shape_text(shape: Sequence[Size]) -> str:
    return f"[{','.join(map(str, shape))}]"
