"""One change between two programs as a line: its source line, and its values before and after."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from olympus.analysis import Change, Detail
from olympus.files import path_text
from olympus_cli.reports.shardings import spoken_name, spoken_value

_DIALECTS = ("stablehlo.", "chlo.", "func.")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)(complex<f(?:32|64)>|\w+)>")
_DTYPES = {"i1": "bool", "complex<f32>": "c64", "complex<f64>": "c128"}


def short_name(name: str) -> str:
    """Return the name of an operation without its usual dialect.

    >>> short_name("stablehlo.tanh"), short_name("sdy.reshard")
    ('tanh', 'sdy.reshard')
    """
    for dialect in _DIALECTS:
        name = name.removeprefix(dialect)
    return name


def plain_types(text: str) -> str:
    """Return the text with array types in the form of shapes instead of MLIR.

    >>> plain_types("tensor<8x3xf32>, tensor<ui8>, tensor<2xi1>")
    'f32[8,3], u8[], bool[2]'
    """

    def plain(match: re.Match[str]) -> str:
        dtype = _DTYPES.get(match[2], re.sub("^ui", "u", match[2]))
        return f"{dtype}[{match[1].rstrip('x').replace('x', ',')}]"

    return _TENSOR.sub(plain, text)


def change_lines(changes: Iterable[Change], root: Path) -> list[tuple[str, str]]:
    """Return the places and words of changes, each pair once with its number of occurrences."""
    return [(place, words) for place, words, _ in counted_changes(changes, root)]


def counted_changes(changes: Iterable[Change], root: Path) -> list[tuple[str, str, int]]:
    """Return the lines of `change_lines`, each with the number of its changes."""
    counts = Counter((change_place(change, root), change_words(change)) for change in changes)
    return [
        (place, f"{words}  ({times} times)" if times > 1 else words, times)
        for (place, words), times in counts.items()
    ]


def change_place(change: Change, root: Path) -> str:
    """Return the "file:line" of a change, relative to the folder `root`; empty if unknown.

    It is the place in the second program, or in the first for an operation that was removed.
    """
    spot = change.after or change.before
    return str(spot.place).removeprefix(f"{path_text(root)}{os.sep}") if spot else ""


def change_words(change: Change) -> str:
    """Return a change in words, with both values: "multiply: operand 1: ... -> ..."."""
    names = [short_name(spot.name) for spot in (change.before, change.after) if spot is not None]
    if not names:
        return "; ".join([f"the {change.role} {change.kind}", *map(_values, change.details)])
    name = " -> ".join(dict.fromkeys(names))
    if change.kind in ("added", "removed"):
        return f"{name} {change.kind}"
    if change.role in ("argument", "result") and not name.startswith(change.role):
        name = f"{change.role} {name}"
    values = "; ".join(_values(detail) for detail in change.details if detail.what != "operation")
    return f"{name}: {values}" if values else name


def _values(detail: Detail) -> str:
    sides = (spoken_value(detail.what, text) for text in (detail.before, detail.after))
    return f"{spoken_name(detail.what)}: {' -> '.join(map(plain_types, sides))}"
