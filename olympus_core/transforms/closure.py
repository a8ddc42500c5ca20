"""`closure_convert`: what a function closes over and may be differentiated in becomes arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from olympus_core import tree
from olympus_core.avals import get_aval
from olympus_core.errors import TransformError
from olympus_core.source import function_name
from olympus_core.tracer import Array, Tracer
from olympus_core.transforms import data
from olympus_core.transforms.autodiff import differentiable
from olympus_core.transforms.batching import BatchTracer
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import check_arrays, names_of
from olympus_core.transforms.jvp import JVPTracer
from olympus_core.transforms.staging import hoist_consts, stage

__all__ = ["closure_convert"]

_R = TypeVar("_R")


def closure_convert(
    fun: Callable[..., _R], *example_args: Any
) -> tuple[Callable[..., _R], list[Array]]:
    """(a function that closes over nothing differentiated, what `fun` closes over of that kind).

    The function takes arguments of the structure and types of `example_args`, and then the
    values of the list, one by one.  With it a `custom_vjp` function can take another function
    that closes over values, and give them cotangents.  Raises TransformError when it is called
    with arguments of another structure.

    >>> converted, consts = closure_convert(fun, x)
    >>> converted(x, *consts)
    """
    leaves, in_tree = data.flatten(example_args)
    check_arrays("closure_convert", fun, names_of(fun, in_tree), leaves)
    out_trees: list[tree.PyTreeDef] = []

    def flat(*xs: Any) -> list[Any]:
        outs, out_tree = data.flatten(fun(*in_tree.unflatten(xs)))
        out_trees.append(out_tree)
        return outs

    name = function_name(fun)
    closed, consts = hoist_consts(stage(flat, [get_aval(x) for x in leaves], what=f"'{name}'"))
    hoisted = [_may_be_differentiated(c) for c in consts]

    def converted(*args: Any) -> _R:
        count = len(args) - sum(hoisted)
        values, given_tree = data.flatten(args[:count])
        if given_tree != in_tree:
            raise TransformError(
                f"'{name}', converted by closure_convert, needs arguments of its example's "
                f"structure.\n  example: {in_tree}\n  called:  {given_tree}"
            )
        later = iter(args[count:])
        full = [next(later) if h else c for h, c in zip(hoisted, consts, strict=True)]
        result: _R = out_trees[-1].unflatten(evaluate(closed, [*full, *values]))
        return result

    return converted, [c for h, c in zip(hoisted, consts, strict=True) if h]


def _may_be_differentiated(x: Any) -> bool:
    """Whether a value has a tangent, or could get one from a transformation around it."""
    if isinstance(x, BatchTracer):
        return _may_be_differentiated(x.value)
    return isinstance(x, Tracer) and (isinstance(x, JVPTracer) or differentiable(x.aval))
