"""The inverse of outlining: the equations of each repeated block replace its calls.

A program that is raised from StableHLO has blocks if that was lowered with them. Other targets than
the CPU fuse across layers, and need the program without them.
"""

from __future__ import annotations

from olympus_core.ir.olympuspr import (
    Atom,
    Eqn,
    Olympuspr,
    Var,
    once_per_program,
    sub_programs,
    with_programs,
)


def without_blocks(program: Olympuspr) -> Olympuspr:
    """Return the program with its blocks inlined, also in nested programs; itself without blocks.

    >>> without_blocks(outline(program))
    """
    return _inlined(program, {}) if _has_blocks(program) else program


@once_per_program
def _has_blocks(program: Olympuspr) -> bool:
    calls = [eqn for eqn in program.eqns if eqn.primitive.has_programs]
    return any(e.primitive.is_outlined or any(map(_has_blocks, sub_programs(e))) for e in calls)


def _inlined(program: Olympuspr, done: dict[int, Olympuspr]) -> Olympuspr:
    """Return a program without blocks; `done` has the finished ones by identity."""
    if not _has_blocks(program):
        return program
    if id(program) not in done:
        eqns: list[Eqn] = []
        env: dict[Var, Atom] = {}
        outvars = _emit(program, env, eqns, done)
        done[id(program)] = program.replace(eqns=eqns, outvars=outvars)
    return done[id(program)]


def _emit(
    program: Olympuspr, env: dict[Var, Atom], eqns: list[Eqn], done: dict[int, Olympuspr]
) -> list[Atom]:
    """Append the equations of a program, and return its results; `env` renames its variables."""

    def read(x: Atom) -> Atom:
        return env.get(x, x) if isinstance(x, Var) else x

    for eqn in program.eqns:
        inputs = tuple([read(x) for x in eqn.inputs])
        if eqn.primitive.is_outlined:
            body = _inlined(eqn.params["olympuspr"], done)
            results = _copied(body, inputs, eqns)
            env.update(zip(eqn.outputs, results, strict=True))
            continue
        if eqn.primitive.has_programs:
            eqn = with_programs(eqn, lambda inner: _inlined(inner, done))
        eqns.append(eqn if inputs == eqn.inputs else eqn.reading(inputs))
    return [read(x) for x in program.outvars]


def _copied(program: Olympuspr, inputs: tuple[Atom, ...], eqns: list[Eqn]) -> list[Atom]:
    """Append the equations of a program with variables of their own, and return its results."""
    env: dict[Atom, Atom] = dict(zip(program.invars, inputs, strict=True))
    for eqn in program.eqns:
        outputs = tuple([Var(v.aval) for v in eqn.outputs])
        copied = eqn.reading(tuple([env.get(x, x) for x in eqn.inputs]))
        eqns.append(copied.replace(outputs=outputs))
        env.update(zip(eqn.outputs, outputs, strict=True))
    return [env.get(x, x) for x in program.outvars]
