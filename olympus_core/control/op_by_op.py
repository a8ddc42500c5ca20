"""Operations with programs, run equation by equation on values that are known.

A primitive, its operands and parameters enter.  Each equation is bound on its own, so that what
it gives can be looked at; loops and choices are Python's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.array import to_numpy
from olympus_core.control.cond import cond_p
from olympus_core.control.platform import chosen, platform_dependent_p
from olympus_core.control.scan import scan_p
from olympus_core.control.while_loop import while_p
from olympus_core.primitive import Primitive
from olympus_core.transforms.evaluate import evaluate

__all__ = ["run"]

Params = dict[str, Any]


def run(primitive: Primitive, args: Sequence[Any], params: Params) -> None:
    """Bind each equation that the operation runs; its results are dropped."""
    if primitive is cond_p:
        evaluate(params["branches"][int(args[0])], args[1:])
    elif primitive is platform_dependent_p:
        evaluate(chosen(params, "cpu"), args[1:])  # the base trace runs on this process's CPU
    elif primitive is while_p:
        _while(args, params)
    elif primitive is scan_p:
        _scan(args, params)
    else:
        evaluate(params["olympuspr"], args)


def _while(args: Sequence[Any], params: Params) -> None:
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts = args[:n_cond], args[n_cond : n_cond + n_body]
    carry = list(args[n_cond + n_body :])
    while bool(evaluate(params["cond_olympuspr"], [*cond_consts, *carry])[0]):
        carry = evaluate(params["body_olympuspr"], [*body_consts, *carry])


def _scan(args: Sequence[Any], params: Params) -> None:
    a, n = params["num_consts"], params["num_carry"]
    consts, carry, xs = args[:a], list(args[a : a + n]), [to_numpy(x) for x in args[a + n :]]
    places = range(params["length"])
    for i in reversed(places) if params["reverse"] else places:
        carry = evaluate(params["olympuspr"], [*consts, *carry, *(x[i] for x in xs)])[:n]
