"""The current trace: what a primitive's `bind` hands its operands to.

A `Trace` interprets primitives.  There is one current trace a thread; a transformation makes its
own current for as long as it runs the user's function.  Underneath all is the base trace, which
executes; `eager.py` installs it.

Beside it stand the axes that have a name here: those of the `vmap`s around what runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from olympus_core.context import Context, set_process, state

if TYPE_CHECKING:
    from olympus_core.mesh import AnyMesh
    from olympus_core.primitive import Primitive

__all__ = [
    "Axes",
    "ManualAxis",
    "Trace",
    "at_base",
    "axes",
    "checked_axes",
    "current",
    "install_base",
    "is_eager",
    "manual_axes",
    "naming",
    "tell_untold",
    "using",
]

#: the names and sizes of axes, outermost first
Axes = tuple[tuple[Any, int], ...]


class ManualAxis(tuple[Any, int]):
    """An axis of a mesh that a `shard_map` maps over: a pair of its name and size.

    Where it is `checked`, types say which values vary along it.
    """

    mesh: AnyMesh
    checked: bool

    def __new__(cls, name: Any, size: int, mesh: AnyMesh, checked: bool) -> ManualAxis:
        made = super().__new__(cls, (name, size))
        made.mesh, made.checked = mesh, checked
        return made

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
    """Make `trace` the one that is current in every thread where no transformation runs."""
    set_process("trace", trace)


def current() -> Trace:
    """The trace that primitives bind to now."""
    found: Trace = state.trace
    return found


def at_base() -> bool:
    """Whether no transformation runs: what is bound now is executed."""
    return state.trace is Context.trace


def is_eager() -> bool:
    """Whether operations on known values are executed: no function is being staged."""
    found = state.trace
    while (parent := getattr(found, "parent", None)) is not None:
        found = parent
    return found is Context.trace


class using:
    """A context in which `trace` is current."""

    __slots__ = ("old", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.old = state.trace
        state.trace = self.trace
        return self.trace

    def __exit__(self, *exc: object) -> None:
        state.trace = self.old


def axes() -> Axes:
    """The axes that have a name where the current code runs."""
    return state.axes


def manual_axes() -> tuple[ManualAxis, ...]:
    """The axes of meshes that a `shard_map` around the current code maps over."""
    return tuple([a for a in state.axes if isinstance(a, ManualAxis)])


def checked_axes() -> frozenset[Any]:
    """The names of the manual axes along which types say what varies."""
    return frozenset([a[0] for a in state.axes if isinstance(a, ManualAxis) and a.checked])


def tell_untold(names: frozenset[Any]) -> None:
    """Note that values of the body that is traced may vary along axes that their types lack."""
    if not names <= state.untold:
        state.untold |= names & checked_axes()


class naming:
    """A context in which the axes `more` have their names too."""

    __slots__ = ("more", "old")

    def __init__(self, more: Axes) -> None:
        self.more = more

    def __enter__(self) -> None:
        self.old = state.axes
        state.axes = (*self.old, *self.more)

    def __exit__(self, *exc: object) -> None:
        state.axes = self.old
        if state.untold:
            state.untold -= {axis[0] for axis in self.more if isinstance(axis, ManualAxis)}
