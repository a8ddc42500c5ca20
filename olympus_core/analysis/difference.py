"""What changed between two StableHLO programs: operations, arguments, results and constants.

Operations are matched by `matching`, function by function and region by region.  What is matched
and differs has changed; what is not was added or removed.  What follows from another change that is
told is not told again: that an operation now reads one that was inserted before it.  Two programs
without a change between them do the same operations on the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from olympus_core import collection
from olympus_core.analysis.changes import Change, Detail, Difference, Kind, Spot, changed_attributes
from olympus_core.analysis.graph import Block, Constant, Graph, Operation, Value
from olympus_core.analysis.interface import end_pairs, ends_of, told_all, told_ends
from olympus_core.analysis.matching import Matching, match_blocks, pair_up
from olympus_core.analysis.places import Place
from olympus_core.analysis.structure import Signatures
from olympus_core.errors import ArtifactError

__all__ = ["compare"]

_REGIONS = {"stablehlo.while": ("condition", "body"), "stablehlo.if": ("true", "false")}
_FARTHEST = 1000  # added or removed operations that are followed to find what went around them


def compare(
    first: Graph, second: Graph, names: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> Difference:
    """The changes from one program to another.

    `names` are those of the arguments of each, in their order; without them arguments are matched
    by their types and places.  Results are matched by the paths that a lowered program has of them.

    Raises:
      ArtifactError: when one of the programs calls a function that it does not have, or that calls
        itself, or it is nested too deeply.

    Example:
      >>> compare(graph_of(one.module), graph_of(other.module)).changes
      ()
    """
    try:
        with collection.paused():
            return _Comparison(first, second).run(names)
    except RecursionError as exc:
        raise ArtifactError("the program is nested too deeply to be compared") from exc


class _Comparison:
    def __init__(self, first: Graph, second: Graph) -> None:
        self._first, self._second = first, second
        self._matching = Matching(Signatures(first), Signatures(second))
        self._changes: list[Change] = []
        self._names: dict[Block, Sequence[str]] = {}  # of the arguments of the main functions
        self._pending: list[tuple[str, str]] = []  # functions to compare, by name
        self._calls: dict[tuple[str, str], list[Operation]] = {}

    def run(self, names: tuple[Sequence[str], Sequence[str]]) -> Difference:
        fingerprints = self._matching.first.fingerprint(), self._matching.second.fingerprint()
        one, other = self._first.main, self._second.main
        same = fingerprints[0] == fingerprints[1]
        self._names = {one.block: names[0], other.block: names[1]}
        arguments = ends_of(one, "argument", names[0]), ends_of(other, "argument", names[1])
        results = ends_of(one, "result", ()), ends_of(other, "result", ())
        pairs = end_pairs(*arguments, same), end_pairs(*results, same)
        self._changes += told_ends("argument", *arguments, pairs[0])
        self._changes += told_ends("result", *results, pairs[1])
        if not same:
            self._program()
            self._blocks(one.name, one.block, other.block, *pairs, one.place)
            while self._pending:
                self._function(*self._pending.pop(0))
            if not self._changes:  # such as one of two equal operations that is read in both places
                detail = Detail("structure", *(each[:16] for each in fingerprints))
                self._changes.append(Change("program", "changed", "", None, None, (detail,)))
        return Difference(
            fingerprints, (self._first.size(), self._second.size()), tuple(self._changes)
        )

    def _program(self) -> None:
        """The attributes of the modules and of their main functions."""
        details = [
            *changed_attributes(dict(self._first.attributes), dict(self._second.attributes)),
            *changed_attributes(
                dict(self._first.main.attributes), dict(self._second.main.attributes)
            ),
        ]
        if details:
            self._changes.append(Change("program", "changed", "", None, None, tuple(details)))

    def _function(self, name: str, other: str) -> None:
        # one function may be compared with several, and functions see no values of others
        self._matching = Matching(self._matching.first, self._matching.second)
        one, two = self._first.functions[name], self._second.functions[other]
        calls = self._calls[name, other]
        place = str(calls[0].place)
        times = f"called {len(calls)} times" if len(calls) > 1 else "called once"
        where = f"{one.name} ({times}{', first at ' if place else ''}{place})"
        kinds = [*zip(one.block.arguments, told_all(one.arguments), strict=True)]
        others = [*zip(two.block.arguments, told_all(two.arguments), strict=True)]
        results = [value.type for value in one.block.results]
        pairs = pair_up(kinds, others), pair_up(results, [v.type for v in two.block.results])
        if details := [*changed_attributes(dict(one.attributes), dict(two.attributes))]:
            before, after = Spot(name, (), one.place), Spot(other, (), two.place)
            self._changes.append(
                Change("operation", "changed", where, before, after, tuple(details))
            )
        self._blocks(where, one.block, two.block, *pairs, one.place)

    def _blocks(
        self,
        where: str,
        one: Block,
        other: Block,
        arguments: Sequence[tuple[int, int]],
        results: Sequence[tuple[int, int]],
        place: Place,
    ) -> None:
        """Tell what changed between two blocks, and in the regions of their operations."""
        matching = self._matching
        match_blocks(one, other, matching, arguments, results)
        inner: list[tuple[str, Operation, Operation]] = []
        for before, after in _in_order(one, other, matching):
            if before is None or after is None:
                self._lone(where, before, after)
                continue
            details, retyped = self._details(before, after)
            if details:
                kind: Kind = "retyped" if retyped else "changed"
                self._tell(kind, where, _spot(before), _spot(after), details)
            if before.blocks or after.blocks or before.callees:
                inner.append((where, before, after))
        self._results(where, one, other, results, place)
        for each in inner:
            self._inside(*each)

    def _tell(
        self,
        kind: Kind,
        where: str,
        before: Spot | None,
        after: Spot | None,
        details: Sequence[Detail] = (),
    ) -> None:
        self._changes.append(Change("operation", kind, where, before, after, tuple(details)))

    def _lone(self, where: str, before: Operation | None, after: Operation | None) -> None:
        """Tell an operation that one program alone has, with what it computes on."""
        if before is not None:
            self._tell("removed", where, _lone_spot(before), None)
        if after is not None:
            self._tell("added", where, None, _lone_spot(after))

    def _inside(self, where: str, one: Operation, other: Operation) -> None:
        """Tell what changed in the regions of two operations, and in the functions they call."""
        for name, there in zip(one.callees, other.callees, strict=False):
            calls = self._calls.setdefault((name, there), [])
            calls.append(one)
            changed = self._matching.first.function(name) != self._matching.second.function(there)
            if changed and len(calls) == 1:
                self._pending.append((name, there))
        if self._matching.first.operation(one) == self._matching.second.operation(other):
            # the same regions may read what is not the same, and that is told of the operation
            return
        blocks = {block.region: block for block in other.blocks}
        for block in one.blocks:
            if block.region in blocks:
                two = blocks[block.region]
                place = f" at {one.place}" if str(one.place) else ""
                path = f"{where} > {_short(one.name)}{place}, {_region(one.name, block.region)}"
                pairs = pair_up(block.arguments, two.arguments)
                ends = [[value.type for value in each.results] for each in (block, two)]
                self._blocks(path, block, two, pairs, pair_up(*ends), one.place)

    def _details(self, one: Operation, other: Operation) -> tuple[list[Detail], bool]:
        """What changed of an operation, and whether that follows from its operands' types."""
        found = []
        if one.name != other.name:
            found.append(Detail("operation", one.name, other.name))
        found += changed_attributes(dict(one.attributes), dict(other.attributes))
        if len(one.callees) != len(other.callees):
            found.append(Detail("functions", ", ".join(one.callees), ", ".join(other.callees)))
        if len(one.blocks) != len(other.blocks):
            found.append(Detail("regions", str(len(one.blocks)), str(len(other.blocks))))
        typed = []
        if one.types != other.types:
            typed.append(Detail("type", ", ".join(one.types), ", ".join(other.types)))
        # where regions differ, what they capture is compared in them
        if self._matching.first.operation(one) == self._matching.second.operation(other):
            for number, pair in enumerate(zip(one.captures, other.captures, strict=True)):
                if detail := self._operand(f"captured value {number}", *pair):
                    found.append(detail)
        for number, pair in enumerate(zip(one.operands, other.operands, strict=False)):
            detail = self._operand(f"operand {number}", *pair)
            same_text = detail and _is_splat_of_other_shape(*pair)
            (typed if same_text else found).extend([detail] if detail else [])
        if len(one.operands) != len(other.operands):
            found.append(Detail("operands", str(len(one.operands)), str(len(other.operands))))
        follows = not found and self._reads_other_types(one, other)
        return [*found, *typed], follows

    def _reads_other_types(self, one: Operation, other: Operation) -> bool:
        pairs = zip(one.reads, other.reads, strict=False)
        return any(
            before.type != after.type
            for before, after in pairs
            if not isinstance(before.owner, Constant)
        )

    def _operand(self, what: str, before: Value, after: Value) -> Detail | None:
        """What is told of a value that is read, if it is not the same one in both programs."""
        constants = isinstance(before.owner, Constant), isinstance(after.owner, Constant)
        if all(constants):
            if (before.owner, before.type) == (after.owner, after.type):
                return None
        else:
            there = self._matching.value(before)
            if there is not None and (there.owner, there.number) == (after.owner, after.number):
                return None
            if not any(constants) and self._is_told(before, after):
                return None
            if constants[0] and before in _through(after, self._matching.back):
                return None  # what was added reads it
            if constants[1] and after in _through(before, self._matching.there):
                return None  # what was removed read it
        return Detail(what, self._named(before), self._named(after))

    def _is_told(self, before: Value, after: Value) -> bool:
        """Whether an added or a removed operation tells why another value is read."""
        there, back = self._matching.there, self._matching.back
        removed, added = before.owner not in there, after.owner not in back
        if removed and added:
            return True
        if removed:
            return any(
                self._matching.value(each) == after for each in _through(before, there)
            ) or not isinstance(before.owner, Operation)
        if added:
            wanted = self._matching.value(before)
            return any(each == wanted for each in _through(after, back)) or not isinstance(
                after.owner, Operation
            )
        return False

    def _named(self, value: Value) -> str:
        owner = value.owner
        if isinstance(owner, Constant):
            return f"constant {owner.text} : {owner.type}"
        if isinstance(owner, Block):
            names = self._names.get(owner, ())
            known = len(names) == len(owner.arguments)
            return f"argument {names[value.number] if known else value.number}"
        place = f" at {owner.place}" if str(owner.place) else ""
        return f"{owner.name}{place}" + (f", result {value.number}" if value.number else "")

    def _results(
        self,
        where: str,
        one: Block,
        other: Block,
        pairs: Sequence[tuple[int, int]],
        place: Place,
    ) -> None:
        """Tell the results of a block that are other values than they were."""
        details = []
        for i, j in pairs:
            before, after = one.results[i], other.results[j]
            detail = self._operand(f"result {i}", before, after)
            if detail is not None and not _is_splat_of_other_shape(before, after):
                details.append(detail)
        if details:
            spot = Spot("return", (), place, 0)
            self._tell("changed", where, spot, spot, details)


def _through(value: Value, known: Mapping[Any, Any]) -> Iterator[Value]:
    """What a value is made of through operations that are not in `known`: added or removed ones."""
    waiting, seen = [value], {value}
    while waiting and len(seen) < _FARTHEST:
        each = waiting.pop()
        if isinstance(each.owner, Operation) and each.owner not in known:
            for read in each.owner.reads:
                if read not in seen:
                    seen.add(read)
                    waiting.append(read)
                    yield read


def _in_order(
    one: Block, other: Block, matching: Matching
) -> Iterator[tuple[Operation | None, Operation | None]]:
    """The matched operations of two blocks in the second's order; lone ones where they stood."""
    removed: dict[Operation | None, list[Operation]] = {}
    last: Operation | None = None
    for each in one.operations:
        there = matching.there.get(each)
        if isinstance(there, Operation):
            last = there
        else:
            removed.setdefault(last, []).append(each)
    yield from ((each, None) for each in removed.get(None, ()))
    for after in other.operations:
        before = matching.back.get(after)
        yield (before if isinstance(before, Operation) else None), after
        yield from ((each, None) for each in removed.get(after, ()))


def _spot(operation: Operation) -> Spot:
    return Spot(operation.name, operation.types, operation.place, operation.size())


def _lone_spot(operation: Operation) -> Spot:
    """With the functions that it calls: there is no other operation to tell them by."""
    name = " ".join([operation.name, *[f"@{callee}" for callee in operation.callees]])
    return replace(_spot(operation), name=name)


def _is_splat_of_other_shape(one: Value, other: Value) -> bool:
    """Whether two constants have the same elements, each as often as its type says."""
    before, after = one.owner, other.owner
    if not isinstance(before, Constant) or not isinstance(after, Constant):
        return False
    return before.text == after.text and before.type != after.type and "[" not in before.text


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _region(name: str, number: int) -> str:
    if name == "stablehlo.case":
        return f"branch {number}"
    return _REGIONS.get(name, ("body",) * (number + 1))[number]
