"""The origin of an operation in the user's program: its frame, and its name scope.

A `Source` is a cheap mark, resolved to file, line and column only when an error, a location or a
report needs it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

from olympus_core.base.context import state
from olympus_core.base.errors import ArgumentError
from olympus_core.base.regular_files import source_line

_T = TypeVar("_T")
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PACKAGES = tuple(os.path.join(_ROOT, name) + os.sep for name in ("olympus", "olympus_core"))
_EXTERNAL = (f"{os.sep}contextlib.py", f"{os.sep}functools.py", "<frozen")
# Their functions call methods of traced arrays; the user's line is their caller.
_LIBRARIES = tuple(f"{os.sep}site-packages{os.sep}{name}{os.sep}" for name in ("jax", "numpy"))
_callers: set[str] = set()
#: the beginnings of the paths of files that `register_exclusion` has excluded
_excluded: set[str] = set()
_internal: dict[str, bool | None] = {}


class Position(NamedTuple):
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    function: str

    def text(self) -> str:
        """Return the source line, stripped, or an empty string if the file is missing."""
        return source_line(self.file, self.line)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Caller(NamedTuple):
    """A mark of a user's frame that called another one, and the mark of its own caller.

    The outermost one is the traced function: a nested program has separate callers.
    """

    code: CodeType
    instruction: int
    outer: Caller | None


class Source(NamedTuple):
    """A mark of the user's frame (code object and instruction) and the name scope.

    `code` is the position itself if another tool wrote it, as in a StableHLO module.
    `backward` is True if the backward pass of a derivative of that line created the operation.
    `caller` is the innermost of the user's frames that called the frame; it is recorded while
    the switch `include_full_tracebacks_in_locations` is on. `annotations` are the attributes for
    the compiler, names and texts, that a context adds to the operation.
    """

    code: CodeType | Position | None
    instruction: int
    scope: str
    backward: bool = False
    caller: Caller | None = None
    annotations: tuple[tuple[str, str], ...] = ()

    def __eq__(self, other: object) -> bool:
        """Return True if line, scope, direction and annotations are equal, whatever the callers.

        A program staged at one line is cached for all callers of the line.
        """
        if not isinstance(other, Source):
            return False
        return self[:4] == other[:4] and self.annotations == other.annotations

    def __hash__(self) -> int:
        return hash(self[:4])

    def without_caller(self) -> Source:
        """Return the mark of the line without its callers."""
        return self._replace(caller=None)

    def inside(self, call: Source) -> Source:
        """Return the mark of a line of a program with the scope and the callers of its call."""
        caller = None
        if state.include_full_tracebacks_in_locations and isinstance(call.code, CodeType):
            caller = Caller(call.code, call.instruction, call.caller)
            frames, at = list[Caller](), self.caller
            while at is not None:
                frames.append(at)
                at = at.outer
            for frame in reversed(frames):
                caller = Caller(frame.code, frame.instruction, caller)
        return self._replace(scope=joined_scope(call.scope, self.scope), caller=caller)

    @property
    def name_stack(self) -> str:
        """The name scope: `outer/inner`."""
        return self.scope

    @property
    def traceback(self) -> Source:
        """The mark itself, under the name by which programs for JAX pass it on."""
        return self

    def position(self) -> Position | None:
        """Return the file, line and column of the mark, or None when no user frame was found."""
        if self.code is None or isinstance(self.code, Position):
            return self.code
        return _position(self.code, self.instruction)

    def callers(self) -> Iterator[Position]:
        """Yield the positions of the calls that lead to the line, the innermost call first."""
        at = self.caller
        while at is not None:
            yield _position(at.code, at.instruction)
            at = at.outer

    def place(self, joint: str = ", at ") -> str:
        """Return `joint`, the file, the line and its text, or nothing without a user frame."""
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


def user_level() -> int:
    """Return the stacklevel at which the caller's `warnings.warn` names the user's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and is_internal(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def is_internal(filename: str) -> bool | None:
    """Return True if a file belongs to OLYMPUS or to a library that only passes calls along.

    Return None for a file that `mark_caller` has marked: no frame above it is the user's.
    """
    if filename not in _internal:
        path = os.path.abspath(filename)
        passing = filename.endswith(_EXTERNAL[:2]) or filename.startswith(_EXTERNAL[2])
        passing = passing or any(folder in filename for folder in _LIBRARIES)
        passing = passing or path.startswith(tuple(_excluded))
        internal = path.startswith(_PACKAGES) or passing
        _internal[filename] = None if path.startswith(tuple(_callers)) else internal
    return _internal[filename]


def is_own(filename: str) -> bool:
    """Return True if a file belongs to OLYMPUS, or to a folder that `mark_caller` has marked."""
    return is_internal(filename) is None or os.path.abspath(filename).startswith(_PACKAGES)


def mark_caller(folder: str | os.PathLike[str]) -> None:
    """Mark a folder of code that calls users' functions for them, such as a build tool's.

    No frame of a file in it, nor one above such a frame, counts as the user's in an error or in
    the location of an operation.

    Example:
      >>> mark_caller(os.path.join(os.sep, "opt", "some_tool"))
    """
    _callers.add(os.path.abspath(folder) + os.sep)
    _internal.clear()


def register_exclusion(path: str) -> None:
    """Exclude the files whose paths begin with `path` from the user's, in errors and locations.

    The frames above theirs are the user's, unlike with `extend.mark_caller`.

    >>> register_exclusion(os.path.join(os.sep, "opt", "some_library"))
    """
    _excluded.add(os.path.abspath(path))
    _internal.clear()


def user_frame(depth: int = 1, end: CodeType | None = None) -> FrameType | None:
    """Return the innermost frame of the user, at least `depth` frames above the caller.

    Return None if a frame of the code `end` comes first.
    """
    frame: FrameType | None = sys._getframe(depth)
    internal = _internal
    while frame is not None:
        code = frame.f_code
        known = internal.get(code.co_filename)
        if known is None:  # the first lookup, or the end
            known = is_internal(code.co_filename)
            if known is None:
                return None
        if not known:
            return frame
        if code is end:
            return None
        frame = frame.f_back
    return None


def _caller(frame: FrameType) -> Caller | None:
    """Return the innermost of the user's frames above a frame, up to the traced function.

    Return None unless `include_full_tracebacks_in_locations` is on: the walk makes tracing about a
    third slower.
    third longer.
    """
    if not state.include_full_tracebacks_in_locations:
        return None
    frames: list[FrameType] = []
    above = frame.f_back
    while above is not None and above.f_code is not run_staged.__code__:
        known = is_internal(above.f_code.co_filename)
        if known is None:
            break
        if not known:
            frames.append(above)
        above = above.f_back
    caller = None
    for frame in reversed(frames):
        caller = Caller(frame.f_code, frame.f_lasti, caller)
    return caller


def run_staged(fun: Callable[..., _T], args: Sequence[Any]) -> _T:
    """Return the result of a function that is staged, whose lines have no callers outside of it.

    A nested program is cached for all its calls, so that its lines only have callers inside it.
    """
    old = state.source
    if old is not None:
        state.source = old.without_caller()
    try:
        return fun(*args)
    finally:
        state.source = old


class _Running:
    """A mark that represents the running line of a user's rule.

    `call` is the mark of operations outside of the rule's lines, such as those of a library's rule.
    Programs traced in a rule are cached for all its calls, so that it does not distinguish calls.
    """

    __slots__ = ("backward", "call")

    def __init__(self, call: Source, backward: bool) -> None:
        self.call = call
        self.backward = backward

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Running) and other.backward == self.backward

    def __hash__(self) -> int:
        return hash(self.backward)

    def without_caller(self) -> _Running:
        """Return the mark itself, which is cached for all its calls."""
        return _Running(self.call.without_caller(), self.backward)


def call_rule(rule: Callable[..., Any], *args: Any, backward: bool = False) -> Any:
    """Return the result of a user's derivative rule, whose operations have the rule's source lines.

    Their scope is the scope of the call of the rule, with the rule's own scope inside.
    """
    old = state.source
    if old.__class__ is not Source and backward <= (old is not None and old.backward):
        return rule(*args)  # an outer call follows the lines
    call, scope = current_location(), state.scope
    state.source, state.scope = _Running(call, backward or call.backward), call.scope
    try:
        return _run(rule, args)
    finally:
        state.source, state.scope = old, scope


def _run(rule: Callable[..., Any], args: Sequence[Any]) -> Any:
    return rule(*args)  # a frame to search for: no line of the rule is above it


def current_location(depth: int = 2) -> Source:
    """Return a mark of the user's running line and of its name scope."""
    mark: Source | _Running | None = state.source
    if mark is None:
        frame = user_frame(depth)
        if frame is None:
            return Source(None, 0, state.scope, annotations=state.annotations)
        caller = _caller(frame)
        return Source(frame.f_code, frame.f_lasti, state.scope, False, caller, state.annotations)
    if mark.__class__ is Source:
        return mark
    assert isinstance(mark, _Running)
    frame = user_frame(depth, _run.__code__)
    if frame is None:
        call = mark.call
        position, caller = (call.code, call.instruction), call.caller
    else:
        position, caller = (frame.f_code, frame.f_lasti), _caller(frame)
    annotations = state.annotations or mark.call.annotations
    return Source(*position, state.scope, mark.backward, caller, annotations)


def function_name(fun: Callable[..., Any]) -> str:
    """Return the name of a function, also inside partials and callable objects."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return str(getattr(fun, "__name__", type(fun).__name__))


def function_path(fun: Callable[..., Any]) -> str:
    """Return the name of a function with its module, also inside partials and callable objects.

    >>> function_path(functools.reduce)
    '_functools:reduce'
    """
    while isinstance(fun, functools.partial):
        fun = fun.func
    named = fun if hasattr(fun, "__qualname__") else type(fun)
    return f"{getattr(named, '__module__', '?')}:{named.__qualname__}"


def wraps(
    fun: Callable[..., Any], updated: Sequence[str] = functools.WRAPPER_UPDATES
) -> Callable[[_T], _T]:
    """Return `functools.wraps(fun)` for any callable object.

    An attribute whose value a function cannot have, such as a number as `__name__`, is left out.
    """

    def wrapped(wrapper: _T) -> _T:
        result: Any = wrapper
        functools.update_wrapper(result, fun, (), updated)
        for name in functools.WRAPPER_ASSIGNMENTS:
            try:
                setattr(result, name, getattr(fun, name))
            except (AttributeError, TypeError):
                continue
        return wrapper

    return wrapped


def look_like(wrapper: Any, fun: Callable[..., Any]) -> None:
    """Copy a function's name, documentation and attributes to an object that wraps it.

    An attribute of the object's class is not replaced: a callable object may have one of any name.

    >>> look_like(staged, fun)
    """
    wraps(fun, updated=())(wrapper)
    attributes = getattr(fun, "__dict__", {})
    copied = {n: x for n, x in attributes.items() if not hasattr(type(wrapper), n)}
    wrapper.__dict__.update(copied, __wrapped__=fun)


class using_location:
    """A context in which `mark` is the current line and scope, for all code that runs.

    With `backward`, or inside a context with it, operations are part of a backward pass.
    """

    __slots__ = ("backward", "mark", "old")

    def __init__(self, mark: Source, backward: bool = False) -> None:
        self.mark = mark
        self.backward = backward

    def __enter__(self) -> None:
        self.old = old = state.source
        mark = self.mark
        if not mark.backward and (self.backward or (old is not None and old.backward)):
            mark = mark._replace(backward=True)
        state.source = mark

    def __exit__(self, *exc: object) -> None:
        state.source = self.old


def joined_scope(outer: str, inner: str) -> str:
    """Return the scope `inner` in another one: "a/b"; that of "a()" and "b" is "a(b)".

    >>> joined_scope("a/jvp()", "b/c")
    'a/jvp(b)/c'
    """
    if not outer or not inner:
        return outer or inner
    before, is_open, after = outer.rpartition("()")
    if not is_open or after.strip(")"):
        return f"{outer}/{inner}"
    first, _, rest = inner.partition("/")
    return f"{before}({first}){after}" + (f"/{rest}" if rest else "")


@contextlib.contextmanager
def name_scope(name: str) -> Iterator[None]:
    """Within the context, the operations traced carry `name` in their StableHLO location.

    Raises ArgumentError for a name that is not a string.

    >>> def encode(x):
    ...     with named_scope("encoder"):
    ...         return numpy.sin(x)
    >>> "encoder/sin" in jit(encode).lower(1.0).as_text(debug_info=True)
    True
    """
    if not isinstance(name, str):
        raise ArgumentError(f"named_scope name argument must be a string, and is {name!r}")
    old = state.scope
    state.scope = joined_scope(old, name)
    try:
        yield
    finally:
        state.scope = old
