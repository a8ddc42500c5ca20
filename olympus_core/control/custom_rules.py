"""What custom rules share: arguments by position, and those that are not differentiated."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.avals import ShapedArray, get_aval
from olympus_core.errors import SignatureError, TransformError
from olympus_core.source import function_name
from olympus_core.transforms.flat import canonical_argnums, check_positions

__all__ = [
    "bind_positions",
    "check_closure",
    "check_types",
    "part_static",
    "positions",
]


def bind_positions(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """All arguments by position, defaults filled in; rules get them so.

    Raises SignatureError for arguments that the function does not take, or keyword-only ones.
    """
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except ValueError:
        return args
    except TypeError as e:
        raise SignatureError(f"'{function_name(fun)}': {e}") from None
    bound.apply_defaults()
    if bound.kwargs:
        names = ", ".join(bound.kwargs)
        raise SignatureError(
            f"'{function_name(fun)}' has a derivative of its own, whose rule takes arguments by "
            f"position, and got {names} by keyword only"
        )
    return bound.args


def check_closure(name: str, tangents: Sequence[Any]) -> None:
    """Raise TransformError where a value that a function with a rule closes over has a tangent."""
    if any(t is not None for t in tangents):
        raise TransformError(
            f"'{name}' has a derivative rule of its own, and closes over a value "
            "that is being differentiated",
            hint="pass the value as an argument",
        )


def check_types(name: str, rule: str, outs: Sequence[Any], avals: Sequence[ShapedArray]) -> None:
    """Raise TransformError unless a rule's results have the function's shapes and dtypes."""
    found = [get_aval(x) for x in outs]
    if any(have.strip_weak() != a.strip_weak() for have, a in zip(found, avals, strict=True)):
        wanted, got = (", ".join(a.long_name() for a in each) for each in (avals, found))
        raise TransformError(
            f"the {rule} of '{name}' must return the result's shapes and dtypes.\n"
            f"  '{name}' returns: {wanted}\n  the {rule} returns: {got}"
        )


def positions(what: str, argnums: Any) -> tuple[int, ...]:
    """`argnums`, an int or a sequence of ints, as a tuple."""
    found = canonical_argnums(what, argnums)
    return (found,) if isinstance(found, int) else found


def part_static(
    what: str, fun: Callable[..., Any], args: tuple[Any, ...], static: Sequence[int]
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """`fun` of the other arguments, those, and the ones at positions `static`.

    Raises TransformError, with `what` the positions are, where there is no such argument.
    """
    if not static:
        return fun, args, ()
    check_positions(f"{what} of '{function_name(fun)}'", static, len(args))
    fixed = {i % len(args): args[i] for i in static}

    def partial(*rest: Any) -> Any:
        values = iter(rest)
        return fun(*(fixed[i] if i in fixed else next(values) for i in range(len(args))))

    functools.update_wrapper(partial, fun)
    others = tuple(x for i, x in enumerate(args) if i not in fixed)
    return partial, others, tuple(fixed[i] for i in sorted(fixed))
