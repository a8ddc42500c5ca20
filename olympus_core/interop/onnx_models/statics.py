"""The inputs and initializers of a graph whose values determine shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.graph import MAX_DEPTH, opset_versions, subgraphs
from olympus_core.interop.onnx_models.operators.table import Operator, find_operator

#: Operators whose results depend on the shapes of their operands alone.
_SHAPES_ONLY = {"Shape", "Size"}
#: Inputs that must be known, of operators that are interpreted from the function in their schema.
_SCHEMA_FUNCTIONS = {"AffineGrid": (1,)}

_Key = tuple[str, str, str]


def names_that_determine_shapes(model: Any) -> set[str]:
    """Return the names of values whose values determine shapes, in a graph and its subgraphs.

    The walk goes back from the inputs of operators that need a known value, through operators that
    are computed while the model is imported. A name in two scopes counts in both.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    walk = _Walk(opset_versions(model.opset_import), functions)
    return walk.names(model.graph.node)


@dataclass
class _Walk:
    """The walk through a model: the inputs that must be known, of each of its functions."""

    opsets: Mapping[str, int]
    functions: Mapping[_Key, Any]
    known: dict[_Key, Sequence[int]] = field(default_factory=dict)
    depth: int = 0

    def names(self, body: Sequence[Any]) -> set[str]:
        """Return the names that determine shapes among the values of a graph or function."""
        nodes = _all_nodes(body)
        producers = {name: node for node in nodes for name in node.output if name}
        pending = [name for node in nodes for name in self._needed(node)]
        names: set[str] = set()
        while pending:
            name = pending.pop()
            if not name or name in names:
                continue
            names.add(name)
            node = producers.get(name)
            if node is None or node.op_type in _SHAPES_ONLY:
                continue
            row = self._row(node)
            if row is not None and row.folds:
                pending.extend(node.input)
                pending.extend(out.name for graph in subgraphs(node) for out in graph.output)
        return names

    def _row(self, node: Any) -> Operator | None:
        domain = "" if node.domain == "ai.onnx" else node.domain
        return find_operator(domain, node.op_type, self.opsets.get(domain, 1))

    def _needed(self, node: Any) -> list[str]:
        """Return the inputs of a node that must be known."""
        key = (node.domain, node.op_type, node.overload)
        row = self._row(node)
        if key in self.functions:
            indices = self._needed_by_function(key)
        elif row is not None:
            indices = tuple(row.static)
        else:
            indices = () if node.domain else _SCHEMA_FUNCTIONS.get(node.op_type, ())
        return [name for index, name in enumerate(node.input) if index in indices]

    def _needed_by_function(self, key: _Key) -> Sequence[int]:
        if key not in self.known:
            self.known[key] = ()  # of a function that calls itself, which the interpreter refuses
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise ArtifactError(f"functions are nested deeper than {MAX_DEPTH}")
            function = self.functions[key]
            names = self.names(function.node)
            self.depth -= 1
            self.known[key] = [i for i, name in enumerate(function.input) if name in names]
        return self.known[key]


def _all_nodes(body: Sequence[Any]) -> list[Any]:
    """Return nodes with those of their subgraphs."""
    nodes, bodies = list[Any](), [body]
    while bodies:
        for node in bodies.pop():
            nodes.append(node)
            bodies.extend(graph.node for graph in subgraphs(node))
    return nodes
