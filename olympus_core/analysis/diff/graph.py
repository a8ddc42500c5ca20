"""A StableHLO program as a graph: operations, their operands and their regions.

`compare` compares programs in this form and `structural_fingerprint` hashes it. Names of values, of
private functions and of the module are not part of it, nor is the order of independent operations.
A constant is a part of the operations that read it.

`olympus_core.lowering.fingerprint` hashes an Olympuspr, and is the key of caches within a version
of OLYMPUS. This module hashes the lowered program: the hash is the same for a program from a trace,
a build folder, a bundle or a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olympus_core.analysis.sources.places import Place, Places
from olympus_core.base import gc_pause
from olympus_core.base.errors import ArtifactError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: The deepest nesting of regions that is read; programs have a handful of levels.
_MAX_DEPTH = 100
_MESH = "sdy.mesh"  # the declaration of a mesh, which shardings name
_TEXT = "-"  # the file name that MLIR gives to a text that it parses
_MAX_SHOWN = 40  # characters of a constant's elements
_IN_FUNCTION = frozenset(["sym_name", "function_type", "arg_attrs", "res_attrs", "sym_visibility"])


@dataclass(frozen=True, slots=True)
class GraphConstant:
    """The elements of a constant: `digest` identifies them, `text` shows them shortened."""

    type: str
    digest: str
    text: str


@dataclass(eq=False, slots=True)
class GraphOperation:
    """One operation; two are equal only if they are one object.

    `attributes` are the names and texts of its attributes, sorted. `operands` are its own;
    `captures` are the outside values that its regions read, in the order of their first use.
    `callees` are the functions it names.
    """

    name: str
    attributes: tuple[tuple[str, str], ...]
    types: tuple[str, ...]
    operands: tuple[GraphValue, ...]
    captures: tuple[GraphValue, ...]
    blocks: tuple[GraphBlock, ...]
    callees: tuple[str, ...]
    place: Place

    @property
    def reads(self) -> tuple[GraphValue, ...]:
        """All values that it reads: its operands, and then the captures of its regions."""
        return self.operands + self.captures

    def size(self) -> int:
        """Return the number of operations, itself included, without constants and terminators.

        >>> operation.size()
        3
        """
        return 1 + sum(block.size() for block in self.blocks)


@dataclass(frozen=True, slots=True)
class GraphValue:
    """A result of an operation or an argument of a block, by its number, or a constant."""

    owner: GraphOperation | GraphBlock | GraphConstant
    number: int
    type: str


@dataclass(eq=False, slots=True)
class GraphBlock:
    """Operations in order, without constants; `results` are the operands of its terminator."""

    arguments: tuple[str, ...] = ()
    operations: list[GraphOperation] = field(default_factory=list)
    results: tuple[GraphValue, ...] = ()
    region: int = 0  # the number of its region in the operation

    def size(self) -> int:
        """Return the number of operations in the block, at any depth."""
        return sum(operation.size() for operation in self.operations)


@dataclass(eq=False, slots=True)
class Function:
    """A function of the module: `arguments` and `results` have the attributes of each."""

    name: str
    block: GraphBlock
    arguments: tuple[Mapping[str, str], ...]
    results: tuple[Mapping[str, str], ...]
    attributes: tuple[tuple[str, str], ...]
    place: Place


@dataclass(frozen=True)
class Graph:
    """A program: its functions by name, and the main function.

    `attributes` are those of the module, such as the number of replicas, without its name, and its
    meshes, as "sdy.mesh @mesh".
    """

    functions: Mapping[str, Function]
    main: Function
    attributes: tuple[tuple[str, str], ...]

    def size(self) -> int:
        """Return the number of operations in all functions, without constants and terminators."""
        return sum(function.block.size() for function in self.functions.values())


def read_module(content: bytes | str, name: str = "the program") -> ir.Module:
    """Parse a StableHLO module from text, MLIR bytecode or a portable artifact.

    `name` is for errors. The module is verified after it is parsed. MLIR's parser can end the
    process on damaged bytecode: read an untrusted file in a process of its own, as the command line
    does.

    Raises:
      ArtifactError: the content is none of these, is cut off, or is not valid StableHLO.

    Example:
      >>> read_module(jit(lambda x: 2 * x).lower(1.0).as_text()).operation.name
      'builtin.module'
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
    """Return the graph of a module; `places` are those of its operations if the module has none.

    An operation of a text without locations gets its line in the text, which is called `file`. The
    module is not changed. Attributes that only repeat a default are omitted.

    Raises:
      ArtifactError: it has no function, calls one that it does not have, functions call each
        other in a circle, or regions are nested too deeply.

    >>> graph = graph_of(jit(lambda x: numpy.sin(x) + 1).lower(numpy.ones(3)).module)
    >>> [operation.name for operation in graph.main.block.operations]
    ['stablehlo.sine', 'stablehlo.add']
    """
    with gc_pause.paused(), mlir.readable("the program"):
        return _Reader(mlir.normalized(module), places, file).graph()


class _Reader:
    def __init__(self, module: ir.Module, places: Sequence[Place] | None, file: str) -> None:
        self._file = file
        self._module = module  # its operations need the module to stay alive
        self._places: Iterator[Place] | None = None if places is None else iter(places)
        self._location_places = Places(module)
        self._texts: dict[Any, str] = {}
        self._constants: dict[Any, GraphConstant] = {}
        self._symbols = {
            view.attributes["sym_name"].value
            for view in module.body.operations
            if "sym_name" in view.attributes and view.operation.name != _MESH
        }

    def graph(self) -> Graph:
        meshes, functions_read = [], []
        for view in self._module.body.operations:
            if view.operation.name == _MESH:
                self._place(view)  # takes the place of this operation from the sequence
                name = view.attributes["sym_name"].value
                meshes.append((f"{_MESH} @{name}", self._text(view.attributes["mesh"])))
            else:
                functions_read.append(self._function(view))
        functions = {name: function for name, function, _ in functions_read}
        public = [function for _, function, private in functions_read if not private]
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
        both = [
            tuple(self._dictionary(x) for x in attributes[key]) if key in attributes else ()
            for key in ("arg_attrs", "res_attrs")
        ]
        function = Function(
            name,
            blocks[0],
            both[0] or ({},) * count[0],
            both[1] or ({},) * count[1],
            tuple((n, t) for n, t in self._attributes(attributes)[0] if n not in _IN_FUNCTION),
            place,
        )
        private = "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
        return name, function, private

    def _place(self, operation: Any) -> Place:
        if self._places is not None:
            return next(self._places, Place())
        place = self._location_places.of(operation.location)
        return place._replace(file=self._file) if place.file == _TEXT else place

    def _text(self, attribute: Any) -> str:
        text = self._texts.get(attribute)
        if text is None:
            text = self._texts[attribute] = str(attribute)
        return text

    def _dictionary(self, attributes: Any) -> dict[str, str]:
        return {attribute.name: self._text(attribute.attr) for attribute in attributes}

    def _attributes(self, attributes: Any) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
        """Return names and texts, sorted, with "@" in place of a function; and these functions."""
        texts, callees = [], list[str]()
        for index in range(len(attributes)):
            attribute = attributes[index]
            text = self._text(attribute.attr)
            if attribute.name == "sym_name":
                continue
            if "@" in text and (names := self._referenced_functions(attribute.attr)):
                callees += names
                text = "@" * len(names)
            texts.append((attribute.name, text))
        return tuple(sorted(texts)), tuple(callees)

    def _referenced_functions(self, attribute: Any) -> list[str]:
        """Return the functions of the module that an attribute names."""
        if isinstance(attribute, mlir.ir.ArrayAttr):
            return [name for part in attribute for name in self._referenced_functions(part)]
        if isinstance(attribute, mlir.ir.FlatSymbolRefAttr) and attribute.value in self._symbols:
            return [attribute.value]
        return []

    def _constant(self, attribute: Any, kind: str) -> GraphConstant:
        constant = self._constants.get(attribute)
        if constant is None:
            text = str(attribute)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            shown = text.rpartition(" : ")[0].removeprefix("dense<").removesuffix(">")
            if len(shown) > _MAX_SHOWN:
                shown = f"{shown[:_MAX_SHOWN]}..."
            constant = self._constants[attribute] = GraphConstant(kind, digest, shown)
        return constant

    def _blocks(
        self,
        operation: Any,
        outer: Mapping[Any, GraphValue],
        captures: dict[GraphValue, None],
        depth: int,
    ) -> tuple[GraphBlock, ...]:
        if depth > _MAX_DEPTH:
            raise ArtifactError(f"the program's regions are nested more than {_MAX_DEPTH} deep")
        blocks = []
        for number, region in enumerate(operation.regions):
            if len(region.blocks) > 1:
                raise ArtifactError(f"{operation.operation.name} has jumps, and StableHLO has none")
            for block in region.blocks:
                graph_block = self._block(block, outer, captures, depth)
                graph_block.region = number
                blocks.append(graph_block)
        return tuple(blocks)

    def _block(
        self,
        block: Any,
        outer: Mapping[Any, GraphValue],
        captures: dict[GraphValue, None],
        depth: int,
    ) -> GraphBlock:
        graph_block = GraphBlock(tuple(self._text(argument.type) for argument in block.arguments))
        values: dict[Any, GraphValue] = {
            argument: GraphValue(graph_block, i, graph_block.arguments[i])
            for i, argument in enumerate(block.arguments)
        }
        operations = set[Any]()
        for view in block.operations:
            operation = view.operation
            name, place = operation.name, self._place(operation)
            if name == "stablehlo.constant":
                result = operation.results[0]
                kind = self._text(result.type)
                constant = self._constant(operation.attributes["value"], kind)
                values[result] = GraphValue(constant, 0, kind)
                continue
            operands = [_read(x, values, outer, captures) for x in operation.operands]
            if name in _ENDS:
                graph_block.results = tuple(operands)
                continue
            inner: dict[GraphValue, None] = {}
            # an operation inside sees the values of this block and of the blocks around it
            seen = _Scope(values, outer) if operation.regions else outer
            blocks = self._blocks(operation, seen, inner, depth + 1) if operation.regions else ()
            captures.update(
                (x, None) for x in inner if x.owner is not graph_block and x.owner not in operations
            )
            attributes, callees = self._attributes(operation.attributes)
            types = tuple(self._text(x.type) for x in operation.results)
            graph_operation = GraphOperation(
                name, attributes, types, tuple(operands), tuple(inner), blocks, callees, place
            )
            graph_block.operations.append(graph_operation)
            operations.add(graph_operation)
            values.update(
                (x, GraphValue(graph_operation, i, types[i]))
                for i, x in enumerate(operation.results)
            )
        return graph_block


_ENDS = frozenset(["func.return", "stablehlo.return", "mhlo.return", "sdy.return"])


class _Scope(dict[Any, GraphValue]):
    """The values of a block, with those of the blocks around it as a fallback."""

    def __init__(self, values: Mapping[Any, GraphValue], outer: Mapping[Any, GraphValue]) -> None:
        super().__init__()
        self._values, self._outer = values, outer

    def __missing__(self, key: Any) -> GraphValue:
        result = self._values.get(key)
        return self._outer[key] if result is None else result


def _read(
    value: Any,
    values: Mapping[Any, GraphValue],
    outer: Mapping[Any, GraphValue],
    captures: dict[GraphValue, None],
) -> GraphValue:
    result = values.get(value)
    if result is None:
        result = outer[value]
        if not isinstance(result.owner, GraphConstant):
            captures[result] = None
    return result
