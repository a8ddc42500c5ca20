"""The current trace, which interprets a bound primitive.

A `Trace` interprets primitives.  Each thread has one current trace; a transformation makes its
own trace current while it runs the user's function.  The lowest one is the base trace, which
executes; `eager.py` installs it.

The module also has the named axes: those of the `vmap`s around the running code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from olympus_core.base.context import Context, followers, set_process, state

if TYPE_CHECKING:
    from olympus_core.ir.primitive import Primitive
    from olympus_core.placement.mesh import AnyMesh

#: the names and sizes of axes, outermost first
Axes = tuple[tuple[Any, int], ...]


class ManualAxis(tuple[Any, int]):
    """An axis of a mesh that a `shard_map` maps over: a pair of its name and size.

    If it is `checked`, types record which values vary along it.
    """

    mesh: AnyMesh
    checked: bool

    def __new__(cls, name: Any, size: int, mesh: AnyMesh, checked: bool) -> ManualAxis:
        axis = super().__new__(cls, (name, size))
        axis.mesh, axis.checked = mesh, checked
        return axis

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManualAxis):
            return False
        mine, theirs = (self.mesh, self.checked), (other.mesh, other.checked)
        return tuple(self) == tuple(other) and mine == theirs

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((tuple(self), self.checked))


class Trace(Protocol):
    """An interpreter of primitives."""

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply `primitive`; the result is one value, or a list if it has `multiple_results`."""


def install_base(trace: Trace) -> None:
    """Make `trace` current in every thread in which no transformation runs."""
    set_process("trace", trace)


def current_trace() -> Trace:
    """Return the trace to which primitives are bound now."""
    trace: Trace = state.trace
    return trace


def at_base() -> bool:
    """Return True if no transformation runs, so that bound primitives are executed."""
    return state.trace is Context.trace


def is_eager() -> bool:
    """Return True if operations on concrete values are executed: no function is being staged."""
    trace = state.trace
    while (parent := getattr(trace, "parent", None)) is not None:
        trace = parent
    return trace is Context.trace


class using_trace:
    """A context in which `trace` is current."""

    __slots__ = ("followed", "old", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.old = state.trace
        state.trace = self.trace
        self.followed = followers.enter_trace()
        return self.trace

    def __exit__(self, *exc: object) -> None:
        state.trace = self.old
        followers.leave_trace(self.followed)


def axes() -> Axes:
    """Return the axes that have a name in the running code."""
    return state.axes


def manual_axes() -> tuple[ManualAxis, ...]:
    """Return the axes of meshes that a `shard_map` around the running code maps over."""
    return tuple([a for a in state.axes if isinstance(a, ManualAxis)])


def checked_axes() -> frozenset[Any]:
    """Return the names of the manual axes for which types record the values that vary."""
    return frozenset([a[0] for a in state.axes if isinstance(a, ManualAxis) and a.checked])


def record_varying_axes(names: frozenset[Any]) -> None:
    """Record that values of the traced body may vary along axes that their types lack."""
    if not names <= state.unrecorded_axes:
        state.unrecorded_axes |= names & checked_axes()


@contextlib.contextmanager
def outermost() -> Iterator[None]:
    """Within the context, execute operations on concrete values, without named axes."""
    old = state.trace, state.axes
    state.trace, state.axes = Context.trace, Context.axes
    try:
        yield
    finally:
        state.trace, state.axes = old


class naming:
    """A context in which the axes `more` are named too."""

    __slots__ = ("more", "old")

    def __init__(self, more: Axes) -> None:
        self.more = more

    def __enter__(self) -> None:
        self.old = state.axes
        state.axes = (*self.old, *self.more)

    def __exit__(self, *exc: object) -> None:
        state.axes = self.old
        if state.unrecorded_axes:
            state.unrecorded_axes -= {axis[0] for axis in self.more if isinstance(axis, ManualAxis)}
