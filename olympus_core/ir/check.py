"""The checker: it types a program again, as after a pass, and reports the first broken rule.

The error is InternalError, because only OLYMPUS creates the IR.
"""

from __future__ import annotations

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import InternalError
from olympus_core.ir.olympuspr import Atom, Eqn, Literal, Olympuspr, Var, sub_programs


def check(program: Olympuspr) -> None:
    """Raise InternalError unless `program` is well formed and typed by its primitives.

    >>> check_jaxpr(make_jaxpr(lambda x: 2 * x)(1.0).jaxpr)
    """
    _check(program, set())


def _check(program: Olympuspr, checked: set[Olympuspr]) -> None:
    nested = bool(checked)
    checked.add(program)
    if len(program.constvars) != len(program.consts):
        raise InternalError("constvars and consts differ in number")
    if nested and program.constvars:
        raise InternalError("a program in an equation's parameters closes over constants")
    bound: set[Var] = set()
    for var in (*program.constvars, *program.invars):
        _define(var, bound, "an input")
    for eqn in program.eqns:
        _check_eqn(eqn, bound, checked)
    for atom in program.outvars:
        _use(atom, bound, "the results")


def _define(var: Var, bound: set[Var], where: str) -> None:
    if var in bound:
        raise InternalError(f"{var} is bound twice, last by {where}")
    bound.add(var)


def _use(atom: Atom, bound: set[Var], where: str) -> None:
    if isinstance(atom, Literal):
        if atom.aval.shape != ():
            raise InternalError(f"a literal in {where} is not a scalar: {atom}")
    elif atom not in bound:
        raise InternalError(f"{where} read {atom}, which is not bound yet")


def _check_eqn(eqn: Eqn, bound: set[Var], checked: set[Olympuspr]) -> None:
    where = f"an equation of '{eqn.primitive.name}'"
    for atom in eqn.inputs:
        _use(atom, bound, where)
    for program in sub_programs(eqn):
        if program not in checked:
            _check(program, checked)
    typed = eqn.primitive.out_avals(tuple(a.aval for a in eqn.inputs), eqn.params)
    if len(typed) != len(eqn.outputs) or not all(map(_same, typed, (v.aval for v in eqn.outputs))):
        want = ", ".join(a.short_name() for a in typed)
        have = ", ".join(v.aval.short_name() for v in eqn.outputs)
        raise InternalError(f"{where} gives ({want}) and is typed ({have})")
    for var in eqn.outputs:
        _define(var, bound, where)


def _same(a: ShapedArray, b: ShapedArray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype
