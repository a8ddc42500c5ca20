"""The least and the largest value of a symbolic expression, from the constraints of its scope.

First by intervals: each product has bounds of its own.  If these do not decide, by linear
reasoning: a product is an unknown, and each constraint and each property of an operation, such as
`0 <= mod(b, 8) <= 7`, is an inequality.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from olympus_core.base.dimensions.expression import SymbolicDim
from olympus_core.base.dimensions.linear import Form, least_of_form
from olympus_core.base.dimensions.terms import (
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    ONE,
    DimFactor,
    DimProduct,
)

if TYPE_CHECKING:
    from olympus_core.base.dimensions.scope import SymbolicScope

Bounds = tuple[float, float]
_UNKNOWN: Bounds = (-math.inf, math.inf)
_MAX_ROWS = 120


class Decisions:
    """The bounds of expressions in one scope, computed once for each."""

    def __init__(self, scope: SymbolicScope) -> None:
        self.scope = scope
        self._known: dict[tuple[tuple[DimProduct, int], ...], Bounds] = {}
        self._products: dict[DimProduct, Bounds] = {}
        self._active: set[object] = set()
        self._is_cut = False

    def bounds(self, x: SymbolicDim | int) -> Bounds:
        """Return the least and the largest value of an expression; infinite if not known."""
        if not isinstance(x, SymbolicDim):
            return x, x
        known = self._known.get(x.terms)
        if known is not None:
            return known
        if x.terms in self._active:
            self._is_cut = True
            return self._interval(x)
        self._active.add(x.terms)
        try:
            result = self._computed(x)
        finally:
            self._active.discard(x.terms)
        if not self._active:
            self._is_cut = False
        if not self._is_cut:
            self._known[x.terms] = result
        return result

    def _computed(self, x: SymbolicDim) -> Bounds:
        least, most = self._interval(x)
        if least == most:
            return least, most
        rows = self._rows(x)
        below, above = _least(x, rows), _least(-x, rows)
        least = least if below is None else max(least, below)
        most = most if above is None else min(most, -above)
        if least < most:
            least, most = self._by_cases(x, least, most)
        return least, most

    def _interval(self, x: SymbolicDim) -> Bounds:
        """Return the sum of the bounds of the terms."""
        least: float = 0
        most: float = 0
        for term, k in x.terms:
            low, high = (1, 1) if not term.factors else self.product(term)
            low, high = (k * low, k * high) if k > 0 else (k * high, k * low)
            least, most = least + low, most + high
        return least, most

    def product(self, term: DimProduct) -> Bounds:
        """Return the bounds of a product, from those of its factors."""
        known = self._products.get(term)
        if known is not None:
            return known
        if term in self._active:
            self._is_cut = True
            return (1, math.inf) if term.variable else _UNKNOWN
        self._active.add(term)
        try:
            result = self._of_product(term)
        finally:
            self._active.discard(term)
        if not self._is_cut:
            self._products[term] = result
        return result

    def _of_product(self, term: DimProduct) -> Bounds:
        factor = term.factor
        if factor is not None:
            return self._of_factor(factor)
        least: float = 1
        most: float = 1
        for f, power in term.factors:
            low, high = self.product(DimProduct({f: 1}))
            for _ in range(power):
                corners = [_times(a, b) for a in (least, most) for b in (low, high)]
                least, most = min(corners), max(corners)
            if power % 2 == 0 and len(term.factors) == 1:
                least = max(least, 0)
        return least, most

    def _of_factor(self, factor: DimFactor) -> Bounds:
        if factor.is_variable:
            return self._of_variable(factor)
        (a, b), (c, d) = (self.bounds(x) for x in factor.operands)
        if factor.name == MAX:
            return max(a, c), max(b, d)
        if factor.name == MIN:
            return min(a, c), min(b, d)
        if factor.name == MOD:
            if c > 0:
                return 0, min(d - 1, b) if a >= 0 else d - 1
            return (c + 1, 0) if d < 0 else _UNKNOWN
        if c <= 0 <= d:
            return _UNKNOWN
        corners = [_quotient(x, y) for x, y in itertools.product((a, b), (c, d))]
        return min(corners), max(corners)

    def _of_variable(self, factor: DimFactor) -> Bounds:
        least: float = 1
        most: float = math.inf
        for row in self.scope.rows():
            terms = [(t, k) for t, k in row.terms if t is not ONE and t.factors]
            if len(terms) == 1 and terms[0][0].factor == factor:
                k = terms[0][1]
                constant = row.coefficients().get(ONE, 0)
                if k > 0:
                    least = max(least, math.ceil(-constant / k))
                else:
                    most = min(most, constant // -k)
        return least, most

    # ---- linear reasoning

    def _rows(self, x: SymbolicDim) -> list[Form]:
        """Return the inequalities on the products of an expression and of the constraints."""
        rows: list[Form] = []
        seen: set[DimProduct] = set()
        waiting: list[DimProduct] = [t for t, _ in x.terms if t.factors]
        for row in self.scope.rows():
            rows.append(_form(row))
            waiting += [t for t, _ in row.terms if t.factors]
        while waiting and len(rows) < _MAX_ROWS:
            term = waiting.pop()
            if term in seen:
                continue
            seen.add(term)
            for implied in self._implied(term):
                if isinstance(implied, SymbolicDim):
                    rows.append(_form(implied))
                    waiting += [t for t, _ in implied.terms if t.factors]
        return rows

    def _implied(self, term: DimProduct) -> Iterator[SymbolicDim | int]:
        """Yield expressions that are at least 0 because of the meaning of a product."""
        self_ = SymbolicDim(((term, 1),), self.scope)
        factor = term.factor
        is_whole = factor is not None and factor.name == FLOORDIV and not factor.is_variable
        # the bounds of a quotient are rounded to integers
        least, most = self.bounds(self_) if is_whole else self.product(term)
        # constraints that exclude each other have bounds of the opposite infinity
        if -math.inf < least < math.inf:
            yield self._sum((self_, 1), (-int(least), 1))
        if -math.inf < most < math.inf:
            yield self._sum((int(most), 1), (self_, -1))
        if factor is None:
            yield from self._of_products(term, self_)
        elif not factor.is_variable:
            yield from self._of_operation(factor, self_)

    def _of_products(self, term: DimProduct, self_: SymbolicDim) -> Iterator[SymbolicDim | int]:
        for f, _ in term.factors:
            one = DimProduct({f: 1})
            rest = term.over(one)
            if rest is None or self.product(rest)[0] < 0:
                continue
            others = SymbolicDim(((rest, 1),), self.scope)
            low, high = self.product(one)
            if low > -math.inf:
                yield self_ - int(low) * others
            if high < math.inf:
                yield int(high) * others - self_

    def _of_operation(self, factor: DimFactor, self_: SymbolicDim) -> Iterator[SymbolicDim | int]:
        x, y = factor.operands
        if factor.name == MAX:
            yield from (self_ - x, self_ - y)
        elif factor.name == MIN:
            yield from (x - self_, y - self_)
        elif self.bounds(y)[0] > 0:
            is_mod = factor.name == MOD
            other = self._operation(FLOORDIV if is_mod else MOD, x, y)
            whole, rest = (other, self_) if is_mod else (self_, other)
            scaled = self._product_of(whole, y)
            yield rest
            yield y - 1 - rest
            yield self._sum((x, 1), (scaled, -1), (rest, -1))
            yield self._sum((x, -1), (scaled, 1), (rest, 1))
            if self.bounds(x)[0] >= 0:
                yield whole
                yield x - rest

    # The rows of a quotient are not reduced: the constraints may replace its remainder.

    def _operation(self, name: str, x: SymbolicDim | int, y: SymbolicDim | int) -> SymbolicDim:
        return SymbolicDim(((DimProduct({DimFactor(name, (x, y)): 1}), 1),), self.scope)

    def _product_of(self, x: SymbolicDim, y: SymbolicDim | int) -> SymbolicDim:
        total: dict[DimProduct, int] = {}
        for t1, k1 in x.terms:
            for t2, k2 in ((ONE, y),) if isinstance(y, int) else y.terms:
                term = t1.times(t2)
                total[term] = total.get(term, 0) + k1 * k2
        return SymbolicDim(tuple(total.items()), self.scope)

    def _sum(self, *parts: tuple[SymbolicDim | int, int]) -> SymbolicDim:
        total: dict[DimProduct, int] = {}
        for x, k in parts:
            for term, m in ((ONE, x),) if isinstance(x, int) else x.terms:
                total[term] = total.get(term, 0) + k * m
        return SymbolicDim(tuple(total.items()), self.scope)

    def _by_cases(self, x: SymbolicDim, least: float, most: float) -> Bounds:
        """Return the bounds of an expression with a `max` or `min` from its two cases."""
        for term, k in x.terms:
            factor = term.factor
            if factor is None or factor.name not in (MAX, MIN) or factor.is_variable:
                continue
            rest = x - k * SymbolicDim(((term, 1),), self.scope)
            (a, b), (c, d) = (self.bounds(rest + k * y) for y in factor.operands)
            if (k > 0) == (factor.name == MAX):
                return max(least, a, c), min(most, max(b, d))
            return max(least, min(a, c)), min(most, b, d)
        return least, most


def _least(x: SymbolicDim, rows: list[Form]) -> float | None:
    value = least_of_form(_form(x), rows)
    return None if value is None else math.inf if value == math.inf else math.ceil(value)


def _form(x: SymbolicDim) -> Form:
    coefficients: dict[Hashable, int] = {t: k for t, k in x.terms if t.factors}
    return coefficients, x.coefficients().get(ONE, 0)


def _times(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y


def _quotient(x: float, y: float) -> float:
    """Return `x // y`, or its limit for infinities."""
    if math.isinf(x):
        return math.inf if (x > 0) == (y > 0) else -math.inf
    if math.isinf(y):
        return 0 if (x >= 0) == (y > 0) else -1
    return x // y
