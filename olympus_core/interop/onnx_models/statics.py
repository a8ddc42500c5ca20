"""The inputs and initializers of a graph whose values determine shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olympus_core.interop.onnx_models.graph import opset_versions, subgraphs
from olympus_core.interop.onnx_models.operators.table import Operator, find_operator

#: Operators whose results depend on the shapes of their operands alone.
_SHAPES_ONLY = {"Shape", "Size"}


def names_that_determine_shapes(model: Any) -> set[str]:
    """Return the names of values whose values determine shapes, in a graph and its subgraphs.

    The walk goes back from the inputs of operators that need a known value, through operators that
    are computed while the model is imported. A name in two scopes counts in both.
    """
    opsets = opset_versions(model.opset_import)
    nodes = _all_nodes(model.graph)
    functions = {(f.domain, f.name) for f in model.functions}
    producers = {name: node for node in nodes for name in node.output if name}
    pending = [name for node in nodes for name in _needed(node, opsets, functions)]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if not name or name in found:
            continue
        found.add(name)
        node = producers.get(name)
        if node is None or node.op_type in _SHAPES_ONLY:
            continue
        row = _row(node, opsets)
        if row is not None and row.folds:
            pending.extend(node.input)
    return found


def _all_nodes(graph: Any) -> list[Any]:
    nodes, graphs = [], [graph]
    while graphs:
        for node in graphs.pop().node:
            nodes.append(node)
            graphs.extend(subgraphs(node))
    return nodes


def _row(node: Any, opsets: Mapping[str, int]) -> Operator | None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    return find_operator(domain, node.op_type, opsets.get(domain, 1))


def _needed(node: Any, opsets: Mapping[str, int], functions: set[tuple[str, str]]) -> Sequence[str]:
    """Return the inputs of a node that must be known; of a function, all that may have to be."""
    row = _row(node, opsets)
    if row is None or (node.domain, node.op_type) in functions:
        return ()
    return [name for index, name in enumerate(node.input) if index in row.static]
