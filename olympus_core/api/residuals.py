"""`print_saved_residuals`: the values that the derivative of a function saves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.control.checkpoint import checkpoint_p, name_p
from olympus_core.ir.olympuspr import Eqn, Literal
from olympus_core.transforms.autodiff import vjp
from olympus_core.transforms.flat import names_of
from olympus_core.transforms.staging import stage


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print a line for each value that the reverse derivative of `f` saves: its type and origin.

    >>> print_saved_residuals(lambda x: numpy.sin(x) * 3.0, numpy.ones(2))
    f32[2] output of cos from ...
    """
    for line in saved_residuals(f, *args, **kwargs):
        sys.stdout.write(f"{line}\n")


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[str]:
    """Yield the lines that `print_saved_residuals` prints."""
    leaves, in_tree = tree.flatten((args, kwargs))

    def residuals(*xs: Any) -> list[Any]:
        positional, keywords = in_tree.unflatten(xs)
        _, pull_back = vjp(lambda *a: f(*a, **keywords), *positional)
        return tree.leaves(pull_back)

    program = stage(residuals, [get_aval(x) for x in leaves], what="a derivative")
    saved = dict.fromkeys(program.outvars)
    for x in program.outvars:
        if isinstance(x, Literal):
            yield f"{x.aval.short_name()} from a literal"
    for v in program.constvars:
        if v in saved:
            yield f"{v.aval.short_name()} from a constant"
    names = names_of(f, tree.structure(args))
    for i, v in enumerate(program.invars):
        if v in saved:
            name = names[i].removeprefix("argument ") if i < len(names) else f"number {i}"
            yield f"{v.aval.short_name()} from the argument {name}"
    for eqn in program.eqns:
        for i, v in enumerate(eqn.outputs):
            if v in saved:
                yield f"{v.aval.short_name()} {_origin(_creator(eqn, i))}"


def _creator(eqn: Eqn, output: int) -> Eqn:
    """Return the equation of an output; in a checkpointed program, the one that computes it."""
    if eqn.primitive is not checkpoint_p:
        return eqn
    program = eqn.params["olympuspr"]
    result = program.outvars[output]
    for inner in program.eqns:
        if result in inner.outputs:
            return _creator(inner, inner.outputs.index(result))
    return eqn


def _origin(eqn: Eqn) -> str:
    position = eqn.source.position()
    place = "an unknown place"
    if position is not None:
        place = f"{position.file}:{position.line}:{position.column - 1} ({position.function})"
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {place}"
    if eqn.primitive.is_call:
        return f"output of jitted function '{eqn.params['name']}' from {place}"
    return f"output of {eqn.primitive.name} from {place}"
