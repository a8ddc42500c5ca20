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

from olympus_core import collection
from olympus_core.olympuspr import Atom, Eqn, Literal, Olympuspr, ProgramParams, Var, sub_programs
from olympus_core.primitive import Primitive, op
from olympus_core.repeats import (
    MEASURED,
    Flow,
    Labels,
    Repeat,
    Thresholds,
    find,
    heavy_places,
    is_heavy,
    links,
    weight,
)
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
        while len(heavy_places(program.eqns)) >= self.thresholds.occurrences:
            flow = Flow(program, self.labels)
            repeats = find(flow, self.thresholds)
            if not repeats:
                break
            rewriting = _Rewriting(flow, repeats, self.thresholds)
            if not rewriting.repeats:
                break
            program = rewriting.program()
        eqns = [
            _with_programs(e, self.program) if e.primitive.has_programs else e for e in program.eqns
        ]
        same = all(a is b for a, b in zip(eqns, program.eqns, strict=True))
        return program if same else program.replace(eqns=eqns)


def _with_programs(eqn: Eqn, change: Callable[[Olympuspr], Olympuspr]) -> Eqn:
    """The equation with `change` made to its programs."""

    def of(value: Any) -> Any:
        if isinstance(value, Olympuspr):
            return change(value)
        if isinstance(value, tuple) and any(isinstance(x, Olympuspr) for x in value):
            return tuple(of(x) for x in value)
        return value

    params = {name: of(value) for name, value in eqn.params.items()}
    if all(_is_same(params[name], value) for name, value in eqn.params.items()):
        return eqn
    return eqn.replace(params=ProgramParams(params))


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, tuple) and isinstance(other, tuple):
        return all(a is b for a, b in zip(value, other, strict=True))
    return value is other


class _Rewriting:
    """One program, and the repeats that become blocks.

    `where` has, for the place of an equation in a block, (repeat, occurrence, place in it).
    `remade` are the equations whose results are not stored for readers elsewhere: each makes them
    itself.
    """

    def __init__(self, flow: Flow, repeats: Sequence[Repeat], thresholds: Thresholds) -> None:
        self.flow = flow
        agreeing = map(self._agreeing, repeats)
        self.repeats = [each for each in agreeing if len(each) >= thresholds.occurrences]
        self.where: dict[int, tuple[int, int, int]] = {
            place: (number, k, t)
            for number, repeat in enumerate(self.repeats)
            for k, occurrence in enumerate(repeat)
            for t, place in enumerate(occurrence)
        }
        stored = choose(flow, self.repeats, self.where)
        self.results = stored.results
        self.remade = flow.free | stored.remade
        self.calls: dict[int, Eqn] = {}  # by the place of the last equation that a call replaces
        for number, repeat in enumerate(self.repeats):
            made = _calls(self, repeat, sorted(self.results[number]))
            self.calls.update(zip([each[-1] for each in repeat], made, strict=True))

    def _agreeing(self, repeat: Repeat) -> Repeat:
        """The most occurrences that are alike also in where their operands come from."""
        groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for occurrence in repeat:
            shape = tuple(links([self.flow.eqns[i] for i in occurrence]))
            groups.setdefault(shape, []).append(occurrence)
        most: list[tuple[int, ...]] = max(groups.values(), key=len)
        return tuple(most)

    def label(self, eqn: Eqn) -> Any:
        """What is equal for equations that are alike."""
        place = self.flow.made.get(eqn.outputs[0])
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
        program = self.flow.program
        eqns: list[Eqn] = []
        made: set[Atom] = set()

        def need(atoms: Iterable[Atom]) -> None:
            for eqn in self.made_again(atoms, self.remade, made):
                made.update(eqn.outputs)
                eqns.append(eqn)

        for place, eqn in enumerate(self.flow.eqns):
            call = self.calls.get(place)
            if call is None and (place in self.where or eqn.outputs[0] in self.remade):
                continue  # it is in a block, or made where it is read
            need((call or eqn).inputs)
            eqns.append(call or eqn)
        need(program.outvars)
        return program.replace(eqns=eqns)


def _calls(
    rewriting: _Rewriting, repeat: Sequence[Sequence[int]], results: Sequence[tuple[int, int]]
) -> list[Eqn]:
    """The calls of one block, an equation for each occurrence."""
    own = [[rewriting.flow.eqns[i] for i in each] for each in repeat]
    bodies = _bodies(rewriting, own)
    outside = [i for i, link in enumerate(links(bodies[0])) if link < 0]
    operands = [[x for e in body for x in e.inputs] for body in bodies]
    inputs: dict[tuple[Atom, ...], Var] = {}
    other: dict[int, Var] = {}
    for i in outside:
        if isinstance(operands[0][i], Literal):
            continue
        key = tuple([each[i] for each in operands])
        if key not in inputs:
            v = key[0]
            taken = any(v is known for known in inputs.values())
            inputs[key] = Var(v.aval) if taken else v  # type: ignore[assignment]
        if inputs[key] is not key[0]:
            other[i] = inputs[key]
    first = own[0]
    program = Olympuspr(
        tuple(inputs.values()),
        tuple(_with_inputs(bodies[0], other)),
        tuple([first[t].outputs[r] for t, r in results]),
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


def _bodies(rewriting: _Rewriting, own: Sequence[Sequence[Eqn]]) -> list[list[Eqn]]:
    """The equations of each occurrence, after those that it makes again.

    Each makes again what all do; anything else is an operand.
    """
    operands = [[x for e in eqns for x in e.inputs] for eqns in own]
    recipe = _Recipes(rewriting)
    alike = [len({recipe.of(x) for x in each}) == 1 for each in zip(*operands, strict=True)]
    bodies, shapes = [], set()
    for eqns, atoms in zip(own, operands, strict=True):
        inside = {v for e in eqns for v in e.outputs}
        inside.update([x for x, same in zip(atoms, alike, strict=True) if not same])  # type: ignore[misc]
        again = rewriting.made_again(atoms, rewriting.remade, inside)
        bodies.append([*again, *eqns])
        shapes.add((*map(rewriting.label, again), *links(bodies[-1])))
    if len(shapes) == 1:
        return bodies
    free = rewriting.flow.free
    return [
        [*rewriting.made_again(atoms, free, ()), *eqns]
        for eqns, atoms in zip(own, operands, strict=True)
    ]


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
                change(e, _with_programs(e, of)) if e.primitive.has_programs else e
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
