"""The arguments of a program that an operation depends on."""

from __future__ import annotations

from typing import Any

from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr
from olympus_core.verification.findings import Finding


def arguments_of(program: Olympuspr, finding: Finding) -> tuple[int, ...]:
    """Return the positions of the arguments that the operands of a finding's operation depend on.

    Empty if no operation has the line and the name of the finding. In a loop or a branch, they are
    the arguments that the loop or the branch depends on.

    >>> def f(x, y):
    ...     return numpy.sin(x) + y
    >>> program = jit(f).trace(1.0, 2.0).olympuspr
    >>> wrong = first_wrong(program, [np.float32(1), np.float32(2)], lambda *_: [np.float32(0)])
    >>> wrong.operation, arguments_of(program, wrong)
    ('sin', (0,))
    """
    needed = _needed(program, finding) or set()
    return tuple(i for i, var in enumerate(program.invars) if var in needed)


def _needed(program: Olympuspr, finding: Finding) -> set[Any] | None:
    """Return the variables that the first operation of the finding depends on, or None."""
    for place, eqn in enumerate(program.eqns):
        start = _operands(eqn, finding)
        if start is None:
            continue
        needed = set(start)
        for earlier in reversed(program.eqns[:place]):
            if not needed.isdisjoint(earlier.outputs):
                needed.update(x for x in earlier.inputs if not isinstance(x, Literal))
        return needed
    return None


def _operands(eqn: Eqn, finding: Finding) -> list[Any] | None:
    """Return the operands that lead to the operation, if the equation is it or contains it."""
    inputs = [x for x in eqn.inputs if not isinstance(x, Literal)]
    if not eqn.primitive.has_programs:
        position = eqn.source.position()
        same = position is not None and str(position) == finding.location
        return inputs if same and eqn.primitive.spoken(eqn.params) == finding.operation else None
    called = eqn.params.get("olympuspr")
    if isinstance(called, Olympuspr) and len(called.invars) == len(eqn.inputs):
        if (needed := _needed(called, finding)) is None:
            return None
        pairs = zip(called.invars, eqn.inputs, strict=True)
        return [x for var, x in pairs if var in needed and not isinstance(x, Literal)]
    programs = _programs(list(eqn.params.values()))
    return inputs if any(_needed(program, finding) is not None for program in programs) else None


def _programs(values: list[Any]) -> list[Olympuspr]:
    """Return the programs among the parameters of an equation, also those in tuples."""
    programs = []
    for value in values:
        if isinstance(value, Olympuspr):
            programs.append(value)
        elif isinstance(value, tuple | list):
            programs += _programs(list(value))
    return programs
