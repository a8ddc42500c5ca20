"""What custom rules share: their arguments, zeros, the vmaps around them, and calls at once.

A function with a rule is staged as a program, which the `custom_jvp_call` or `custom_vjp_call`
equation carries.  One whose Python control flow needs values cannot be staged; `call_at_once` runs
it, or its rule, as the transformations around it ask.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from olympus_core import trace
from olympus_core.avals import ShapedArray, get_aval
from olympus_core.errors import ConcretizationError, SignatureError, TransformError
from olympus_core.primitive import Batched
from olympus_core.source import function_name
from olympus_core.trace import Trace, using
from olympus_core.tracer import Tracer
from olympus_core.transforms import data
from olympus_core.transforms.batching import BatchTrace, batch_flat, place_axis
from olympus_core.transforms.flat import canonical_argnums, check_positions
from olympus_core.transforms.jvp import JVPTrace
from olympus_core.transforms.linearize import LinearTrace
from olympus_core.transforms.staging import StagedTracer, StagingTrace

__all__ = [
    "SymbolicZero",
    "VmapAxes",
    "bind_positions",
    "call_at_once",
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


def positions(
    what: str, argnums: Any, fun: Callable[..., Any] | None = None, argnames: Any = ()
) -> tuple[int, ...]:
    """`argnums`, an int or a sequence of ints, as a tuple; and the positions of `argnames`.

    Raises TransformError for a name that is not a parameter of `fun`.
    """
    found = canonical_argnums(what, argnums)
    numbers = (found,) if isinstance(found, int) else found
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    if fun is None or not names:
        return numbers
    try:
        parameters = list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):
        parameters = []
    for name in names:
        if name not in parameters:
            raise TransformError(
                f"nondiff_argnames has {name!r}, and '{function_name(fun)}' takes "
                f"{', '.join(parameters) or 'no arguments by name'}"
            )
    named = [n for n in map(parameters.index, names) if n not in numbers]
    return (*numbers, *named)


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


class SymbolicZero:
    """A tangent or a cotangent that is zero, as rules with `symbolic_zeros=True` get it."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.short_name()})"


class VmapAxes:
    """The vmaps that run where a function with a rule is called.

    The rule may close over their values.  It runs later, under the transformations that are
    outside of the vmap, and there it is mapped over the same axis.
    """

    def __init__(self) -> None:
        self._axes: list[tuple[Batched, object]] = []
        around: Trace | None = trace.current()
        while around is not None:
            if isinstance(around, BatchTrace):
                self._axes.append((around.batched, around.axis))
            around = getattr(around, "parent", None)

    def of(self, batched: Batched) -> object:
        """The identity of the axis, or None for one of a vmap that is not among them."""
        return next((axis for known, axis in self._axes if known is batched), None)


class FlatRule(Protocol):
    """A function's derivative on flat lists."""

    axes: VmapAxes

    def differentiate(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """The results and their tangents; None is a tangent that is zero."""

    def mapped(self, batched: Batched, dims: Sequence[int | None]) -> FlatRule:
        """The rule mapped over the axes `dims` of the operands, and axis 0 of the results."""


def call_at_once(
    fun: Callable[..., Any], rule: Any, leaves: Sequence[Any], unstaged: ConcretizationError
) -> Any:
    """The result of a function with a rule, without a program of it.

    Each transformation around the call takes it as it is: vmap maps function and rule, a derivative
    runs the rule.  Where all is known the function runs as Python.  `rule` is a `FlatRule` that has
    the `in_tree` of the arguments and learns the `out_tree` of the result.  Raises `unstaged` where
    the call would have to be staged.
    """

    def flat(*values: Any) -> list[Any]:
        outs, rule.out_tree = data.flatten(fun(*rule.in_tree.unflatten(values)))
        return outs

    outs = _call(trace.current(), flat, rule, leaves, unstaged)
    return rule.out_tree.unflatten(outs)


def _call(
    current: Any,
    function: Callable[..., list[Any]],
    rule: FlatRule,
    args: Sequence[Any],
    unstaged: ConcretizationError,
) -> list[Any]:
    if isinstance(current, StagingTrace) and not _passes_on(current, args):
        raise unstaged
    if isinstance(current, JVPTrace):
        primals, tangents = map(list, zip(*map(current.unwrap, args), strict=True))
        if any(t is not None for t in tangents):
            with using(current.parent):
                outs, out_tangents = rule.differentiate(primals, tangents)
            return [current.wrap(x, t) for x, t in zip(outs, out_tangents, strict=True)]
    elif isinstance(current, BatchTrace):
        values, dims = map(list, zip(*map(current.unwrap, args), strict=True))
        if any(d is not None for d in dims):
            function = _mapped(function, current, dims)
            rule = rule.mapped(current.batched, dims)
            with using(current.parent):
                outs = _call(current.parent, function, rule, values, unstaged)
            return [current.wrap(x, 0) for x in outs]
    elif not isinstance(current, LinearTrace) and not any(isinstance(x, Tracer) for x in args):
        return function(*args)
    with using(current.parent):
        return _call(current.parent, function, rule, args, unstaged)


def _passes_on(current: StagingTrace, args: Sequence[Any]) -> bool:
    """Whether the trace records none of this: it follows tangents, and none is among the values."""
    return isinstance(current, LinearTrace) and not any(
        x.__class__ is StagedTracer and x.owner is current for x in args
    )


def _mapped(
    function: Callable[..., list[Any]], around: BatchTrace, dims: Sequence[int | None]
) -> Callable[..., list[Any]]:
    def mapped(*values: Any) -> list[Any]:
        batched = around.batched
        outs, out_dims = batch_flat(function, batched, values, dims, around.what, around.axis)
        return [place_axis(x, d, 0, batched.size) for x, d in zip(outs, out_dims, strict=True)]

    return mapped
