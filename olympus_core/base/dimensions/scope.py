"""`SymbolicScope`: dimension variables that belong together, and the constraints on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from olympus_core.base import source
from olympus_core.base.dimensions.bounds import Bounds, Decisions
from olympus_core.base.dimensions.expression import SymbolicDim
from olympus_core.base.dimensions.parsing import Constraint, constraints_of
from olympus_core.base.dimensions.terms import FLOORDIV, MOD, ONE, DimProduct
from olympus_core.base.errors import ShapeError

_MAX_REDUCTIONS = 50


class SymbolicScope:
    """Dimension variables and the constraints on them, each a text.

    A constraint compares expressions by `>=`, `<=`, `>`, `<` or `==`; chains are allowed.  Without
    a constraint, a variable is at least 1.

    Raises ShapeError for a text that is no constraint, and for constraints that exclude each other.

    >>> scope = SymbolicScope(["1 <= b <= 1024", "b % 8 == 0"])
    >>> (b,) = symbolic_shape("b", scope=scope)
    >>> b >= 8, b % 4
    (True, 0)
    """

    def __init__(self, constraints: Sequence[str] = ()) -> None:
        if isinstance(constraints, str) or not isinstance(constraints, Sequence):
            raise ShapeError(
                "The symbolic constraints should be a sequence of strings. "
                f"Got {constraints!r:.200}"
            )
        position = source.current_location().position()
        self._place = str(position) if position else "unknown"
        self.constraints: list[Constraint] = []
        self._replaced: dict[DimProduct, tuple[int, SymbolicDim | int]] = {}
        self._rows: list[SymbolicDim] = []
        self._decisions = Decisions(self)
        for text in constraints:
            for constraint, left, right in constraints_of(text, self):
                self._add(constraint, left, right)
        self._check()

    @property
    def texts(self) -> tuple[str, ...]:
        """The constraints as texts."""
        return tuple(dict.fromkeys([c.text for c in self.constraints]))

    def bounds(self, x: SymbolicDim | int) -> Bounds:
        """Return the least and the largest value of an expression; infinite if not known."""
        return self._decisions.bounds(x)

    def rows(self) -> list[SymbolicDim]:
        """Return the expressions that the constraints state to be at least 0."""
        return self._rows

    def check_same(
        self, x: SymbolicDim, when: str = "", places: tuple[str, str] = ("", "")
    ) -> None:
        """Raise ShapeError if an expression belongs to another scope.

        `places` are those of this scope and of the expression, for the message.
        """
        if x.scope is not self:
            own, other = (f" ({place})" if place else "" for place in places)
            expected = f"Expected current (from {places[0]}) scope" if own else "Expected scope"
            raise ShapeError(
                f"Invalid mixing of symbolic scopes {when}.\n{expected} {self}\n"
                f"and found for '{x}'{other} scope {x.scope}",
                hint="create the shapes in one scope: symbolic_shape(..., scope=scope)",
            )

    def reduced(self, coefficients: dict[DimProduct, int]) -> dict[DimProduct, int]:
        """Return a sum of products with the replacements of the equality constraints."""
        for _ in range(_MAX_REDUCTIONS):
            for term, k in coefficients.items():
                step = self._replacement(term, k)
                if step is not None:
                    break
            else:
                return coefficients
            del coefficients[term]
            for t, more in step.items():
                total = coefficients.pop(t, 0) + more
                if total:
                    coefficients[t] = total
        return coefficients

    def _replacement(self, term: DimProduct, k: int) -> Mapping[DimProduct, int] | None:
        """Return what a term with a coefficient is equal to; None if it is in its last form."""
        if not term.factors:
            return None
        if not self._replaced:
            return None
        for rule in (self._exact_quotient, self._known_remainder):
            exact = rule(term, k)
            if exact is not None:
                return exact
        for left, (by, right) in self._replaced.items():
            rest = term.over(left)
            if rest is not None and k % by == 0:
                parts = ((ONE, right),) if isinstance(right, int) else right.terms
                return {rest.times(t): k // by * m for t, m in parts}
        return None

    def _exact_quotient(self, term: DimProduct, k: int) -> Mapping[DimProduct, int] | None:
        """Return `x - r` for `k * floordiv(x, k)`, if the remainder `r` is known."""
        factor = term.factor
        if factor is None or factor.name != FLOORDIV or factor.is_variable:
            return None
        x, by = factor.operands
        if not isinstance(by, int) or k % by or not isinstance(x, SymbolicDim):
            return None
        rest = SymbolicDim.operation(MOD, x, by, self)
        if not isinstance(rest, int):
            return None
        total = {t: k // by * m for t, m in x.terms}
        total[ONE] = total.get(ONE, 0) - k // by * rest
        return {t: m for t, m in total.items() if m}

    def _known_remainder(self, term: DimProduct, k: int) -> Mapping[DimProduct, int] | None:
        """Return the value of `mod(x, n)` if a constraint has `mod(x, m)` for a multiple m of n."""
        factor = term.factor
        if factor is None or factor.name != MOD or factor.is_variable:
            return None
        x, by = factor.operands
        for left, (times, right) in self._replaced.items():
            other = left.factor
            if other is None or other.name != MOD or times != 1 or not isinstance(right, int):
                continue
            multiple = other.operands[1]
            if other.operands[0] != x or not isinstance(by, int) or not isinstance(multiple, int):
                continue
            if by > 0 and multiple % by == 0:
                return {ONE: k * (right % by)} if right % by else {}
        return None

    def _add(
        self, constraint: Constraint, left: SymbolicDim | int, right: SymbolicDim | int
    ) -> None:
        difference = constraint.difference
        if isinstance(difference, int):
            if difference < 0 or (constraint.is_equality and difference):
                raise ShapeError(f"Unsatisfiable explicit constraint: {constraint.text}")
            if not constraint.is_equality:
                return
        self.constraints.append(constraint)
        if isinstance(difference, SymbolicDim):
            self._rows.append(difference)
            if constraint.is_equality:
                self._rows.append(-difference)
                self._replace(left, right)
        self._decisions = Decisions(self)

    def _replace(self, left: SymbolicDim | int, right: SymbolicDim | int) -> None:
        """Replace the left side of an equality, if it is one term, by the right side."""
        if not isinstance(left, SymbolicDim) or len(left.terms) != 1:
            left, right = right, left
        if not isinstance(left, SymbolicDim) or len(left.terms) != 1:
            return
        (term, k), names = left.terms[0], set(left.variables())
        if isinstance(right, SymbolicDim) and term.variable and names & set(right.variables()):
            return
        self._replaced[term] = (k, right)

    def _check(self) -> None:
        """Raise ShapeError if the constraints exclude each other."""
        for constraint in self.constraints:
            least, most = self.bounds(constraint.difference)
            if most < 0 or (constraint.is_equality and least > 0) or least > most:
                raise ShapeError(f"Unsatisfiable constraint: {constraint.text}")

    def text(self) -> str:
        """Return the constraints in a line for a message; nothing without constraints."""
        return f"\nUsing symbolic scope {self}" if self.constraints else ""

    def __str__(self) -> str:
        texts = "".join(f"\n  {text}" for text in self.texts)
        more = f" with constraints:{texts}" if texts else ""
        return f"created at {self._place}{more}"

    def __repr__(self) -> str:
        return f"SymbolicScope({str(self)!r})"
