"""Outlining: repeated blocks of a program become nested programs, which it calls.

XLA's compiler for CPUs fuses across the layers of a differentiated program, so that compile time,
run time and memory grow faster than its depth. A block that is one function is compiled once, and
is the same code for every layer.

Values of a block that others read are saved between the calls. If a value is cheap to recompute
from saved values, its readers recompute it, as fusion does in a program without calls.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from olympus_core.base import gc_pause
from olympus_core.blocks.dataflow import Flow
from olympus_core.blocks.labels import Labels, is_heavy, most_heavy_equations, weight
from olympus_core.blocks.profitability import is_gain
from olympus_core.blocks.repeats import MEASURED, Thresholds, find
from olympus_core.blocks.rewriting import Rewriting, block_primitive
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import (
    Eqn,
    Olympuspr,
    ProgramParams,
    once_per_program,
    sub_programs,
    with_programs,
)


class Block(NamedTuple):
    """A program that another program calls at several places, and the number of its calls."""

    name: str
    program: Olympuspr
    occurrences: int

    @property
    def equations(self) -> int:
        """The number of its equations, including its loops but not its callees."""
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
    """Outline the repeated blocks of a program, as nested programs that `block` equations call.

    A block has a product, a convolution or a loop, and reaches the thresholds. A function under
    `jit` that is called often enough becomes a block too. Blocks are named block_1, block_2, ... in
    the order of their first calls; equal blocks are one. A program with annotations for the
    compiler is returned unchanged, because they belong to single equations.

    >>> outline(traced.olympuspr).eqns[-1].primitive
    block
    """
    if _is_annotated(program):
        return program
    outliner = _Outliner(thresholds)
    with gc_pause.paused():
        return _named(_with_block_calls(outliner.program(program), outliner), outliner.labels)


@once_per_program
def _is_annotated(program: Olympuspr) -> bool:
    """Return True if an equation of a program, also of a nested one, has an annotation."""
    return any(
        eqn.source.annotations
        or (eqn.primitive.has_programs and any(map(_is_annotated, sub_programs(eqn))))
        for eqn in program.eqns
    )


class _Outliner:
    """The shared state of one outlining: the labels, and the finished programs."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.thresholds = thresholds
        self.labels = Labels()
        self._done: dict[int, tuple[Olympuspr, Olympuspr]] = {}

    def program(self, program: Olympuspr) -> Olympuspr:
        """Return the program outlined, with all nested programs."""
        known = self._done.get(id(program))
        if known is None:
            known = self._done[id(program)] = program, self._outlined(simplify(program))
        return known[1]

    def _outlined(self, program: Olympuspr) -> Olympuspr:
        """Outline the equations of a program until no block is left, then nested programs."""
        while most_heavy_equations(program.eqns) >= self.thresholds.occurrences:
            flow = Flow(program, self.labels)
            repeats = find(flow, self.thresholds)
            if not repeats or not is_gain(flow, repeats, self.thresholds):
                break
            rewriting = Rewriting(flow, repeats, self.thresholds)
            if not rewriting.repeats:
                break
            program = rewriting.program()
        eqns = [
            with_programs(e, self.program) if e.primitive.has_programs else e for e in program.eqns
        ]
        return program if tuple(eqns) == program.eqns else program.replace(eqns=eqns)


def _key(eqn: Eqn, labels: Labels) -> Any:
    """Return a key that is equal for two calls of one function."""
    return eqn.params["name"], labels.of_program(eqn.params["olympuspr"])


def _with_block_calls(program: Olympuspr, outliner: _Outliner) -> Olympuspr:
    """Return the program with `block` instead of `jit` for functions with enough calls."""
    least, block = outliner.thresholds, block_primitive()
    if all(eqn.primitive.is_outlined for eqn in _calls_within(program)):
        return program
    callees = _callees(program, outliner.labels)
    copies: Counter[Any] = Counter({None: 1})  # in the code, once the compiler has inlined calls
    block_keys: set[Any] = set()
    for key, (body, called) in callees.items():
        big = key is not None and weight(body.eqns) >= least.equations
        if big and copies[key] >= least.occurrences and any(map(is_heavy, body.eqns)):
            block_keys.add(key)
        times = 1 if key in block_keys else copies[key]
        for callee, count in called.items():
            copies[callee] += times * count
    if not block_keys:
        return program

    def block_call(before: Eqn, after: Eqn) -> Eqn:
        if not before.primitive.is_call or _key(before, outliner.labels) not in block_keys:
            return after
        params = {name: after.params[name] for name in ("name", "olympuspr")}
        return after.replace(primitive=block, params=ProgramParams(params))

    return _mapped(program, block_call)


def _callees(program: Olympuspr, labels: Labels) -> dict[Any, tuple[Olympuspr, Counter[Any]]]:
    """Return each function of a program and its numbers of calls; callers come before callees.

    The key of the program itself is None.
    """
    callees: dict[Any, tuple[Olympuspr, Counter[Any]]] = {}

    def visit(key: Any, body: Olympuspr) -> None:
        calls: Counter[Any] = Counter()
        for callee, nested in _calls_in(body, labels):
            calls[callee] += 1
            if callee not in callees:
                visit(callee, nested)
        callees[key] = body, calls

    visit(None, program)
    return dict(reversed(callees.items()))


def _calls_in(program: Olympuspr, labels: Labels) -> Iterator[tuple[Any, Olympuspr]]:
    """Yield the calls in a program, and in its loops, branches and other nested programs."""
    for eqn in program.eqns:
        if eqn.primitive.is_call:
            yield _key(eqn, labels), eqn.params["olympuspr"]
        elif eqn.primitive.has_programs:
            for nested in sub_programs(eqn):
                yield from _calls_in(nested, labels)


def _mapped(program: Olympuspr, change: Callable[[Eqn, Eqn], Eqn]) -> Olympuspr:
    """Return the program with `change` applied to each equation, also of nested programs.

    It gets the original equation, and the equation with its own programs changed.
    """
    done: dict[int, tuple[Olympuspr, Olympuspr]] = {}

    def of(inside: Olympuspr) -> Olympuspr:
        known = done.get(id(inside))
        if known is None:
            eqns = [
                change(e, with_programs(e, of)) if e.primitive.has_programs else e
                for e in inside.eqns
            ]
            same = tuple(eqns) == inside.eqns
            known = done[id(inside)] = inside, inside if same else inside.replace(eqns=eqns)
        return known[1]

    return of(program)


def _named(program: Olympuspr, labels: Labels) -> Olympuspr:
    """Return the program with a unique name for each block: block_1, ..., by its position.

    A function under `jit` keeps its name, with a number if another block has it.
    """
    every = [eqn for eqn in _calls_within(program) if eqn.primitive.is_outlined]
    if not every:
        return program
    used_names = {eqn.params["name"] for eqn in every}
    names: dict[Any, str] = {}
    for eqn in every:
        key, name = _key(eqn, labels), eqn.params["name"]
        if key not in names:
            if not name or name in names.values():
                forms = (f"{name or 'block'}_{n}" for n in itertools.count(1))
                name = next(form for form in forms if form not in used_names)
            used_names.add(name)
            names[key] = name

    def rename(before: Eqn, after: Eqn) -> Eqn:
        if not before.primitive.is_outlined:
            return after
        name = names[_key(before, labels)]
        return after.with_params(ProgramParams(after.params | {"name": name}))

    return _mapped(program, rename)


def _calls_within(program: Olympuspr) -> list[Eqn]:
    """Return the calls in a program, in their order; each callee is visited once."""
    seen: set[int] = set()
    calls: list[Eqn] = []
    pending = [iter([e for e in program.eqns if e.primitive.has_programs])]
    while pending:
        eqn = next(pending[-1], None)
        if eqn is None:
            pending.pop()
            continue
        if eqn.primitive.is_call:
            calls.append(eqn)
        for nested in sub_programs(eqn):
            if id(nested) not in seen:
                seen.add(id(nested))
                pending.append(iter([e for e in nested.eqns if e.primitive.has_programs]))
    return calls


def blocks(program: Olympuspr) -> tuple[Block, ...]:
    """Return the blocks of an outlined program, in the order of their first calls.

    The number of occurrences of a nested block is the product over the nesting.
    """
    every = [eqn for eqn in _calls_within(program) if eqn.primitive.is_outlined]
    programs = {eqn.params["name"]: eqn.params["olympuspr"] for eqn in every}
    known: dict[int, Counter[str]] = {}

    def times(inside: Olympuspr) -> Counter[str]:
        """Return the number of calls of each block in one run of a program."""
        counts = known.get(id(inside))
        if counts is None:
            counts = known[id(inside)] = Counter()
            for eqn in inside.eqns:
                if eqn.primitive.is_outlined:
                    counts[eqn.params["name"]] += 1
                for nested in sub_programs(eqn) if eqn.primitive.has_programs else ():
                    counts.update(times(nested))
        return counts

    if not programs:
        return ()
    counts = times(program)
    return tuple(Block(name, inner, counts[name]) for name, inner in programs.items())
