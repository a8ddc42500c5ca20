"""Where in the user's program an operation comes from: its frame, and its name scope.

A `Source` is a cheap mark, resolved to file, line and column only when an error, a location or a
report asks.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from olympus_core.context import state
from olympus_core.errors import ArgumentError

__all__ = [
    "Position",
    "Source",
    "backward_rule",
    "current",
    "function_name",
    "is_internal",
    "mark_caller",
    "name_scope",
    "user_frame",
    "using",
]

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PACKAGES = tuple(os.path.join(_ROOT, name) + os.sep for name in ("olympus", "olympus_core"))
_EXTERNAL = (f"{os.sep}contextlib.py", f"{os.sep}functools.py", "<frozen")
_callers: set[str] = set()
_internal: dict[str, bool | None] = {}


class Position(NamedTuple):
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    function: str

    def text(self) -> str:
        """The source line, stripped, or an empty string where the file is gone."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Source(NamedTuple):
    """A mark of the user's frame (code object and instruction) and the name scope.

    `backward` says that the backward pass of a derivative made the operation, of that line.
    """

    code: CodeType | None
    instruction: int
    scope: str
    backward: bool = False

    @property
    def name_stack(self) -> str:
        """The name scope: `outer/inner`."""
        return self.scope

    def position(self) -> Position | None:
        """The file, line and column of the mark, or None when no user frame was found."""
        if self.code is None:
            return None
        return _position(self.code, self.instruction)

    def place(self, joint: str = ", at ") -> str:
        """`joint`, the file, the line and its text, for messages; empty without a user frame."""
        position = self.position()
        return f"{joint}{position}: {position.text()}" if position else ""


@functools.lru_cache(maxsize=512)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def _position(code: CodeType, instruction: int) -> Position:
    positions = _positions(code)
    line, _, column, _ = positions[instruction // 2] if positions else (None, None, None, None)
    return Position(
        code.co_filename, line or code.co_firstlineno, (column or 0) + 1, code.co_qualname
    )


def is_internal(filename: str) -> bool | None:
    """Whether a file belongs to OLYMPUS or to a library that only passes calls along.

    None for what `mark_caller` has marked: above it nothing is the user's.
    """
    if filename not in _internal:
        path = os.path.abspath(filename)
        passing = filename.endswith(_EXTERNAL[:2]) or filename.startswith(_EXTERNAL[2])
        internal = path.startswith(_PACKAGES) or passing
        _internal[filename] = None if path.startswith(tuple(_callers)) else internal
    return _internal[filename]


def mark_caller(folder: str | os.PathLike[str]) -> None:
    """Mark a folder of code that calls users' functions for them, such as a build tool's.

    No frame of a file in it, nor one above such a frame, is taken for the user's in an error or in
    the location of an operation.

    Example:
      >>> mark_caller(os.path.join(os.sep, "opt", "some_tool"))
    """
    _callers.add(os.path.abspath(folder) + os.sep)
    _internal.clear()


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame that is the user's, at least `depth` frames above the caller."""
    frame: FrameType | None = sys._getframe(depth)
    internal = _internal
    while frame is not None:
        known = internal.get(frame.f_code.co_filename)
        if known is None:  # not seen before, or the end
            known = is_internal(frame.f_code.co_filename)
            if known is None:
                return None
        if not known:
            return frame
        frame = frame.f_back
    return None


_RUNNING = -1  # the instruction of a mark that stands for whichever line of the user's is running


def backward_rule() -> Source:
    """A mark for the user's code that runs in a backward pass: it stands at its own lines.

    The scope is that of the call whose rule it is.
    """
    mark: Source | None = state.source
    return Source(None, _RUNNING, state.scope if mark is None else mark.scope, True)


def current(depth: int = 2) -> Source:
    """A mark of the user's line that is running, and of the name scope it is in."""
    mark: Source | None = state.source
    if mark is None:
        scope, backward = state.scope, False
    elif mark.instruction == _RUNNING:
        scope, backward = mark.scope, True
    else:
        return mark
    frame = user_frame(depth)
    if frame is None:
        return Source(None, 0, scope, backward)
    return Source(frame.f_code, frame.f_lasti, scope, backward)


def function_name(fun: Callable[..., Any]) -> str:
    """The name of a function, looked for inside partials and callable objects."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return str(getattr(fun, "__name__", type(fun).__name__))


class using:
    """A context in which `mark` is the current line and scope, whatever code runs.

    With `backward`, or inside a context of what is, it is part of a backward pass.
    """

    __slots__ = ("backward", "mark", "old")

    def __init__(self, mark: Source, backward: bool = False) -> None:
        self.mark = mark
        self.backward = backward

    def __enter__(self) -> None:
        self.old = old = state.source
        mark = self.mark
        if not mark.backward and (self.backward or (old is not None and old.backward)):
            mark = Source(mark.code, mark.instruction, mark.scope, True)
        state.source = mark

    def __exit__(self, *exc: object) -> None:
        state.source = self.old


@contextlib.contextmanager
def name_scope(name: str) -> Iterator[None]:
    """Within the context, the operations traced carry `name` in their StableHLO location.

    Raises ArgumentError for a name that is not a string.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"a name scope needs a string, and got {name!r}")
    old = state.scope
    state.scope = f"{old}/{name}" if old else name
    try:
        yield
    finally:
        state.scope = old
