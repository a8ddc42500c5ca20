"""Transformations of programs: from an Olympuspr to its derivative, transpose, batch or parts.

The rules of primitives with programs use them.  Each is cached by the program's identity, so that
a program that is called often is transformed once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state
from olympus_core.base.errors import InternalError
from olympus_core.base.source import Source
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Eqn, Olympuspr, Var
from olympus_core.ir.primitive import Batched, op
from olympus_core.ir.tracer import Tracer
from olympus_core.primitives.constant import ArrayConstant, constant_p
from olympus_core.transforms.batching import BatchTrace, place_axis
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import zeros_of
from olympus_core.transforms.jvp import jvp_flat
from olympus_core.transforms.linearize import (
    cotangent_aval,
    process_split,
    tangent_aval,
    transpose_program,
)
from olympus_core.transforms.staging import StagedTracer, StagingTrace, hoist_consts, stage

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _cached(function: Callable[_P, _R]) -> Callable[_P, _R]:
    wrapped: Any = functools.lru_cache(maxsize=2048)(function)
    return functools.wraps(function)(wrapped)


def closed(program: Olympuspr) -> Olympuspr:
    """Return the program with the arrays it closes over, from a rule, as constant equations."""
    if not program.consts:
        return program
    if any(isinstance(c, Tracer) for c in program.consts):
        raise InternalError("a transformed program closes over traced values")
    nowhere = Source(None, 0, "")
    eqns = [
        Eqn(constant_p, (), (v,), {"value": ArrayConstant(array_to_numpy(c), v.aval)}, nowhere)
        for v, c in zip(program.constvars, program.consts, strict=True)
    ]
    return Olympuspr(program.invars, (*eqns, *program.eqns), program.outvars)


@_cached
def jvp_program(
    program: Olympuspr, nonzero: tuple[bool, ...], forced: tuple[bool, ...]
) -> tuple[Olympuspr, tuple[bool, ...]]:
    """Return the program of values and tangents, and the mask of results that have a tangent.

    Inputs are the program's and then tangents of the `nonzero` ones; results are the program's
    and then the tangents.  Each result in `forced` gets a tangent, of zeros if need be.
    """
    has_tangent: list[bool] = []

    def dual(*args: Any) -> list[Any]:
        primals = args[: len(program.invars)]
        nonzero_tangents = iter(args[len(program.invars) :])
        tangents = [next(nonzero_tangents) if n else None for n in nonzero]
        outs, out_tangents = jvp_flat(functools.partial(_apply, program), primals, tangents)
        result_tangents: list[Any] = []
        for t, w, atom in zip(out_tangents, forced, program.outvars, strict=True):
            has_tangent.append(w or t is not None)
            if t is not None:
                result_tangents.append(t)
            elif w:
                result_tangents.append(zeros_of(tangent_aval(atom.aval)))
        return outs + result_tangents

    tangents = [tangent_aval(a) for a, n in zip(program.in_avals, nonzero, strict=True) if n]
    result = stage(dual, [*program.in_avals, *tangents])
    return closed(result), tuple(has_tangent)


def _apply(program: Olympuspr, *args: Any) -> list[Any]:
    return evaluate(program, args)


class BatchedProgram(NamedTuple):
    """A program of values with a mapped axis, and the mapped axes of its results."""

    program: Olympuspr
    out_dims: tuple[int | None, ...]


@_cached
def batch_program(
    program: Olympuspr,
    batched: Batched,
    dims: tuple[int | None, ...],
    forced: tuple[bool, ...] = (),
) -> BatchedProgram:
    """Return the program mapped over the axes `dims` of its inputs, with mapped results at 0.

    A result is mapped if it depends on a mapped input, or if it is `forced`.
    """
    out_dims: list[int | None] = []

    def mapped(*args: Any) -> list[Any]:
        batch_trace = BatchTrace(trace.current_trace(), batched)
        inputs = [batch_trace.wrap(x, d) for x, d in zip(args, dims, strict=True)]
        with trace.using_trace(batch_trace):
            outs = evaluate(program, inputs)
        results = []
        for i, x in enumerate(outs):
            value, dim = batch_trace.unwrap(x)
            place = 0 if dim is not None or (forced and forced[i]) else None
            out_dims.append(place)
            value = place_axis(value, dim, place, batched.size)
            missing = () if place is None else batched.varying - get_aval(value).vma
            axes = tuple(sorted(missing, key=str))
            results.append(op.pvary(value, axes=axes) if axes else value)
        return results

    avals = [
        a if d is None else _mapped_aval(a, d, batched)
        for a, d in zip(program.in_avals, dims, strict=True)
    ]
    return BatchedProgram(closed(stage(mapped, avals)), tuple(out_dims))


def _mapped_aval(aval: ShapedArray, dim: int, batched: Batched) -> ShapedArray:
    aval = aval.with_axis(dim, batched.size, batched.entry)
    return aval.update(vma=aval.vma | batched.varying) if batched.varying else aval


class SplitProgram(NamedTuple):
    """A program in two parts.

    `known` maps the known inputs to the known results and the residuals; `unknown` maps the
    residuals and the unknown inputs to the unknown results.  `computing` is `known` without the
    residuals that are known inputs, whose positions `forwarded` has, and None for the others.
    `order` has a number for each value that an equation of the two programs computes, ascending in
    the order of the whole program.
    """

    known: Olympuspr
    unknown: Olympuspr
    unknown_outs: tuple[bool, ...]
    num_residuals: int
    computing: Olympuspr
    forwarded: tuple[int | None, ...]
    order: Mapping[Var, int]

    def with_residuals(self, outs: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """Return the results of `known`, from those of `computing` and the known operands."""
        rest = iter(outs)
        count = len(self.known.outvars) - self.num_residuals
        known = [next(rest) for _ in range(count)]
        return [*known, *[next(rest) if i is None else args[i] for i in self.forwarded]]


class _KnownTrace(StagingTrace):
    """Stages the known part; operations on unknown values go to the unknown part's trace."""

    def __init__(self, unknown: StagingTrace) -> None:
        super().__init__("the known part of a program")
        self.unknown = unknown
        self._before: dict[Var, int] = {}  # the known equations before each unknown value

    def process(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        flags = [x.__class__ is StagedTracer and x.owner is self.unknown for x in args]
        if not any(flags):
            return super().process(primitive, args, params)
        split = primitive.split(tuple(flags), **params) if primitive.has_programs else None
        if split is None:
            return self._process_unknown(primitive, args, params)
        return process_split(split, args, flags, self, self._process_unknown)

    def _process_unknown(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        start = len(self.unknown.eqns)
        outs = self.unknown.process(primitive, args, params)
        for eqn in self.unknown.eqns[start:]:
            self._before.update(dict.fromkeys(eqn.outputs, len(self.eqns)))
        return outs

    def order(self) -> dict[Var, int]:
        """Return the `order` of `SplitProgram`."""
        order = {v: 2 * n for v, n in self._before.items()}
        order.update({v: 2 * i + 1 for i, eqn in enumerate(self.eqns) for v in eqn.outputs})
        return order


@_cached
def split_program(
    program: Olympuspr, unknown: tuple[bool, ...], forced: tuple[bool, ...] = ()
) -> SplitProgram:
    """Split a program into the part that does not depend on the `unknown` inputs, and the rest.

    Results in `forced` are treated as unknown; if such a result is known, it is a residual.
    """
    unknown_trace = StagingTrace("the unknown part of a program")
    known_trace = _KnownTrace(unknown_trace)
    inputs = [
        (unknown_trace if u else known_trace).new_input(a)
        for a, u in zip(program.in_avals, unknown, strict=True)
    ]
    with trace.using_trace(known_trace):
        outs = evaluate(program, inputs)
    is_unknown = tuple(
        (x.__class__ is StagedTracer and x.owner is unknown_trace) or bool(forced and forced[i])
        for i, x in enumerate(outs)
    )
    unknown_part = unknown_trace.program([x for x, u in zip(outs, is_unknown, strict=True) if u])
    residuals = unknown_part.consts
    known_outs = [x for x, u in zip(outs, is_unknown, strict=True) if not u]
    known_part = closed(known_trace.program([*known_outs, *residuals]))
    known_trace.alive = unknown_trace.alive = False
    places = {v: i for i, v in enumerate(known_part.invars)}
    forwarded = tuple(
        [
            places.get(x) if isinstance(x, Var) else None
            for x in known_part.outvars[len(known_outs) :]
        ]
    )
    computing = known_part
    if any(i is not None for i in forwarded):
        every = (*[None] * len(known_outs), *forwarded)
        outvars = [x for x, i in zip(known_part.outvars, every, strict=True) if i is None]
        computing = known_part.replace(outvars=tuple(outvars))
    unknown_program = hoist_consts(unknown_part)[0]
    count, order = len(residuals), known_trace.order()
    return SplitProgram(known_part, unknown_program, is_unknown, count, computing, forwarded, order)


def permute(program: Olympuspr, ins: Sequence[int], outs: Sequence[int]) -> Olympuspr:
    """Return the program with its inputs and results in another order."""
    return Olympuspr(
        tuple(program.invars[i] for i in ins),
        program.eqns,
        tuple(program.outvars[i] for i in outs),
    )


def staged(fun: Callable[..., list[Any]], avals: Sequence[ShapedArray]) -> Olympuspr:
    """Return the program of a function that closes over no traced value."""
    return closed(stage(fun, avals))


def transposed_program(
    program: Olympuspr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> tuple[Olympuspr, tuple[bool, ...]]:
    """Return the transpose of a program in its `linear` inputs, and the mask of their cotangents.

    Its inputs are the program's other inputs and the `nonzero` cotangents of the results.
    """
    return _transposed(program, linear, nonzero, state.parted)


@_cached
def _transposed(
    program: Olympuspr, linear: tuple[bool, ...], nonzero: tuple[bool, ...], _: frozenset[Any]
) -> tuple[Olympuspr, tuple[bool, ...]]:
    transposed = transpose_program(program, linear, nonzero)
    has_cotangent: list[bool] = []

    def nonzero_cotangents(*args: Any) -> list[Any]:
        outs = transposed(*args)
        has_cotangent.extend(c is not None for c in outs)
        return [c for c in outs if c is not None]

    values = [a for a, u in zip(program.in_avals, linear, strict=True) if not u]
    cotangents = [cotangent_aval(a) for a, g in zip(program.out_avals, nonzero, strict=True) if g]
    return closed(stage(nonzero_cotangents, [*values, *cotangents])), tuple(has_cotangent)
