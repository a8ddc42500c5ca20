"""Derivatives of functions and programs, under JAX's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.extension.programs.parts import dce_jaxpr_consts
from olympus_core.extension.rules import Zero, given, is_undefined_primal, returned
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import Olympuspr, Var
from olympus_core.ir.trace import using_trace
from olympus_core.transforms.flat import check_leaks, instantiate
from olympus_core.transforms.jvp import JVPTrace
from olympus_core.transforms.linearize import (
    cotangent_aval,
    linearize_flat,
    tangent_aval,
    transpose_program,
)
from olympus_core.transforms.programs import jvp_program
from olympus_core.transforms.staging import hoist_consts


def _flags(value: bool | Sequence[bool], count: int) -> Sequence[bool]:
    return [value] * count if isinstance(value, bool) else value


def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    instantiate: bool | Sequence[bool] = True,
    transform_stack: bool = True,
) -> tuple[Any, ...]:
    """Return (results, their tangents) of a function in a direction, and its other results.

    `primals` and `tangents` are arguments of one structure; a tangent may be a Zero.  The results
    are flat lists of leaves.  A tangent that is zero is a Zero, unless `instantiate` marks it.
    With `has_aux` the function returns (result, other results); they are the third of the tuple.
    `transform_stack` has no effect: name scopes of OLYMPUS do not contain transformations.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, Zero(typeof(3.0))))
    ([Array(6., dtype=float32, weak_type=True)], [Array(3., dtype=float32, weak_type=True)])
    """
    leaves, in_tree = tree.flatten(tuple(primals))
    directions = in_tree.flatten_up_to(tuple(tangents))
    what = "ad.jvp"
    parts = JVPTrace(trace.current_trace(), what)
    inputs = [parts.wrap(x, returned(t)) for x, t in zip(leaves, directions, strict=True)]
    with using_trace(parts):
        result = fun(*in_tree.unflatten(inputs))
    if has_aux:
        if not isinstance(result, list | tuple) or len(result) != 2:
            raise ArgumentError(
                f"{what}: expected function with aux output to return a two-element tuple, but "
                f"got type {type(result)} with value {result!r:.60}"
            )
        result, other = result
        others = (tree.map(lambda x: parts.unwrap(x)[0], other),)
    pairs = [parts.unwrap(x) for x in tree.leaves(result)]
    del inputs, result
    check_leaks(parts, what)
    outs = [x for x, _ in pairs]
    flags = _flags(instantiate, len(pairs))
    changes = [_tangent(x, t, f) for (x, t), f in zip(pairs, flags, strict=True)]
    return (outs, changes, *others) if has_aux else (outs, changes)


def _tangent(primal: Any, tangent: Any, is_array: bool) -> Any:
    """Return a tangent of the core as an array, or as a Zero if it is zero."""
    aval = tangent_aval(get_aval(primal))
    return instantiate(tangent, aval) if is_array else given(tangent, aval)


def jvp_jaxpr(
    jaxpr: Olympuspr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[Olympuspr, list[bool]]:
    """Return the program of values and tangents, and which results have a tangent.

    Its inputs are those of `jaxpr`, and the tangents of the inputs that `nonzeros` marks; its
    results those of `jaxpr`, and their tangents, except zeros that `instantiate` does not mark.

    >>> program = make_jaxpr(lambda x, y: (x * y, y))(2.0, 3.0)
    >>> jvp_jaxpr(program, [True, False], False)[1]
    [True, False]
    """
    closed, consts = hoist_consts(jaxpr)
    forced = tuple(map(bool, _flags(instantiate, len(jaxpr.outvars))))
    inactive = (False,) * len(consts)
    nonzero = tuple(map(bool, nonzeros))
    dual, has_tangent = jvp_program(closed, (*inactive, *nonzero), forced)
    count = len(consts)
    return dual.replace(
        invars=dual.invars[count:], constvars=dual.invars[:count], consts=consts
    ), list(has_tangent)


def linearize(
    traceable: Callable[..., Any],
    primals_ft: Sequence[Any],
    has_aux: bool = False,
    is_vjp: bool = False,
) -> tuple[Any, ...]:
    """Return the results of a function, which are constant, and the program of its tangents.

    `primals_ft` are its arguments.  The tuple has the flat results, True for each result without a
    tangent, the program from tangents of all arguments to the other results' tangents, the arrays
    that the program closes over, and with `has_aux` the function's other results.  A result depends
    on the same arrays for `is_vjp`, because the transpose takes this program too.

    >>> outs, zeros, jaxpr, consts = linearize(lambda x, y: (x * y, 1), (2.0, 3.0))
    >>> zeros, ox.core.eval_jaxpr(jaxpr, consts, 1.0, 0.0)
    ([False, True], [Array(3., dtype=float32, weak_type=True)])
    """
    leaves, in_tree = tree.flatten(tuple(primals_ft))
    avals = [get_aval(x) for x in leaves]
    active = [dtypes.kind(a.dtype) in "fc" for a in avals]
    others: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        result = traceable(*in_tree.unflatten(xs))
        if has_aux:
            if not isinstance(result, list | tuple) or len(result) != 2:
                raise ArgumentError(
                    "ad.linearize: expected function with aux output to return a two-element "
                    f"tuple, but got type {type(result)} with value {result!r:.60}"
                )
            result, other = result
            own: Any = trace.current_trace()
            others.append(tree.map(lambda x: own.unwrap(x)[0], other))
        return tree.leaves(result)

    outs, linear = linearize_flat(flat, leaves, active, "ad.linearize")
    inputs = iter(linear.program.invars)
    invars = [
        next(inputs) if a else Var(ShapedArray(aval.shape, dtypes.float0))
        for aval, a in zip(avals, active, strict=True)
    ]
    program = linear.program.replace(invars=invars)
    used = [True] * len(program.outvars)
    program, _, _ = dce_jaxpr_consts(
        program, used, [False] * len(program.consts) + [True] * len(invars)
    )
    zeros = [i is None for i in linear.outs]
    return (outs, zeros, program, list(program.consts), *others)


def backward_pass(
    jaxpr: Olympuspr,
    transform_stack: bool,
    consts: Sequence[Any],
    primals_in: Sequence[Any],
    cts_in: Sequence[Any],
) -> list[Any]:
    """Return the cotangents of a linear program's inputs, from those of its results.

    `primals_in` has an UndefinedPrimal for each linear input, and the values of the others, whose
    cotangents are Zeros.  A cotangent may be a Zero.  `consts` are the arrays that the program
    closes over, and `transform_stack` has no effect, as in `jvp`.

    >>> program = make_jaxpr(lambda x, y: x * y)(2.0, 3.0)
    >>> x, y = backward_pass(program, False, [], [UndefinedPrimal(typeof(2.0)), 3.0], [1.0])
    >>> x, y
    (Array(3., dtype=float32, weak_type=True), Zero(float32[]))
    """
    closed, _ = hoist_consts(jaxpr)
    values = [*consts, *primals_in]
    linear = [is_undefined_primal(x) for x in values]
    known = [returned(c) for c in cts_in]
    transposed = transpose_program(closed, linear, [c is not None for c in known])
    found = iter(
        transposed(
            *(x for x, u in zip(values, linear, strict=True) if not u),
            *(c for c in known if c is not None),
        )
    )
    return [
        given(next(found), cotangent_aval(x.aval))
        if is_undefined_primal(x)
        else Zero(tangent_aval(get_aval(x)))
        for x in primals_in
    ]
