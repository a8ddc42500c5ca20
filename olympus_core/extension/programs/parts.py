"""Parts of programs: of the known and the unknown inputs, and of the used results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ArgumentError
from olympus_core.extension.partial_programs import dce_jaxpr
from olympus_core.extension.rules import Registry, Rule
from olympus_core.ir.olympuspr import Eqn, Olympuspr, ProgramParams
from olympus_core.ir.primitive import Primitive
from olympus_core.transforms.programs import permute, split_program
from olympus_core.transforms.staging import hoist_consts, stage

#: The type of a value in a signature of JAX: anything.
Val = Any


def abstract_eval_fun(
    fun: Callable[..., Any], *avals: ShapedArray, debug_info: Any = None, **params: Any
) -> list[ShapedArray]:
    """Return the types of the results of a function that returns a list, for arguments of types.

    `params` are keyword arguments of the function, and `debug_info` has no effect.

    >>> abstract_eval_fun(lambda x, *, n: [n * x], ShapedArray((3,), "float32"), n=2)
    [ShapedArray(float32[3])]
    """
    program = stage(lambda *xs: list(fun(*xs, **params)), list(avals), what=f"'{fun}'")
    return list(program.out_avals)


def _with_consts(jaxpr: Olympuspr, count: int, consts: Sequence[Any]) -> Olympuspr:
    """Return the program whose first `count` inputs are its constants."""
    invars = jaxpr.invars
    return jaxpr.replace(invars=invars[count:], constvars=invars[:count], consts=consts)


def dce_jaxpr_consts(
    jaxpr: Olympuspr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Olympuspr, list[bool], list[bool]]:
    """Return the program of the used results, and which constants and which inputs it has.

    `instantiate` marks constants, and then inputs, that remain though they are not used.

    >>> program = make_jaxpr(lambda x, y: (x + 1, y))(1.0, 2.0).jaxpr
    >>> dce_jaxpr_consts(program, [False, True])[1:]
    ([], [False, True])
    """
    closed, consts = hoist_consts(jaxpr)
    pruned, used = dce_jaxpr(closed, used_outputs, instantiate)
    used_consts, used_inputs = used[: len(consts)], used[len(consts) :]
    remaining = [c for c, u in zip(consts, used_consts, strict=True) if u]
    return _with_consts(pruned, len(remaining), remaining), used_consts, used_inputs


def prune_closed_jaxpr_outputs(jaxpr: Olympuspr, used_outputs: Sequence[bool]) -> Olympuspr:
    """Return the program of the used results; it has all inputs and equations.

    >>> program = make_jaxpr(lambda x, y: (x + 1, y))(1.0, 2.0)
    >>> len(prune_closed_jaxpr_outputs(program, [False, True]).jaxpr.outvars)
    1
    """
    outvars = [x for x, u in zip(jaxpr.outvars, used_outputs, strict=True) if u]
    return jaxpr.replace(outvars=outvars)


def move_binders_to_back(closed_jaxpr: Olympuspr, to_move: Sequence[bool]) -> Olympuspr:
    """Return the program whose inputs that `to_move` marks are the last ones.

    `to_move` may be shorter than the inputs. Raises ArgumentError if it is longer.

    >>> program = make_jaxpr(lambda x, n: (x, n))(1.0, 2)
    >>> [v.aval.short_name() for v in move_binders_to_back(program, [True]).jaxpr.invars]
    ['i32[]', 'f32[]']
    """
    count = len(closed_jaxpr.invars)
    if len(to_move) > count:
        raise ArgumentError(
            f"move_binders_to_back: the program has {count} inputs, and got {len(to_move)} flags"
        )
    moved = [*map(bool, to_move), *[False] * (count - len(to_move))]
    order = sorted(range(count), key=lambda i: moved[i])
    outs = range(len(closed_jaxpr.outvars))
    return closed_jaxpr.replace(invars=permute(closed_jaxpr, order, outs).invars)


def partial_eval_jaxpr_nounits(
    jaxpr: Olympuspr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[Olympuspr, Olympuspr, list[bool], list[ShapedArray]]:
    """Return a program in two parts, by whether values depend on the unknown inputs.

    The first program maps the known inputs to the known results and the residuals, and the second
    one the residuals and the unknown inputs to the unknown results.  Then come which results are
    unknown, and the types of the residuals.  Results that `instantiate` marks are unknown.

    >>> program = make_jaxpr(lambda x, y: (sin(x), sin(x) * y))(2.0, 3.0)
    >>> known, unknown, unknown_outs, residuals = partial_eval_jaxpr_nounits(
    ...     program, [False, True], False
    ... )
    >>> unknown_outs, len(known.jaxpr.eqns), len(unknown.jaxpr.eqns)
    ([False, True], 2, 1)
    """
    closed, consts = hoist_consts(jaxpr)
    count = len(jaxpr.outvars)
    forced = (instantiate,) * count if isinstance(instantiate, bool) else tuple(instantiate)
    parts = split_program(closed, (*[False] * len(consts), *map(bool, unknowns)), forced)
    residuals = parts.unknown.in_avals[: parts.num_residuals]
    known = _with_consts(parts.known, len(consts), consts)
    return known, parts.unknown, list(parts.unknown_outs), list(residuals)


def _without_unused(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    """Return which operands the used results of a call need, and the call of the rest.

    The call is None if nothing of it is used and it has no effect.
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.inputs), None
    jaxpr, used = dce_jaxpr(eqn.params["call_jaxpr"], list(used_outputs))
    name = "olympuspr" if "olympuspr" in dict(eqn.params) else "call_jaxpr"
    params = ProgramParams(dict(eqn.params) | {name: jaxpr})
    inputs = tuple(x for x, u in zip(eqn.inputs, used, strict=True) if u)
    outputs = tuple(v for v, u in zip(eqn.outputs, used_outputs, strict=True) if u)
    return used, eqn.replace(inputs=inputs, outputs=outputs, params=params)


def dce_jaxpr_call_rule(used_outputs: list[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    """Return which operands of a call its used results need, and the call of these only.

    It is a rule for `dce_rules`: the equation calls the program of its parameter `call_jaxpr`.  The
    second result is None if no result is used, or if the program does nothing any more.

    >>> (call,) = make_jaxpr(jit(lambda x, y: (x + 1, y)))(1.0, 2.0).jaxpr.eqns
    >>> dce_jaxpr_call_rule([True, False], call)[0]
    [True, False]
    """
    used, pruned = _without_unused(used_outputs, eqn)
    is_empty = not any(used) and not any(used_outputs) and not eqn.effects
    return used, None if is_empty else pruned


def dce_jaxpr_closed_call_rule(used_outputs: list[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
    """Return which operands of a call its used results need, and the call of these only.

    As `dce_jaxpr_call_rule`, for a call of a program with the arrays that it closes over.

    >>> (call,) = make_jaxpr(jit(lambda x, y: (x + 1, y)))(1.0, 2.0).jaxpr.eqns
    >>> dce_jaxpr_closed_call_rule([True, False], call)[0]
    [True, False]
    """
    return _without_unused(used_outputs, eqn)


def _prune_by(rule: Rule, primitive: Primitive) -> Rule:
    """Return the core's `prune` by a rule of JAX; it remains an equation, which has an effect."""
    primitive.is_pruned = True

    def prune(eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        _, pruned = rule(list(used), eqn)
        return eqn if pruned is None else pruned

    return prune


def _prune_of(primitive: Primitive) -> Rule:
    """Return JAX's rule by the core's `prune`."""

    def rule(used_outputs: Sequence[bool], eqn: Eqn) -> tuple[list[bool], Eqn | None]:
        if not any(used_outputs) and not eqn.effects:
            return [False] * len(eqn.inputs), None
        pruned = eqn if all(used_outputs) else primitive.prune(eqn, tuple(used_outputs))
        return [x in pruned.inputs for x in eqn.inputs], pruned

    return rule


#: rules (used results, equation) -> (used operands, equation of the used results or None)
dce_rules = Registry("prune", _prune_by, _prune_of)
