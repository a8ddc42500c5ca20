"""The order of ordered effects: each call takes a value from the call before, and passes it on.

The compiler executes operations in any order that their operands allow.  So a program with ordered
effects gets one more value, which its ordered calls and its loops, branches and calls of programs
with such calls take and return.  Between programs, the runtime keeps the order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from olympus_core.base.avals import shaped
from olympus_core.ir.effects import has_ordered_effects
from olympus_core.ir.olympuspr import (
    Atom,
    Eqn,
    Literal,
    Olympuspr,
    Var,
    once_per_program,
    sub_programs,
)

#: the type of the value
ORDER = shaped((), np.dtype("uint8"))


def with_order(program: Olympuspr) -> Olympuspr:
    """Return the program whose ordered effects occur in the order of its equations.

    >>> with_order(program).in_avals == program.in_avals
    True
    """
    if not has_ordered_effects(program):
        return program
    eqns, _ = _linked(program.eqns, Literal(0, ORDER))
    return program.replace(eqns=eqns)


@once_per_program
def _threaded(program: Olympuspr) -> Olympuspr:
    """Return a nested program with the order as its first input and its first result."""
    first = Var(ORDER)
    eqns, last = _linked(program.eqns, first)
    return program.replace(
        invars=(first, *program.invars), eqns=eqns, outvars=(last, *program.outvars)
    )


def _linked(eqns: Sequence[Eqn], order: Atom) -> tuple[list[Eqn], Atom]:
    """Return the equations with the order passed along, and its last value."""
    linked = []
    for eqn in eqns:
        if eqn.primitive.is_effect:
            is_ordered = bool(eqn.params.get("ordered"))
        else:
            is_ordered = bool(eqn.effects) and any(
                has_ordered_effects(p) for p in sub_programs(eqn)
            )
        if is_ordered:
            after = Var(ORDER)
            eqn = eqn.primitive.threaded(eqn, _threaded, order, after)
            order = after
        linked.append(eqn)
    return linked, order
