"""Outlining: the repeated blocks of a program become nested programs, which it calls.

XLA's compiler for CPUs fuses across the layers of a differentiated program, so that compile time,
run time and memory grow faster than its depth.  A block that is kept as one function is compiled
once, and is the same code for every layer.

What a block computes and others read is stored between the calls.  Where it is cheap to compute
again from what is stored anyway, the readers do so: that is what fusion does in a program without
calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from olympus_core.olympuspr import Atom, Eqn, Literal, Olympuspr, ProgramParams, Var, sub_programs
from olympus_core.primitive import Primitive, op
from olympus_core.repeats import (
    CHEAP,
    MEASURED,
    Flow,
    Labels,
    Repeat,
    Thresholds,
    find,
    is_heavy,
    links,
    weight,
)
from olympus_core.simplify import simplify

__all__ = ["Block", "blocks", "outline"]

_MOST_AGAIN = 8  # equations that one value is made of again, one on the other


class Block(NamedTuple):
    """A program that another one calls at several places, and how often it does."""

    name: str
    program: Olympuspr
    occurrences: int

    @property
    def equations(self) -> int:
        """The number of its equations, those of nested programs included."""
        return weight(self.program.eqns)

    @property
    def lines(self) -> tuple[str, ...]:
        """The user's lines that its first occurrence comes from, `file:line`, in their order."""
        places = {(p.file, p.line) for e in _every(self.program) if (p := e.source.position())}
        return tuple(f"{file}:{line}" for file, line in sorted(places))


def _every(program: Olympuspr) -> Iterable[Eqn]:
    for eqn in program.eqns:
        yield eqn
        for inner in sub_programs(eqn):
            yield from _every(inner)


def outline(program: Olympuspr, thresholds: Thresholds = MEASURED) -> Olympuspr:
    """The program with its repeated blocks as nested programs, `block` equations that call them.

    A block has a product, a convolution or a loop, and reaches the thresholds.  So has a function
    under `jit` that is called so often.  Blocks are called block_1, block_2, ... in the order in
    which the program comes to them; two that are equal are one.

    >>> outline(traced.olympuspr).eqns[-1].primitive
    block
    """
    made = _Outliner(thresholds)
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
        while sum(map(is_heavy, program.eqns)) >= self.thresholds.occurrences:
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

    A value is named by its block and place: (repeat, place in the occurrence, result).  `remade`
    are the equations whose results are not stored for readers elsewhere: each makes them itself.
    """

    def __init__(self, flow: Flow, repeats: Sequence[Repeat], thresholds: Thresholds) -> None:
        self.flow = flow
        self.repeats = [r for r in map(self._agreeing, repeats) if len(r) >= thresholds.occurrences]
        self.where: dict[int, tuple[int, int, int]] = {
            place: (number, k, t)
            for number, repeat in enumerate(self.repeats)
            for k, occurrence in enumerate(repeat)
            for t, place in enumerate(occurrence)
        }
        self.remade = dict(flow.free)
        self.results = _Results(self).choose()
        self.calls: dict[int, Eqn] = {}  # by the place of the last equation that a call replaces
        for number, repeat in enumerate(self.repeats):
            made = _calls(self, repeat, sorted(self.results[number]))
            self.calls.update(zip([each[-1] for each in repeat], made, strict=True))

    def _agreeing(self, repeat: Repeat) -> tuple[tuple[int, ...], ...]:
        """The occurrences that are as the first is."""
        first = self.links(repeat.occurrences[0])
        return tuple(each for each in repeat.occurrences if self.links(each) == first)

    def label(self, eqn: Eqn) -> int:
        """A number that is the same for equations that are alike."""
        place = self.flow.made.get(eqn.outputs[0])
        return -id(eqn) if place is None else int(self.flow.labels[place[0]])

    def links(self, places: Sequence[int]) -> list[int]:
        return links([self.flow.eqns[i] for i in places])

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
            if call is None and place in self.where:
                continue
            need((call or eqn).inputs)
            eqns.append(call or eqn)
        need(program.outvars)
        return program.replace(eqns=eqns)


class _Results:
    """Which values of each block its calls give to the rest of the program.

    A value that is cheap is not stored where what it is made of takes no more memory; whoever
    reads it makes it again.  It is stored where the next occurrence of the block itself reads it,
    or a chain of values would be made again by each.
    """

    def __init__(self, rewriting: _Rewriting) -> None:
        self.rewriting = rewriting
        self.flow = rewriting.flow
        self.last = self.flow.last_uses()
        self.results: list[set[tuple[int, int]]] = [set() for _ in rewriting.repeats]
        self.stays: set[tuple[int, int, int]] = set()  # the block itself reads it, or the caller
        self.outside: set[tuple[int, int, int]] = set()  # what is in no block reads it
        self._read()

    def _read(self) -> None:
        """Find what is read outside of the occurrence that makes it."""
        where = self.rewriting.where
        for use, _, made, result in self.flow.uses.tolist():
            at = where.get(made)
            if at is None:
                continue
            number, k, t = at
            reader = where.get(use)
            if reader is None or reader[:2] != (number, k):
                self.results[number].add((t, result))
                if reader is None:
                    self.outside.add((number, t, result))
                elif reader[0] == number:
                    self.stays.add((number, t, result))
        for x in self.flow.program.outvars:
            place = self.flow.made.get(x) if isinstance(x, Var) else None
            at = where.get(place[0]) if place else None
            if place and at:
                self.results[at[0]].add((at[2], place[1]))
                self.stays.add((at[0], at[2], place[1]))

    def choose(self) -> list[set[tuple[int, int]]]:
        """The results of each block, as (place in the occurrence, result)."""
        for number, repeat in enumerate(self.rewriting.repeats):
            choice = _Choice(self, number, repeat[len(repeat) // 2])
            for t in choice.made_again():
                for occurrence in repeat:
                    eqn = self.flow.eqns[occurrence[t]]
                    self.rewriting.remade[eqn.outputs[0]] = eqn
        return self.results


class _Choice:
    """The choice for one block, from the sizes and the readers of one occurrence in the middle."""

    def __init__(self, results: _Results, number: int, occurrence: Sequence[int]) -> None:
        self.flow = results.flow
        self.last = results.last
        self.stored = results.results[number]
        self.stays = {(t, result) for n, t, result in results.stays if n == number}
        self.outside = {(t, result) for n, t, result in results.outside if n == number}
        self.occurrence = occurrence
        self.at = {place: t for t, place in enumerate(occurrence)}
        self.height: dict[int, int] = {}  # how many are made of one that is made again

    def made_again(self) -> set[int]:
        """The places in the occurrence of what readers make again; `stored` is changed for it."""
        again: set[int] = set()
        for t in reversed(range(len(self.occurrence))):
            if (t, 0) not in self.stored or (t, 0) in self.stays:
                continue
            cost, chain, sources = self._cost(t, self.height.get(t, 0))
            size = self.flow.bytes_of(self.occurrence[t])
            if cost > size or (cost == size and not self._is_free_to_move(t)):
                continue
            self.stored.remove((t, 0))
            self.stored |= sources
            again |= chain
        return again

    def _is_free_to_move(self, t: int) -> bool:
        """Whether to make a value elsewhere costs nothing, where it takes as much memory.

        Other blocks make it within a fusion.  What moves elements is best left to its operand,
        for the compiler folds it into products.
        """
        primitive = self.flow.eqns[self.occurrence[t]].primitive
        return primitive.is_elementwise and (t, 0) not in self.outside

    def _cost(self, t: int, height: int) -> tuple[float, set[int], set[tuple[int, int]]]:
        """The bytes to store for making a value again; all that is made again; what is stored."""
        eqn = self.flow.eqns[self.occurrence[t]]
        if eqn.primitive.name not in CHEAP or height >= _MOST_AGAIN:
            return float("inf"), set(), set()
        cost, chain, sources = 0.0, {t}, set[tuple[int, int]]()
        for x in eqn.inputs:
            at = self.flow.made.get(x) if isinstance(x, Var) else None
            if at is None:
                continue
            inside = self.at.get(at[0])
            if inside is None:
                cost += 0 if self.last[at[0]] > self.occurrence[-1] else self.flow.bytes_of(*at)
                continue
            self.height[inside] = max(self.height.get(inside, 0), height + 1)
            if (inside, at[1]) in self.stored or (inside, at[1]) in sources:
                continue
            size = self.flow.bytes_of(*at)
            deeper, more, others = self._cost(inside, height + 1)
            if deeper < size:
                cost, chain, sources = cost + deeper, chain | more, sources | others
            else:
                cost += size
                sources.add((inside, at[1]))
        return cost, chain, sources


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
    sites = _call_sites(program, made.labels)
    block = _block_primitive()

    def is_kept(eqn: Eqn) -> bool:
        if not eqn.primitive.is_call or eqn.primitive is block:
            return False
        inner = eqn.params["olympuspr"].eqns
        return (
            sites[_key(eqn, made.labels)] >= made.thresholds.occurrences
            and any(map(is_heavy, inner))
            and weight(inner) >= made.thresholds.equations
        )

    def keep(before: Eqn, after: Eqn) -> Eqn:
        if not is_kept(before):
            return after
        params = {name: after.params[name] for name in ("name", "olympuspr")}
        return after.replace(primitive=block, params=ProgramParams(params))

    return _mapped(program, keep)


def _call_sites(program: Olympuspr, labels: Labels) -> Counter[Any]:
    """How often each function is called in the text of a program."""
    sites: Counter[Any] = Counter()
    seen: set[int] = set()
    pending = [program]
    while pending:
        for eqn in pending.pop().eqns:
            for nested in sub_programs(eqn):
                if eqn.primitive.is_call:
                    sites[_key(eqn, labels)] += 1
                    if id(nested) in seen:
                        continue
                    seen.add(id(nested))
                pending.append(nested)
    return sites


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
    """The program with a name for each block that has none, by its place in the program."""
    names: dict[int, str] = {}
    seen: set[int] = set()
    pending = [iter(program.eqns)]
    while pending:
        eqn = next(pending[-1], None)
        if eqn is None:
            pending.pop()
            continue
        for nested in sub_programs(eqn):
            if eqn.primitive is _block_primitive() and not eqn.params["name"]:
                names.setdefault(labels.of_program(nested), f"block_{len(names) + 1}")
            if id(nested) not in seen:
                seen.add(id(nested))
                pending.append(iter(nested.eqns))

    def name(before: Eqn, after: Eqn) -> Eqn:
        if before.primitive is not _block_primitive() or before.params["name"]:
            return after
        number = labels.of_program(before.params["olympuspr"])
        return after.replace(params=ProgramParams(after.params | {"name": names[number]}))

    return _mapped(program, name)


def blocks(program: Olympuspr) -> tuple[Block, ...]:
    """The blocks of an outlined program, in the order of their first calls.

    One that is called in another occurs as often as both say.
    """
    found: dict[str, Olympuspr] = {}
    counts: Counter[str] = Counter()

    def count(inside: Olympuspr, times: int) -> None:
        for eqn in inside.eqns:
            kept = eqn.primitive is _block_primitive()
            if kept:
                found.setdefault(eqn.params["name"], eqn.params["olympuspr"])
                counts[eqn.params["name"]] += times
            for nested in sub_programs(eqn):
                count(nested, times)

    count(program, 1)
    return tuple(Block(name, inner, counts[name]) for name, inner in found.items())


def _block_primitive() -> Primitive:
    found = op.find("block")
    assert found is not None  # control/call.py declares it
    return found
