"""The casts of literals in the body of a `shard_map`, which only JAX's form of a program has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from olympus_core.ir.primitive import op

if TYPE_CHECKING:
    from olympus_core.ir.olympuspr import Atom, Eqn


def with_varying_literals(eqns: Iterable[Eqn]) -> Iterator[Eqn]:
    """Yield equations, with a `pvary` of each literal of an operation on values that vary.

    A program of OLYMPUS has no such equations, because a literal is the same on all devices.
    """
    for eqn in eqns:
        every = frozenset[Any]().union(*[x.aval.vma for x in eqn.inputs])
        primitive = eqn.primitive
        if not every or not eqn.outputs or primitive.has_programs or primitive.types_varying_axes:
            yield eqn
            continue
        inputs: list[Atom] = []
        for x in eqn.inputs:
            if x.__class__ is not eqn.outputs[0].__class__:  # a literal, not a variable
                cast = _cast(eqn, x, every)
                yield cast
                x = cast.outputs[0]
            inputs.append(x)
        yield eqn.reading(tuple(inputs))


def _cast(eqn: Eqn, literal: Atom, axes: frozenset[Any]) -> Eqn:
    varying = eqn.outputs[0].__class__(literal.aval.update(vma=axes))
    return eqn.replace(
        primitive=op.find("pvary"),
        inputs=(literal,),
        outputs=(varying,),
        params={"axes": tuple(sorted(axes, key=str))},
    )
