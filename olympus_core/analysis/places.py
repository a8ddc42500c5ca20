"""Where an operation comes from: the user's line, the name scope, forward or backward."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core import mlir

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["NOWHERE", "Place", "Places", "walk"]

_JITTED = re.compile(r"p?jit\([^()]*\)")
_WRAPPERS = re.compile(r"\b(?:transpose|jvp|vmap|checkpoint|rematted_computation|remat)\(")


class Place(NamedTuple):
    """A file and a line in it, a name scope, and whether a backward pass made the operation.

    `line` is 0 and `file` empty where that is not known; `scope` has neither the function's name
    nor the primitive's: `outer/inner`.
    """

    file: str = ""
    line: int = 0
    scope: str = ""
    backward: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""

    def within(self, outer: Place) -> Place:
        """This place in a function or region that is called at `outer`."""
        if self.line:
            return self if self.backward or not outer.backward else self._replace(backward=True)
        backward = self.backward or outer.backward
        return Place(outer.file, outer.line, self.scope or outer.scope, backward)


NOWHERE = Place()


class Places:
    """The places of MLIR's locations, each read once."""

    def __init__(self) -> None:
        self._found: dict[Any, Place] = {}

    def of(self, location: ir.Location) -> Place:
        """The place that a location says.

        A name that holds a file is `root/scope/operation`, in which `transpose(scope)` marks what
        a backward pass made.  Of calls inside calls the innermost line is taken.
        """
        attribute = location.attr
        found = self._found.get(attribute)
        if found is None:
            found = self._found[attribute] = _read(location)
        return found


def _read(location: Any) -> Place:
    try:
        name, (file, line) = _named_line(location)
    except UnicodeDecodeError:  # in a module of another tool
        return NOWHERE
    scope = "/".join([x for x in _unwrapped(name).split("/")[1:-1] if x])
    return Place(file, line, scope, "transpose(" in name)


def _unwrapped(name: str) -> str:
    """A name without those of transformations around scopes: `f/transpose(a/b)/c` is f/a/b/c."""
    name = _JITTED.sub("", name)
    bare = _WRAPPERS.sub("", name)
    return bare.replace(")", "") if bare != name else bare


def _named_line(location: Any) -> tuple[str, tuple[str, int]]:
    """The outermost name, and the innermost file and line, of a location; empty without one."""
    ir = mlir.ir
    if isinstance(location, ir.FileLineColLoc):
        return "", (location.filename, location.start_line)
    if isinstance(location, ir.NameLoc):
        return location.name_str, _named_line(location.child_loc)[1]
    if isinstance(location, ir.CallSiteLoc):  # the frame that is called, or the one that calls
        return _first([location.callee, location.caller])
    if isinstance(location, ir.FusedLoc):
        return _first(location.locations)
    return "", ("", 0)


def _first(locations: Sequence[Any]) -> tuple[str, tuple[str, int]]:
    """The first name and the first line that there are."""
    found = [_named_line(x) for x in locations]
    name = next((name for name, _ in found if name), "")
    return name, next((place for _, place in found if place[0]), ("", 0))


def walk(operation: Any) -> Iterator[ir.Operation]:
    """The operations inside an operation, in their order, each before those inside it."""
    waiting = [_inside(operation)]  # and no recursion: anybody may have written the program
    while waiting:
        inner = next(waiting[-1], None)
        if inner is None:
            waiting.pop()
            continue
        yield inner
        if len(inner.regions):
            waiting.append(_inside(inner))


def _inside(operation: Any) -> Iterator[ir.Operation]:
    return (inner for region in operation.regions for block in region.blocks for inner in block)
