"""Effects: what equations do besides giving results, and programs without them.

The only one there is belongs to the compilation: a function of the user's is told where an array
lies.  What a program computes is therefore the same without its effects.
"""

from __future__ import annotations

from collections.abc import Iterator

from olympus_core.olympuspr import (
    Eqn,
    Olympuspr,
    once_per_program,
    sub_programs,
    with_programs,
)
from olympus_core.simplify import simplify

__all__ = ["effects_in", "without_effects"]


def without_effects(program: Olympuspr) -> Olympuspr:
    """The program without the equations that have an effect, also inside nested programs.

    It is the program itself where it has none.  What only these equations read stays in it, as dead
    equations; nested programs that had an effect have no dead equations.

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
    """The equations that have an effect, in order, also those that no target has a use for.

    A nested program is looked at once, however often it is called.
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
