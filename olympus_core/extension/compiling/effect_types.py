"""Sets of the classes of effects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from olympus_core.extension.effects import Effect
from olympus_core.ir.primitive import Primitive


class EffectTypeSet:
    """Classes of effects: an effect belongs to the set if it is an instance of one of them.

    >>> EffectTypeSet().contains(3)
    False
    """

    def __init__(self, *types: type) -> None:
        self._types = set(types)

    def __repr__(self) -> str:
        return f"EffectTypeSet({self._types})"

    def add_type(self, effect_type: type) -> None:
        """Add a class of effects."""
        self._types.add(effect_type)

    def contains(self, eff: Any) -> bool:
        """Return True if an effect belongs to the set."""
        return isinstance(eff, tuple(self._types))

    def filter_in(self, effects: Iterable[Any]) -> list[Any]:
        """Return the effects that belong to the set."""
        return [e for e in effects if self.contains(e)]

    def filter_not_in(self, effects: Iterable[Any]) -> list[Any]:
        """Return the effects that do not belong to the set."""
        return [e for e in effects if not self.contains(e)]


#: the effects of programs that can be lowered: those of users, and of primitives
lowerable_effects = EffectTypeSet(Effect, Primitive)
