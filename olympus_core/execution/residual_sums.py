"""The pass that makes XLA compute the sums of a residual network once.

XLA for CPUs computes an elementwise value again in each fusion that reads it, if at most one of its
operands is an array of its size (`EffectivelyAtMostUnary` in xla/service/instruction_fusion.cc).
The maximum of a sum and zero is such a value, and its sum is computed with it: each layer of a
residual network computes the sums of all layers before it.  A selection between the sum and zero by
a comparison has two operands of its size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from olympus_core.base import dtypes
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Atom, Eqn, Literal, Olympuspr, Var
from olympus_core.primitives.elementwise.arithmetic import max_p, relu_p
from olympus_core.primitives.elementwise.logic import le_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.shape import broadcast_in_dim_p


def with_sums_computed_once(program: Olympuspr) -> Olympuspr:
    """Return the program with the maxima of sums and a number as selections, if several read them.

    It is the program itself if it has none.  NaN stays NaN.  Nested programs stay.

    >>> [eqn.primitive for eqn in with_sums_computed_once(traced.olympuspr).eqns[2:4]]
    [le, select_n]
    """
    if not any(e.primitive in (max_p, relu_p) for e in program.eqns):
        return program
    simple = simplify(program)
    readers = Counter([x for e in simple.eqns for x in {*e.inputs}] + [*simple.outvars])
    makers: dict[Atom, Eqn] = {out: e for e in simple.eqns for out in e.outputs}
    eqns: list[Eqn] = []
    for eqn in simple.eqns:
        operands = _maximum(eqn)
        if operands and readers[eqn.outputs[0]] > 1 and _is_sum(operands[0], makers):
            eqns += _selection(eqn, *operands)
        else:
            eqns.append(eqn)
    return simple.replace(eqns=eqns) if len(eqns) > len(simple.eqns) else program


def _maximum(eqn: Eqn) -> tuple[Atom, Literal] | None:
    """Return the array and the number that an equation returns the maximum of; None for others."""
    if eqn.primitive not in (max_p, relu_p) or dtypes.kind(eqn.outputs[0].aval.dtype) != "f":
        return None
    if eqn.primitive is relu_p:
        (x,) = eqn.inputs
        return x, Literal(x.aval.dtype.type(0), x.aval.update(shape=(), weak_type=False))
    x, bound = sorted(eqn.inputs, key=lambda x: isinstance(x, Literal))
    if not isinstance(bound, Literal) or bound.value != bound.value:  # the maximum with NaN is NaN
        return None
    return (x, bound) if x.aval.ndim else None


def _is_sum(x: Atom, makers: dict[Atom, Eqn]) -> bool:
    """Return True if an elementwise value is computed from several arrays of its size."""
    eqn = makers.get(x)
    if eqn is None or not eqn.primitive.is_elementwise:
        return False
    arrays = [*_arrays(eqn, makers)]
    return len(arrays) > 1 or (len(arrays) == 1 and _is_sum(arrays[0], makers))


def _arrays(eqn: Eqn, makers: dict[Atom, Eqn]) -> Iterator[Atom]:
    """Yield the operands of an elementwise operation that are not broadcast."""
    for x in eqn.inputs:
        is_broadcast = x in makers and makers[x].primitive is broadcast_in_dim_p
        if x.aval.ndim and not is_broadcast:
            yield x


def _selection(eqn: Eqn, x: Atom, bound: Literal) -> list[Eqn]:
    """Return the equations that select the larger one of an array and a number."""
    is_below = Var(le_p.abstract(x.aval, bound.aval))
    params: dict[str, Any] = {}
    return [
        Eqn(le_p, (x, bound), (is_below,), params, eqn.source),
        Eqn(select_n_p, (is_below, x, bound), eqn.outputs, params, eqn.source),
    ]
