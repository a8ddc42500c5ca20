"""Effects: actions of equations other than results, and programs without them.

The only effect occurs at compilation: a callback of the user gets the sharding of an array.
Therefore a program computes the same results without its effects.
"""

from __future__ import annotations

from collections.abc import Iterator

from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Eqn, Olympuspr, once_per_program, sub_programs, with_programs


def without_effects(program: Olympuspr) -> Olympuspr:
    """Return the program without the equations that have an effect, also in nested programs.

    A program without effects is returned as it is.  Equations that only the effects used remain, as
    dead equations; nested programs that had an effect have no dead equations.

    >>> without_effects(program).effects
    frozenset()
    """
    return _without(program) if program.effects else program


@once_per_program
def _without(program: Olympuspr) -> Olympuspr:
    return program.replace(
        eqns=[
            with_programs(e, _nested) if e.primitive.has_programs else e
            for e in program.eqns
            if not e.primitive.is_effect
        ]
    )


def _nested(program: Olympuspr) -> Olympuspr:
    return simplify(without_effects(program)) if program.effects else program


def effects_in(program: Olympuspr) -> Iterator[Eqn]:
    """Yield the equations that have an effect, in order, also those unsupported by all targets.

    A nested program is visited once, however often it is called.
    """
    seen: set[int] = set()
    pending = [iter(program.eqns)]
    while pending:
        eqn = next(pending[-1], None)
        if eqn is None:
            pending.pop()
            continue
        if eqn.primitive.is_effect:
            yield eqn
        inside = [p for p in sub_programs(eqn) if id(p) not in seen] if eqn.effects else ()
        seen.update(map(id, inside))
        pending.extend(iter(p.eqns) for p in reversed(inside))
