"""Where an operation comes from: the user's line, the name scope, forward or backward."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core import mlir

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["NOWHERE", "Place", "Places"]

_JITTED = re.compile(r"p?jit\([^()]*\)")
_WRAPPERS = re.compile(r"\b(?:transpose|jvp|vmap|checkpoint|rematted_computation|remat)\(")


class Place(NamedTuple):
    """A line as `path:line` (empty without one), a scope, and whether a backward pass made it."""

    line: str
    scope: str
    backward: bool

    def within(self, outer: Place) -> Place:
        """This place in a function or region that is called at `outer`."""
        if self.line:
            return self if self.backward or not outer.backward else self._replace(backward=True)
        return Place(outer.line, self.scope or outer.scope, self.backward or outer.backward)


NOWHERE = Place("", "", False)


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
    name, line = _named_line(location)
    scope = "/".join([x for x in _unwrapped(name).split("/")[1:-1] if x])
    return Place(line, scope, "transpose(" in name)


def _unwrapped(name: str) -> str:
    """A name without those of transformations around scopes: `f/transpose(a/b)/c` is f/a/b/c."""
    name = _JITTED.sub("", name)
    bare = _WRAPPERS.sub("", name)
    return bare.replace(")", "") if bare != name else bare


def _named_line(location: Any) -> tuple[str, str]:
    """The outermost name and innermost `path:line` of a location, empty where there is none."""
    ir = mlir.ir
    if isinstance(location, ir.FileLineColLoc):
        return "", f"{location.filename}:{location.start_line}"
    if isinstance(location, ir.NameLoc):
        return location.name_str, _named_line(location.child_loc)[1]
    if isinstance(location, ir.CallSiteLoc):  # the frame that is called, or the one that calls
        return _first([location.callee, location.caller])
    if isinstance(location, ir.FusedLoc):
        return _first(location.locations)
    return "", ""


def _first(locations: Sequence[Any]) -> tuple[str, str]:
    """The first name and the first line that there are."""
    found = [_named_line(x) for x in locations]
    name = next((name for name, _ in found if name), "")
    return name, next((line for _, line in found if line), "")
