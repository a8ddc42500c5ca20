"""The origin of an operation: the user's line, the name scope, forward or backward pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_JITTED = re.compile(r"p?jit\([^()]*\)")
_WRAPPERS = re.compile(r"\b(?:transpose|jvp|vmap|checkpoint|rematted_computation|remat)\(")


_NOT_IN_SYMBOL = re.compile(r"[^\w.-]")  # as in the name of a module
_BACKWARD = re.compile(r"transpose\(([^()]*)\)")  # the root of a name that OLYMPUS wrote


class LocationName(NamedTuple):
    """The parts of the name of an operation's location."""

    scope: str
    operation: str
    backward: bool = False

    def __str__(self) -> str:
        text = "/".join([x for x in (self.scope, self.operation) if x])
        return f"{text}, backward" if self.backward else text


def read_name(name: str, *, inlined: bool = False, module: str = "") -> LocationName:
    """Split `root/scope/operation` into the scope, the operation and the backward mark.

    `transpose(root)` marks an operation of a backward pass; a scope is any text of the user. JAX
    writes parentheses in its roots, `jit(f)`, and in scopes: `transpose(jvp(scope))`. With
    `inlined`, as in optimized HLO, the names of the enclosing calls come first in a name. With
    `module`, the name of the module, a name that begins with another name has no root: JAX writes
    such names in the functions that it calls.

    Example:
      >>> read_name("transpose(jit_f)/outer/tanh")
      LocationName(scope='outer', operation='tanh', backward=True)
      >>> read_name("outer/tanh", module="jit_f")
      LocationName(scope='outer', operation='tanh', backward=False)
    """
    root, *parts = name.split("/")
    if not parts or "[" in root:  # an argument's name, such as x['a/b']
        return LocationName("", name)
    marked = _BACKWARD.fullmatch(root)
    if "(" in root and marked is None:
        return _name_of_jax(name)
    plain = root if marked is None else marked[1]
    backward = marked is not None
    if module and _NOT_IN_SYMBOL.sub("_", plain).rstrip("_") != module.rstrip("_"):
        parts = [plain, *parts]
    elif inlined:
        roots = plain, f"transpose({plain})"
        root_positions = [i for i, part in enumerate(parts[:-1]) if part in roots]
        backward = backward or any(parts[i] != plain for i in root_positions)
        parts = parts[root_positions[-1] + 1 :] if root_positions else parts
    return LocationName("/".join([x for x in parts[:-1] if x]), parts[-1], backward)


def _name_of_jax(name: str) -> LocationName:
    first = 0 if _WRAPPERS.match(name) else 1  # a name without a root begins with a scope
    scope = "/".join([x for x in _unwrapped(name).split("/")[first:-1] if x])
    return LocationName(scope, name.rpartition("/")[2], "transpose(" in name)


class Frame(NamedTuple):
    """A line that runs, and the name of its function, which is empty if it is not known.

    >>> str(Frame("decoder.py", 41, "attention"))
    'attention (decoder.py:41)'
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.function or '(unknown)'} ({self.file}:{self.line})"


class Place(NamedTuple):
    """A file, a line, a name scope, and a flag for operations of a backward pass.

    `line` is 0 and `file` is empty if they are not known. `scope` has neither the function's name
    nor the primitive's: `outer/inner`. `function` is the name of the Python function that contains
    the line. `callers` are the calls that lead to it, the innermost first. Both are empty if they
    are not read.
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
        """Return this place as one inside a function or region that is called at `outer`."""
        if self.line:
            return self if self.backward or not outer.backward else self._replace(backward=True)
        backward = self.backward or outer.backward
        return outer._replace(scope=self.scope or outer.scope, backward=backward)

    @property
    def stack(self) -> tuple[Frame, ...]:
        """The line and the calls that lead to it, the innermost first; empty without a line."""
        return (Frame(self.file, self.line, self.function), *self.callers) if self.line else ()

    def called_at(self, outer: Place) -> Place:
        """Return this place in a function called at `outer`, with the calls that lead there.

        If both stacks begin in the same function, this place has these calls already.
        """
        inner, outer_stack = self.stack, outer.stack
        if not inner or not outer.function:
            return self
        if inner[-1]._replace(line=0) == outer_stack[-1]._replace(line=0):
            return self
        return self._replace(callers=(*self.callers, *outer_stack))


NOWHERE = Place()


def name_of_module(module: ir.Module) -> str:
    """Return the name of a module, for `read_name`; empty if it has none."""
    attributes = module.operation.attributes
    try:
        return str(attributes["sym_name"].value) if "sym_name" in attributes else ""
    except UnicodeDecodeError:  # in a module of another tool
        return ""


class Places:
    """The places of a module's locations, each read once; with `callers`, the callers too."""

    def __init__(self, module: ir.Module, callers: bool = False) -> None:
        self._cache: dict[Any, Place] = {}
        self._module = name_of_module(module)
        self._callers = callers

    def of(self, location: ir.Location) -> Place:
        """Return the place of a location; of nested calls it is the innermost line."""
        attribute = location.attr
        place = self._cache.get(attribute)
        if place is None:
            place = _read(location, self._module)
            if self._callers and place.line:
                place = _with_callers(place, location)
            self._cache[attribute] = place
        return place


def _with_callers(place: Place, location: Any) -> Place:
    """Return a place with its function and callers; the outermost name is the operation's."""
    named = isinstance(location, mlir.ir.NameLoc)
    try:
        here, *callers = _frames(location.child_loc if named else location, "")
    except UnicodeDecodeError:  # in a module of another tool
        return place
    return place._replace(function=here.function, callers=tuple(callers))


def _frames(location: Any, function: str) -> list[Frame]:
    """Return the lines of a location, the innermost first; a name around a line is a function."""
    ir = mlir.ir
    if isinstance(location, ir.FileLineColLoc):
        return [Frame(location.filename, location.start_line, function)]
    if isinstance(location, ir.NameLoc):
        return _frames(location.child_loc, location.name_str)
    if isinstance(location, ir.CallSiteLoc):
        return _frames(location.callee, "") + _frames(location.caller, "")
    if isinstance(location, ir.FusedLoc):
        return next(filter(None, (_frames(inner, "") for inner in location.locations)), [])
    return []


def _read(location: Any, module: str) -> Place:
    try:
        name, (file, line) = _named_line(location)
    except UnicodeDecodeError:  # in a module of another tool
        return NOWHERE
    read = read_name(name, module=module)
    return Place(file, line, read.scope, read.backward)


def _unwrapped(name: str) -> str:
    """Remove the names of transformations around scopes: `f/transpose(a/b)/c` gives f/a/b/c."""
    name = _JITTED.sub("", name)
    bare = _WRAPPERS.sub("", name)
    return bare.replace(")", "") if bare != name else bare


def _named_line(location: Any) -> tuple[str, tuple[str, int]]:
    """Return the outermost name, and the innermost file and line; empty without one."""
    ir = mlir.ir
    if isinstance(location, ir.FileLineColLoc):
        return "", (location.filename, location.start_line)
    if isinstance(location, ir.NameLoc):
        return location.name_str, _named_line(location.child_loc)[1]
    if isinstance(location, ir.CallSiteLoc):  # the callee's frame, else the caller's
        return _first([location.callee, location.caller])
    if isinstance(location, ir.FusedLoc):
        return _first(location.locations)
    return "", ("", 0)


def _first(locations: Sequence[Any]) -> tuple[str, tuple[str, int]]:
    """Return the first name and the first line."""
    named_lines = [_named_line(x) for x in locations]
    name = next((name for name, _ in named_lines if name), "")
    return name, next((place for _, place in named_lines if place[0]), ("", 0))


def nested_operations(operation: Any) -> Iterator[ir.Operation]:
    """Yield the operations inside an operation, in their order, each before those inside it."""
    waiting = [_inside(operation)]  # without recursion, because the program is untrusted
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
