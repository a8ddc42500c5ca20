"""The IR under JAX's names, for passes that were written for JAX.

An Olympuspr is both of JAX's kinds of program: a `Jaxpr`, and a `ClosedJaxpr`, which contains
the arrays that it closes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from olympus_core.base import source
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError, concrete_value_expected
from olympus_core.ir.check import check as check_jaxpr
from olympus_core.ir.olympuspr import (
    Atom,
    DebugInfo,
    Eqn,
    JaxProgram,
    Olympuspr,
    Var,
    sub_programs,
)
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.tracer import Tracer
from olympus_core.transforms.evaluate import evaluate

__all__ = [
    "ClosedJaxpr",
    "DropVar",
    "Jaxpr",
    "check_jaxpr",
    "concrete_or_error",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "new_jaxpr_eqn",
    "subjaxprs",
    "valid_jaxtype",
]


class _IsOlympuspr(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Olympuspr)


class Jaxpr(metaclass=_IsOlympuspr):
    """Constructor of a program from its parts; every program is an instance."""

    def __new__(  # type: ignore[misc]
        cls,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[Eqn],
        effects: Any = None,
        debug_info: DebugInfo | None = None,
        is_high: bool = False,
    ) -> JaxProgram:
        fields = tuple(invars), tuple(eqns), tuple(outvars), tuple(constvars)
        return JaxProgram(*fields, debug_info=debug_info)


class ClosedJaxpr(metaclass=_IsOlympuspr):
    """Constructor of a program that closes over arrays; every program is an instance."""

    def __new__(cls, jaxpr: Olympuspr, consts: Sequence[Any] = ()) -> JaxProgram:  # type: ignore[misc]
        return jaxpr.jaxpr.replace(consts=consts)


class DropVar(Var):
    """The class of unused variables in JAX; no variable of an Olympuspr is an instance."""


def eval_jaxpr(
    jaxpr: Olympuspr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True
) -> list[Any]:
    """Evaluate a program on `args`, with `consts` for the arrays that it closes over.

    Each equation is bound under the current transformation, so the call can be traced,
    differentiated and batched.

    >>> program = make_jaxpr(lambda x: 2 * x)(1.0)
    >>> eval_jaxpr(program.jaxpr, program.literals, 3.0)
    [Array(6., dtype=float32, weak_type=True)]
    """
    return evaluate(jaxpr.replace(consts=consts), args)


def jaxpr_as_fun(closed_jaxpr: Olympuspr) -> Callable[..., list[Any]]:
    """Return the function of flat arguments that runs a program and returns a list of results.

    >>> jaxpr_as_fun(make_jaxpr(lambda x: 2 * x)(1.0))(3.0)
    [Array(6., dtype=float32, weak_type=True)]
    """
    return lambda *args: evaluate(closed_jaxpr, args)


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[JaxProgram]:
    """Yield the programs in an equation's parameters.

    >>> len(list(jaxprs_in_params({"jaxpr": make_jaxpr(sin)(1.0), "length": 3})))
    1
    """
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, Olympuspr):
                yield item.jaxpr


def subjaxprs(jaxpr: Olympuspr) -> Iterator[JaxProgram]:
    """Yield the programs in the parameters of a program's equations, not those inside them.

    >>> [len(p.eqns) for p in subjaxprs(make_jaxpr(jit(lambda x: 2 * x))(1.0).jaxpr)]
    [1]
    """
    for eqn in jaxpr.eqns:
        yield from (program.jaxpr for program in sub_programs(eqn))


def new_jaxpr_eqn(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any = None,
    source_info: source.Source | None = None,
    ctx: Any = None,
) -> Eqn:
    """Return an equation; without `source_info`, its source line is the current one.

    >>> (eqn,) = make_jaxpr(lambda x: 2.0 * x)(1.0).jaxpr.eqns
    >>> new_jaxpr_eqn(eqn.invars[:1], eqn.outvars, lax.neg_p, {}).primitive.name
    'neg'
    """
    mark = source.current_location() if source_info is None else source_info
    return Eqn(primitive, tuple(invars), tuple(outvars), params, mark)


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """Return `force(val)` for a value that is not traced.

    Raises ConcretizationTypeError, with `context` as its hint, for a traced value.

    >>> concrete_or_error(int, array(3))
    3
    """
    if isinstance(val, Tracer):
        raise concrete_value_expected(
            f"a traced array {val.aval.long_name()} has no value here: it is {val.origin()}",
            hint=context or None,
        )
    return val if force is None else force(val)


def valid_jaxtype(x: Any) -> bool:
    """Return True if `x` is an array or a scalar.

    >>> valid_jaxtype("a"), valid_jaxtype(1.0)
    (False, True)
    """
    try:
        get_aval(x)
    except DTypeError:
        return False
    return True
