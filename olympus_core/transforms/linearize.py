"""Linearization and reverse mode.

At a point, a function has a value and a linear program from tangents to tangents; transposed, that
takes cotangents back.

The linear program is recorded while the function is differentiated forward: `JVPTrace` runs on a
`LinearTrace`, which passes what depends on primal values alone to the trace below, and records
what depends on a tangent.  The primal values that it needs, the residuals, become its constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_core import source, trace
from olympus_core.avals import ShapedArray, get_aval
from olympus_core.context import state, switched
from olympus_core.errors import InternalError, TraceError
from olympus_core.olympuspr import Eqn, Literal, Olympuspr, Var
from olympus_core.primitive import Linear, Primitive, Split
from olympus_core.primitives.collective import parted, summed, varying
from olympus_core.primitives.elementwise.arithmetic import add_p
from olympus_core.trace import Trace, using
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.jvp import JVPTrace
from olympus_core.transforms.leaks import check_leaks
from olympus_core.transforms.staging import StagedTracer, StagingTrace, is_literal

__all__ = [
    "LinearFunction",
    "LinearTrace",
    "backward",
    "cotangent_aval",
    "linearize_flat",
    "process_split",
    "transpose_program",
]


class LinearTrace(StagingTrace):
    """Records what depends on tangents; everything else goes to the parent trace."""

    def __init__(self, parent: Trace, what: str) -> None:
        super().__init__(what)
        self.parent = parent

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record the operation if an operand is a tangent, else pass it on."""
        unknown = [x.__class__ is StagedTracer and x.owner is self for x in args]
        if not any(unknown):
            with using(self.parent):
                return self.parent.process(primitive, args, params)
        split = primitive.split(tuple(unknown), **params) if primitive.has_programs else None
        if split is None:  # nothing to be had of it in advance
            if state.axes and not (primitive.has_programs or primitive.says_varying):
                args = self._known_joined(args)
            return super().process(primitive, args, params)
        return process_split(split, args, unknown, self.parent, super().process)

    def _known_joined(self, args: Sequence[Any]) -> list[Any]:
        """What does not depend on a tangent, made to vary as the operands do, by the parent.

        Here it would be recorded, and stand for a tangent when the program is transposed.
        """
        every = frozenset[Any]().union(*[get_aval(x).vma for x in args])
        with using(self.parent):
            return [
                x
                if (x.__class__ is StagedTracer and x.owner is self) or is_literal(x)
                else varying(x, every)
                for x in args
            ]


def process_split(
    split: Split,
    args: Sequence[Any],
    unknown: Sequence[bool],
    parent: Trace,
    later: Callable[[Primitive, Sequence[Any], dict[str, Any]], Any],
) -> list[Any]:
    """Run the part of nested programs that nothing unknown enters in `parent`, the rest `later`."""
    with using(parent):
        outs = split.known([x for x, u in zip(args, unknown, strict=True) if not u])
    residuals = outs[split.num_known_outs :]
    rest = [x for x, u in zip(args, unknown, strict=True) if u]
    linear_outs = iter(later(split.linear, split.operands(residuals, rest), split.linear_params))
    known = iter(outs[: split.num_known_outs])
    return [next(linear_outs) if u else next(known) for u in split.unknown_outs]


class LinearFunction(NamedTuple):
    """A linear program from tangents to tangents; `None` stands for a result that is zero."""

    program: Olympuspr
    outs: tuple[int | None, ...]

    @property
    def residuals(self) -> tuple[Any, ...]:
        """The values at the point that the program needs."""
        return self.program.consts

    def having(self, residuals: Sequence[Any]) -> LinearFunction:
        """The function with other residuals; with none it is only the text of a program."""
        p = self.program
        program = Olympuspr(p.invars, p.eqns, p.outvars, p.constvars, tuple(residuals))
        return self._replace(program=program)

    def apply(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the results for tangents of the inputs that have one."""
        values = evaluate(self.program, tangents)
        return [None if i is None else values[i] for i in self.outs]

    def transpose(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the inputs, from those of the results; None for zero."""
        kept = [c for c, i in zip(cotangents, self.outs, strict=True) if i is not None]
        untold = state.untold
        with switched("parted", untold):  # also where a rule asks, amid another derivative
            outs = backward(self.program, kept)
        return [
            x if x is None else summed(x, untold - a.vma)
            for x, a in zip(outs, self.program.in_avals, strict=True)
        ]

    def transpose_whole(self, cotangents: Sequence[Any]) -> list[Any]:
        """As `transpose`, of a user's program: a part of it may be of residuals alone."""
        p = self.program
        values = dict(zip(p.constvars, p.consts, strict=True))
        return self._replace(program=_given(p, p.invars, values)).transpose(cotangents)


def linearize_flat(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    active: Sequence[bool],
    what: str = "a derivative",
) -> tuple[list[Any], LinearFunction]:
    """The flat results of `fun` at `primals`, and its derivative there in the active ones.

    `what` names the transformed function in messages.
    """
    linear = LinearTrace(trace.current(), what)
    jvp = JVPTrace(linear, what)
    inputs = [
        jvp.wrap(x, linear.new_input(tangent_aval(get_aval(x)))) if a else x
        for x, a in zip(primals, active, strict=True)
    ]
    with using(jvp):
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
    """The type of a tangent of a value: its own, and never weak."""
    return aval.strip_weak()


def cotangent_aval(aval: ShapedArray) -> ShapedArray:
    """The type of a cotangent of a value: that of a tangent, or of a part of it (`parted`)."""
    return aval.update(weak_type=False, vma=aval.vma | state.parted)


def backward(program: Olympuspr, cotangents: Sequence[Any]) -> list[Any]:
    """The cotangents of a linear program's inputs, from those of its results (None: zero).

    The equations are visited in reverse; each hands the cotangents of its results to the
    `transpose` of its primitive, at the line that the equation came from.
    """
    values: dict[Any, Any] = dict(zip(program.constvars, program.consts, strict=True))
    pending: dict[Any, Any] = {}

    def give(atom: Any, cotangent: Any) -> None:
        if cotangent is not None and atom.__class__ is Var and atom not in values:
            if state.parted:
                cotangent = parted(varying(cotangent, atom.aval.vma), state.parted)
            old = pending.get(atom)
            pending[atom] = cotangent if old is None else add_p.bind(old, cotangent)

    def take(var: Any) -> Any:
        """The cotangent of a variable: it varies as the variable does, and is summed as such."""
        found = pending.pop(var, None)
        axes = var.aval.vma
        return varying(found, axes) if found is not None and axes else found

    def operand(atom: Any) -> Any:
        if atom.__class__ is Literal:
            return atom.value
        return values[atom] if atom in values else Linear(atom.aval)

    for atom, cotangent in zip(program.outvars, cotangents, strict=True):
        give(atom, cotangent)
    for eqn in reversed(program.eqns):
        outs = [take(v) for v in eqn.outputs]
        if all(c is None for c in outs):
            continue
        with source.using(eqn.source, backward=True):
            _transpose_eqn(eqn, outs, list(map(operand, eqn.inputs)), give)
    return [take(v) for v in program.invars]


def _transpose_eqn(
    eqn: Eqn, outs: list[Any], operands: list[Any], give: Callable[[Any, Any], None]
) -> None:
    primitive = eqn.primitive
    cotangent = outs if primitive.multiple_results else outs[0]
    try:
        given = primitive.transpose(cotangent, *operands, **eqn.params)
    except TraceError as e:
        e.location = e.location or str(eqn.source.position() or "") or None
        raise
    if len(given) != len(operands):
        raise InternalError(
            f"the transpose of '{primitive}' gave {len(given)} cotangents for {len(operands)}"
        )
    for atom, x in zip(eqn.inputs, given, strict=True):
        give(atom, x)


def transpose_program(
    program: Olympuspr, linear: Sequence[bool], given: Sequence[bool]
) -> Callable[..., list[Any]]:
    """The transpose of a program in its `linear` inputs, as a flat function.

    It takes the values of the other inputs and then the `given` cotangents of the results, and
    returns a cotangent (None for zero) for each linear input.
    """

    def transposed(*args: Any) -> list[Any]:
        values = iter(args)
        env = {v: next(values) for v, u in zip(program.invars, linear, strict=True) if not u}
        invars = tuple(v for v, u in zip(program.invars, linear, strict=True) if u)
        cotangents = [next(values) if g else None for g in given]
        return backward(_given(program, invars, env), cotangents)

    return transposed


def _given(program: Olympuspr, invars: tuple[Var, ...], env: dict[Any, Any]) -> Olympuspr:
    """The program of `invars`, with what depends on the values in `env` alone as its constants."""
    rest = _run_known(program.eqns, env)
    return Olympuspr(invars, rest, program.outvars, tuple(env), tuple(env.values()))


def _run_known(eqns: Sequence[Eqn], env: dict[Any, Any]) -> tuple[Eqn, ...]:
    """Evaluate what depends on the values in `env` alone, and add it there; give what is left."""
    rest: list[Eqn] = []
    used = {x for eqn in eqns for x in eqn.inputs if x.__class__ is Var}
    for eqn in eqns:
        known = [x.__class__ is Literal or x in env for x in eqn.inputs]
        values = [
            x.value if x.__class__ is Literal else env[x]
            for x, k in zip(eqn.inputs, known, strict=True)
            if k
        ]
        with source.using(eqn.source, backward=True):
            if all(known):
                out = eqn.primitive.bind(*values, **eqn.params)
                outs = out if eqn.primitive.multiple_results else [out]
                env.update(zip(eqn.outputs, outs, strict=True))
            else:
                rest.append(_run_known_part(eqn, known, values, env, used))
    return tuple(rest)


def _run_known_part(
    eqn: Eqn, known: Sequence[bool], values: Sequence[Any], env: dict[Any, Any], used: set[Var]
) -> Eqn:
    """The equation without the results that are known, which are added to `env`.

    Programs give such results; where none of them is `used`, the equation stays as it is.
    """
    if not any(known) or not eqn.primitive.has_programs:
        return eqn
    split = eqn.primitive.split(tuple(not k for k in known), **eqn.params)
    if split is None:
        return eqn
    now = [v for v, u in zip(eqn.outputs, split.unknown_outs, strict=True) if not u]
    if used.isdisjoint(now):
        return eqn
    outs = split.known(values)
    residuals = {Var(get_aval(x)): x for x in outs[split.num_known_outs :]}
    env.update(zip(now, outs, strict=False))
    env.update(residuals)
    unknown = [x for x, k in zip(eqn.inputs, known, strict=True) if not k]
    return eqn.replace(
        primitive=split.linear,
        inputs=tuple(split.operands(list(residuals), unknown)),
        outputs=tuple(v for v, u in zip(eqn.outputs, split.unknown_outs, strict=True) if u),
        params=split.linear_params,
    )
