"""The result of a comparison of two programs: changes, each with its subject and details."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from olympus_core.analysis.sources.places import Place

Kind = Literal["added", "removed", "changed", "retyped"]
#: The subject of a change.
Role = Literal["argument", "result", "operation", "program"]


@dataclass(frozen=True)
class Detail:
    """One detail of a change: its name, and its earlier and later text; None for absent."""

    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Spot:
    """An operation, an argument or a result in one of the programs.

    `operations` is the number of operations, itself and those inside it.
    """

    name: str
    types: tuple[str, ...]
    place: Place
    operations: int = 1


@dataclass(frozen=True)
class Change:
    """One change; `where` names the function and the regions that contain it.

    A "retyped" operation has another result type only because its operands do.
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
    """Yield a detail for each name whose text differs, or that one of the two lacks."""
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            yield Detail(name, one.get(name), other.get(name))
