"""Whose fault an exception is, and at which line of the user's own.

The frame that decides is the innermost one which is not of a library that only passes things along
(Python's own, NumPy, jaxlib).  If it is the user's, or a library's that the user's program calls,
so is the mistake.  If it is ours, an exception of a class that we do not raise on purpose is a
defect of ours.
"""

from __future__ import annotations

import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import Any

import olympus
from olympus.errors import InternalError, OlympusError, TraceError, UsageError
from olympus_cli.faults.advice import advice, described
from olympus_cli.process import interrupts
from olympus_cli.process.interrupts import Terminated

__all__ = [
    "as_told",
    "blaming",
    "defined_at",
    "is_defect",
    "is_interrupt",
    "is_ours_on_purpose",
    "is_users",
    "place_of",
    "users_traceback",
]

_HERE = Path(olympus.__file__).parent.parent
_OURS = tuple(
    f"{folder / name}/"
    for folder in (_HERE, _HERE.resolve())
    for name in ("olympus", "olympus_core", "olympus_cli")
)
_PATHS = sysconfig.get_paths()
_STDLIB = (_PATHS["stdlib"], _PATHS["platstdlib"], "<")
_INSTALLED = (_PATHS["purelib"], _PATHS["platlib"])
_DEPENDENCIES = ("click", "jaxlib", "ml_dtypes", "numpy", "rich", "tomli")

#: What our own code raises only by mistake; other built-in classes are how it refuses arguments.
_DEFECTS = (AssertionError, AttributeError, ImportError, KeyError, NameError)


def is_users(file: str) -> bool:
    """Whether a source file is the user's own: not ours, not Python's, not an installed package's.

    >>> is_users("/home/me/model.py")
    True
    """
    return not file.startswith((*_OURS, *_STDLIB, *_INSTALLED))


def place_of(error: BaseException, own_alone: bool = False) -> str | None:
    """The "file:line" of the user's frame nearest to where `error` was raised; None for none.

    An installed package's frame counts only where there is none outside of site-packages, and with
    `own_alone` it does not count.
    """
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_OURS)
    ]
    installed = [f for f in frames if f[0].startswith(_INSTALLED)]
    own = [f for f in frames if f not in installed and not f[0].startswith(_STDLIB)]
    found = own or ([] if own_alone else installed)
    return "{}:{}".format(*found[-1]) if found else None


def users_traceback(error: BaseException) -> TracebackType | None:
    """The traceback of an exception without the frames of our own code; None where none is left."""
    kept, entry = list[TracebackType](), error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(_OURS):
            kept.append(entry)
        entry = entry.tb_next
    made = None
    for each in reversed(kept):
        made = TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made


def defined_at(function: Callable[..., Any]) -> str | None:
    """The "file:line" where a function begins, inside of its wrappers; None for built-ins."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code and f"{code.co_filename}:{code.co_firstlineno}"


@contextmanager
def blaming(what: str, begins: str | None = None, during: str = "it was traced") -> Iterator[None]:
    """Run the user's function: what it prints goes to stderr, what it raises is a TraceError.

    `what` names the function, and `begins` is its place, for what shows after it has ended;
    `during` completes "while ..." in the message.  A defect of ours passes through as it is.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except TraceError as error:
        error.location = error.location or place_of(error) or begins
        raise
    except UsageError as error:  # of the function's own calls, or of what it returns
        location = place_of(error) or begins
        raise TraceError(str(error), hint=error.hint, location=location) from error
    except BaseException as error:  # what the function ends is itself, not the command
        if is_ours_on_purpose(error) or is_interrupt(error) or is_defect(error, begins):
            raise
        message = f"{what} raised {type(error).__name__} while {during}: {described(error)}"
        message = message.removesuffix(": ")
        raise TraceError(message, hint=advice(error), location=place_of(error)) from error


def is_ours_on_purpose(error: BaseException) -> bool:
    """Whether an exception is of a class by which OLYMPUS tells the user something.

    The base of these classes is not: only a program raises that.
    """
    told = isinstance(error, OlympusError) and error.exit_code != OlympusError.exit_code
    return told or isinstance(error, InternalError)


def is_interrupt(error: BaseException) -> bool:
    """Whether the user or the system has asked for an end, and not the program itself."""
    if isinstance(error, Terminated):
        return True
    return isinstance(error, KeyboardInterrupt) and interrupts.asked()


def is_defect(error: BaseException, begins: str | None = None) -> bool:
    """Whether an exception that no user's code raised is of a class that ours never should."""
    return isinstance(error, (OlympusError, *_DEFECTS)) and _is_ours(error, begins)


def as_told(error: BaseException) -> OlympusError:
    """Any exception as the error that the user is told of: one of ours, as it is.

    An exception of the user's own code, in whatever command that ran, is a TraceError; any other is
    an InternalError.
    """
    if isinstance(error, OlympusError) and (is_ours_on_purpose(error) or _is_ours(error)):
        return error
    message = f"{type(error).__name__}: {described(error)}".removesuffix(": ")
    if _is_ours(error):
        told: OlympusError = InternalError(message)
        told.__traceback__ = error.__traceback__
    else:
        what = f"the program raised {message}"
        told = TraceError(what, hint=advice(error), location=place_of(error))
    told.__cause__ = error  # which has the frames
    return told


def _is_ours(error: BaseException, begins: str | None = None) -> bool:
    """Whether the frame that decides is of our code; `begins` is where the user's function does."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, AttributeError) and _last_function(error) == "__getattr__":
        files.pop()  # it only says that the frame before asks for what is not there
    entry = begins and begins.rpartition(":")[0]
    dependencies = _dependencies()
    for file in reversed(files):
        if file.startswith(_OURS):
            return True
        passes = file.startswith(dependencies) or (
            file.startswith(_STDLIB) and not file.startswith(_INSTALLED)
        )
        if file == entry or not passes:
            return False
    return True


def _last_function(error: BaseException) -> str:
    """The name of the function that raised an exception."""
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    return names[-1] if names else ""


def _dependencies() -> tuple[str, ...]:
    """The folders of the packages that our own code calls."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in _DEPENDENCIES)
    return tuple(f"{Path(file).parent}/" for file in files if file)
