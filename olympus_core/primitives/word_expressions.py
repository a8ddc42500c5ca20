"""The results of a program on uint32 words as expressions of its inputs, element by element.

Two programs with the same expressions compute the same, however they are written: with loops over
constant ranges, with calls of functions, with sums in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base.avals import Shape
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr

#: equations up to which a program is followed; 20 rounds of Threefry in a loop have 250
_MOST_EQUATIONS = 2_000
#: elements of an array that does not depend on the inputs, such as the rotations of four rounds
_MOST_ELEMENTS = 64
_UINT32 = np.dtype("uint32")
_MODULUS = 2**32


class _NoExpressionError(Exception):
    """The program has an operation that these expressions do not describe."""


class _Words(NamedTuple):
    """Words of which each is the same expression of the inputs' words at its place.

    `axes` has, for each axis, the axis of the inputs that it runs along; None for an axis along
    which the words are equal.
    """

    expression: int
    shape: Shape
    axes: tuple[int | None, ...]


#: words, or a small array that does not depend on the inputs
_Value = _Words | np.ndarray[Any, Any]

#: functions of elements that do not depend on the inputs
_KNOWN: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "lt": np.less,
    "or": np.bitwise_or,
    "shift_left": np.left_shift,
    "shift_right_logical": np.right_shift,
    "sub": np.subtract,
    "xor": np.bitwise_xor,
}


def compute_same_words(one: Olympuspr, other: Olympuspr) -> bool:
    """Return True if two programs have the same expressions of their inputs as results.

    An input is a scalar, or has the rank of the results and along each axis their length or 1.
    False means that the expressions differ or that a program has other operations.

    >>> compute_same_words(threefry2x32((), (), ()), threefry2x32((), (), (8,)))
    True
    """
    expressions = _Expressions()
    try:
        return expressions.of(one) == expressions.of(other)
    except _NoExpressionError:
        return False


class _Expressions:
    """The expressions of programs; equal ones have one number."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.expressions: list[Any] = []
        self.equations = 0

    def of(self, program: Olympuspr) -> list[int]:
        """Return the number of the expression of each result."""
        inputs: list[_Value] = []
        for i, v in enumerate(program.invars):
            shape = v.aval.shape
            axes = tuple([axis if size > 1 else None for axis, size in enumerate(shape)])
            inputs.append(_Words(self.number("input", i), shape, axes))
        numbers = []
        for x in self.results(program, inputs):
            if not isinstance(x, _Words) or any(
                axis not in (None, place) for place, axis in enumerate(x.axes)
            ):
                raise _NoExpressionError
            numbers.append(x.expression)
        return numbers

    def number(self, *expression: Hashable) -> int:
        """Return the number of an expression: its operation, and the numbers of its parts."""
        number = self.numbers.setdefault(expression, len(self.expressions))
        if number == len(self.expressions):
            self.expressions.append(expression)
        return number

    def results(self, program: Olympuspr, args: Sequence[_Value]) -> list[_Value]:
        """Return the results of a program for values."""
        env: dict[Any, _Value] = dict(zip(program.invars, args, strict=True))
        if program.constvars:
            raise _NoExpressionError

        def read(atom: Any) -> _Value:
            return np.asarray(atom.value) if isinstance(atom, Literal) else env[atom]

        for eqn in program.eqns:
            self.equations += 1
            if self.equations > _MOST_EQUATIONS:
                raise _NoExpressionError
            outs = self._applied(eqn, [*map(read, eqn.inputs)])
            env.update(zip(eqn.outputs, outs, strict=True))
        return [read(atom) for atom in program.outvars]

    def _applied(self, eqn: Eqn, args: list[_Value]) -> list[_Value]:
        """Return the results of an equation."""
        name, params = eqn.primitive.name, eqn.params
        if eqn.primitive.is_call:
            return self.results(params["olympuspr"], args)
        if name == "optimization_barrier":
            return args
        if name == "while":
            return self._loop(args, params)
        aval = eqn.outputs[0].aval
        if name == "constant" and aval.size <= _MOST_ELEMENTS:
            return [np.asarray(params["value"].value)]
        if name == "broadcast_in_dim":
            return [self._broadcast(args[0], aval.shape, params["broadcast_dimensions"])]
        if name == "reshape" and params["dimensions"] is None:
            return [_reshaped(args[0], aval.shape)]
        known = [x for x in args if not isinstance(x, _Words)]
        if len(known) == len(args):
            return [_computed(name, known, params, aval.dtype)]
        if len(args) != 2 or aval.dtype != _UINT32:
            raise _NoExpressionError
        return [self._combined(name, *args)]

    def _loop(self, args: Sequence[_Value], params: dict[str, Any]) -> list[_Value]:
        """Return the carry after a loop whose condition does not depend on the inputs."""
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        of_cond, of_body = args[:n_cond], args[n_cond : n_cond + n_body]
        carry = [*args[n_cond + n_body :]]
        while True:
            (goes_on,) = self.results(params["cond_olympuspr"], [*of_cond, *carry])
            if isinstance(goes_on, _Words):
                raise _NoExpressionError
            if not goes_on:
                return carry
            carry = self.results(params["body_olympuspr"], [*of_body, *carry])

    def _broadcast(self, x: _Value, shape: Shape, places: Sequence[int]) -> _Value:
        axes: list[int | None] = [None] * len(shape)
        words = self._words(x)
        for axis, place in zip(words.axes, places, strict=True):
            axes[place] = axis
        return _Words(words.expression, shape, tuple(axes))

    def _words(self, x: _Value) -> _Words:
        """Return a value as words; an array that does not depend on the inputs has one element."""
        if isinstance(x, _Words):
            return x
        if x.size != 1 or x.dtype != _UINT32:
            raise _NoExpressionError
        return _Words(self.number("sum", int(x.flat[0]), ()), x.shape, (None,) * x.ndim)

    def _combined(self, name: str, x: _Value, y: _Value) -> _Value:
        """Return the words of a function of two words; a scalar is combined with each word."""
        left, right = self._words(x), self._words(y)
        shape = left.shape or right.shape
        if any(w.shape not in ((), shape) for w in (left, right)):
            raise _NoExpressionError
        axes = []
        rows = [w.axes or (None,) * len(shape) for w in (left, right)]
        for one, other in zip(*rows, strict=True):
            if None not in (one, other) and one != other:
                raise _NoExpressionError
            axes.append(other if one is None else one)
        numbers = left.expression, right.expression
        if name in ("add", "xor"):
            expression = self._sum("sum" if name == "add" else "xor", numbers)
        elif name in ("or", "and"):
            expression = self.number(name, *sorted(numbers))
        elif name in ("shift_left", "shift_right_logical"):
            expression = self.number(name, *numbers)
        else:
            raise _NoExpressionError
        return _Words(expression, shape, tuple(axes))

    def _sum(self, name: str, numbers: Sequence[int]) -> int:
        """Return a sum modulo 2^32, or a sum of bits, without sums inside it."""
        constant, terms = 0, Counter[int]()
        for number in numbers:
            kind, *parts = self.expressions[number]
            if kind == "sum" and not parts[1]:  # a constant
                value: int = parts[0]
                constant = constant ^ value if name == "xor" else (constant + value) % _MODULUS
            elif kind == name:
                value = parts[0]
                constant = constant ^ value if name == "xor" else (constant + value) % _MODULUS
                terms.update(dict(parts[1]))
            else:
                terms[number] += 1
        modulus = 2 if name == "xor" else _MODULUS
        counts = sorted([(term, n % modulus) for term, n in terms.items() if n % modulus])
        if not counts:
            return self.number("sum", constant, ())
        if not constant and len(counts) == 1 and counts[0][1] == 1:
            return counts[0][0]
        return self.number(name, constant, tuple(counts))


def _reshaped(x: _Value, shape: Shape) -> _Value:
    """Return a value with another shape; words only with other axes of length 1."""
    if not isinstance(x, _Words):
        return x.reshape(shape)
    long = iter([axis for axis, size in zip(x.axes, x.shape, strict=True) if size != 1])
    if [size for size in x.shape if size != 1] != [size for size in shape if size != 1]:
        raise _NoExpressionError
    return _Words(x.expression, shape, tuple([None if size == 1 else next(long) for size in shape]))


def _computed(
    name: str, args: Sequence[np.ndarray[Any, Any]], params: dict[str, Any], dtype: Any
) -> np.ndarray[Any, Any]:
    """Return the result of an equation whose operands do not depend on the inputs."""
    if name == "convert_element_type":
        return args[0].astype(dtype)
    if name == "slice":
        starts, limits = params["start_indices"], params["limit_indices"]
        steps = params["strides"] or (1,) * len(starts)
        return args[0][tuple(map(slice, starts, limits, steps))]
    if name not in _KNOWN or any(x.dtype != args[0].dtype for x in args):
        raise _NoExpressionError
    return np.asarray(_KNOWN[name](*args))
