"""A StableHLO program as a graph: operations, what they read, and the regions that they hold.

It is the form in which `compare` compares programs and `structural_fingerprint` names them.  Names
of values, of private functions and of the module are not part of it, nor is the order of operations
that do not depend on each other.  A constant is a part of the operations that read it.

`olympus_core.fingerprint` is another one, of the Olympuspr: the tracer's programs are cached by it
within a version of OLYMPUS.  The one here is of what was lowered, whoever lowered it, and is the
same for a program from a trace, a build folder, a bundle or a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olympus_core import collection, mlir
from olympus_core.analysis.places import Place, Places
from olympus_core.errors import ArtifactError

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = [
    "Block",
    "Constant",
    "Function",
    "Graph",
    "Operation",
    "Value",
    "graph_of",
    "read_module",
]

#: The deepest nesting of regions that is read; programs have a handful.
_DEEPEST = 100
_MESH = "sdy.mesh"  # what declares a mesh, which shardings name
_TEXT = "-"  # what MLIR calls the file of a text that it parses
_MOST_SHOWN = 40  # characters of a constant's elements
_IN_FUNCTION = frozenset(["sym_name", "function_type", "arg_attrs", "res_attrs", "sym_visibility"])


@dataclass(frozen=True, slots=True)
class Constant:
    """The elements of a constant: `digest` names them, `text` shows them shortened."""

    type: str
    digest: str
    text: str


@dataclass(eq=False, slots=True)
class Operation:
    """One operation; two are the same only if they are one object.

    `attributes` are the names and texts of what stands on it, sorted.  `operands` are its own;
    `captures` what its regions read from outside, in the order of their first use.  `callees` are
    the functions it names.
    """

    name: str
    attributes: tuple[tuple[str, str], ...]
    types: tuple[str, ...]
    operands: tuple[Value, ...]
    captures: tuple[Value, ...]
    blocks: tuple[Block, ...]
    callees: tuple[str, ...]
    place: Place

    @property
    def reads(self) -> tuple[Value, ...]:
        """All that it reads: its operands, and then what its regions capture."""
        return self.operands + self.captures

    def size(self) -> int:
        """How many operations it is, with those inside it, constants and ends of blocks left out.

        >>> operation.size()
        3
        """
        return 1 + sum(block.size() for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Value:
    """A result of an operation or an argument of a block, by its number, or a constant."""

    owner: Operation | Block | Constant
    number: int
    type: str


@dataclass(eq=False, slots=True)
class Block:
    """Operations in their order, without constants; `results` are what its end passes on."""

    arguments: tuple[str, ...] = ()
    operations: list[Operation] = field(default_factory=list)
    results: tuple[Value, ...] = ()
    region: int = 0  # which region of its operation it is in

    def size(self) -> int:
        """How many operations are in it, at any depth."""
        return sum(each.size() for each in self.operations)


@dataclass(eq=False, slots=True)
class Function:
    """A function of the module: `arguments` and `results` have the attributes of each."""

    name: str
    block: Block
    arguments: tuple[Mapping[str, str], ...]
    results: tuple[Mapping[str, str], ...]
    attributes: tuple[tuple[str, str], ...]
    place: Place


@dataclass(frozen=True)
class Graph:
    """A program: its functions by name, and the one that is called.

    `attributes` are those of the module, such as the number of replicas, without its name, and its
    meshes, as "sdy.mesh @mesh".
    """

    functions: Mapping[str, Function]
    main: Function
    attributes: tuple[tuple[str, str], ...]

    def size(self) -> int:
        """How many operations all functions have, constants and ends of blocks left out."""
        return sum(function.block.size() for function in self.functions.values())


def read_module(content: bytes | str, name: str = "the program") -> ir.Module:
    """A StableHLO module from its text, MLIR bytecode or a portable artifact; `name` is for errors.

    Raises:
      ArtifactError: when it is none of these, is cut off, or is not valid StableHLO.

    Example:
      >>> read_module(lowered.as_text())
    """
    if isinstance(content, bytes) and not content.startswith(mlir.BYTECODE):
        try:
            content = content.decode()
        except UnicodeDecodeError as exc:
            raise ArtifactError(
                f"{name} is not StableHLO: it is neither text nor MLIR bytecode"
            ) from exc
    return mlir.parsed(content, name)


def graph_of(
    module: ir.Module, places: Sequence[Place] | None = None, *, file: str = _TEXT
) -> Graph:
    """The graph of a module; `places` are those of its operations where the module has none.

    An operation of a text without locations is at its line of the text, which is called `file`.
    The module is not changed.  Attributes that only repeat a default are left out.

    Raises:
      ArtifactError: when it has no function, calls one that it does not have, functions call each
        other in a circle, or regions are nested too deeply.
    """
    with collection.paused(), mlir.readable("the program"):
        return _Reader(mlir.normalized(module), places, file).graph()


class _Reader:
    def __init__(self, module: ir.Module, places: Sequence[Place] | None, file: str) -> None:
        self._file = file
        self._module = module  # its operations live as long as it does
        self._places: Iterator[Place] | None = None if places is None else iter(places)
        self._where = Places()
        self._texts: dict[Any, str] = {}
        self._constants: dict[Any, Constant] = {}
        self._symbols = {
            each.attributes["sym_name"].value
            for each in module.body.operations
            if "sym_name" in each.attributes and each.operation.name != _MESH
        }

    def graph(self) -> Graph:
        meshes, found = [], []
        for each in self._module.body.operations:
            if each.operation.name == _MESH:
                self._place(each)  # each operation has one of the places
                name = each.attributes["sym_name"].value
                meshes.append((f"{_MESH} @{name}", self._text(each.attributes["mesh"])))
            else:
                found.append(self._function(each))
        functions = {name: function for name, function, _ in found}
        public = [function for _, function, private in found if not private]
        main = functions.get("main") or next(iter(public), None)
        if main is None:
            raise ArtifactError("the program has no function that can be called")
        attributes = self._attributes(self._module.operation.attributes)[0]
        return Graph(functions, main, tuple(sorted([*attributes, *meshes])))

    def _function(self, operation: Any) -> tuple[str, Function, bool]:
        if operation.operation.name != "func.func":
            raise ArtifactError(
                f"a program has functions and meshes, and this has {operation.operation.name}"
            )
        place, attributes = self._place(operation), operation.attributes
        name = attributes["sym_name"].value
        blocks = self._blocks(operation, {}, {}, 0)
        if not blocks:
            raise ArtifactError(f"its function '{name}' has no body")
        count = len(blocks[0].arguments), len(blocks[0].results)
        each = [
            tuple(self._dictionary(x) for x in attributes[key]) if key in attributes else ()
            for key in ("arg_attrs", "res_attrs")
        ]
        made = Function(
            name,
            blocks[0],
            each[0] or ({},) * count[0],
            each[1] or ({},) * count[1],
            tuple((n, t) for n, t in self._attributes(attributes)[0] if n not in _IN_FUNCTION),
            place,
        )
        private = "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
        return name, made, private

    def _place(self, operation: Any) -> Place:
        if self._places is not None:
            return next(self._places, Place())
        place = self._where.of(operation.location)
        return place._replace(file=self._file) if place.file == _TEXT else place

    def _text(self, thing: Any) -> str:
        found = self._texts.get(thing)
        if found is None:
            found = self._texts[thing] = str(thing)
        return found

    def _dictionary(self, attributes: Any) -> dict[str, str]:
        return {each.name: self._text(each.attr) for each in attributes}

    def _attributes(self, attributes: Any) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
        """Names and texts, sorted, with a "@" in the place of a function; and these functions."""
        found, callees = [], list[str]()
        for index in range(len(attributes)):
            each = attributes[index]
            text = self._text(each.attr)
            if each.name == "sym_name":
                continue
            if "@" in text and (names := self._named(each.attr)):
                callees += names
                text = "@" * len(names)
            found.append((each.name, text))
        return tuple(sorted(found)), tuple(callees)

    def _named(self, attribute: Any) -> list[str]:
        """The functions of the module that an attribute names."""
        if isinstance(attribute, mlir.ir.ArrayAttr):
            return [name for part in attribute for name in self._named(part)]
        if isinstance(attribute, mlir.ir.FlatSymbolRefAttr) and attribute.value in self._symbols:
            return [attribute.value]
        return []

    def _constant(self, attribute: Any, kind: str) -> Constant:
        found = self._constants.get(attribute)
        if found is None:
            text = str(attribute)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            shown = text.rpartition(" : ")[0].removeprefix("dense<").removesuffix(">")
            if len(shown) > _MOST_SHOWN:
                shown = f"{shown[:_MOST_SHOWN]}..."
            found = self._constants[attribute] = Constant(kind, digest, shown)
        return found

    def _blocks(
        self, operation: Any, outer: Mapping[Any, Value], captures: dict[Value, None], depth: int
    ) -> tuple[Block, ...]:
        if depth > _DEEPEST:
            raise ArtifactError(f"the program's regions are nested more than {_DEEPEST} deep")
        found = []
        for number, region in enumerate(operation.regions):
            if len(region.blocks) > 1:
                raise ArtifactError(f"{operation.operation.name} has jumps, and StableHLO has none")
            for block in region.blocks:
                made = self._block(block, outer, captures, depth)
                made.region = number
                found.append(made)
        return tuple(found)

    def _block(
        self, block: Any, outer: Mapping[Any, Value], captures: dict[Value, None], depth: int
    ) -> Block:
        made = Block(tuple(self._text(each.type) for each in block.arguments))
        own: dict[Any, Value] = {
            each: Value(made, i, made.arguments[i]) for i, each in enumerate(block.arguments)
        }
        mine = set[Any]()
        for each in block.operations:
            operation = each.operation
            name, place = operation.name, self._place(operation)
            if name == "stablehlo.constant":
                result = operation.results[0]
                kind = self._text(result.type)
                constant = self._constant(operation.attributes["value"], kind)
                own[result] = Value(constant, 0, kind)
                continue
            operands = [_read(x, own, outer, captures) for x in operation.operands]
            if name in _ENDS:
                made.results = tuple(operands)
                continue
            inner: dict[Value, None] = {}
            # what is inside sees this block's values and those that this block sees
            seen = _Scope(own, outer) if operation.regions else outer
            blocks = self._blocks(operation, seen, inner, depth + 1) if operation.regions else ()
            captures.update((x, None) for x in inner if x.owner is not made and x.owner not in mine)
            attributes, callees = self._attributes(operation.attributes)
            types = tuple(self._text(x.type) for x in operation.results)
            done = Operation(
                name, attributes, types, tuple(operands), tuple(inner), blocks, callees, place
            )
            made.operations.append(done)
            mine.add(done)
            own.update((x, Value(done, i, types[i])) for i, x in enumerate(operation.results))
        return made


_ENDS = frozenset(["func.return", "stablehlo.return", "mhlo.return", "sdy.return"])


class _Scope(dict[Any, Value]):
    """The values of a block, and behind them those that the block sees."""

    def __init__(self, own: Mapping[Any, Value], outer: Mapping[Any, Value]) -> None:
        super().__init__()
        self._own, self._outer = own, outer

    def __missing__(self, key: Any) -> Value:
        found = self._own.get(key)
        return self._outer[key] if found is None else found


def _read(
    value: Any, own: Mapping[Any, Value], outer: Mapping[Any, Value], captures: dict[Value, None]
) -> Value:
    found = own.get(value)
    if found is None:
        found = outer[value]
        if not isinstance(found.owner, Constant):
            captures[found] = None
    return found
