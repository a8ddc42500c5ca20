"""Symbolic expressions, shapes and constraints as text.

shape       "b, 2*b+1, b//4"   also in parentheses; `_` and `...` are placeholders
expression  + - * // % ^ **, parentheses, floordiv(x, y), mod(x, y), max(x, y), min(x, y)
constraint  "1 <= b <= 1024", "b % 8 == 0", "a + b >= 3"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from olympus_core.base.dimensions.expression import SymbolicDim, divided, max_dim, min_dim
from olympus_core.base.dimensions.terms import FLOORDIV, MAX, MIN, MOD, OPERATIONS
from olympus_core.base.errors import ShapeError

if TYPE_CHECKING:
    from olympus_core.base.dimensions.scope import SymbolicScope

_TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d*)?)|([^\W\d]\w*)|(\.\.\.|//|\*\*|[<>=!]=|[-+*%^(),<>])|(\S))"
)
_COMPARISONS = ("==", ">=", "<=", ">", "<")

Size = SymbolicDim | int


class Constraint(NamedTuple):
    """`difference >= 0`, or `difference == 0` if `is_equality`; `text` is the user's."""

    text: str
    difference: Size
    is_equality: bool


class _Parser:
    """Reads one text from left to right; `like` has the sizes of the placeholders."""

    def __init__(self, text: str, scope: SymbolicScope, like: Sequence[Size | None] | None) -> None:
        self.text = text
        self.scope = scope
        self.like = like
        self.sizes: list[Size] = []
        self.tokens = [(m[m.lastindex or 0], m.end()) for m in _TOKEN.finditer(text)]
        self.place = 0

    @property
    def token(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def fail(self, reason: str, dimension: int | None = None) -> NoReturn:
        """Raise ShapeError with the place in the text; `dimension` is the next one by default."""
        end = self.tokens[self.place - 1][1] if self.place else 0
        dimension = len(self.sizes) if dimension is None else dimension
        raise ShapeError(
            f"syntax error in symbolic shape {self.text!r} in dimension {dimension}: "
            f"{reason}. Parsed '{self.text[:end]}', remaining '{self.text[end:]}'.",
            hint='a shape is a text like "b, 2*b+1, b//4"',
        )

    def take(self, *wanted: str) -> str | None:
        """Return the next token and pass it, if it is one of `wanted`."""
        token = self.token
        if token and token in wanted:
            self.place += 1
            return token
        return None

    def need(self, wanted: str) -> None:
        """Pass the token `wanted`; raise ShapeError for another one."""
        if self.take(wanted) is None:
            self.fail(f"expecting {wanted!r} but found {self.token!r}")

    def shape(self) -> tuple[Size, ...]:
        """Return the sizes of the whole text."""
        opened = self._opens_a_tuple()
        if opened:
            self.need("(")
        while self.token and self.token != ")":
            if self.take("..."):
                self._rest()
                break
            self._size()
            if not self.token or self.token == ")":
                break
            if self.take(",") is None:
                self.fail(f"expecting ',' but found {self.token!r}", len(self.sizes) - 1)
        if opened:
            self.need(")")
        if self.token:
            self.fail(f"unexpected {self.token!r}")
        return tuple(self.sizes)

    def _opens_a_tuple(self) -> bool:
        """Return True if the text is in parentheses of its own."""
        depth = 0
        for i, (token, _) in enumerate(self.tokens):
            depth += (token == "(") - (token == ")")
            if depth == 0:
                return i == len(self.tokens) - 1 and token == ")"
        return False

    def _size(self) -> None:
        size = self._placeholder() if self.take("_") else self.expression()
        place = len(self.sizes)
        given = self.like[place] if self.like is not None and place < len(self.like) else None
        if isinstance(size, int) and self.like is not None and size != given:
            self.fail(f"different size {size} for known dimension; like={self.like}")
        self.sizes.append(size)

    def _placeholder(self) -> Size:
        place = len(self.sizes)
        if self.like is None:
            self.fail("spec contains ... but no 'like' shape was given")
        if place >= len(self.like):
            self.fail(
                f"cannot resolve placeholder '_' because we parsed {place} already and 'like' "
                f"shape has only {len(self.like)} dimensions"
            )
        size = self.like[place]
        if size is None:
            self.fail(f"unexpected placeholder for unknown dimension; like={self.like}")
        return size

    def _rest(self) -> None:
        if self.like is None:
            self.fail("spec contains ... but no 'like' shape was given")
        if len(self.sizes) > len(self.like):
            self.fail(
                f"cannot resolve placeholder '...' because we parsed {len(self.sizes)} already and "
                f"'like' shape has only {len(self.like)} dimensions"
            )
        while len(self.sizes) < len(self.like):
            self.sizes.append(self._placeholder())

    def expression(self) -> Size:
        """Return a sum of terms."""
        sign = self.take("-", "+")
        total = self._term()
        total = -total if sign == "-" else total
        while operation := self.take("+", "-"):
            term = self._term()
            total = total + term if operation == "+" else total - term
        return total

    def _term(self) -> Size:
        total = self._power()
        while operation := self.take("*", "//", "%"):
            factor = self._power()
            is_product = operation == "*"
            total = total * factor if is_product else self._quotient(operation, total, factor)
        return total

    def _quotient(self, operation: str, x: Size, y: Size) -> Size:
        if y == 0:
            self.fail("division by zero")
        quotient, rest = divmod(x, y)
        return quotient if operation == "//" else rest

    def _power(self) -> Size:
        base = self._atom()
        if self.take("^", "**"):
            if not self.token.isdigit():
                self.fail(f"expecting an int as power but found {self.token!r}")
            power = int(self.token)
            self.place += 1
            base = base**power
        return base

    def _atom(self) -> Size:
        token = self.token
        if token == "-":
            self.place += 1
            return -self._atom()
        if token == "(":
            self.place += 1
            inner = self.expression()
            self.need(")")
            return inner
        if token.isdigit():
            self.place += 1
            return int(token)
        if not token.isidentifier():
            self.fail(f"unexpected {token!r}" if token else "unexpected end of string")
        self.place += 1
        if token in OPERATIONS:
            size: Size = self._operation(token)
            return size
        return SymbolicDim.variable(token, self.scope)

    def _operation(self, name: str) -> Any:
        self.need("(")
        x = self.expression()
        self.need(",")
        y = self.expression()
        self.need(")")
        if name == MAX:
            return max_dim(x, y)
        if name == MIN:
            return min_dim(x, y)
        if isinstance(x, int) and isinstance(y, int):
            return x // y if name == FLOORDIV else x % y
        return divided(x, y)[0 if name == FLOORDIV else 1] if name in (FLOORDIV, MOD) else x


def parsed_shape(
    text: str, scope: SymbolicScope, like: Sequence[Size | None] | None = None
) -> tuple[Size, ...]:
    """Return the sizes of the text of a shape; raise ShapeError for another text."""
    return _Parser(text, scope, like).shape()


def constraints_of(text: object, scope: SymbolicScope) -> Iterator[tuple[Constraint, Size, Size]]:
    """Yield the constraints of a text, with their left and right sides.

    A chain such as `1 <= b <= 1024` is one for each comparison.  Raises ShapeError for other texts.
    """
    if not isinstance(text, str):
        raise ShapeError(f"SymbolicScope constraint must be a string: got {text!r:.200}")
    parser = _Parser(text, scope, None)
    left = parser.expression()
    if parser.token not in _COMPARISONS:
        raise ShapeError(
            "Constraint parsing error: must contain one of '==' or '>=' or '<='"
            f" or '>' or '<': {text!r}"
        )
    while comparison := parser.take(*_COMPARISONS):
        right = parser.expression()
        yield _constraint(text, comparison, left, right), left, right
        left = right
    if parser.token:
        parser.fail(f"unexpected {parser.token!r}")


def _constraint(text: str, comparison: str, left: Size, right: Size) -> Constraint:
    if comparison == "==":
        return Constraint(text, left - right, True)
    larger, smaller = (left, right) if comparison[0] == ">" else (right, left)
    return Constraint(text, larger - smaller - (comparison in "<>"), False)
