"""The shardings of the inputs and results of a call in a program, as constraints in the callee."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from olympus_core.base import source
from olympus_core.ir.olympuspr import Atom, CallShardings, Eqn, Olympuspr, Var, call_shardings
from olympus_core.ir.primitive import Batched
from olympus_core.ir.sharding_rules import inserted
from olympus_core.placement.sharding import NamedSharding, Sharding
from olympus_core.primitives.sharding import sharding_constraint_p
from olympus_core.transforms.programs import BatchedProgram, SplitProgram

Shardings = tuple[Sharding | None, ...]


@functools.lru_cache(maxsize=2048)
def constrained(program: Olympuspr, ins: Shardings, outs: Shardings) -> Olympuspr:
    """Return a program with constraints on its inputs and results, None for none.

    `call_shardings` has the shardings and the program without the constraints.
    """
    if not any(s is not None for s in (*ins, *outs)):
        return program
    mark = source.current_location()

    def constraint(x: Atom, result: Var, sharding: Sharding) -> Eqn:
        params = {"sharding": sharding.with_layout(None)}
        return Eqn(sharding_constraint_p, (x,), (result,), params, mark)

    invars = [v if s is None else Var(v.aval) for v, s in zip(program.invars, ins, strict=True)]
    outvars = [x if s is None else Var(x.aval) for x, s in zip(program.outvars, outs, strict=True)]
    before = [
        constraint(x, v, s)
        for x, v, s in zip(invars, program.invars, ins, strict=True)
        if s is not None
    ]
    after = [
        constraint(x, v, s)
        for x, v, s in zip(program.outvars, outvars, outs, strict=True)
        if s is not None and isinstance(v, Var)
    ]
    eqns = (*before, *program.eqns, *after)
    result = Olympuspr(tuple(invars), eqns, tuple(outvars))
    call_shardings[result] = CallShardings(program, ins, outs)
    return result


def dual(
    own: CallShardings, program: Olympuspr, nonzero: Sequence[bool], has_tangent: Sequence[bool]
) -> Olympuspr:
    """Return the program of values and tangents, each tangent with the sharding of its value."""
    ins, outs = _chosen(own.ins, nonzero), _chosen(own.outs, has_tangent)
    return constrained(program, (*own.ins, *ins), (*own.outs, *outs))


def split(own: CallShardings, parts: SplitProgram, unknown: Sequence[bool]) -> SplitProgram:
    """Return the parts of a split program with its shardings, and none for residuals."""
    residuals = (None,) * parts.num_residuals
    computed = (None,) * sum(i is None for i in parts.forwarded)
    computing = constrained(
        parts.computing,
        _chosen(own.ins, [not u for u in unknown]),
        (*_chosen(own.outs, [not u for u in parts.unknown_outs]), *computed),
    )
    linear = constrained(
        parts.unknown,
        (*residuals, *_chosen(own.ins, unknown)),
        _chosen(own.outs, parts.unknown_outs),
    )
    return parts._replace(computing=computing, unknown=linear)


def transposed(
    own: CallShardings,
    program: Olympuspr,
    linear: Sequence[bool],
    nonzero: Sequence[bool],
    has_cotangent: Sequence[bool],
) -> Olympuspr:
    """Return the transpose of a program, each cotangent with the sharding of its value."""
    ins = (*_chosen(own.ins, [not u for u in linear]), *_chosen(own.outs, nonzero))
    every = zip(_chosen(own.ins, linear), has_cotangent, strict=False)
    return constrained(program, ins, tuple(s for s, has in every if has))


def batched(
    own: CallShardings, result: BatchedProgram, batch: Batched, dims: Sequence[int | None]
) -> Olympuspr:
    """Return the mapped program; the mapped axes are split along the axes `spmd` of the mesh."""
    ins = [_with_axis(s, d, batch.spmd) for s, d in zip(own.ins, dims, strict=True)]
    outs = [_with_axis(s, d, batch.spmd) for s, d in zip(own.outs, result.out_dims, strict=True)]
    return constrained(result.program, tuple(ins), tuple(outs))


def _with_axis(sharding: Sharding | None, dim: int | None, names: Any) -> Sharding | None:
    if not isinstance(sharding, NamedSharding) or dim is None:
        return sharding
    entries = sharding.spec.partitions
    filled = (*entries, *[None] * (dim - len(entries)))
    return sharding.with_partitions(inserted(filled, dim, names))


def _chosen(shardings: Iterable[Sharding | None], mask: Sequence[bool]) -> Shardings:
    return tuple([s for s, is_chosen in zip(shardings, mask, strict=True) if is_chosen])
