"""Where an operation comes from: the user's line, the name scope, forward or backward."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core import mlir

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["NOWHERE", "Frame", "Name", "Place", "Places", "read_name", "walk"]

_JITTED = re.compile(r"p?jit\([^()]*\)")
_WRAPPERS = re.compile(r"\b(?:transpose|jvp|vmap|checkpoint|rematted_computation|remat)\(")


_BACKWARD = re.compile(r"transpose\(([^()]*)\)")  # the root of a name of ours


class Name(NamedTuple):
    """What the name of an operation's location says."""

    scope: str
    operation: str
    backward: bool = False

    def __str__(self) -> str:
        text = "/".join([x for x in (self.scope, self.operation) if x])
        return f"{text}, backward" if self.backward else text


def read_name(name: str, *, inlined: bool = False) -> Name:
    """The scope and the operation of `root/scope/operation`, and whether a backward pass made it.

    That is marked by `transpose(root)`; a scope is the user's text, whatever it looks like.  JAX
    has parentheses in its roots, `jit(f)`, and marks scopes: `transpose(jvp(scope))`.  With
    `inlined`, as in optimized HLO, a name has those of the calls around in front.

    Example:
      >>> read_name("transpose(jit_f)/outer/tanh")
      Name(scope='outer', operation='tanh', backward=True)
    """
    root, *parts = name.split("/")
    if not parts or "[" in root:  # an argument's name, such as x['a/b']
        return Name("", name)
    marked = _BACKWARD.fullmatch(root)
    if "(" in root and marked is None:
        return _name_of_jax(name)
    plain = root if marked is None else marked[1]
    backward = marked is not None
    if inlined:
        roots = plain, f"transpose({plain})"
        found = [i for i, part in enumerate(parts[:-1]) if part in roots]
        backward = backward or any(parts[i] != plain for i in found)
        parts = parts[found[-1] + 1 :] if found else parts
    return Name("/".join([x for x in parts[:-1] if x]), parts[-1], backward)


def _name_of_jax(name: str) -> Name:
    scope = "/".join([x for x in _unwrapped(name).split("/")[1:-1] if x])
    return Name(scope, name.rpartition("/")[2], "transpose(" in name)


class Frame(NamedTuple):
    """A line that runs, and the name of the function that it is in; empty where it is not known.

    >>> str(Frame("decoder.py", 41, "attention"))
    'attention (decoder.py:41)'
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.function or '(unknown)'} ({self.file}:{self.line})"


class Place(NamedTuple):
    """A file and a line in it, a name scope, and whether a backward pass made the operation.

    `line` is 0 and `file` empty where that is not known; `scope` has neither the function's name
    nor the primitive's: `outer/inner`.  `function` is the name of the Python function that the line
    is in, and `callers` are the calls that lead to it, the innermost first; both are empty where
    they are not read.
    """

    file: str = ""
    line: int = 0
    scope: str = ""
    backward: bool = False
    function: str = ""
    callers: tuple[Frame, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""

    def within(self, outer: Place) -> Place:
        """This place in a function or region that is called at `outer`."""
        if self.line:
            return self if self.backward or not outer.backward else self._replace(backward=True)
        backward = self.backward or outer.backward
        return outer._replace(scope=self.scope or outer.scope, backward=backward)

    @property
    def stack(self) -> tuple[Frame, ...]:
        """The line and the calls that lead to it, the innermost first; empty without a line."""
        return (Frame(self.file, self.line, self.function), *self.callers) if self.line else ()

    def called_at(self, outer: Place) -> Place:
        """This place in a function that is called at `outer`, with the calls that lead there.

        A stack that begins in the function that the other one begins in has them already.
        """
        own, above = self.stack, outer.stack
        if not own or not outer.function or own[-1]._replace(line=0) == above[-1]._replace(line=0):
            return self
        return self._replace(callers=(*self.callers, *above))


NOWHERE = Place()


class Places:
    """The places of MLIR's locations, each read once; with `callers`, those are read too."""

    def __init__(self, callers: bool = False) -> None:
        self._found: dict[Any, Place] = {}
        self._callers = callers

    def of(self, location: ir.Location) -> Place:
        """The place that a location says.

        Of calls inside calls the innermost line is taken.
        """
        attribute = location.attr
        found = self._found.get(attribute)
        if found is None:
            found = _read(location)
            if self._callers and found.line:
                found = _with_callers(found, location)
            self._found[attribute] = found
        return found


def _with_callers(place: Place, location: Any) -> Place:
    """A place with its function and its callers; the outermost name is that of the operation."""
    named = isinstance(location, mlir.ir.NameLoc)
    try:
        here, *callers = _frames(location.child_loc if named else location, "")
    except UnicodeDecodeError:  # in a module of another tool
        return place
    return place._replace(function=here.function, callers=tuple(callers))


def _frames(location: Any, function: str) -> list[Frame]:
    """The lines that a location has, the innermost first; a name around one is its function's."""
    ir = mlir.ir
    if isinstance(location, ir.FileLineColLoc):
        return [Frame(location.filename, location.start_line, function)]
    if isinstance(location, ir.NameLoc):
        return _frames(location.child_loc, location.name_str)
    if isinstance(location, ir.CallSiteLoc):
        return _frames(location.callee, "") + _frames(location.caller, "")
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, (_frames(each, "") for each in location.locations)), [])
    return []


def _read(location: Any) -> Place:
    try:
        name, (file, line) = _named_line(location)
    except UnicodeDecodeError:  # in a module of another tool
        return NOWHERE
    read = read_name(name)
    return Place(file, line, read.scope, read.backward)


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
