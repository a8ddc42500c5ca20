"""The line of the user's program that a read comes from, found in the stack of its callers."""

from __future__ import annotations

import ast
import linecache
import sys
import threading
from collections.abc import Collection, Iterator
from types import FrameType

from olympus_cli.faults.blame import is_python, is_users

_WORKERS = "olympus_cli.workers."  # begins the names of modules that call the work of a process
_IMPORT = "<frozen importlib"  # begins the file of Python's import system
# Libraries of Python whose own reads do not change the result of a program that calls them.
_HARMLESS = ("tempfile", "linecache", "logging", "warnings", "traceback")


def reading_line(*, direct: bool) -> str | None:
    """Return the "file:line" of the program that reads something now; None if it does not read.

    With `direct`, the program itself must call the function that reads, or a module of Python that
    does. Otherwise, a library that the program calls may read. What a library reads while it is
    imported is never the program's, and neither is what the process itself reads. The place of a
    read in another thread may be unknown; it is empty then.
    """
    for frame in _callers():
        file = frame.f_code.co_filename
        if str(frame.f_globals.get("__name__", "")).startswith(_WORKERS):
            return None  # its callers belong to the command, such as the script `olympus`
        if file.startswith(_IMPORT) or frame.f_globals.get("__name__") in _HARMLESS:
            return None
        if file.startswith("<") or is_python(file):
            continue
        if is_users(file):
            return f"{file}:{frame.f_lineno}"
        if direct:
            return None
    is_main = threading.current_thread() is threading.main_thread()
    return None if direct or is_main else ""  # the program's, which is in another thread


def calls_with_seed(names: Collection[str]) -> bool:
    """Return True if the code that reads now is a call of one of `names` with an argument.

    NumPy's `RandomState(seed)` first reads a random source, and replaces it by the seed.
    """
    *_, frame = python_callers()
    place = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, last, column, end = place
    if line is None or last is None or column is None or end is None:
        return False
    lines = [linecache.getline(frame.f_code.co_filename, n).encode() for n in range(line, last + 1)]
    if not all(lines):
        return False
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    try:
        call = ast.parse(b"".join(lines).decode(), mode="eval").body
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return False
    if not isinstance(call, ast.Call):
        return False
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    seeds = [*call.args, *(keyword.value for keyword in call.keywords)]
    return name in names and bool(seeds) and ast.unparse(seeds[0]) != "None"


def python_callers() -> Iterator[FrameType]:
    """Yield the innermost frames, as long as they belong to Python itself, and the next."""
    for frame in _callers():
        yield frame
        if not is_python(frame.f_code.co_filename):
            return


def _callers() -> Iterator[FrameType]:
    """Yield the frames outside of this folder, from the innermost."""
    frame: FrameType | None = sys._getframe(1)
    own = __name__.rpartition(".")[0]
    while frame is not None:
        if not str(frame.f_globals.get("__name__", "")).startswith(own):
            yield frame
        frame = frame.f_back
