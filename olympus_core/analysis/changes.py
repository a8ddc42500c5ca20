"""What a comparison of two programs tells: changes, each with what it is of and its details."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from olympus_core.analysis.places import Place

__all__ = ["Change", "Detail", "Difference", "Kind", "Role", "Spot", "changed_attributes"]

Kind = Literal["added", "removed", "changed", "retyped"]
#: What a change is of.
Role = Literal["argument", "result", "operation", "program"]


@dataclass(frozen=True)
class Detail:
    """One thing that changed: what it is, and what it was and is, as text; None for absent."""

    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Spot:
    """An operation, an argument or a result as one of the programs has it.

    `operations` counts it and those inside it.
    """

    name: str
    types: tuple[str, ...]
    place: Place
    operations: int = 1


@dataclass(frozen=True)
class Change:
    """One change; `where` names the function and the regions that it is in.

    One that is "retyped" gives another type because its operands do.
    """

    role: Role
    kind: Kind
    where: str
    before: Spot | None
    after: Spot | None
    details: tuple[Detail, ...] = ()


@dataclass(frozen=True)
class Difference:
    """All changes between two programs, with their structural fingerprints and sizes."""

    fingerprints: tuple[str, str]
    sizes: tuple[int, int]
    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)


def changed_attributes(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[Detail]:
    """A detail for each name whose text differs, or that one of the two lacks."""
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            yield Detail(name, one.get(name), other.get(name))
