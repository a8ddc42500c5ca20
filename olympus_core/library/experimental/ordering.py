"""`olympus.experimental.overlap`: the operations of a function in the order of the program."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import source, tree
from olympus_core.base.errors import ArgumentError
from olympus_core.base.source import wraps
from olympus_core.control.annotated_call import program_order_p
from olympus_core.control.bodies import stage_call
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr, Var
from olympus_core.primitives.barrier import optimization_barrier_p


def program_order(
    f: Callable[..., Any] | None = None,
    *,
    enforce: bool,
    strict_in_out: bool | tuple[bool, bool] = False,
    exclude_argnames: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """Return `f` with its operations in the order of the program, or a decorator without `f`.

    With `enforce`, each operation of `f` waits for the one before it, by an optimization barrier;
    a nested program counts as one operation. `strict_in_out` (for arguments and results, or for
    each) puts all arguments, or all results, behind one barrier too. Without `enforce`, `f` is one
    operation of a surrounding function that enforces the order; the arguments of `f` named in
    `exclude_argnames` do not wait there.

    Raises ArgumentError (a ValueError) for options that exclude each other.

    >>> f = program_order(lambda x: cos(sin(x)) + sin(x * 2), enforce=True)
    >>> jit(f).lower(1.0).as_text().count("optimization_barrier")
    3
    """
    if enforce and exclude_argnames is not None:
        raise ArgumentError("exclude_argnames cannot be used with enforce=True.")
    if not enforce and strict_in_out:
        raise ArgumentError("strict_in_out=True cannot be used with enforce=False")
    if f is None:
        return functools.partial(
            program_order,
            enforce=enforce,
            strict_in_out=strict_in_out,
            exclude_argnames=exclude_argnames,
        )
    function = f
    strict = (strict_in_out,) * 2 if isinstance(strict_in_out, bool) else strict_in_out
    names = [exclude_argnames] if isinstance(exclude_argnames, str) else exclude_argnames or ()

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        body, leaves = stage_call(function, args, kwargs, "the function of program_order")
        values = [*body.consts, *leaves]
        if enforce:
            outs = _in_order(body.program, values, *strict)
        else:
            mask = _excluded(function, args, kwargs, names)
            excluded = (*[False] * len(body.consts), *mask)
            outs = program_order_p.bind(*values, olympuspr=body.program, excluded=excluded)
        return body.out_tree.unflatten(outs)

    return wrapped


def _excluded(
    function: Callable[..., Any], args: Any, kwargs: dict[str, Any], names: Sequence[str]
) -> list[bool]:
    """Return, for each array of a call, True if its argument is one of `names`."""
    if not names:
        return [False] * len(tree.leaves((args, kwargs)))
    parameters = list(inspect.signature(function).parameters)
    marked = [
        tree.map(lambda _, n=name: n in names, x) for name, x in zip(parameters, args, strict=False)
    ]
    by_name = {k: tree.map(lambda _, n=k: n in names, x) for k, x in kwargs.items()}
    return tree.leaves((tuple(marked), by_name))


def _in_order(program: Olympuspr, args: Sequence[Any], first: bool, last: bool) -> list[Any]:
    """Apply a program to values; each equation waits for the one before."""
    values = optimization_barrier_p.bind(*args) if first and args else args
    env: dict[Any, Any] = dict(zip(program.invars, values, strict=True))
    env.update(zip(program.constvars, program.consts, strict=True))
    before: Eqn | None = None
    for eqn in program.eqns:
        with source.using_location(eqn.source):
            if before is not None:
                _wait(env, before, eqn)
            operands = [x.value if isinstance(x, Literal) else env[x] for x in eqn.inputs]
            out = eqn.primitive.bind(*operands, **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outputs, outs, strict=True))
        before = eqn
    results = [x.value if isinstance(x, Literal) else env[x] for x in program.outvars]
    return optimization_barrier_p.bind(*results) if last and results else results


def _wait(env: dict[Any, Any], before: Eqn, eqn: Eqn) -> None:
    """Put the operands of an equation, and the results of the one before, behind one barrier."""
    excluded = eqn.params["excluded"] if eqn.primitive is program_order_p else ()
    mask = (*excluded, *[False] * (len(eqn.inputs) - len(excluded)))
    waiting = [x for x, e in zip(eqn.inputs, mask, strict=True) if isinstance(x, Var) and not e]
    variables = list(dict.fromkeys([*before.outputs, *waiting]))
    if variables:
        passed = optimization_barrier_p.bind(*[env[v] for v in variables])
        env.update(zip(variables, passed, strict=True))
