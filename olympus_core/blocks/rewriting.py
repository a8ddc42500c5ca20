"""The rewriting of a program: calls replace its repeats, and call nested programs.

The first occurrence of a repeat becomes the nested program. The program recomputes values that are
not saved, with the same equations for all calls.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.blocks.dataflow import Flow, Ints
from olympus_core.blocks.live_out import choose
from olympus_core.blocks.repeats import Repeat, Thresholds
from olympus_core.ir.olympuspr import Eqn, Olympuspr, ProgramParams, Var
from olympus_core.ir.primitive import Primitive, op


class Rewriting:
    """One program, and the repeats that become blocks. Values are given by their numbers.

    The results of some equations are not saved for readers elsewhere: each reader recomputes them.
    `recomputed[v]` is True if value `v` is recomputed; `moves[e]` is True if equation `e` moves.
    """

    def __init__(self, flow: Flow, repeats: Sequence[Repeat], thresholds: Thresholds) -> None:
        self.flow = flow
        agreeing = [self._agreeing(repeat) for repeat in repeats]
        agreeing = [
            (repeat, links) for repeat, links in agreeing if len(repeat) >= thresholds.occurrences
        ]
        self.repeats = [repeat for repeat, _ in agreeing]
        stored = choose(flow, self.repeats)
        self.moves = np.zeros(len(flow.eqns), np.bool_)
        self.moves[stored.recomputed] = True
        self.recomputed = flow.is_free.copy()
        self.recomputed[flow.first_result[stored.recomputed]] = True
        self.is_recomputed: list[bool] = self.recomputed.tolist()  # for one by one
        self.calls: dict[int, _Call] = {}  # by the place of the last equation that one replaces
        for (repeat, links), results in zip(agreeing, stored.results, strict=True):
            calls = _calls(self, repeat, links, sorted(results))
            self.calls.update(zip(repeat[:, -1].tolist(), calls, strict=True))

    def _agreeing(self, repeat: Repeat) -> tuple[Repeat, Ints]:
        """Return the largest group of occurrences with equal links, and the links."""
        rows = self.flow.links(repeat)
        groups: dict[bytes, list[int]] = {}
        for k, row in enumerate(rows):
            groups.setdefault(row.tobytes(), []).append(k)
        most = max(groups.values(), key=len)
        return repeat[most], rows[most[0]]

    def recomputation(
        self, wanted: Iterable[int], recomputed: Sequence[bool], inside: Collection[int]
    ) -> list[int]:
        """Return the recomputed values that `wanted` values need, in topological order.

        Values in `inside` already exist.
        """
        operands_of_value = self.flow.operands_of_value
        ordered: dict[int, None] = {}
        pending = [*wanted][::-1]
        while pending:
            x = pending.pop()
            if not recomputed[x] or x in inside or x in ordered:
                continue
            missing = [
                y
                for y in operands_of_value(x)
                if recomputed[y] and not (y in inside or y in ordered)
            ]
            if missing:
                pending += [x, *missing[::-1]]
            else:
                ordered[x] = None
        return [*ordered]

    def program(self) -> Olympuspr:
        """Return the program with calls in place of the repeats."""
        flow = self.flow
        stays = ~self.moves  # what moves is made where it is read
        for repeat in self.repeats:
            stays[repeat] = False
        stays[list(self.calls)] = True
        recomputed = self.is_recomputed
        reads = np.zeros(len(flow.eqns), np.bool_)
        reads[flow.reader[self.recomputed[flow.operands]]] = True
        eqns: list[Eqn] = []
        computed: set[int] = set()

        def need(values: Iterable[int]) -> None:
            wanted = [x for x in values if recomputed[x] and x not in computed]
            if wanted:
                again = self.recomputation(wanted, recomputed, computed)
                computed.update(again)
                eqns.extend(map(flow.equation_of, again))

        places = np.flatnonzero(stays)
        for place, needs in zip(places.tolist(), reads[places].tolist(), strict=True):
            call = self.calls.get(place)
            if call is not None:
                need(call.read)
            elif needs:
                need(flow.operands_of_equation(place))
            eqns.append(flow.eqns[place] if call is None else call.eqn)
        need(map(flow.number_of, flow.program.outvars))
        return flow.program.replace(eqns=eqns)


class _Call(NamedTuple):
    """An equation that calls a block, and the values that it reads."""

    eqn: Eqn
    read: list[int]


def _calls(
    rewriting: Rewriting, repeat: Repeat, links: Ints, results: Sequence[tuple[int, int]]
) -> list[_Call]:
    """Return the calls of one block, one for each occurrence.

    `links` has, for each operand of its equations, the number of the result, -1 from outside.
    """
    flow = rewriting.flow
    variables = flow.variables
    values = flow.operands[flow.operands_of(repeat)]
    outside = np.flatnonzero((links < 0) & (values[0] != -1))
    read = values[:, outside]
    again = _recomputed_values(rewriting, repeat, read)
    before = len(again.read)
    for_them = np.array(again.read, np.int64).reshape(before, len(repeat)).T
    every = np.concatenate([for_them, read], axis=1)
    numbers = [*range(before), *(before + outside).tolist()]
    inputs, places, other = _inputs(flow, every, numbers, {-1, *again.twins})
    result_values = flow.first_result[repeat[:, [t for t, _ in results]]] + [r for _, r in results]
    outputs = [tuple([variables[n] for n in row]) for row in result_values.tolist()]
    eqns = [
        *map(flow.equation_of, again.twins),
        *[flow.eqns[place] for place in repeat[0].tolist()],
    ]
    body = Olympuspr(tuple(inputs), tuple(_with_inputs(eqns, other)), outputs[0])
    params = ProgramParams(name="", olympuspr=body)
    calls = []
    for place, row, outs in zip(repeat[:, 0], every[:, places].tolist(), outputs, strict=True):
        operands = tuple([variables[n] for n in row])
        eqn = Eqn(block_primitive(), operands, outs, params, flow.eqns[place].source)
        calls.append(_Call(eqn, row))
    return calls


def _inputs(
    flow: Flow, every: Ints, numbers: Sequence[int], skipped: Collection[int]
) -> tuple[list[Var], list[int], dict[int, Var]]:
    """Return the inputs of a block, for the operands of each call in a row of `every`.

    Also return the columns of the inputs, and the replacements of the first call's operands, by
    their `numbers`. Two columns are one input if all calls have one value for both.
    """
    inputs: dict[bytes, Var] = {}
    used: set[int] = set()
    places: list[int] = []
    other: dict[int, Var] = {}
    for place, (number, x) in enumerate(zip(numbers, every[0].tolist(), strict=True)):
        if x in skipped:
            continue
        variable = flow.variables[x]
        key = every[:, place].tobytes()
        if key not in inputs:
            inputs[key] = Var(variable.aval) if x in used else variable
            used.add(x)
            places.append(place)
        if inputs[key] is not variable:
            other[number] = inputs[key]
    return list(inputs.values()), places, other


class _Recomputed(NamedTuple):
    """The values that the occurrences of a block recompute, matched between occurrences.

    `twins` has, for each value of the first occurrence in topological order, those of all
    occurrences, and `read` has such a tuple for each operand of their equations.
    """

    twins: dict[int, tuple[int, ...]]
    read: list[tuple[int, ...]]


def _recomputed_values(rewriting: Rewriting, repeat: Repeat, read: Ints) -> _Recomputed:
    """Return the values that each occurrence reads from outside and recomputes.

    Each recomputes the values that all recompute; any other value is an operand.
    """
    recomputed = rewriting.is_recomputed
    rows: list[list[int]] = read[:, rewriting.recomputed[read].any(axis=0)].tolist()
    own = rewriting.flow.first_result[repeat[:, rewriting.moves[repeat[0]]]].tolist()
    recomputation = _matching_recomputation(rewriting, rows, recomputed)
    recomputed_rows = zip(*recomputation.twins.values(), strict=True) if recomputation else ()
    if recomputation is None or not all(map(set.isdisjoint, map(set, own), recomputed_rows)):
        recipe = _Recipes(rewriting.flow, recomputed)
        is_equal = [len(set(map(recipe.of, column))) == 1 for column in zip(*rows, strict=True)]
        other = [[x for x, same in zip(row, is_equal, strict=True) if not same] for row in rows]
        inside = [{*a, *b} for a, b in zip(own, other, strict=True)]
        recomputation = _matching_recomputation(rewriting, rows, recomputed, inside)
    recomputation = recomputation or _matching_recomputation(
        rewriting, rows, rewriting.flow.is_free.tolist()
    )
    assert recomputation is not None  # like equations read the same free values
    return recomputation


def _matching_recomputation(
    rewriting: Rewriting,
    rows: Sequence[list[int]],
    recomputed: Sequence[bool],
    inside: Sequence[Collection[int]] = (),
) -> _Recomputed | None:
    """Return the values that each occurrence recomputes for its row of values, if they match.

    The first occurrence's values are found, and those of the others by following the same operands.
    Values in `inside` an occurrence already exist.
    """
    flow = rewriting.flow
    first = rewriting.recomputation(rows[0], recomputed, inside[0] if inside else ())
    twins: dict[int, tuple[int, ...]] = dict.fromkeys(first, ())
    read: dict[int, list[tuple[int, ...]]] = {}

    def are_recomputed(ys: tuple[int, ...]) -> Iterable[bool]:
        if not inside:
            return map(recomputed.__getitem__, ys)
        return [recomputed[y] and y not in there for y, there in zip(ys, inside, strict=True)]

    def follow(ys: tuple[int, ...]) -> bool:
        if (known := twins.get(ys[0])) is None:
            return not any(are_recomputed(ys))
        twins[ys[0]] = ys
        return not known or known == ys

    if not all(map(follow, zip(*rows, strict=True))):
        return None
    for x in reversed(first):
        ys = twins[x]
        if len(set(map(flow.label_of.__getitem__, ys))) > 1 or not all(are_recomputed(ys)):
            return None
        read[x] = flow.operands_of_equal_values(ys)
        if not all(map(follow, read[x])):
            return None
    if any(len(set(row)) < len(row) for row in zip(*twins.values(), strict=True)):
        return None
    return _Recomputed(twins, [column for x in first for column in read[x]])


class _Recipes:
    """A number for each value by the way it is recomputed; 0 if it is not recomputed."""

    def __init__(self, flow: Flow, recomputed: Sequence[bool]) -> None:
        self.flow = flow
        self.recomputed = recomputed
        self.known: dict[int, int] = {}
        self.numbers: dict[Any, int] = {}

    def of(self, x: int) -> int:
        if not self.recomputed[x]:
            return 0
        if x not in self.known:
            key = self.flow.label_of[x], *map(self.of, self.flow.operands_of_value(x))
            self.known[x] = self.numbers.setdefault(key, len(self.numbers) + 1)
        return self.known[x]


def _with_inputs(eqns: Sequence[Eqn], other: dict[int, Var]) -> list[Eqn]:
    """Return the equations with some operands replaced, by their number among all operands."""
    rows, at = [], 0
    for eqn in eqns:
        numbers = range(at, at + len(eqn.inputs))
        at += len(eqn.inputs)
        if not other.keys().isdisjoint(numbers):
            inputs = [other.get(i, x) for i, x in zip(numbers, eqn.inputs, strict=True)]
            eqn = eqn.reading(tuple(inputs))
        rows.append(eqn)
    return rows


def block_primitive() -> Primitive:
    """Return the primitive of the calls."""
    primitive = op.find("block")
    assert primitive is not None  # control/call.py declares it
    return primitive
