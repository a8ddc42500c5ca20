"""`SymbolicDim`: a size that is an expression in named variables.

Expressions are canonical: a sum of products with integer coefficients, in one order.  A constant is
an `int`.  Comparisons are decided from the constraints of the scope.  In the user's code an
undecided comparison raises `InconclusiveDimensionOperation`; in the code of OLYMPUS, where shapes
are keys of caches and `==` selects a faster form, undecided sizes are different.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, SupportsIndex

from olympus_core.base import source
from olympus_core.base.context import state
from olympus_core.base.dimensions.terms import (
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    ONE,
    DimFactor,
    DimProduct,
)
from olympus_core.base.errors import InconclusiveDimensionOperation, ShapeError

if TYPE_CHECKING:
    from olympus_core.base.dimensions.scope import SymbolicScope

_is_own: dict[str, bool | None] = {}
#: the number of undecided comparisons that are remembered for hints
_RECENT = 15
_as_array: list[Callable[[SymbolicDim], Any]] = []


def register_as_array(function: Callable[[SymbolicDim], Any]) -> None:
    """Register the function that returns a dimension as a traced array."""
    _as_array[:] = [function]


def is_symbolic_dim(x: object) -> bool:
    """Return True if `x`, a dimension of a shape, is symbolic and not an int.

    >>> is_symbolic_dim(symbolic_shape("b, 8")[0])
    True
    """
    return x.__class__ is SymbolicDim


def is_constant_dim(x: object) -> bool:
    """Return True if a dimension of a shape is an int.

    >>> is_constant_dim(8)
    True
    """
    return x.__class__ is not SymbolicDim


def _index(x: object) -> int | None:
    """Return an int or NumPy integer as an int, and None for anything else."""
    if isinstance(x, int):
        return int(x)
    if isinstance(x, SupportsIndex) and not hasattr(x, "aval"):
        try:
            return operator.index(x)
        except TypeError:
            return None
    return None


class SymbolicDim:
    """An expression in dimension variables, for the size of a dimension of an array.

    It has the arithmetic of integers: `+`, `-`, `*`, `//`, `%`, powers, `max` and `min`.

    >>> a, b = symbolic_shape("a, b")
    >>> 2 * (a + b) // 2 - b
    a
    """

    __slots__ = ("_hash", "complexity", "key", "scope", "terms")
    __array_priority__ = 1000  # NumPy's arrays leave operations to it
    terms: tuple[tuple[DimProduct, int], ...]
    scope: SymbolicScope

    def __init__(self, terms: tuple[tuple[DimProduct, int], ...], scope: SymbolicScope) -> None:
        self.terms = terms
        self.scope = scope
        self.complexity = sum(1 + abs(k) * t.size for t, k in terms)
        self.key = tuple([(t.key, k) for t, k in terms]), 0
        self._hash = hash((self.key, id(scope)))

    # ---- construction

    @staticmethod
    def of(coefficients: Mapping[DimProduct, int], scope: SymbolicScope) -> SymbolicDim | int:
        """Return the canonical sum of products; an int if it is constant."""
        reduced = scope.reduced({t: k for t, k in coefficients.items() if k})
        if not reduced:
            return 0
        if len(reduced) == 1 and ONE in reduced:
            return reduced[ONE]
        terms = sorted(reduced.items(), key=lambda item: item[0].key, reverse=True)
        return SymbolicDim(tuple(terms), scope)

    @staticmethod
    def operation(
        name: str, x: SymbolicDim | int, y: SymbolicDim | int, scope: SymbolicScope
    ) -> SymbolicDim | int:
        """Return the expression of an operation on two expressions."""
        return SymbolicDim.of({DimProduct({DimFactor(name, (x, y)): 1}): 1}, scope)

    @staticmethod
    def variable(name: str, scope: SymbolicScope) -> SymbolicDim | int:
        """Return a variable; the expression that it equals by a constraint, if there is one."""
        return SymbolicDim.of({DimProduct({DimFactor(name): 1}): 1}, scope)

    def coefficients(self) -> dict[DimProduct, int]:
        """Return the coefficient of each product."""
        return dict(self.terms)

    def variables(self) -> Iterator[str]:
        """Yield the names of the variables of the expression, with repetitions."""
        for term, _ in self.terms:
            yield from term.variables()

    @property
    def single_variable(self) -> str | None:
        """The name of the variable, if the expression is one; otherwise None."""
        if len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0].variable
        return None

    # ---- arithmetic

    def _other(self, x: object, operation: str) -> SymbolicDim | int | None:
        """Return the other operand as a dimension; None if it is no dimension."""
        if isinstance(x, SymbolicDim):
            self.scope.check_same(x, f"for operation {operation}")
            return x
        return _index(x)

    def _plus(self, x: SymbolicDim | int, sign: int) -> SymbolicDim | int:
        total = self.coefficients()
        parts = ((ONE, x),) if isinstance(x, int) else x.terms
        for term, k in parts:
            total[term] = total.get(term, 0) + sign * k
        return SymbolicDim.of(total, self.scope)

    def _array(self) -> Any:
        return self.__jax_array__()

    def __add__(self, other: Any) -> Any:
        x = self._other(other, "add")
        return self._array() + other if x is None else self._plus(x, 1)

    def __radd__(self, other: Any) -> Any:
        x = self._other(other, "add")
        return other + self._array() if x is None else self._plus(x, 1)

    def __sub__(self, other: Any) -> Any:
        x = self._other(other, "sub")
        return self._array() - other if x is None else self._plus(x, -1)

    def __rsub__(self, other: Any) -> Any:
        x = self._other(other, "sub")
        return other - self._array() if x is None else (-self)._plus(x, 1)

    def __neg__(self) -> SymbolicDim:
        return SymbolicDim(tuple([(t, -k) for t, k in self.terms]), self.scope)

    def __pos__(self) -> SymbolicDim:
        return self

    def __abs__(self) -> SymbolicDim | int:
        return self.max(-self)

    def __mul__(self, other: Any) -> Any:
        x = self._other(other, "mul")
        if isinstance(other, list | tuple | str | bytes):
            raise self._constant(" (a number of repetitions)")
        return self._array() * other if x is None else self._times(x)

    def __rmul__(self, other: Any) -> Any:
        x = self._other(other, "mul")
        if isinstance(other, list | tuple | str | bytes):
            raise self._constant(" (a number of repetitions)")
        return other * self._array() if x is None else self._times(x)

    def _times(self, x: SymbolicDim | int) -> SymbolicDim | int:
        total: dict[DimProduct, int] = {}
        for t1, k1 in self.terms:
            for t2, k2 in ((ONE, x),) if isinstance(x, int) else x.terms:
                term = t1.times(t2)
                total[term] = total.get(term, 0) + k1 * k2
        return SymbolicDim.of(total, self.scope)

    def __pow__(self, power: Any, modulo: None = None) -> Any:
        count = _index(power)
        if count is None or count < 0:
            if isinstance(power, SymbolicDim) or hasattr(power, "aval"):
                return self._array() ** power
            kind = "negative" if count is not None else "non-integer"
            raise ShapeError(
                f"Symbolic dimension cannot be raised to {kind} powers: '{self}' ** '{power}'"
            )
        result: SymbolicDim | int = 1
        for _ in range(count):
            result = self * result
        return result

    def __rpow__(self, other: Any, modulo: None = None) -> Any:
        return other ** self._array()

    def __truediv__(self, other: Any) -> Any:
        return self._array() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._array()

    def __floordiv__(self, other: Any) -> Any:
        x = self._other(other, "floordiv")
        return self._array() // other if x is None else divided(self, x)[0]

    def __rfloordiv__(self, other: Any) -> Any:
        x = self._other(other, "floordiv")
        return other // self._array() if x is None else divided(x, self)[0]

    def __mod__(self, other: Any) -> Any:
        x = self._other(other, "mod")
        return self._array() % other if x is None else divided(self, x)[1]

    def __rmod__(self, other: Any) -> Any:
        x = self._other(other, "mod")
        return other % self._array() if x is None else divided(x, self)[1]

    def __divmod__(self, other: Any) -> Any:
        x = self._other(other, "divmod")
        return divmod(self._array(), other) if x is None else divided(self, x)

    def __rdivmod__(self, other: Any) -> Any:
        x = self._other(other, "divmod")
        return divmod(other, self._array()) if x is None else divided(x, self)

    def max(self, other: SymbolicDim | int) -> SymbolicDim | int:
        """Return the larger of two dimensions; an expression if that is not decided."""
        return _extreme(MAX, self, other, self.scope)

    def min(self, other: SymbolicDim | int) -> SymbolicDim | int:
        """Return the smaller of two dimensions; an expression if that is not decided."""
        return _extreme(MIN, self, other, self.scope)

    # ---- conversions

    def _constant(self, what: str) -> InconclusiveDimensionOperation:
        return _error(
            f"Symbolic dimension '{self}' used in a context that requires a constant{what}",
            "use olympus.numpy, whose functions take symbolic sizes, or export the program for "
            f"one value of {', '.join(dict.fromkeys(self.variables()))}",
        )

    def __index__(self) -> int:
        raise self._constant("")

    def __int__(self) -> int:
        raise self._constant("")

    def __float__(self) -> float:
        raise self._constant(" (a float)")

    def __bool__(self) -> bool:
        return self._differs(0)

    def __jax_array__(self) -> Any:
        """Return the value as a traced array: a weakly typed int32 scalar."""
        return _as_array[0](self)

    def __str__(self) -> str:
        text = ""
        for term, k in self.terms:
            size, body = abs(k), str(term)
            if term is ONE or not term.factors:
                body = str(size)
            elif size != 1:
                body = f"{size}*{body}"
            sign = "-" if k < 0 else "+"
            text += f" {sign} {body}" if text else (f"- {body}" if k < 0 else body)
        return text

    def __repr__(self) -> str:
        return str(self)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicDim:
        return self

    # ---- comparisons

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, SymbolicDim):
            if self.scope is not other.scope:
                return False
            if self._hash == other._hash and self.key == other.key:
                return True
            x: SymbolicDim | int = other
        else:
            index = _index(other)
            if index is None:
                return False
            x = index
        return not self._differs(x)

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def _differs(self, x: SymbolicDim | int) -> bool:
        difference = self._plus(x, -1)
        if isinstance(difference, int):
            return difference != 0
        least, most = self.scope.bounds(difference)
        if least > 0 or most < 0:
            return True
        if least == most == 0:
            return False
        if _in_own_code(sys._getframe(2)):
            state.undecided = (*state.undecided[-_RECENT:], (self, x))
            return True
        raise _undecided(self, x)

    def __ge__(self, other: Any) -> Any:
        return self._decided(other, ">=", 0, operator.ge)

    def __gt__(self, other: Any) -> Any:
        return self._decided(other, ">", 1, operator.gt)

    def __le__(self, other: Any) -> Any:
        return self._decided(other, "<=", 0, operator.le)

    def __lt__(self, other: Any) -> Any:
        return self._decided(other, "<", 1, operator.lt)

    def _decided(self, other: Any, sign: str, margin: int, compare: Callable[..., Any]) -> Any:
        """Return whether `self sign other`; `margin` is 1 for a strict comparison."""
        x = self._comparand(other, sign)
        if x is None:
            return compare(self._array(), other)
        if isinstance(x, float):
            return compare(0.0, x)
        difference = self._plus(x, -1) if sign[0] == ">" else -self + x
        if isinstance(difference, int):
            return difference >= margin
        least, most = self.scope.bounds(difference)
        if least >= margin:
            return True
        if most < margin:
            return False
        opposite = {">=": "<", ">": "<=", "<=": ">", "<": ">="}[sign]
        raise _error(
            f"Symbolic dimension comparison '{self}' {sign} '{x}' is inconclusive"
            f"{self.scope.text()}",
            f"add the constraint {_bound(self, sign, x)}, or {_bound(self, opposite, x)} if it is "
            "never so",
        )

    def _comparand(self, other: Any, sign: str) -> SymbolicDim | int | float | None:
        """Return the other side as a dimension; an infinity as a float; None for an array."""
        if isinstance(other, SymbolicDim):
            self.scope.check_same(other, f"when comparing '{self}' {sign} '{other}'")
            return other
        if isinstance(other, float):
            if other in (float("inf"), float("-inf")):
                return other
            return int(other) if other.is_integer() else None
        return _index(other)


def _bound(x: object, sign: str, y: object) -> str:
    strict = {">": (">=", " + 1"), "<": ("<=", " - 1")}
    sign, more = strict.get(sign, (sign, ""))
    if more and isinstance(y, int):
        y, more = y + (1 if sign == ">=" else -1), ""
    return f"'{x} {sign} {y}{more}'"


def _constraints(x: SymbolicDim, y: SymbolicDim | int) -> str:
    """Return the constraints that decide `x == y`, of which none contradicts the known ones."""
    difference = x._plus(y, -1)
    assert not isinstance(difference, int)  # it is undecided
    least, most = x.scope.bounds(difference)
    signs = [sign for sign, is_open in ((">", most > 0), ("<", least < 0)) if is_open]
    *first, last = [f"'{x} == {y}'", *(_bound(x, sign, y) for sign in signs)]
    return f"{', '.join(first)} or {last}"


def _error(message: str, hint: str) -> InconclusiveDimensionOperation:
    position = source.current_location(3).position()
    where = f"\n  at {position}: {position.text()}" if position else ""
    return InconclusiveDimensionOperation(
        message + where, hint=hint, location=str(position) if position else None
    )


def _undecided(x: SymbolicDim, y: SymbolicDim | int) -> InconclusiveDimensionOperation:
    return _error(
        f"Symbolic dimension comparison '{x}' == '{y}' is inconclusive{x.scope.text()}",
        f"add one of the constraints {_constraints(x, y)}",
    )


def record_undecided(sizes: Iterable[SymbolicDim | int]) -> None:
    """Compare the first of sizes with the others, for the hint of an error on them."""
    first, *others = sorted(sizes, key=lambda size: (isinstance(size, int), str(size)))
    for other in others:
        if isinstance(first, SymbolicDim):
            state.undecided = (*state.undecided[-_RECENT:], (first, other))


def missing_constraint(message: str) -> str | None:
    """Return the hint for an error on shapes, if it is due to sizes that may be equal.

    These are sizes of the `message` that were compared before, without a decision: two symbolic
    ones, or one and a number other than 1, which is the size of an axis that is broadcast.
    """
    recent = [pair for pair in reversed(state.undecided) if pair[1] != 1]
    for x, y in sorted(recent, key=lambda pair: isinstance(pair[1], int)):
        texts = str(x), str(y)
        if all(re.search(rf"(?<![\w^]){re.escape(text)}(?!\w)", message) for text in texts):
            return f"the sizes may differ: if they are equal, add the constraint '{x} == {y}'"
    return None


def is_one(size: SymbolicDim | int) -> bool:
    """Return True if a size is 1, where the result of the user's operation depends on that.

    Raises InconclusiveDimensionOperation if the constraints do not decide it.

    >>> is_one(symbolic_shape("b", constraints=["b >= 2"])[0])
    False
    """
    if isinstance(size, SymbolicDim):
        least, most = size.scope.bounds(size)
        if least <= 1 <= most and least != most:
            raise _undecided(size, 1)
    return bool(size == 1)


def _in_own_code(frame: FrameType | None) -> bool:
    """Return True if the innermost frame that compares sizes belongs to OLYMPUS."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name not in _is_own:
            own = True if source.is_own(name) else None if source.is_internal(name) else False
            _is_own[name] = own
        known = _is_own[name]
        # the `__eq__` of a dataclass is generated code, without a file
        if known is None or name == __file__ or frame.f_code.co_name == "__eq__":
            frame = frame.f_back
        else:
            return known
    return False


def divided(
    x: SymbolicDim | int, y: SymbolicDim | int
) -> tuple[SymbolicDim | int, SymbolicDim | int]:
    """Return the quotient, rounded down, and the remainder.

    Polynomial division decides exact quotients; others are `floordiv` and `mod` expressions.
    """
    scope = (x if isinstance(x, SymbolicDim) else y).scope  # type: ignore[union-attr]
    if y.__class__ is int and y == 0:
        raise ShapeError(f"division of the symbolic dimension {x} by zero")
    exact = _polynomial_quotient(x, y)
    if exact is not None:
        return exact
    least, most = (y, y) if isinstance(y, int) else scope.bounds(y)
    if least <= 0 <= most:
        raise _error(f"Possible division by 0 in division by {y}", f"add the constraint '{y} >= 1'")
    if isinstance(y, int) and y > 0 and isinstance(x, SymbolicDim):
        low, high = scope.bounds(x)
        if low >= 0 and high < y:
            return 0, x
    return (
        SymbolicDim.operation(FLOORDIV, x, y, scope),
        SymbolicDim.operation(MOD, x, y, scope),
    )


def _polynomial_quotient(
    x: SymbolicDim | int, y: SymbolicDim | int
) -> tuple[SymbolicDim | int, SymbolicDim | int] | None:
    """Return the quotient and the remainder if polynomial division has them; otherwise None."""
    rest, quotient = x, SymbolicDim.of({}, (x if isinstance(x, SymbolicDim) else y).scope)  # type: ignore[union-attr]
    lead, by = y.terms[0] if isinstance(y, SymbolicDim) else (ONE, y)
    while isinstance(rest, SymbolicDim):
        term, k = rest.terms[0]
        part = term.over(lead)
        if part is None or k % by:
            return None
        step = SymbolicDim.of({part: k // by}, rest.scope)
        quotient, rest = quotient + step, rest - step * y
    if isinstance(y, SymbolicDim):
        return (quotient, 0) if rest == 0 else None
    return quotient + rest // y, rest % y


def _extreme(
    name: str, x: SymbolicDim | int, y: SymbolicDim | int, scope: SymbolicScope
) -> SymbolicDim | int:
    """Return the larger or the smaller of two dimensions; an expression if it is not decided."""
    least, most = scope.bounds(x - y)
    if least >= 0:
        return x if name == MAX else y
    if most <= 0:
        return y if name == MAX else x
    return SymbolicDim.operation(name, x, y, scope)


def max_dim(x: Any, y: Any) -> Any:
    """Return the larger of two dimensions.

    >>> max_dim(3, symbolic_shape("b", constraints=["b >= 4"])[0])
    b
    """
    scope = x.scope if isinstance(x, SymbolicDim) else getattr(y, "scope", None)
    return max(x, y) if scope is None else _extreme(MAX, x, y, scope)


def min_dim(x: Any, y: Any) -> Any:
    """Return the smaller of two dimensions.

    >>> min_dim(3, symbolic_shape("b", constraints=["b >= 4"])[0])
    3
    """
    scope = x.scope if isinstance(x, SymbolicDim) else getattr(y, "scope", None)
    return min(x, y) if scope is None else _extreme(MIN, x, y, scope)


def known_at_least(size: SymbolicDim | int, least: int) -> bool:
    """Return True if a size is at least `least` for all values of its variables.

    It selects a form that is a gain for large arrays; the sizes of arrays are below 2**31 unless
    known otherwise.

    >>> known_at_least(symbolic_shape("b")[0], 32)
    False
    """
    if isinstance(size, SymbolicDim):
        return bool(size.scope.bounds(size)[0] >= least)
    return size >= least


def at_most(size: SymbolicDim | int) -> int:
    """Return the greatest value of a size of an array; below 2**31 unless known otherwise.

    >>> at_most(symbolic_shape("b", constraints=["b <= 8"])[0])
    8
    """
    if not isinstance(size, SymbolicDim):
        return size
    greatest = size.scope.bounds(size)[1]
    return 2**31 - 1 if math.isinf(greatest) else int(greatest)


def symbolic_slice(i: slice, length: SymbolicDim | int) -> tuple[Any, Any, Any]:
    """Return start, size and step of a slice of an axis, as `slice.indices` does for ints.

    Raises TypeError if a bound is neither an int nor symbolic, and ShapeError for a step of 0.
    """
    step = 1 if i.step is None else operator.index(i.step)
    if step == 0:
        raise ShapeError("the step of a slice cannot be zero")
    lowest, highest = (0, length) if step > 0 else (-1, length - 1)

    def bound(n: Any, default: SymbolicDim | int) -> Any:
        if n is None:
            return default
        n = n if isinstance(n, SymbolicDim) else operator.index(n)
        n = n + length if n < 0 else n
        return min_dim(highest, max_dim(lowest, n))

    start = bound(i.start, lowest if step > 0 else highest)
    stop = bound(i.stop, highest if step > 0 else lowest)
    distance = stop - start if step > 0 else start - stop
    return start, max_dim(0, (distance + abs(step) - 1) // abs(step)), step
