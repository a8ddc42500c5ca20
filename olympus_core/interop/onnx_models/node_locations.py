"""The locations of operations in an ONNX model: the name of their node, and its number.

A node has no line. Its file is a path inside that of the model, such as `model.onnx/block1/conv`,
and its line is its number in the graph, from 1 on. Its name is also the scope of its operations.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

from olympus_core.base.context import state
from olympus_core.base.source import Position, Source, using_location

_UNUSUAL = re.compile(r"[^\w./+-]+")


class NodeLocations:
    """The locations of the nodes of a model; `file` is its path."""

    def __init__(self, file: str) -> None:
        self.file = file

    def of(self, number: int, node: Any) -> AbstractContextManager[None]:
        """Return a context in which operations have the location of a node, counted from 1."""
        name = node_name(node)
        scope = f"{state.scope}/{name}" if state.scope else name
        return using_location(Source(Position(f"{self.file}/{name}", number, 1, name), 0, scope))


def node_name(node: Any) -> str:
    """Return the name of a node, or of its first output, as a relative path inside a folder.

    Unusual characters, and parts such as `..`, become `_`.
    """
    name = str(node.name or next(filter(None, node.output), node.op_type))
    parts = filter(None, _UNUSUAL.sub("_", name)[:200].split("/"))
    return "/".join(part.strip(".") or "_" for part in parts) or "_"
