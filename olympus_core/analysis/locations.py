"""Where the operations of a StableHLO module come from, read from MLIR's locations.

Lowering gives each operation the location `loc("jit_f/scope/tanh"("model.py":12:9))`: the name
scope and the primitive, at the user's line.  The Python bindings of MLIR only print locations, so
their text is read.  That of other tools may be a call site or fused from several; the first file
counts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["Place", "place_of", "walk"]

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_FILE = re.compile(_TEXT + r":(\d+)")
_NAME = re.compile(r"loc\((?:callsite\()?" + _TEXT + r"(?:\(|\)|$)")
_ESCAPE = re.compile(r"((?:\\[0-9A-Fa-f]{2})+)|\\(.)", re.DOTALL)


class Place(NamedTuple):
    """Where an operation comes from; `line` is 0 and the rest "" where that is not known.

    `scope` is its name scope without the function's name and the primitive's: `outer/inner`.
    """

    file: str = ""
    line: int = 0
    scope: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


@functools.lru_cache(maxsize=1 << 16)
def place_of(location: str) -> Place:
    r"""The place that the text of a location says.

    >>> place_of('loc("jit_f/layer/tanh"("model.py":12:9))')
    Place(file='model.py', line=12, scope='layer')
    """
    file, name = _FILE.search(location), _NAME.match(location)
    scope = "/".join(_unescaped(name[1]).split("/")[1:-1]) if name else ""
    return Place(_unescaped(file[1]), int(file[2]), scope) if file else Place(scope=scope)


def _unescaped(text: str) -> str:
    """The text that MLIR wrote with escapes: `\\0A` is a byte, in hexadecimal."""

    def plain(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[2]
        return bytes.fromhex(found[1].replace("\\", "")).decode("utf-8", "backslashreplace")

    return _ESCAPE.sub(plain, text) if "\\" in text else text


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
