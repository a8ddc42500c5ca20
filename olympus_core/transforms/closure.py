"""`closure_convert`: make arguments of the differentiable values that a function closes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError
from olympus_core.base.source import function_name
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.transforms import data
from olympus_core.transforms.autodiff import differentiable
from olympus_core.transforms.batching import BatchTracer
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.flat import check_arrays, names_of
from olympus_core.transforms.jvp import JVPTracer
from olympus_core.transforms.staging import hoist_consts, stage

_R = TypeVar("_R")


def closure_convert(
    fun: Callable[..., _R], *example_args: Any
) -> tuple[Callable[..., _R], list[Array]]:
    """Return (a function closing over no differentiated value, the values `fun` closes over).

    The function takes arguments of the structure and types of `example_args`, and then the values
    of the list, one by one.  With it a `custom_vjp` function can take another function that closes
    over values, and return their cotangents.  Raises TransformError when the function is called
    with arguments of another structure.

    >>> def f(scale, x):
    ...     converted, consts = closure_convert(lambda x: scale * x, x)
    ...     return converted(x, *consts)
    >>> grad(f)(3.0, 2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    leaves, in_tree = data.flatten_data(example_args)
    check_arrays("closure_convert", fun, names_of(fun, in_tree), leaves)
    out_trees: list[tree.PyTreeDef] = []

    def flat(*xs: Any) -> list[Any]:
        outs, out_tree = data.flatten_data(fun(*in_tree.unflatten(xs)))
        out_trees.append(out_tree)
        return outs

    name = function_name(fun)
    closed, consts = hoist_consts(stage(flat, [get_aval(x) for x in leaves], what=f"'{name}'"))
    hoisted = [_may_be_differentiated(c) for c in consts]

    def converted(*args: Any) -> _R:
        count = len(args) - sum(hoisted)
        values, args_tree = data.flatten_data(args[:count])
        if args_tree != in_tree:
            raise TransformError(
                "The inputs to the closure produced by closure_convert must have the same Pytree "
                "structure as the example arguments passed when closure_convert was called. "
                f"Expected {in_tree}, but got {args_tree} for '{name}'"
            )
        hoisted_values = iter(args[count:])
        full = [next(hoisted_values) if h else c for h, c in zip(hoisted, consts, strict=True)]
        result: _R = out_trees[-1].unflatten(evaluate(closed, [*full, *values]))
        return result

    return converted, [c for h, c in zip(hoisted, consts, strict=True) if h]


def _may_be_differentiated(x: Any) -> bool:
    """Return True if a value has a tangent, or an outer transformation could give it one."""
    if isinstance(x, BatchTracer):
        return _may_be_differentiated(x.value)
    return isinstance(x, Tracer) and (isinstance(x, JVPTracer) or differentiable(x.aval))
