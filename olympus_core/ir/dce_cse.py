"""Simplification: dead code and common subexpression elimination.

Equations that no result depends on are removed, also inside nested programs, and values that one
program computes twice are computed once.  Equations with an effect are neither removed nor merged.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.ir.olympuspr import (
    Atom,
    Eqn,
    Literal,
    Olympuspr,
    float_bits,
    kind_of,
    once_per_program,
)


def live(program: Olympuspr) -> list[Eqn]:
    """Return the equations whose results are used, or that have an effect, in order.

    Programs nested in them lose the results that are not used.
    """
    used: set[Atom] = set(program.outvars)
    live_eqns: list[Eqn] = []
    for eqn in reversed(program.eqns):
        if len(eqn.outputs) == 1:
            if eqn.outputs[0] not in used:
                if not eqn.effects:
                    continue
                eqn = eqn.primitive.prune(eqn, (False,))
        else:
            flags = [v in used for v in eqn.outputs]
            if not any(flags) and not eqn.effects:
                continue
            if not all(flags) and (eqn.primitive.has_programs or eqn.primitive.is_pruned):
                eqn = eqn.primitive.prune(eqn, tuple(flags))
        used.update(eqn.inputs)
        live_eqns.append(eqn)
    live_eqns.reverse()
    return live_eqns


@once_per_program
def simplify(program: Olympuspr) -> Olympuspr:
    """Return the program without dead and repeated equations; equal literals become one."""
    live_eqns = live(program)
    literals = dict.fromkeys([x for e in live_eqns for x in e.inputs if x.__class__ is Literal])
    merged: dict[Any, Atom] = {}
    same: dict[Any, Any] = {x: merged.setdefault(content(x), x) for x in literals}
    same = {x: one for x, one in same.items() if x is not one}
    changed = same.keys()
    first: dict[Any, Eqn] = {}
    eqns: list[Eqn] = []
    for eqn in live_eqns:
        kind = kind_of(eqn)
        if kind is not eqn.kind and eqn.kind is not None:
            eqn = eqn.replace()  # a pass changed its parameters in place
        if not changed.isdisjoint(eqn.inputs):
            eqn = eqn.reading(tuple([same.get(x, x) for x in eqn.inputs]))
        known = first.setdefault((kind, eqn.inputs, eqn.source.annotations), eqn)
        if known is eqn or eqn.effects:
            eqns.append(eqn)
        else:
            same.update(zip(eqn.outputs, known.outputs, strict=True))
    outvars = tuple([same.get(x, x) for x in program.outvars])
    return Olympuspr(program.invars, tuple(eqns), outvars, program.constvars, program.consts)


def content(literal: Any) -> Any:
    """Return a key that equals for identical literals: the bits, as 0.0 and -0.0 compare equal."""
    value = literal.value
    if value.__class__ is float:
        return float_bits(value), literal.aval
    if isinstance(value, (int, bool)):
        return value, literal.aval
    return np.asarray(value, literal.aval.dtype).tobytes(), literal.aval


def restrict(program: Olympuspr, used: Sequence[bool]) -> tuple[Olympuspr, tuple[int, ...]]:
    """Return the program with only the `used` results, and the indices of its remaining inputs."""
    return _restrict(program, tuple(used))


@functools.lru_cache(maxsize=1024)
def _restrict(program: Olympuspr, used: tuple[bool, ...]) -> tuple[Olympuspr, tuple[int, ...]]:
    outvars = tuple(x for x, u in zip(program.outvars, used, strict=True) if u)
    eqns = live(Olympuspr(program.invars, program.eqns, outvars))
    read: set[Atom] = {x for e in eqns for x in e.inputs}
    read.update(outvars)
    live_inputs = tuple(i for i, v in enumerate(program.invars) if v in read)
    invars = tuple(program.invars[i] for i in live_inputs)
    return Olympuspr(invars, tuple(eqns), outvars), live_inputs
