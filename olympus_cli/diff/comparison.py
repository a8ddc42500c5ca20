"""The result of `olympus diff`: the records from which the text, JSON, page and cases are made.

`COMPARISON_FORMS` are their keys in JSON. Counts are for one call, and sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from olympus.analysis import Detail
from olympus.files import Forms, form, to_data, typed

SideKind = Literal["target", "revision", "build", "bundle", "file", "history"]
#: The two programs of a comparison.
SideName = Literal["before", "after"]


@dataclass(frozen=True)
class ComparedSide:
    """One of the two programs; `operations` is the number of its operations."""

    label: str
    kind: SideKind
    fingerprint: str
    operations: int
    options: Mapping[str, str]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class ComparedSpot:
    """An operation, an argument or a result of a side, and the user's line, which has `text`.

    `operations` is the number of operations, itself and those inside it.
    """

    name: str
    types: tuple[str, ...]
    file: str | None
    line: int | None
    scope: str
    text: str | None
    operations: int


@dataclass(frozen=True)
class ComparedChange:
    """One change; `before` is None if it was added, and `after` is None if it was removed.

    `where` names the function and the regions that contain it; empty for arguments and results. A
    "retyped" operation has another result type only because its operands do.
    """

    role: Literal["argument", "result", "operation", "program"]
    kind: Literal["added", "removed", "changed", "retyped"]
    where: str
    before: ComparedSpot | None
    after: ComparedSpot | None
    details: tuple[Detail, ...]

    @property
    def spot(self) -> ComparedSpot | None:
        """The operation in the second program, or in the first if it was removed."""
        return self.after or self.before


@dataclass(frozen=True)
class ValueChange:
    """A named text, such as an option or a version, that differs; None where it is absent."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class FigureChange:
    """A figure that differs, or that only one program has; None is unknown.

    `ratio` is the second figure divided by the first; None if one is unknown or the first is 0.
    `at_least` has the sides whose figure is a lower bound, because the trip count of a loop or the
    memory allocated by kernels is unknown. Such figures have no ratio. `at_most` has the known
    upper bounds of these sides.
    """

    name: str
    unit: Literal["count", "bytes", "seconds"]
    before: float | None
    after: float | None
    ratio: float | None
    at_least: tuple[SideName, ...]
    at_most: Mapping[SideName, float]


@dataclass(frozen=True)
class LineCost:
    """The cost of a source line, "path/file.py:41"."""

    line: str
    flops: int
    bytes: int


@dataclass(frozen=True)
class LineChange:
    """A source line with different cost; `text` is its text, None if unknown."""

    before: LineCost | None
    after: LineCost | None
    text: str | None


@dataclass(frozen=True)
class Comparison:
    """The comparison of two programs.

    It is `equal` if the programs and their options are. `lines` are the source lines with different
    cost. `notes` are sentences about missing data.
    """

    equal: bool
    sides: tuple[ComparedSide, ...]
    changes: tuple[ComparedChange, ...]
    options: tuple[ValueChange, ...]
    versions: tuple[ValueChange, ...]
    figures: tuple[FigureChange, ...]
    lines: tuple[LineChange, ...]
    notes: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data."""
        data: dict[str, Any] = to_data(self, COMPARISON_FORMS)
        return data

    @staticmethod
    def from_data(data: object) -> Comparison:
        """Return the comparison of `to_data`'s `data`."""
        comparison: Comparison = typed(data, Comparison, "comparison", COMPARISON_FORMS)
        return comparison


#: The keys in JSON of the records that have others than their fields.
COMPARISON_FORMS: Forms = MappingProxyType(
    {
        ComparedChange: form("of", "kind", "where", "before", "after", "details", of="role"),
    }
)


def value_changes(
    one: Mapping[str, str], other: Mapping[str, str], names: Iterable[str]
) -> tuple[ValueChange, ...]:
    """Return those of `names` whose texts differ, in alphabetical order.

    >>> value_changes({"jaxlib": "0.10.2"}, {"jaxlib": "0.11.0"}, ["jaxlib"])
    (ValueChange(name='jaxlib', before='0.10.2', after='0.11.0'),)
    """
    changes = (ValueChange(name, one.get(name), other.get(name)) for name in sorted(names))
    return tuple(change for change in changes if change.before != change.after)
