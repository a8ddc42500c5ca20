"""Factors and products: the parts of a symbolic dimension, in a canonical order.

A factor is a variable or an operation on expressions.  A product is a sequence of factors with
powers.  Larger parts come first, so that equal expressions have equal parts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olympus_core.base.dimensions.expression import SymbolicDim

#: The operations on expressions that are factors.
FLOORDIV, MOD, MAX, MIN = OPERATIONS = ("floordiv", "mod", "max", "min")


@functools.total_ordering
class DimFactor:
    """A variable, or an operation on expressions: `floordiv`, `mod`, `max` or `min`."""

    __slots__ = ("hash", "key", "name", "operands", "size")

    def __init__(self, name: str, operands: tuple[SymbolicDim | int, ...] = ()) -> None:
        self.name = name
        self.operands = operands
        self.size: int = 1 + sum(1 if isinstance(x, int) else x.complexity for x in operands)
        keys = tuple([((), x) if isinstance(x, int) else x.key for x in operands])
        if name in (MAX, MIN):  # equal in any order of the operands, and printed in the given one
            keys = tuple(sorted(keys, key=repr))
        self.key: tuple[Any, ...] = (self.size, name, keys)
        self.hash = hash(self.key)

    @property
    def is_variable(self) -> bool:
        """True for a variable, False for an operation."""
        return not self.operands

    def variables(self) -> Iterator[str]:
        """Yield the names of the variables, in the order of the expression."""
        if not self.operands:
            yield self.name
        for x in self.operands:
            if not isinstance(x, int):
                yield from x.variables()

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimFactor) and self.key == other.key

    def __lt__(self, other: DimFactor) -> bool:
        return bool(self.key < other.key)

    def __str__(self) -> str:
        if not self.operands:
            return self.name
        return f"{self.name}({', '.join(map(str, self.operands))})"

    __repr__ = __str__


@functools.total_ordering
class DimProduct:
    """A product of factors with positive powers; the empty one is the constant 1."""

    __slots__ = ("factors", "hash", "key", "size")

    def __init__(self, powers: Mapping[DimFactor, int]) -> None:
        self.factors: tuple[tuple[DimFactor, int], ...] = tuple(
            sorted(powers.items(), key=lambda item: item[0].key, reverse=True)
        )
        self.size = sum(1 + power * factor.size for factor, power in self.factors)
        keys = tuple([(factor.key, power) for factor, power in self.factors])
        self.key: tuple[Any, ...] = (self.size, keys)
        self.hash = hash(self.key)

    @property
    def factor(self) -> DimFactor | None:
        """The only factor, if it is one with the power 1; otherwise None."""
        if len(self.factors) == 1 and self.factors[0][1] == 1:
            return self.factors[0][0]
        return None

    @property
    def variable(self) -> str | None:
        """The name of the only variable, if the product is one; otherwise None."""
        factor = self.factor
        return factor.name if factor is not None and factor.is_variable else None

    def variables(self) -> Iterator[str]:
        """Yield the names of the variables."""
        for factor, _ in self.factors:
            yield from factor.variables()

    def times(self, other: DimProduct) -> DimProduct:
        """Return the product of two products."""
        powers = dict(self.factors)
        for factor, power in other.factors:
            powers[factor] = powers.get(factor, 0) + power
        return DimProduct(powers)

    def over(self, other: DimProduct) -> DimProduct | None:
        """Return the quotient of two products; None if it is none."""
        powers = dict(self.factors)
        for factor, power in other.factors:
            left = powers.pop(factor, 0) - power
            if left < 0:
                return None
            if left:
                powers[factor] = left
        return DimProduct(powers)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimProduct) and self.key == other.key

    def __lt__(self, other: DimProduct) -> bool:
        return bool(self.key < other.key)

    def __str__(self) -> str:
        parts = reversed(self.factors)
        return "*".join([f"{f}^{power}" if power != 1 else str(f) for f, power in parts])

    __repr__ = __str__


#: The product without factors.
ONE = DimProduct({})
