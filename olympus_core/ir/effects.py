"""Effects: actions of equations other than results, and programs without them.

An effect occurs when the program is compiled (an inspection: the user gets the sharding of an
array) or when it runs (a call of a Python function).  Without its inspections a program computes
the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Eqn, Olympuspr, once_per_program, sub_programs, with_programs


def without_inspections(program: Olympuspr) -> Olympuspr:
    """Return the program without the effects of its compilation, also in nested programs.

    A program without them is returned as it is.  Equations that only the inspections used remain,
    as dead equations; nested programs that had one have no dead equations.

    >>> has_inspections(without_inspections(program))
    False
    """
    return _without_inspections(program) if has_inspections(program) else program


def without_effects(program: Olympuspr) -> Olympuspr:
    """Return the program without the equations that have an effect and no results.

    >>> without_effects(make_olympuspr(debug.print)("begin")).eqns
    ()
    """
    return _without_effects(program) if program.effects else program


def has_inspections(program: Olympuspr) -> bool:
    """Return True if the compilation of the program calls a function of the user."""
    return any(primitive.is_inspection for primitive in program.effects)


@once_per_program
def has_ordered_effects(program: Olympuspr) -> bool:
    """Return True if the program has effects whose order is kept."""
    if not program.effects:
        return False
    own = any(e.primitive.is_effect and e.params.get("ordered") for e in program.eqns)
    return own or any(map(has_ordered_effects, _nested(program)))


@once_per_program
def unordered_on_devices(program: Olympuspr) -> frozenset[str]:
    """Return the primitives with ordered effects that have no order on several devices."""
    own = (e.primitive for e in program.eqns if e.primitive.is_effect and e.params.get("ordered"))
    names = frozenset([primitive.name for primitive in own if not primitive.orders_devices])
    return names.union(*map(unordered_on_devices, _nested(program)))


@once_per_program
def has_io_effects(program: Olympuspr) -> bool:
    """Return True if an element of a batch must not have the effects of another one."""
    return any(primitive.is_io for primitive in program.effects)


@once_per_program
def calls_python(program: Olympuspr) -> bool:
    """Return True if the running program calls a Python function."""
    own = any(e.primitive.is_host_call for e in program.eqns)
    return own or any(map(calls_python, _nested(program)))


@once_per_program
def is_partitioned_by_python(program: Olympuspr) -> bool:
    """Return True if the compiler for several devices calls Python functions to partition it."""
    own = any(e.primitive.is_partitioned for e in program.eqns)
    return own or any(map(is_partitioned_by_python, _nested(program)))


def _nested(program: Olympuspr) -> Iterator[Olympuspr]:
    for eqn in program.eqns:
        if eqn.primitive.has_programs:
            yield from sub_programs(eqn)


@once_per_program
def _without_inspections(program: Olympuspr) -> Olympuspr:
    return _filtered(program, lambda e: not e.primitive.is_inspection, without_inspections)


@once_per_program
def _without_effects(program: Olympuspr) -> Olympuspr:
    return _filtered(
        program, lambda e: bool(e.outputs) or not e.primitive.is_effect, without_effects
    )


def _filtered(
    program: Olympuspr,
    keeps: Callable[[Eqn], bool],
    inside: Callable[[Olympuspr], Olympuspr],
) -> Olympuspr:
    """Return the program with the equations that are kept, and `inside` of its nested programs."""

    def nested(inner: Olympuspr) -> Olympuspr:
        changed = inside(inner)
        return inner if changed is inner else simplify(changed)

    return program.replace(
        eqns=[
            with_programs(e, nested) if e.primitive.has_programs else e
            for e in program.eqns
            if keeps(e)
        ]
    )


def inspections_in(program: Olympuspr) -> Iterator[Eqn]:
    """Yield the inspections of a program, in order, also those unsupported by all targets.

    A nested program is visited once, however often it is called.
    """
    seen: set[int] = set()
    pending = [iter(program.eqns)]
    while pending:
        eqn = next(pending[-1], None)
        if eqn is None:
            pending.pop()
            continue
        if eqn.primitive.is_inspection:
            yield eqn
        inside = [p for p in sub_programs(eqn) if id(p) not in seen] if eqn.effects else ()
        seen.update(map(id, inside))
        pending.extend(iter(p.eqns) for p in reversed(inside))
