"""What changed of a program's arguments and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from olympus_core.analysis.changes import Change, Detail, Role, Spot, changed_attributes
from olympus_core.analysis.graph import Function
from olympus_core.analysis.matching import pair_up
from olympus_core.analysis.places import Place
from olympus_core.analysis.structure import NAMES

__all__ = ["End", "end_pairs", "ends_of", "told_all", "told_ends"]

_DONATION = ("tf.aliasing_output", "jax.buffer_donor")


@dataclass(frozen=True)
class End:
    """An argument or a result of a program."""

    name: str
    type: str
    attributes: Mapping[str, str]

    def spot(self, role: str, number: int) -> Spot:
        """What is told of it; one without a name is told by its number."""
        return Spot(self.name or f"{role} {number}", (self.type,), Place())

    @property
    def donation(self) -> str:
        """What becomes of its buffer."""
        for name in _DONATION:
            if name in self.attributes:
                number = self.attributes[name].partition(" ")[0]
                return f"to result {number}" if name == _DONATION[0] else "yes"
        return "no"

    @property
    def others(self) -> dict[str, str]:
        """Its attributes, without names and donation."""
        left_out = NAMES | set(_DONATION)
        return {k: v for k, v in self.attributes.items() if k not in left_out}


def ends_of(function: Function, role: str, names: Sequence[str]) -> list[End]:
    """The arguments or the results of a function; `names` are those of the arguments."""
    if role == "argument":
        types: Sequence[str] = function.block.arguments
        told = function.arguments
        if len(names) != len(types):
            names = [""] * len(types)
    else:
        types, told = [value.type for value in function.block.results], function.results
        names = [_info(each) for each in told]
    return [End(*each) for each in zip(names, types, told, strict=True)]


def _info(attributes: Mapping[str, str]) -> str:
    """The name of a result, which is the text of a string."""
    for name in sorted(NAMES):
        if name in attributes:
            return attributes[name].removeprefix('"').removesuffix('"')
    return ""


def told_all(each: Sequence[Mapping[str, str]]) -> list[tuple[tuple[str, str], ...]]:
    """Keys of what is said of arguments or results, one a key."""
    return [tuple(sorted(x.items())) for x in each]


def end_pairs(one: Sequence[End], other: Sequence[End], same: bool) -> list[tuple[int, int]]:
    """Which of the first are which of the second: by name, then by type, then by place."""
    if same:
        return [(i, i) for i in range(len(one))]
    places = {end.name: j for j, end in enumerate(other) if end.name}
    # popped, for a program that nobody traced may have one name twice
    found = [(i, places.pop(end.name)) for i, end in enumerate(one) if end.name in places]
    there, back = {i for i, _ in found}, {j for _, j in found}
    left = [i for i in range(len(one)) if i not in there]
    right = [j for j in range(len(other)) if j not in back]
    rest = pair_up([one[i].type for i in left], [other[j].type for j in right])
    return sorted([*found, *((left[i], right[j]) for i, j in rest)])


def told_ends(
    role: Role, one: Sequence[End], other: Sequence[End], pairs: Sequence[tuple[int, int]]
) -> Iterator[Change]:
    """The changes of arguments or results that are matched by `pairs`."""
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
