"""ManualAxisType: the part of a type that describes the values on the devices of a shard_map."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from olympus_core.base.errors import ArgumentError


class ManualAxisType:
    """The manual axes along which the devices have different values, or terms of a sum.

    Values differ along `varying` axes. Along `unreduced` axes they are terms of a sum, and along
    `reduced` ones the cotangent is unreduced. Raises ArgumentError for sets that overlap.

    >>> ManualAxisType(varying={"x"})
    ManualAxisType(varying=frozenset({'x'}), unreduced=frozenset(), reduced=frozenset())
    """

    __slots__ = ("reduced", "unreduced", "varying")
    varying: frozenset[Any]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __init__(
        self,
        *,
        varying: Collection[Hashable] = frozenset(),
        unreduced: Collection[Hashable] = frozenset(),
        reduced: Collection[Hashable] = frozenset(),
    ) -> None:
        self.varying, self.unreduced = frozenset(varying), frozenset(unreduced)
        self.reduced = frozenset(reduced)
        for what, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if self.varying & names:
                raise ArgumentError(
                    f"varying and {what} cannot have common mesh axes. Got "
                    f"varying={_text(self.varying)} and {what}={_text(names)}"
                )

    def update(self, **changes: Collection[Hashable]) -> ManualAxisType:
        """Return the value with other sets for some of its fields."""
        return ManualAxisType(**{n: getattr(self, n) for n in self.__slots__} | changes)

    @property
    def used_axes(self) -> frozenset[Any]:
        """The axes of all sets."""
        return self.varying | self.unreduced | self.reduced

    def __repr__(self) -> str:
        names = ("varying", "unreduced", "reduced")
        fields = ", ".join([f"{n}={_text(getattr(self, n))}" for n in names])
        return f"ManualAxisType({fields})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManualAxisType):
            return NotImplemented
        mine = self.varying, self.unreduced, self.reduced
        return mine == (other.varying, other.unreduced, other.reduced)

    def __hash__(self) -> int:
        return hash((self.varying, self.unreduced, self.reduced))


def _text(names: frozenset[Any]) -> str:
    return f"frozenset({{{', '.join(sorted(map(repr, names)))}}})" if names else "frozenset()"
