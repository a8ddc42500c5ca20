"""The changes between two StableHLO programs: operations, arguments, results and constants.

`matching` matches operations, function by function and region by region. A matched pair that
differs has changed; an unmatched operation was added or removed. A consequence of a reported change
is not reported again, for example that an operation now reads an inserted one. Two programs without
a change between them do the same operations on the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from olympus_core.analysis.diff.changes import (
    Change,
    Detail,
    Difference,
    Kind,
    Spot,
    changed_attributes,
)
from olympus_core.analysis.diff.graph import (
    Graph,
    GraphBlock,
    GraphConstant,
    GraphOperation,
    GraphValue,
)
from olympus_core.analysis.diff.interface import attribute_keys, end_changes, end_pairs, ends_of
from olympus_core.analysis.diff.matching import Matching, match_blocks, pair_up
from olympus_core.analysis.diff.structure import Signatures
from olympus_core.analysis.sources.places import Place
from olympus_core.base import gc_pause
from olympus_core.base.errors import ArtifactError

_REGIONS = {"stablehlo.while": ("condition", "body"), "stablehlo.if": ("true", "false")}
_FARTHEST = 1000  # added or removed operations that are followed to find an explanation


def compare(
    first: Graph, second: Graph, names: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> Difference:
    """Return the changes from one program to another.

    `names` are the argument names of each program, in order; without them arguments are matched by
    their types and positions. Results are matched by their paths in a lowered program.

    Raises:
      ArtifactError: one of the programs calls a function that it does not have, or that calls
        itself, or it is nested too deeply.

    Example:
      >>> lowered = jit(lambda x: 2 * x).lower(1.0)
      >>> compare(graph_of(lowered.module), graph_of(lowered.module)).changes
      ()
    """
    try:
        with gc_pause.paused():
            return _Comparison(first, second).run(names)
    except RecursionError as exc:
        raise ArtifactError("the program is nested too deeply to be compared") from exc


class _Comparison:
    def __init__(self, first: Graph, second: Graph) -> None:
        self._first, self._second = first, second
        self._matching = Matching(Signatures(first), Signatures(second))
        self._changes: list[Change] = []
        # the argument names of the main functions
        self._names: dict[GraphBlock, Sequence[str]] = {}
        self._pending: list[tuple[str, str]] = []  # functions to compare, by name
        self._calls: dict[tuple[str, str], list[GraphOperation]] = {}

    def run(self, names: tuple[Sequence[str], Sequence[str]]) -> Difference:
        fingerprints = self._matching.first.fingerprint(), self._matching.second.fingerprint()
        one, other = self._first.main, self._second.main
        same = fingerprints[0] == fingerprints[1]
        self._names = {one.block: names[0], other.block: names[1]}
        arguments = ends_of(one, "argument", names[0]), ends_of(other, "argument", names[1])
        results = ends_of(one, "result", ()), ends_of(other, "result", ())
        pairs = end_pairs(*arguments, same), end_pairs(*results, same)
        self._changes += end_changes("argument", *arguments, pairs[0])
        self._changes += end_changes("result", *results, pairs[1])
        if not same:
            self._program()
            self._blocks(one.name, one.block, other.block, *pairs, one.place)
            while self._pending:
                self._function(*self._pending.pop(0))
            if not self._changes:  # for example, of two equal operations only one is now read
                detail = Detail("structure", *(digest[:16] for digest in fingerprints))
                self._changes.append(Change("program", "changed", "", None, None, (detail,)))
        return Difference(
            fingerprints, (self._first.size(), self._second.size()), tuple(self._changes)
        )

    def _program(self) -> None:
        """Compare the attributes of the modules and of their main functions."""
        details = [
            *changed_attributes(dict(self._first.attributes), dict(self._second.attributes)),
            *changed_attributes(
                dict(self._first.main.attributes), dict(self._second.main.attributes)
            ),
        ]
        if details:
            self._changes.append(Change("program", "changed", "", None, None, tuple(details)))

    def _function(self, name: str, other: str) -> None:
        # one function may be compared with several, and a function sees no values of others
        self._matching = Matching(self._matching.first, self._matching.second)
        one, two = self._first.functions[name], self._second.functions[other]
        calls = self._calls[name, other]
        place = str(calls[0].place)
        times = f"called {len(calls)} times" if len(calls) > 1 else "called once"
        where = f"{one.name} ({times}{', first at ' if place else ''}{place})"
        kinds = [*zip(one.block.arguments, attribute_keys(one.arguments), strict=True)]
        others = [*zip(two.block.arguments, attribute_keys(two.arguments), strict=True)]
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
        one: GraphBlock,
        other: GraphBlock,
        arguments: Sequence[tuple[int, int]],
        results: Sequence[tuple[int, int]],
        place: Place,
    ) -> None:
        """Add the changes between two blocks, and in the regions of their operations."""
        matching = self._matching
        match_blocks(one, other, matching, arguments, results)
        inner: list[tuple[str, GraphOperation, GraphOperation]] = []
        for before, after in _in_order(one, other, matching):
            if before is None or after is None:
                self._add_unmatched(where, before, after)
                continue
            details, retyped = self._details(before, after)
            if details:
                kind: Kind = "retyped" if retyped else "changed"
                self._add(kind, where, _spot(before), _spot(after), details)
            if before.blocks or after.blocks or before.callees:
                inner.append((where, before, after))
        self._results(where, one, other, results, place)
        for triple in inner:
            self._inside(*triple)

    def _add(
        self,
        kind: Kind,
        where: str,
        before: Spot | None,
        after: Spot | None,
        details: Sequence[Detail] = (),
    ) -> None:
        self._changes.append(Change("operation", kind, where, before, after, tuple(details)))

    def _add_unmatched(
        self, where: str, before: GraphOperation | None, after: GraphOperation | None
    ) -> None:
        """Add the change of an unmatched operation, with its operands."""
        if before is not None:
            self._add("removed", where, _unmatched_spot(before), None)
        if after is not None:
            self._add("added", where, None, _unmatched_spot(after))

    def _inside(self, where: str, one: GraphOperation, other: GraphOperation) -> None:
        """Add the changes in the regions of two operations, and in the functions they call."""
        for name, there in zip(one.callees, other.callees, strict=False):
            calls = self._calls.setdefault((name, there), [])
            calls.append(one)
            changed = self._matching.first.function(name) != self._matching.second.function(there)
            if changed and len(calls) == 1:
                self._pending.append((name, there))
        if self._matching.first.operation(one) == self._matching.second.operation(other):
            # equal regions may capture different values; the operation reports that
            return
        blocks = {block.region: block for block in other.blocks}
        for block in one.blocks:
            if block.region in blocks:
                two = blocks[block.region]
                place = f" at {one.place}" if str(one.place) else ""
                path = f"{where} > {_short(one.name)}{place}, {_region(one.name, block.region)}"
                pairs = pair_up(block.arguments, two.arguments)
                ends = [[value.type for value in value.results] for value in (block, two)]
                self._blocks(path, block, two, pairs, pair_up(*ends), one.place)

    def _details(self, one: GraphOperation, other: GraphOperation) -> tuple[list[Detail], bool]:
        """Return the changes of an operation, and True if they follow from its operands' types."""
        details = []
        if one.name != other.name:
            details.append(Detail("operation", one.name, other.name))
        details += changed_attributes(dict(one.attributes), dict(other.attributes))
        if len(one.callees) != len(other.callees):
            details.append(Detail("functions", ", ".join(one.callees), ", ".join(other.callees)))
        if len(one.blocks) != len(other.blocks):
            details.append(Detail("regions", str(len(one.blocks)), str(len(other.blocks))))
        type_details = []
        if one.types != other.types:
            type_details.append(Detail("type", ", ".join(one.types), ", ".join(other.types)))
        # if regions differ, their comparison includes their captures
        if self._matching.first.operation(one) == self._matching.second.operation(other):
            for number, pair in enumerate(zip(one.captures, other.captures, strict=True)):
                if detail := self._operand(f"captured value {number}", *pair):
                    details.append(detail)
        for number, pair in enumerate(zip(one.operands, other.operands, strict=False)):
            detail = self._operand(f"operand {number}", *pair)
            same_text = detail and _is_splat_of_other_shape(*pair)
            (type_details if same_text else details).extend([detail] if detail else [])
        if len(one.operands) != len(other.operands):
            details.append(Detail("operands", str(len(one.operands)), str(len(other.operands))))
        follows = not details and self._reads_other_types(one, other)
        return [*details, *type_details], follows

    def _reads_other_types(self, one: GraphOperation, other: GraphOperation) -> bool:
        pairs = zip(one.reads, other.reads, strict=False)
        return any(
            before.type != after.type
            for before, after in pairs
            if not isinstance(before.owner, GraphConstant)
        )

    def _operand(self, what: str, before: GraphValue, after: GraphValue) -> Detail | None:
        """Return the detail of a value that is read, or None if it is the same in both programs."""
        constants = isinstance(before.owner, GraphConstant), isinstance(after.owner, GraphConstant)
        if all(constants):
            if (before.owner, before.type) == (after.owner, after.type):
                return None
        else:
            there = self._matching.value(before)
            if there is not None and (there.owner, there.number) == (after.owner, after.number):
                return None
            if not any(constants) and self._is_explained(before, after):
                return None
            if constants[0] and before in _through(after, self._matching.back):
                return None  # an added operation reads it
            if constants[1] and after in _through(before, self._matching.there):
                return None  # a removed operation read it
        return Detail(what, self._named(before), self._named(after))

    def _is_explained(self, before: GraphValue, after: GraphValue) -> bool:
        """Return True if an added or removed operation explains why another value is read."""
        there, back = self._matching.there, self._matching.back
        removed, added = before.owner not in there, after.owner not in back
        if removed and added:
            return True
        if removed:
            return any(
                self._matching.value(value) == after for value in _through(before, there)
            ) or not isinstance(before.owner, GraphOperation)
        if added:
            expected = self._matching.value(before)
            return any(value == expected for value in _through(after, back)) or not isinstance(
                after.owner, GraphOperation
            )
        return False

    def _named(self, value: GraphValue) -> str:
        owner = value.owner
        if isinstance(owner, GraphConstant):
            return f"constant {owner.text} : {owner.type}"
        if isinstance(owner, GraphBlock):
            names = self._names.get(owner, ())
            known = len(names) == len(owner.arguments)
            return f"argument {names[value.number] if known else value.number}"
        place = f" at {owner.place}" if str(owner.place) else ""
        return f"{owner.name}{place}" + (f", result {value.number}" if value.number else "")

    def _results(
        self,
        where: str,
        one: GraphBlock,
        other: GraphBlock,
        pairs: Sequence[tuple[int, int]],
        place: Place,
    ) -> None:
        """Add the changes of a block's results."""
        details = []
        for i, j in pairs:
            before, after = one.results[i], other.results[j]
            detail = self._operand(f"result {i}", before, after)
            if detail is not None and not _is_splat_of_other_shape(before, after):
                details.append(detail)
        if details:
            spot = Spot("return", (), place, 0)
            self._add("changed", where, spot, spot, details)


def _through(value: GraphValue, known: Mapping[Any, Any]) -> Iterator[GraphValue]:
    """Yield the values that `value` depends on through operations that are not in `known`."""
    pending, seen = [value], {value}
    while pending and len(seen) < _FARTHEST:
        current = pending.pop()
        if isinstance(current.owner, GraphOperation) and current.owner not in known:
            for read in current.owner.reads:
                if read not in seen:
                    seen.add(read)
                    pending.append(read)
                    yield read


def _in_order(
    one: GraphBlock, other: GraphBlock, matching: Matching
) -> Iterator[tuple[GraphOperation | None, GraphOperation | None]]:
    """Yield the matched and unmatched operations of two blocks, in the second's order."""
    removed: dict[GraphOperation | None, list[GraphOperation]] = {}
    last: GraphOperation | None = None
    for operation in one.operations:
        there = matching.there.get(operation)
        if isinstance(there, GraphOperation):
            last = there
        else:
            removed.setdefault(last, []).append(operation)
    yield from ((operation, None) for operation in removed.get(None, ()))
    for after in other.operations:
        before = matching.back.get(after)
        yield (before if isinstance(before, GraphOperation) else None), after
        yield from ((operation, None) for operation in removed.get(after, ()))


def _spot(operation: GraphOperation) -> Spot:
    return Spot(operation.name, operation.types, operation.place, operation.size())


def _unmatched_spot(operation: GraphOperation) -> Spot:
    """Return the spot with the functions that it calls, which identify an unmatched call."""
    name = " ".join([operation.name, *[f"@{callee}" for callee in operation.callees]])
    return replace(_spot(operation), name=name)


def _is_splat_of_other_shape(one: GraphValue, other: GraphValue) -> bool:
    """Return True if two constants repeat one element, in different shapes."""
    before, after = one.owner, other.owner
    if not isinstance(before, GraphConstant) or not isinstance(after, GraphConstant):
        return False
    return before.text == after.text and before.type != after.type and "[" not in before.text


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _region(name: str, number: int) -> str:
    if name == "stablehlo.case":
        return f"branch {number}"
    return _REGIONS.get(name, ("body",) * (number + 1))[number]
