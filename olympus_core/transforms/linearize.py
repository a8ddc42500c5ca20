"""Linearization and reverse mode.

At a point, a function has a value and a linear program from tangents to tangents; its transpose
maps cotangents back.

The linear program is recorded while the function is differentiated forward: `JVPTrace` runs on a
`LinearTrace`, which passes operations on primal values only to the trace below, and records
operations on tangents.  The primal values that it needs, the residuals, become its constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_core.base import source
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state, switched
from olympus_core.base.errors import (
    InternalError,
    ShardingTypeError,
    TraceError,
    UnsupportedError,
)
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr, Var
from olympus_core.ir.primitive import Linear, Primitive, TangentSplit
from olympus_core.ir.trace import Trace, using_trace
from olympus_core.ir.tracer import Array
from olympus_core.ir.unreduced_rules import unreduced
from olympus_core.primitives.collective import split_along, summed, varying
from olympus_core.primitives.elementwise.arithmetic import add_any_p
from olympus_core.primitives.sharding import retyped, untyped
from olympus_core.transforms.evaluate import evaluate, has_explicit_context, using_mesh_of
from olympus_core.transforms.flat import check_leaks
from olympus_core.transforms.jvp import JVPTrace
from olympus_core.transforms.staging import StagedTracer, StagingTrace, is_literal


class LinearTrace(StagingTrace):
    """Records the operations on tangents; passes all others to the parent trace."""

    def __init__(self, parent: Trace, what: str) -> None:
        super().__init__(what)
        self.parent = parent

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record the operation if an operand is a tangent, else run it in the parent trace."""
        unknown = [x.__class__ is StagedTracer and x.owner is self for x in args]
        if not any(unknown):
            with using_trace(self.parent):
                return self.parent.process(primitive, args, params)
        split = primitive.split(tuple(unknown), **params) if primitive.has_programs else None
        if split is None:  # no part of it can run in the parent trace
            if state.axes and not (primitive.has_programs or primitive.types_varying_axes):
                args = self._known_joined(args)
            return super().process(primitive, args, params)
        return process_split(split, args, unknown, self.parent, super().process)

    def _known_joined(self, args: Sequence[Any]) -> list[Any]:
        """Return the operands with primal ones typed to vary like the tangents, by the parent.

        If this trace recorded the conversion, the transpose would treat its result as a tangent.
        """
        every = frozenset[Any]().union(*[get_aval(x).vma for x in args])
        with using_trace(self.parent):
            return [
                x
                if (x.__class__ is StagedTracer and x.owner is self) or is_literal(x)
                else varying(x, every)
                for x in args
            ]


def process_split(
    split: TangentSplit,
    args: Sequence[Any],
    unknown: Sequence[bool],
    parent: Trace,
    process_unknown: Callable[[Primitive, Sequence[Any], dict[str, Any]], Any],
) -> list[Any]:
    """Run the known part of nested programs in `parent`, and the rest by `process_unknown`."""
    with using_trace(parent):
        outs = split.known([x for x, u in zip(args, unknown, strict=True) if not u])
    residuals = outs[split.num_known_outs :]
    unknown_args = [x for x, u in zip(args, unknown, strict=True) if u]
    linear_outs = iter(
        process_unknown(split.linear, split.operands(residuals, unknown_args), split.linear_params)
    )
    known_outs = iter(outs[: split.num_known_outs])
    return [next(linear_outs) if u else next(known_outs) for u in split.unknown_outs]


class LinearFunction(NamedTuple):
    """A linear program from tangents to tangents; `None` is a result that is zero."""

    program: Olympuspr
    outs: tuple[int | None, ...]

    @property
    def residuals(self) -> tuple[Any, ...]:
        """The values at the point that the program needs."""
        return self.program.consts

    def having(self, residuals: Sequence[Any]) -> LinearFunction:
        """Return the function with other residuals; without any, it is only the program."""
        p = self.program
        program = Olympuspr(p.invars, p.eqns, p.outvars, p.constvars, tuple(residuals))
        return self._replace(program=program)

    def apply(self, tangents: Sequence[Any]) -> list[Any]:
        """Return the tangents of the results, given the tangents of the active inputs."""
        values = evaluate(self.program, tangents)
        return [None if i is None else values[i] for i in self.outs]

    def transpose(
        self, cotangents: Sequence[Any], wanted: Sequence[bool] | None = None
    ) -> list[Any]:
        """Return the cotangents of the inputs, from those of the results; None is zero.

        Those of inputs that are not `wanted` are None, and are not computed.
        """
        out_cotangents = [c for c, i in zip(cotangents, self.outs, strict=True) if i is not None]
        unrecorded_axes = state.unrecorded_axes
        with switched("parted", unrecorded_axes):  # also for a derivative within another one
            outs = backward(self.program, out_cotangents, wanted)
        return [
            x if x is None else summed(x, unrecorded_axes - a.vma)
            for x, a in zip(outs, self.program.in_avals, strict=True)
        ]

    def transpose_whole(self, cotangents: Sequence[Any]) -> list[Any]:
        """Like `transpose`, for a user's program, a part of which may depend on residuals only."""
        p = self.program
        values = dict(zip(p.constvars, p.consts, strict=True))
        return self._replace(program=_specialize(p, p.invars, values)).transpose(cotangents)


def linearize_flat(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    active: Sequence[bool],
    what: str = "a derivative",
    constant_scalars: bool = False,
) -> tuple[list[Any], LinearFunction]:
    """Return the flat results of `fun` at `primals`, and its derivative in the active ones.

    `what` names the transformed function in messages.  With `constant_scalars`, primals that are
    scalar arrays are residuals where the derivative needs them, not literals in it.
    """
    linear = LinearTrace(trace.current_trace(), what)
    if constant_scalars:
        linear.constant_scalars = frozenset(id(x) for x in primals if isinstance(x, Array))
    jvp = JVPTrace(linear, what, linear=True)
    inputs = [
        jvp.wrap(x, linear.new_input(tangent_aval(get_aval(x)))) if a else x
        for x, a in zip(primals, active, strict=True)
    ]
    with using_trace(jvp):
        outs = list(fun(*inputs))
    pairs = [jvp.unwrap(x) for x in outs]
    del inputs, outs
    check_leaks(jvp, what)
    places: list[int | None] = []
    tangents: list[Any] = []
    for _, t in pairs:
        places.append(None if t is None else len(tangents))
        tangents += [] if t is None else [t]
    program = linear.program(tangents)
    linear.alive = False
    return [p for p, _ in pairs], LinearFunction(program, tuple(places))


def tangent_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type of a value's tangent: its own type."""
    return aval


def cotangent_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type of a value's cotangent: the tangent's, or a part's (`split_along`)."""
    return aval.update(vma=aval.vma | state.parted).with_cotangent_sharding()


def backward(
    program: Olympuspr, cotangents: Sequence[Any], wanted: Sequence[bool] | None = None
) -> list[Any]:
    """Return the cotangents of a linear program's inputs, from those of its results (None: zero).

    The equations are visited in reverse; each passes the cotangents of its results to the
    `transpose` of its primitive, with the equation's source line.  Cotangents of inputs that are
    not `wanted` are None; equations of these alone are not visited.
    """
    values: dict[Any, Any] = dict(zip(program.constvars, program.consts, strict=True))
    pending: dict[Any, Any] = {}
    unwanted = set[Var]() if wanted is None or all(wanted) else _unwanted(program, wanted)

    def add_cotangent(atom: Any, cotangent: Any) -> None:
        if cotangent is not None and atom.__class__ is Var and atom not in values:
            if atom in unwanted:
                return
            if state.parted:
                cotangent = split_along(varying(cotangent, atom.aval.vma), state.parted)
            pending_cotangent = pending.get(atom)
            pending[atom] = (
                cotangent
                if pending_cotangent is None
                else add_any_p.bind(pending_cotangent, cotangent)
            )

    def pop_cotangent(var: Any) -> Any:
        """Return the cotangent of a variable, which varies and is summed as the variable does."""
        cotangent = pending.pop(var, None)
        axes = var.aval.vma
        return varying(cotangent, axes) if cotangent is not None and axes else cotangent

    def operand(atom: Any) -> Any:
        if atom.__class__ is Literal:
            return atom.value
        return values[atom] if atom in values else Linear(atom.aval)

    for atom, cotangent in zip(program.outvars, cotangents, strict=True):
        add_cotangent(atom, cotangent)
    is_typed = has_explicit_context()
    for eqn in reversed(program.eqns):
        outs = [pop_cotangent(v) for v in eqn.outputs]
        if all(c is None for c in outs):
            continue
        operands = list(map(operand, eqn.inputs))
        with source.using_location(eqn.source, backward=True):
            if is_typed:
                with using_mesh_of(eqn):
                    _transpose_eqn(eqn, outs, operands, add_cotangent)
            else:
                _transpose_eqn(eqn, outs, operands, add_cotangent)
    return [pop_cotangent(v) for v in program.invars]


def _unwanted(program: Olympuspr, wanted: Sequence[bool]) -> set[Var]:
    """Return the variables that depend on no wanted input."""
    known = {v for v, w in zip(program.invars, wanted, strict=True) if w}
    for eqn in program.eqns:
        if not known.isdisjoint(eqn.inputs):
            known.update(eqn.outputs)
    outputs = (v for eqn in program.eqns for v in eqn.outputs)
    return {v for v in (*program.invars, *outputs) if v not in known}


def _transpose_eqn(
    eqn: Eqn, outs: list[Any], operands: list[Any], add_cotangent: Callable[[Any, Any], None]
) -> None:
    primitive = eqn.primitive
    avals = [x.aval for x in eqn.inputs]
    shardings = [a.explicit for a in (*avals, *[v.aval for v in eqn.outputs])]
    is_typed = any(s is not None and s.mesh.has_explicit_axes for s in shardings)
    try:
        if is_typed and not (primitive.has_programs or primitive.transposes_typed):
            cotangents = _typed_cotangents(eqn, outs, operands)
        else:
            cotangents = _cotangents(eqn, outs, operands)
    except TraceError as e:
        e.location = e.location or str(eqn.source.position() or "") or None
        raise
    for atom, x in zip(eqn.inputs, cotangents, strict=True):
        add_cotangent(
            atom, x if x is None or not is_typed else retyped(x, cotangent_aval(atom.aval))
        )


def _cotangents(eqn: Eqn, outs: list[Any], operands: list[Any]) -> list[Any]:
    """Return the cotangents of an equation's operands, by the rule of its primitive."""
    primitive = eqn.primitive
    cotangent = outs if primitive.multiple_results else outs[0]
    cotangents = list(primitive.transpose(cotangent, *operands, **eqn.params))
    if len(cotangents) != len(operands):
        raise InternalError(
            f"the transpose of '{primitive}' must return a cotangent for each of its "
            f"{len(operands)} operands, and returned {len(cotangents)}"
        )
    return cotangents


def _typed_cotangents(eqn: Eqn, outs: list[Any], operands: list[Any]) -> list[Any]:
    """Return the cotangents of operands with shardings in their types.

    The compiler shards the operations of a rule, which need not be unambiguous. It takes a result
    without unreduced axes for the sum, and the value of each device for a term where a constraint
    gives it unreduced axes. So terms stay terms where each operation of the rule has unreduced
    axes, or where the rule sums over just these axes; otherwise they are summed first.
    """
    if any(x is not None and unreduced(get_aval(x)) for x in outs):
        try:
            return _cotangents(eqn, outs, operands)
        except (ShardingTypeError, UnsupportedError):  # an operation of terms alone is ambiguous
            outs = [x if x is None else retyped(x, _whole(get_aval(x))) for x in outs]
    free_operands = [
        Linear(x.aval.without_sharding()) if isinstance(x, Linear) else untyped(x) for x in operands
    ]
    cotangents = _cotangents(eqn, [x if x is None else untyped(x) for x in outs], free_operands)
    avals = [x.aval for x in eqn.inputs]
    for i, (x, a) in enumerate(zip(cotangents, map(cotangent_aval, avals), strict=True)):
        if x is not None and not unreduced(a) <= eqn.primitive.summed_axes(i, avals, eqn.params):
            cotangents[i] = retyped(x, _whole(a))
    return cotangents


def _whole(aval: ShapedArray) -> ShapedArray:
    """Return a type without unreduced axes."""
    explicit = aval.explicit
    if explicit is None or not explicit.spec.unreduced:
        return aval
    return aval.with_sharding(explicit.update(spec=explicit.spec.update(unreduced=frozenset())))


def transpose_program(
    program: Olympuspr, linear: Sequence[bool], nonzero: Sequence[bool]
) -> Callable[..., list[Any]]:
    """Return the transpose of a program in its `linear` inputs, as a flat function.

    The function takes the values of the other inputs and then the `nonzero` cotangents of the
    results, and returns a cotangent (None for zero) for each linear input.
    """

    def transposed(*args: Any) -> list[Any]:
        values = iter(args)
        env = {v: next(values) for v, u in zip(program.invars, linear, strict=True) if not u}
        invars = tuple(v for v, u in zip(program.invars, linear, strict=True) if u)
        cotangents = [next(values) if g else None for g in nonzero]
        return backward(_specialize(program, invars, env), cotangents)

    return transposed


def _specialize(program: Olympuspr, invars: tuple[Var, ...], env: dict[Any, Any]) -> Olympuspr:
    """Return the program of `invars`; results that depend only on `env` become its constants."""
    linear_eqns = _run_known(program.eqns, env)
    return Olympuspr(invars, linear_eqns, program.outvars, tuple(env), tuple(env.values()))


def _run_known(eqns: Sequence[Eqn], env: dict[Any, Any]) -> tuple[Eqn, ...]:
    """Evaluate equations that depend only on `env`, extend `env`, and return the other ones."""
    remaining: list[Eqn] = []
    used = {x for eqn in eqns for x in eqn.inputs if x.__class__ is Var}
    for eqn in eqns:
        is_known = [x.__class__ is Literal or x in env for x in eqn.inputs]
        values = [
            x.value if x.__class__ is Literal else env[x]
            for x, k in zip(eqn.inputs, is_known, strict=True)
            if k
        ]
        with source.using_location(eqn.source, backward=True):
            if all(is_known):
                out = eqn.primitive.bind(*values, **eqn.params)
                outs = out if eqn.primitive.multiple_results else [out]
                env.update(zip(eqn.outputs, outs, strict=True))
            else:
                remaining.append(_run_known_part(eqn, is_known, values, env, used))
    return tuple(remaining)


def _run_known_part(
    eqn: Eqn, is_known: Sequence[bool], values: Sequence[Any], env: dict[Any, Any], used: set[Var]
) -> Eqn:
    """Return the equation without its known results, which are added to `env`.

    Only equations with programs have such results; if none of them is `used`, the equation is
    unchanged.
    """
    if not any(is_known) or not eqn.primitive.has_programs:
        return eqn
    split = eqn.primitive.split(tuple(not k for k in is_known), **eqn.params)
    if split is None:
        return eqn
    known_outputs = [v for v, u in zip(eqn.outputs, split.unknown_outs, strict=True) if not u]
    if used.isdisjoint(known_outputs):
        return eqn
    outs = split.known(values)
    residuals = {Var(get_aval(x)): x for x in outs[split.num_known_outs :]}
    env.update(zip(known_outputs, outs, strict=False))
    env.update(residuals)
    unknown = [x for x, k in zip(eqn.inputs, is_known, strict=True) if not k]
    return eqn.replace(
        primitive=split.linear,
        inputs=tuple(split.operands(list(residuals), unknown)),
        outputs=tuple(v for v, u in zip(eqn.outputs, split.unknown_outs, strict=True) if u),
        params=split.linear_params,
    )
