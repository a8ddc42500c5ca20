"""Outlining: the repeated blocks of a program become nested programs, which it calls.

XLA's compiler for CPUs fuses across the layers of a differentiated program, so that compile time,
run time and memory grow faster than its depth.  A block that is kept as one function is compiled
once, and is the same code for every layer.

What a block computes and others read is stored between the calls.  Where it is cheap to compute
again from what is stored anyway, the readers do so: that is what fusion does in a program without
calls.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core import collection
from olympus_core.flow import Flow, Ints, Labels, is_heavy, most_alike, weight
from olympus_core.gain import is_gain
from olympus_core.olympuspr import (
    Eqn,
    Olympuspr,
    ProgramParams,
    Var,
    sub_programs,
    with_programs,
)
from olympus_core.primitive import Primitive, op
from olympus_core.repeats import MEASURED, Repeat, Thresholds, find
from olympus_core.simplify import simplify
from olympus_core.stored import choose

__all__ = ["Block", "blocks", "outline"]


class Block(NamedTuple):
    """A program that another one calls at several places, and how often it does."""

    name: str
    program: Olympuspr
    occurrences: int

    @property
    def equations(self) -> int:
        """The number of its equations, with those of its loops, without those of what it calls."""
        return weight(self.program.eqns)

    @property
    def lines(self) -> tuple[str, ...]:
        """The user's lines that its first occurrence comes from, `file:line`, sorted."""
        places: set[tuple[str, int]] = set()
        seen: set[int] = set()
        pending = [self.program]
        while pending:
            for eqn in pending.pop().eqns:
                if position := eqn.source.position():
                    places.add((position.file, position.line))
                for nested in sub_programs(eqn) if eqn.primitive.has_programs else ():
                    if id(nested) not in seen:
                        seen.add(id(nested))
                        pending.append(nested)
        return tuple(f"{file}:{line}" for file, line in sorted(places))


def outline(program: Olympuspr, thresholds: Thresholds = MEASURED) -> Olympuspr:
    """The program with its repeated blocks as nested programs, `block` equations that call them.

    A block has a product, a convolution or a loop, and reaches the thresholds.  So has a function
    under `jit` that is called so often.  Blocks are called block_1, block_2, ... in the order in
    which the program comes to them; two that are equal are one.

    >>> outline(traced.olympuspr).eqns[-1].primitive
    block
    """
    made = _Outliner(thresholds)
    with collection.paused():
        return _named(_calls_kept(made.program(program), made), made.labels)


class _Outliner:
    """What the parts of one program share: the labels, and the programs that are done."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.thresholds = thresholds
        self.labels = Labels()
        self._done: dict[int, tuple[Olympuspr, Olympuspr]] = {}

    def program(self, program: Olympuspr) -> Olympuspr:
        """The program outlined, and all nested ones."""
        known = self._done.get(id(program))
        if known is None:
            known = self._done[id(program)] = program, self._outlined(simplify(program))
        return known[1]

    def _outlined(self, program: Olympuspr) -> Olympuspr:
        """The program with blocks of its equations, until there are no more, and then inside."""
        while most_alike(program.eqns) >= self.thresholds.occurrences:
            flow = Flow(program, self.labels)
            repeats = find(flow, self.thresholds)
            if not repeats or not is_gain(flow, repeats, self.thresholds):
                break
            rewriting = _Rewriting(flow, repeats, self.thresholds)
            if not rewriting.repeats:
                break
            program = rewriting.program()
        eqns = [
            with_programs(e, self.program) if e.primitive.has_programs else e for e in program.eqns
        ]
        same = all(a is b for a, b in zip(eqns, program.eqns, strict=True))
        return program if same else program.replace(eqns=eqns)


class _Rewriting:
    """One program, and the repeats that become blocks.  Values are given by their numbers.

    The results of some equations are not stored for readers elsewhere: each makes them itself.
    `remade` says of a value whether it is one of these, and `moves` of an equation.
    """

    def __init__(self, flow: Flow, repeats: Sequence[Repeat], thresholds: Thresholds) -> None:
        self.flow = flow
        agreeing = [self._agreeing(repeat) for repeat in repeats]
        agreeing = [each for each in agreeing if len(each[0]) >= thresholds.occurrences]
        self.repeats = [repeat for repeat, _ in agreeing]
        stored = choose(flow, self.repeats)
        self.moves = np.zeros(len(flow.eqns), np.bool_)
        self.moves[stored.remade] = True
        self.remade = flow.is_free.copy()
        self.remade[flow.first_result[stored.remade]] = True
        self.calls: dict[int, _Call] = {}  # by the place of the last equation that one replaces
        for (repeat, links), results in zip(agreeing, stored.results, strict=True):
            made = _calls(self, repeat, links, sorted(results))
            self.calls.update(zip(repeat[:, -1].tolist(), made, strict=True))

    def _agreeing(self, repeat: Repeat) -> tuple[Repeat, Ints]:
        """The most occurrences that are alike also in where their operands come from; and that."""
        rows = self.flow.links(repeat)
        groups: dict[bytes, list[int]] = {}
        for k, row in enumerate(rows):
            groups.setdefault(row.tobytes(), []).append(k)
        most = max(groups.values(), key=len)
        return repeat[most], rows[most[0]]

    def made_again(
        self, wanted: Iterable[int], remade: Sequence[bool], inside: Collection[int]
    ) -> list[int]:
        """The values, of those `remade`, that make what is wanted, in an order that runs.

        What is `inside` is there already.
        """
        read_for = self.flow.read_for
        found: dict[int, None] = {}
        pending = [*wanted][::-1]
        while pending:
            x = pending.pop()
            if not remade[x] or x in inside or x in found:
                continue
            missing = [y for y in read_for(x) if remade[y] and not (y in inside or y in found)]
            if missing:
                pending += [x, *missing[::-1]]
            else:
                found[x] = None
        return [*found]

    def program(self) -> Olympuspr:
        """The program with the calls in the place of what they do."""
        flow = self.flow
        stays = ~self.moves  # what moves is made where it is read
        for repeat in self.repeats:
            stays[repeat] = False
        stays[list(self.calls)] = True
        remade: list[bool] = self.remade.tolist()
        eqns: list[Eqn] = []
        made: set[int] = set()

        def need(values: Iterable[int]) -> None:
            wanted = [x for x in values if remade[x] and x not in made]
            if wanted:
                again = self.made_again(wanted, remade, made)
                made.update(again)
                eqns.extend(map(flow.made_by, again))

        for place in np.flatnonzero(stays).tolist():
            call = self.calls.get(place)
            need(flow.read_by(place) if call is None else call.read)
            eqns.append(flow.eqns[place] if call is None else call.eqn)
        need(map(flow.number_of, flow.program.outvars))
        return flow.program.replace(eqns=eqns)


class _Call(NamedTuple):
    """An equation that calls a block, and the values that it reads."""

    eqn: Eqn
    read: list[int]


def _calls(
    rewriting: _Rewriting, repeat: Repeat, links: Ints, results: Sequence[tuple[int, int]]
) -> list[_Call]:
    """The calls of one block, one for each occurrence.

    `links` has for each operand of its equations which of the results it is, -1 from outside.
    """
    flow = rewriting.flow
    variables = flow.variables
    values = flow.operands[flow.operands_of(repeat)]
    outside = np.flatnonzero((links < 0) & (values[0] != -1))
    read = values[:, outside]
    again = _made_again(rewriting, repeat, read)
    for_them = [[x for value in each for x in flow.read_for(value)] for each in again]
    every = np.concatenate([np.array(for_them, np.int64), read], axis=1)
    before = len(for_them[0])
    skipped = {-1, *again[0]}
    inputs: dict[bytes, Var] = {}
    taken: set[int] = set()
    places: list[int] = []  # where in `every` the inputs are
    other: dict[int, Var] = {}
    for place, number in enumerate([*range(before), *(before + outside).tolist()]):
        x = int(every[0, place])
        if x in skipped:
            continue
        key = every[:, place].tobytes()
        if key not in inputs:
            inputs[key] = Var(variables[x].aval) if x in taken else variables[x]
            taken.add(x)
            places.append(place)
        if inputs[key] is not variables[x]:
            other[number] = inputs[key]
    given = flow.first_result[repeat[:, [t for t, _ in results]]] + [r for _, r in results]
    outputs = [tuple([variables[n] for n in row]) for row in given.tolist()]
    eqns = [*map(flow.made_by, again[0]), *[flow.eqns[place] for place in repeat[0].tolist()]]
    body = Olympuspr(tuple(inputs.values()), tuple(_with_inputs(eqns, other)), outputs[0])
    params = ProgramParams(name="", olympuspr=body)
    made = []
    for place, row, outs in zip(repeat[:, 0], every[:, places].tolist(), outputs, strict=True):
        operands = tuple([variables[n] for n in row])
        eqn = Eqn(_block_primitive(), operands, outs, params, flow.eqns[place].source)
        made.append(_Call(eqn, row))
    return made


def _made_again(rewriting: _Rewriting, repeat: Repeat, read: Ints) -> list[list[int]]:
    """The values that each occurrence makes again, of what it reads from outside.

    Each makes again what all do; anything else is an operand.
    """
    flow, remade = rewriting.flow, rewriting.remade.tolist()
    rows: list[list[int]] = read[:, rewriting.remade[read].any(axis=0)].tolist()
    own = flow.first_result[repeat[:, rewriting.moves[repeat[0]]]].tolist()
    found = _alike(rewriting, rows, remade, [()] * len(rows))
    if found is None or not all(map(set.isdisjoint, map(set, own), found)):
        recipe = _Recipes(flow, remade)
        alike = [len(set(map(recipe.of, column))) == 1 for column in zip(*rows, strict=True)]
        other = [[x for x, same in zip(row, alike, strict=True) if not same] for row in rows]
        inside = [{*a, *b} for a, b in zip(own, other, strict=True)]
        found = _alike(rewriting, rows, remade, inside)
    if found is None:
        return [rewriting.made_again(row, flow.is_free.tolist(), ()) for row in rows]
    return found


def _alike(
    rewriting: _Rewriting,
    rows: Sequence[list[int]],
    remade: Sequence[bool],
    inside: Sequence[Collection[int]],
) -> list[list[int]] | None:
    """The values that each occurrence makes again for its row of wanted ones, if these are alike.

    The first one's are found, and those of the others by following the same operands.
    """
    flow = rewriting.flow
    first = rewriting.made_again(rows[0], remade, inside[0])
    operands = [flow.read_for(value) for value in first]
    places = set(first)

    def follow(known: dict[int, int], xs: list[int], ys: list[int], there: Collection[int]) -> bool:
        for x, y in zip(xs, ys, strict=True):
            makes = remade[y] and y not in there
            if makes != (x in places) or (makes and known.setdefault(x, y) != y):
                return False
        return True

    found = [first]
    for row, there in zip(rows[1:], inside[1:], strict=True):
        known: dict[int, int] = {}
        if not follow(known, rows[0], row, there):
            return None
        for value, read in zip(reversed(first), reversed(operands), strict=True):
            twin = known[value]
            if flow.label_of(value) != flow.label_of(twin):
                return None
            if not follow(known, read, flow.read_for(twin), there):
                return None
        found.append([known[value] for value in first])
        if len(set(found[-1])) < len(first):
            return None
    return found


class _Recipes:
    """A number for each value, of how it is made again; 0 for one that is not."""

    def __init__(self, flow: Flow, remade: Sequence[bool]) -> None:
        self.flow = flow
        self.remade = remade
        self.known: dict[int, int] = {}
        self.numbers: dict[Any, int] = {}

    def of(self, x: int) -> int:
        if not self.remade[x]:
            return 0
        if x not in self.known:
            key = self.flow.label_of(x), *map(self.of, self.flow.read_for(x))
            self.known[x] = self.numbers.setdefault(key, len(self.numbers) + 1)
        return self.known[x]


def _with_inputs(eqns: Sequence[Eqn], other: dict[int, Var]) -> list[Eqn]:
    """The equations with other operands, given by their number among all operands."""
    made, at = [], 0
    for eqn in eqns:
        numbers = range(at, at + len(eqn.inputs))
        at += len(eqn.inputs)
        if not other.keys().isdisjoint(numbers):
            inputs = [other.get(i, x) for i, x in zip(numbers, eqn.inputs, strict=True)]
            eqn = eqn.reading(tuple(inputs))
        made.append(eqn)
    return made


def _key(eqn: Eqn, labels: Labels) -> Any:
    """What is equal for two calls of one function."""
    return eqn.params["name"], labels.of_program(eqn.params["olympuspr"])


def _calls_kept(program: Olympuspr, made: _Outliner) -> Olympuspr:
    """The program with `block` in the place of `jit` where the function is called often enough."""
    least, block = made.thresholds, _block_primitive()
    callees = _callees(program, made.labels)
    copies: Counter[Any] = Counter({None: 1})  # in the code, once the compiler has inlined calls
    kept: set[Any] = set()
    for key, (body, called) in callees.items():
        big = key is not None and weight(body.eqns) >= least.equations
        if big and copies[key] >= least.occurrences and any(map(is_heavy, body.eqns)):
            kept.add(key)
        times = 1 if key in kept else copies[key]
        for callee, count in called.items():
            copies[callee] += times * count

    def keep(before: Eqn, after: Eqn) -> Eqn:
        if not before.primitive.is_call or _key(before, made.labels) not in kept:
            return after
        params = {name: after.params[name] for name in ("name", "olympuspr")}
        return after.replace(primitive=block, params=ProgramParams(params))

    return _mapped(program, keep)


def _callees(program: Olympuspr, labels: Labels) -> dict[Any, tuple[Olympuspr, Counter[Any]]]:
    """Each function of a program, and how often it calls each; callers come before what they call.

    The key of the program itself is None.
    """
    found: dict[Any, tuple[Olympuspr, Counter[Any]]] = {}

    def visit(key: Any, body: Olympuspr) -> None:
        calls: Counter[Any] = Counter()
        for callee, nested in _calls_in(body, labels):
            calls[callee] += 1
            if callee not in found:
                visit(callee, nested)
        found[key] = body, calls

    visit(None, program)
    return dict(reversed(found.items()))


def _calls_in(program: Olympuspr, labels: Labels) -> Iterator[tuple[Any, Olympuspr]]:
    """The calls in a program, and in what it runs otherwise: loops, branches, ...."""
    for eqn in program.eqns:
        if eqn.primitive.is_call:
            yield _key(eqn, labels), eqn.params["olympuspr"]
        elif eqn.primitive.has_programs:
            for nested in sub_programs(eqn):
                yield from _calls_in(nested, labels)


def _mapped(program: Olympuspr, change: Callable[[Eqn, Eqn], Eqn]) -> Olympuspr:
    """The program with `change` made to each equation, also of nested programs.

    It gets the equation as it was, and as it is once its own programs are changed.
    """
    done: dict[int, tuple[Olympuspr, Olympuspr]] = {}

    def of(inside: Olympuspr) -> Olympuspr:
        known = done.get(id(inside))
        if known is None:
            eqns = [
                change(e, with_programs(e, of)) if e.primitive.has_programs else e
                for e in inside.eqns
            ]
            same = all(a is b for a, b in zip(eqns, inside.eqns, strict=True))
            known = done[id(inside)] = inside, inside if same else inside.replace(eqns=eqns)
        return known[1]

    return of(program)


def _named(program: Olympuspr, labels: Labels) -> Olympuspr:
    """The program with another name for each block: block_1, ..., by its place in the program.

    A function under `jit` keeps its name, with a number where another block has it.
    """
    every = list(_blocks_in(program))
    taken = {eqn.params["name"] for eqn in every}
    names: dict[Any, str] = {}
    for eqn in every:
        key, name = _key(eqn, labels), eqn.params["name"]
        if key not in names:
            if not name or name in names.values():
                forms = (f"{name or 'block'}_{n}" for n in itertools.count(1))
                name = next(each for each in forms if each not in taken)
            taken.add(name)
            names[key] = name

    def rename(before: Eqn, after: Eqn) -> Eqn:
        if not before.primitive.is_kept:
            return after
        return after.replace(
            params=ProgramParams(after.params | {"name": names[_key(before, labels)]})
        )

    return _mapped(program, rename)


def _blocks_in(program: Olympuspr) -> Iterator[Eqn]:
    """The calls of blocks in a program, as they stand there; what they call is looked at once."""
    seen: set[int] = set()
    pending = [iter(program.eqns)]
    while pending:
        eqn = next(pending[-1], None)
        if eqn is None:
            pending.pop()
            continue
        if eqn.primitive.is_kept:
            yield eqn
        for nested in sub_programs(eqn) if eqn.primitive.has_programs else ():
            if id(nested) not in seen:
                seen.add(id(nested))
                pending.append(iter(nested.eqns))


def blocks(program: Olympuspr) -> tuple[Block, ...]:
    """The blocks of an outlined program, in the order of their first calls.

    One that is called in another occurs as often as both say.
    """
    found = {eqn.params["name"]: eqn.params["olympuspr"] for eqn in _blocks_in(program)}
    known: dict[int, Counter[str]] = {}

    def times(inside: Olympuspr) -> Counter[str]:
        """How often each block is called where a program runs once."""
        counts = known.get(id(inside))
        if counts is None:
            counts = known[id(inside)] = Counter()
            for eqn in inside.eqns:
                if eqn.primitive.is_kept:
                    counts[eqn.params["name"]] += 1
                for nested in sub_programs(eqn) if eqn.primitive.has_programs else ():
                    counts.update(times(nested))
        return counts

    if not found:
        return ()
    counts = times(program)
    return tuple(Block(name, inner, counts[name]) for name, inner in found.items())


def _block_primitive() -> Primitive:
    found = op.find("block")
    assert found is not None  # control/call.py declares it
    return found
