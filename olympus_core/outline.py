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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core import collection
from olympus_core.flow import Flow, Ints, Labels, is_heavy, most_alike, weight
from olympus_core.gain import is_gain
from olympus_core.olympuspr import (
    Atom,
    Eqn,
    Literal,
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
    """One program, and the repeats that become blocks.

    `remade` are the equations whose results are not stored for readers elsewhere: each makes them
    itself.
    """

    def __init__(self, flow: Flow, repeats: Sequence[Repeat], thresholds: Thresholds) -> None:
        self.flow = flow
        agreeing = [self._agreeing(repeat) for repeat in repeats]
        agreeing = [each for each in agreeing if len(each[0]) >= thresholds.occurrences]
        self.repeats = [repeat for repeat, _ in agreeing]
        stored = choose(flow, self.repeats)
        self.remade = flow.free | stored.remade
        self.calls: dict[int, Eqn] = {}  # by the place of the last equation that a call replaces
        for (repeat, links), results in zip(agreeing, stored.results, strict=True):
            made = _calls(self, repeat, links, sorted(results))
            self.calls.update(zip([each[-1] for each in repeat], made, strict=True))

    def _agreeing(self, repeat: Repeat) -> tuple[Repeat, Ints]:
        """The most occurrences that are alike also in where their operands come from; and that."""
        rows = self.flow.links(repeat)
        groups: dict[bytes, list[int]] = {}
        for k, row in enumerate(rows):
            groups.setdefault(row.tobytes(), []).append(k)
        most = max(groups.values(), key=len)
        return tuple([repeat[k] for k in most]), rows[most[0]]

    def label(self, eqn: Eqn) -> Any:
        """What is equal for equations that are alike."""
        place = self.flow.at(eqn.outputs[0])
        return eqn.outputs[0] if place is None else int(self.flow.labels[place[0]])

    def made_again(
        self, wanted: Iterable[Atom], remade: Mapping[Var, Eqn], inside: Collection[Any]
    ) -> list[Eqn]:
        """The equations, of those `remade`, that make what is wanted, in an order that runs.

        What is `inside` is there already.
        """
        found: dict[Any, Eqn] = {}
        pending = [*wanted][::-1]
        while pending:
            x = pending.pop()
            eqn = remade.get(x)  # type: ignore[arg-type]
            if eqn is None or x in inside or x in found:
                continue
            missing = [y for y in eqn.inputs if y in remade and not (y in inside or y in found)]
            if missing:
                pending += [x, *missing[::-1]]
            else:
                found[x] = eqn
        return list(found.values())

    def program(self) -> Olympuspr:
        """The program with the calls in the place of what they do."""
        flow, remade = self.flow, self.remade
        stays = np.ones(len(flow.eqns), np.bool_)
        for repeat in self.repeats:
            stays[np.array(repeat).ravel()] = False
        stays[list(self.calls)] = True
        eqns: list[Eqn] = []
        made: set[Atom] = set()

        def need(atoms: Iterable[Atom]) -> None:
            wanted = [x for x in atoms if x in remade and x not in made]
            for eqn in self.made_again(wanted, remade, made) if wanted else ():
                made.update(eqn.outputs)
                eqns.append(eqn)

        for place in np.flatnonzero(stays).tolist():
            call = self.calls.get(place)
            eqn = flow.eqns[place] if call is None else call
            if call is None and eqn.outputs[0] in remade:
                continue  # it is made where it is read
            need(eqn.inputs)
            eqns.append(eqn)
        need(flow.program.outvars)
        return flow.program.replace(eqns=eqns)


def _calls(
    rewriting: _Rewriting, repeat: Repeat, links: Ints, results: Sequence[tuple[int, int]]
) -> list[Eqn]:
    """The calls of one block, an equation for each occurrence.

    `links` has for each operand of its equations which of the results it is, -1 from outside.
    """
    own = [[rewriting.flow.eqns[i] for i in each] for each in repeat]
    slots = [(t, slot, x) for t, e in enumerate(own[0]) for slot, x in enumerate(e.inputs)]
    outside = [
        i for i in np.flatnonzero(links < 0).tolist() if slots[i][2].__class__ is not Literal
    ]
    read = [[eqns[slots[i][0]].inputs[slots[i][1]] for i in outside] for eqns in own]
    again = _made_again(rewriting, own, read)
    every = [[*_operands(made), *atoms] for made, atoms in zip(again, read, strict=True)]
    before = len(every[0]) - len(outside)  # operands of what is made again
    numbers = [*range(before), *[before + i for i in outside]]
    made = {v for e in again[0] for v in e.outputs}
    inputs: dict[tuple[Atom, ...], Any] = {}
    other: dict[int, Var] = {}
    taken: set[Atom] = set()
    for number, *each in zip(numbers, *every, strict=True):
        x, key = each[0], tuple(each)
        if x.__class__ is Literal or x in made:
            continue
        if key not in inputs:
            inputs[key] = Var(x.aval) if x in taken else x
            taken.add(x)
        if inputs[key] is not x:
            other[number] = inputs[key]
    program = Olympuspr(
        tuple(inputs.values()),
        tuple(_with_inputs([*again[0], *own[0]], other)),
        tuple([own[0][t].outputs[r] for t, r in results]),
    )
    params = ProgramParams(name="", olympuspr=program)
    return [
        Eqn(
            _block_primitive(),
            tuple([key[k] for key in inputs]),
            tuple([eqns[t].outputs[r] for t, r in results]),
            params,
            eqns[0].source,
        )
        for k, eqns in enumerate(own)
    ]


def _operands(eqns: Iterable[Eqn]) -> list[Atom]:
    return [x for e in eqns for x in e.inputs]


def _made_again(
    rewriting: _Rewriting, own: Sequence[Sequence[Eqn]], read: Sequence[Sequence[Atom]]
) -> list[list[Eqn]]:
    """The equations that each occurrence makes again, of what it reads from outside.

    Each makes again what all do; anything else is an operand.
    """
    remade = rewriting.remade
    if not any(x in remade for atoms in read for x in atoms):
        return [[] for _ in own]
    recipe = _Recipes(rewriting)
    alike = [len(set(map(recipe.of, each))) == 1 for each in zip(*read, strict=True)]
    found, shapes = [], set()
    for eqns, atoms in zip(own, read, strict=True):
        inside: set[Atom] = {v for e in eqns for v in e.outputs}
        inside.update([x for x, same in zip(atoms, alike, strict=True) if not same])
        again = rewriting.made_again(atoms, remade, inside)
        places = {v: n for n, v in enumerate([v for e in again for v in e.outputs])}
        come = [places.get(x, -1) for x in (*_operands(again), *atoms)]  # type: ignore[arg-type]
        shapes.add((*map(rewriting.label, again), *come))
        found.append(again)
    if len(shapes) == 1:
        return found
    return [rewriting.made_again(atoms, rewriting.flow.free, ()) for atoms in read]


class _Recipes:
    """A number for each value, of how it is made again; 0 for one that is not."""

    def __init__(self, rewriting: _Rewriting) -> None:
        self.rewriting = rewriting
        self.known: dict[Atom, int] = {}
        self.numbers: dict[Any, int] = {}

    def of(self, x: Atom) -> int:
        eqn = self.rewriting.remade.get(x)  # type: ignore[arg-type]
        if eqn is None:
            return 0
        if x not in self.known:
            key = self.rewriting.label(eqn), *map(self.of, eqn.inputs)
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
            eqn = eqn.replace(inputs=inputs)
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
