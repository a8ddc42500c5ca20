"""The changes of a program's arguments and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from olympus_core.analysis.diff.changes import Change, Detail, Role, Spot, changed_attributes
from olympus_core.analysis.diff.graph import Function
from olympus_core.analysis.diff.matching import pair_up
from olympus_core.analysis.diff.structure import NAMES
from olympus_core.analysis.sources.places import Place
from olympus_core.mlir.regions import CONSTANT_ARGUMENT

#: The titles of attributes, if they differ from their names.
_TITLES = {CONSTANT_ARGUMENT: "SHA-256"}
_DONATION = ("tf.aliasing_output", "jax.buffer_donor")


@dataclass(frozen=True)
class End:
    """An argument or a result of a program."""

    name: str
    type: str
    attributes: Mapping[str, str]

    def spot(self, role: str, number: int) -> Spot:
        """Return the spot of a change; without a name it is named by its number."""
        return Spot(self.name or f"{role} {number}", (self.type,), Place())

    @property
    def donation(self) -> str:
        """The use of its donated buffer, as text."""
        for name in _DONATION:
            if name in self.attributes:
                number = self.attributes[name].partition(" ")[0]
                return f"to result {number}" if name == _DONATION[0] else "yes"
        return "no"

    @property
    def others(self) -> dict[str, str]:
        """The attributes, without names and donation."""
        excluded = NAMES | set(_DONATION)
        return {_TITLES.get(k, k): v for k, v in self.attributes.items() if k not in excluded}


def ends_of(function: Function, role: str, names: Sequence[str]) -> list[End]:
    """Return the arguments or the results of a function; `names` are those of the arguments."""
    if role == "argument":
        types: Sequence[str] = function.block.arguments
        attributes = function.arguments
        constants = [f"constants[{i}]" for i, x in enumerate(attributes) if CONSTANT_ARGUMENT in x]
        names = [*constants, *names]
        if len(names) != len(types):
            names = [*constants, *[""] * (len(types) - len(constants))]
    else:
        types, attributes = [value.type for value in function.block.results], function.results
        names = [_info(item) for item in attributes]
    return [End(*item) for item in zip(names, types, attributes, strict=True)]


def _info(attributes: Mapping[str, str]) -> str:
    """Return the name of a result from the text of a string attribute."""
    for name in sorted(NAMES):
        if name in attributes:
            return attributes[name].removeprefix('"').removesuffix('"')
    return ""


def attribute_keys(attributes: Sequence[Mapping[str, str]]) -> list[tuple[tuple[str, str], ...]]:
    """Return the attributes of each argument or result as a hashable key."""
    return [tuple(sorted(x.items())) for x in attributes]


def end_pairs(one: Sequence[End], other: Sequence[End], same: bool) -> list[tuple[int, int]]:
    """Return the pairs of matching positions: by name, then by type, then by position."""
    if same:
        return [(i, i) for i in range(len(one))]
    places = {end.name: j for j, end in enumerate(other) if end.name}
    # popped, because a program that was not traced may have one name twice
    matched = [(i, places.pop(end.name)) for i, end in enumerate(one) if end.name in places]
    there, back = {i for i, _ in matched}, {j for _, j in matched}
    left = [i for i in range(len(one)) if i not in there]
    right = [j for j in range(len(other)) if j not in back]
    by_type = pair_up([one[i].type for i in left], [other[j].type for j in right])
    return sorted([*matched, *((left[i], right[j]) for i, j in by_type)])


def end_changes(
    role: Role, one: Sequence[End], other: Sequence[End], pairs: Sequence[tuple[int, int]]
) -> Iterator[Change]:
    """Yield the changes of arguments or results that are matched by `pairs`."""
    there, back = dict(pairs), {j: i for i, j in pairs}
    order = {j: n for n, j in enumerate(sorted(back))}
    for number, (i, j) in enumerate(pairs):
        before, after = one[i], other[j]
        moved = [Detail("position", str(i), str(j))] if order[j] != number else []
        details = [
            *changed_attributes({"name": before.name}, {"name": after.name}),
            *changed_attributes({"type": before.type}, {"type": after.type}),
            *changed_attributes({"donated": before.donation}, {"donated": after.donation}),
            *changed_attributes(before.others, after.others),
            *moved,
        ]
        if not before.name or not after.name:
            details = [detail for detail in details if detail.what != "name"]
        if details:
            spots = before.spot(role, i), after.spot(role, j)
            yield Change(role, "changed", "", *spots, tuple(details))
    for i, end in enumerate(one):
        if i not in there:
            yield Change(role, "removed", "", end.spot(role, i), None)
    for j, end in enumerate(other):
        if j not in back:
            yield Change(role, "added", "", None, end.spot(role, j))
