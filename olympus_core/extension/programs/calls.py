"""Primitives of users that call a program, whose rules are those of the program's operations."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.control.call import InlineCall, ProgramCall
from olympus_core.extension.linear_util import results_of
from olympus_core.extension.rules import Rule, is_undefined_primal, transpose_by, transpose_of
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.trace import at_base
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.staging import hoist_consts, stage

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext

#: the rules of a call that are those of its program
_RULES = (
    *("abstract", "jvp", "transpose", "batch", "split", "prune", "differing", "run_inside"),
    "run_in_place",
)


class _Call(InlineCall):
    """The rules of a call, which `register_call_primitive_rules` gives to a primitive."""

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        program = params.get("olympuspr") or params["call_jaxpr"]
        return list(program.out_avals), program.effects


def _lowered(name: str | None, is_function: bool) -> Callable[..., Any]:
    """Return the `lower` of a call: of a function of the module, or of the operations in place."""

    def lower(self: Primitive, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if is_function:
            return ctx.call(params["olympuspr"], name or self.name, operands)
        return list(ctx.inline(params["olympuspr"], operands))

    return lower


def _bind(self: Primitive, *args: Any, **params: Any) -> Any:
    """Bind a call: its program is the parameter `call_jaxpr`, and its constants are operands."""
    program = params.pop("call_jaxpr", None) or params.pop("olympuspr", None)
    if program is None:
        raise ArgumentError(f"'{self}' needs the program to call: pass call_jaxpr")
    closed, consts = hoist_consts(program)
    return Primitive.bind(self, *consts, *args, olympuspr=closed, **params)


def register_call_primitive_rules(
    prim: UserPrimitive,
    name: str | None = None,
    transpose_rule: Rule | None = None,
    inline_jax_late: bool = True,
) -> None:
    """Give a primitive the rules of a call: those of the program in its parameter `call_jaxpr`.

    Its operands are the program's inputs.  It is lowered to a call of a function `name` of the
    module; with `inline_jax_late` the program is lowered in place of the call instead.  A
    `transpose_rule` replaces that of the program, as in `primitive_transposes`.

    >>> double_p = ox.extend.core.Primitive("double")
    >>> register_call_primitive_rules(double_p, "double")
    >>> program = make_jaxpr(lambda x: 2 * x)(1.0)
    >>> grad(lambda x: double_p.bind(x, call_jaxpr=program)[0])(3.0)
    Array(2., dtype=float32, weak_type=True)
    """
    given: Any = prim
    given.multiple_results = given.has_programs = given.call_primitive = True
    for method in _RULES:
        setattr(prim, method, types.MethodType(getattr(_Call, method), prim))
    given.abstract_eval = types.MethodType(_Call.abstract_eval, prim)
    given.bind = types.MethodType(_bind, prim)
    given.lower = types.MethodType(_lowered(name, not inline_jax_late), prim)
    given.impl = lambda *args, **params: evaluate(
        params.get("olympuspr") or params["call_jaxpr"], args
    )
    if transpose_rule is not None:
        given.transpose = transpose_by(_named_for_jax(transpose_rule), prim)


def _named_for_jax(rule: Rule) -> Rule:
    """Return a rule of the parameter `call_jaxpr` as one of the core's parameter."""
    return lambda ct, *args, olympuspr, **params: rule(ct, *args, call_jaxpr=olympuspr, **params)


def create_call_primitive(name: str, inline_jax_late: bool = True) -> UserPrimitive:
    """Return a new primitive that calls the program in its parameter `call_jaxpr`.

    See `register_call_primitive_rules`.

    >>> program = make_jaxpr(lambda x: 2 * x)(1.0)
    >>> create_call_primitive("double").bind(3.0, call_jaxpr=program)
    [Array(6., dtype=float32, weak_type=True)]
    """
    primitive = UserPrimitive(name)
    register_call_primitive_rules(primitive, name, inline_jax_late=inline_jax_late)
    return primitive


def eval_jaxpr_transpose(
    prim: Primitive, ct: Sequence[Any], *args: Any, call_jaxpr: Any, **params: Any
) -> list[Any]:
    """Return the cotangents of a call's operands: a call of the transpose of its program.

    Each linear operand is an UndefinedPrimal, whose cotangent is returned; that of another is None.
    A cotangent in `ct` may be a Zero.

    >>> program = make_jaxpr(lambda x: 2 * x)(1.0)
    >>> operand = ox.interpreters.ad.UndefinedPrimal(typeof(3.0))
    >>> eval_jaxpr_transpose(create_call_primitive("double"), [1.0], operand, call_jaxpr=program)
    [Array(2., dtype=float32, weak_type=True)]
    """
    closed, consts = hoist_consts(call_jaxpr)
    rule = types.SimpleNamespace(
        multiple_results=True,
        transpose=lambda *xs, **more: ProgramCall.transpose(prim, *xs, **more),  # type: ignore[arg-type]
    )
    found = transpose_of(rule)(ct, *consts, *args, olympuspr=closed, **params)  # type: ignore[arg-type]
    return [
        x if is_undefined_primal(a) else None
        for x, a in zip(found[len(consts) :], args, strict=True)
    ]


class CallPrimitive(UserPrimitive):
    """A primitive that calls a function: the only WrappedFun of its parameter `subfuns`.

    In a program it has the function's program, in its parameter `call_jaxpr`.

    >>> call = CallPrimitive("call")
    >>> call.bind(2.0, subfuns=(wrap_init(lambda x: [x + 1]),))
    [3.0]
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        register_call_primitive_rules(self, name)
        of_program = self.bind

        def bind(*args: Any, subfuns: Sequence[Any] = (), **params: Any) -> Any:
            if not subfuns:
                return of_program(*args, **params)
            run = results_of(subfuns[0])
            if at_base():
                return list(run(*args))
            program = stage(
                lambda *xs: list(run(*xs)), [get_aval(x) for x in args], what=f"'{name}'"
            )
            return of_program(*args, call_jaxpr=program, **params)

        self.bind = bind  # type: ignore[method-assign]


call_p = CallPrimitive("call")
