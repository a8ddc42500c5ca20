"""The places of an operation in the text of a program, independent of its executions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from olympus.analysis import Graph
from olympus.files import path_text

_DIALECTS = ("", "stablehlo.", "chlo.", "func.")


def written_at(graph: Graph, name: str, root: Path) -> list[tuple[float, str]]:
    """Return the number of operations of a name, without its dialect, on each source line.

    Lines have the form "model.py:41", relative to the folder `root`; "" is for operations without
    one.

    >>> written_at(graph, "while", Path("/home/me"))
    [(1, 'model.py:41')]
    """
    meant = {dialect + name for dialect in _DIALECTS}
    found = Counter(place for operation, place in _spots(graph) if operation in meant)
    return [
        (times, place.removeprefix(f"{path_text(root)}{os.sep}")) for place, times in found.items()
    ]


def _spots(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yield the name and the place of each operation, at any depth."""
    waiting = [function.block for function in graph.functions.values()]
    while waiting:
        for operation in waiting.pop().operations:
            yield operation.name, str(operation.place)
            waiting += operation.blocks
