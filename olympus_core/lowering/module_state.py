"""The state of a module that is being built: its symbols, its functions and its locations."""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base import source
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.base.regular_files import path_text
from olympus_core.ir.olympuspr import Eqn, Var
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.shardy import MeshTable
from olympus_core.placement.mesh import AnyMesh
from olympus_core.xla.hlo.reached_collectives import Spread

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir
    from olympus_core.primitives.inspection import Inspection


class Manual(NamedTuple):
    """The axes `names` of a mesh, which a `shard_map` maps over."""

    mesh: AnyMesh
    names: frozenset[Any]

    @property
    def is_whole(self) -> bool:
        """True if all axes of the mesh are mapped over."""
        return len(self.names) == len(self.mesh.axis_names)


#: the bytes by which the compiler calls back with the sharding of a value, or None where it is not
#: by the value's type, and the manual axes of the block
Watching = Callable[["Inspection", ShapedArray, Manual | None], bytes | None]


class ModuleState:
    """The shared state of all functions of a module that is being built."""

    def __init__(self, platform: str, entry: EntryAttributes, watch: Watching | None) -> None:
        self.platform = platform
        self.watch = watch
        self.portable, self.num_partitions = entry.portable, entry.num_partitions
        self.lapack = entry.lapack
        self.has_forms = False
        # the first part of locations' names, which places.py reads, and knows a mark of its own in
        self.root = re.sub(r"[/()\[\]]", "_", entry.name)
        #: the beginning of the paths of files that are written relative
        self.inside = os.path.join(path_text(state.source_root), "") if state.source_root else ""
        self.axes = entry.axes
        #: the mesh whose axes are `axes` in the body of a `shard_map`, and the manual ones
        self.manual: Manual | None = None
        self.names: dict[str, int] = {}  # symbol -> number of symbols made from it
        #: the symbol of a program, by its name, its structure and the axes that it is emitted under
        self.functions: dict[tuple[str, Any, Any], str] = {}
        self.host_functions: dict[Any, int] = {}  # the index of each Python function that is called
        self.partitioners: dict[Any, int] = {}  # and of each that partitions an operation
        self.entry_meshes = entry.meshes
        self.emitted: dict[Any, str] = {}  # the symbol of a Python function, by its arguments
        self.copied: dict[Any, Any] = {}  # the functions of other modules, by their programs
        #: by the key of the location, with the callers, whose identity is part of the key
        self.locations: dict[Any, tuple[ir.Location, Any]] = {}
        #: True if locations have callers; and the callers of the nested program that is being
        #: emitted
        self.callers = entry.callers
        self.around: tuple[source.Position, ...] = ()
        self.meshes = MeshTable()
        self.body: Any = None
        self._sharding_groups = itertools.count()
        #: the branches and loops whose predicate may differ, as `Agreement.undecided`
        self.undecided: Mapping[Var, dict[str, Spread]] = {}

    def new_sharding_group(self) -> int:
        """Return the number of a new group of values that are sharded alike."""
        return next(self._sharding_groups)

    def unique(self, name: str) -> str:
        """Return `name` as a symbol that the module does not have yet."""
        base = symbol = symbol_of(name)
        while symbol in self.names:
            symbol = f"{base}_{self.names[base] - 1}"
            self.names[base] += 1
        self.names[symbol] = 1
        return symbol

    def location(self, eqn: Eqn) -> ir.Location:
        """Return the location of an equation, named `root/scope/primitive`, at the user's line.

        The root is `transpose(root)` for an equation of a backward pass.
        """
        code, instruction, scope, backward, caller, _ = eqn.source
        # a code object's own hash is slow
        key: tuple[Any, ...] = (id(code), instruction, scope, backward, eqn.primitive)
        if self.callers:
            key = (*key, id(caller), self.around)
        entry = self.locations.get(key)
        if entry is None:
            root = f"transpose({self.root})" if backward else self.root
            name = "/".join([x for x in (root, scope, eqn.primitive.name) if x])
            stack = self.stack(eqn) if self.callers else ()
            place = (
                _stack_location(stack, self.inside)
                if stack
                else _file_location(eqn.source.position(), self.inside)
            )
            entry = self.locations[key] = mlir.ir.Location.name(name, place), caller
        return entry[0]

    def stack(self, eqn: Eqn) -> tuple[source.Position, ...]:
        """Return the line of an equation and its calls in this function, the innermost first.

        Empty if the line is not known.
        """
        position = eqn.source.position()
        if position is None:
            return ()
        own = (position, *eqn.source.callers())
        if self.around[:1] == own[-1:]:  # it has the line of the nested program
            own = own[:-1]
        return (*own, *self.around)


@functools.lru_cache(maxsize=4096)
def _file_location(position: source.Position | None, inside: str) -> ir.Location:
    """Return the location of a line; a file in the folder `inside` is relative to it."""
    if position is None:
        return mlir.ir.Location.unknown(mlir.context())
    # the name of a file may be no text, and MLIR's strings are
    name = path_text(position.file).removeprefix(inside)
    return mlir.ir.Location.file(name, position.line, position.column, mlir.context())


def _stack_location(stack: Sequence[source.Position], inside: str) -> ir.Location:
    """Return the location of a line and of the calls that lead to it, with the functions' names."""
    frames = [
        mlir.ir.Location.name(position.function, _file_location(position, inside))
        for position in stack
    ]
    return mlir.ir.Location.callsite(frames[0], frames[1:]) if frames[1:] else frames[0]


def symbol_of(name: str) -> str:
    """Return a name without the characters that a symbol cannot have; `<lambda>` keeps its own."""
    return re.sub(r"[^\w.<>-]", "_", name) or "_"


def module_name(name: str) -> str:
    """Return the name of a module, which has no underscores at its end."""
    return re.sub(r"[^\w.-]", "_", name).rstrip("_") or "_"
