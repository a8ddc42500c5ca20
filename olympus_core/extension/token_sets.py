"""Tokens of StableHLO for the effects of a lowering rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from olympus_core.base.errors import ArgumentError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


def token_type() -> ir.Type:
    """Return the type of StableHLO's tokens.

    >>> with ox.interpreters.mlir.make_ir_context():
    ...     str(token_type())
    '!stablehlo.token'
    """
    return mlir.ir.Type.parse("!stablehlo.token")


class TokenSet:
    """Values of MLIR that order effects, one for each effect: it does not change.

    A lowering rule gets an empty one: equations order effects themselves.

    >>> len(TokenSet())
    0
    """

    __slots__ = ("_tokens",)

    def __init__(self, tokens: dict[Any, Any] | None = None) -> None:
        self._tokens = dict(tokens or {})

    def __len__(self) -> int:
        return len(self._tokens)

    @classmethod
    def create(cls, effects: Iterable[Any]) -> TokenSet:
        """Return new tokens of StableHLO for effects, emitted at the current place."""
        return cls(
            {e: mlir.op("stablehlo.create_token", [token_type()], ()).results[0] for e in effects}
        )

    def get(self, effect: Any) -> Any:
        """Return the token of an effect; raise ArgumentError if it has none."""
        if effect not in self._tokens:
            raise ArgumentError(f"the effect {effect} has no token")
        return self._tokens[effect]

    def items(self) -> tuple[tuple[Any, Any], ...]:
        """Return the pairs of an effect and its token."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Any]:
        """Return the effects."""
        return set(self._tokens)

    def subset(self, effects: Iterable[Any]) -> TokenSet:
        """Return the tokens of some of the effects."""
        return TokenSet({e: self.get(e) for e in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """Return the tokens with those of another set in place of its effects' tokens."""
        return TokenSet({e: dict(tokens.items()).get(e, x) for e, x in self.items()})
