"""The origin of an exception: the user's code or OLYMPUS, and the line of the user's code.

The deciding frame is the innermost one outside of libraries that only pass errors along: Python's
own, NumPy, jaxlib.  If that frame is in the user's program, or in a library that it calls, the
mistake is the user's.  If it is in OLYMPUS, an exception of a class that OLYMPUS does not raise on
purpose is a defect.
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
from olympus_cli.text.packages import PACKAGES

_HERE = Path(olympus.__file__).parent.parent
_OURS = tuple(f"{folder / name}/" for folder in (_HERE, _HERE.resolve()) for name in PACKAGES)
_PATHS = sysconfig.get_paths()
_STDLIB = (_PATHS["stdlib"], _PATHS["platstdlib"], "<")
_INSTALLED = (_PATHS["purelib"], _PATHS["platlib"])
_DEPENDENCIES = ("click", "jaxlib", "ml_dtypes", "numpy", "rich", "tomli")

#: The classes that our own code raises only by mistake; it uses others to reject arguments.
_DEFECTS = (AssertionError, AttributeError, ImportError, KeyError, NameError)


def is_users(file: str) -> bool:
    """Return True if a source file is the user's own, not of OLYMPUS, Python or a package.

    >>> is_users("/home/me/model.py")
    True
    """
    return not file.startswith((*_OURS, *_STDLIB)) and not _is_installed(file)


def is_python(file: str) -> bool:
    """Return True if a source file is one of Python's own modules."""
    return file.startswith(_STDLIB) and not _is_installed(file)


def _is_installed(file: str) -> bool:
    """Return True for a file of an installed package, also of another environment."""
    return file.startswith(_INSTALLED) or "/site-packages/" in file


def place_of(error: BaseException, own_alone: bool = False) -> str | None:
    """Return the "file:line" of the innermost user frame of `error`; None if there is none.

    A frame in an installed package is used only if there is none outside of site-packages, and
    never with `own_alone`.
    """
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_OURS)
    ]
    installed = [f for f in frames if _is_installed(f[0])]
    own = [f for f in frames if f not in installed and not f[0].startswith(_STDLIB)]
    chosen = own or ([] if own_alone else installed)
    return "{}:{}".format(*chosen[-1]) if chosen else None


def users_traceback(error: BaseException) -> TracebackType | None:
    """Return the traceback of an exception without our frames; None if no frame is left."""
    entries, entry = list[TracebackType](), error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(_OURS):
            entries.append(entry)
        entry = entry.tb_next
    chain = None
    for inner in reversed(entries):
        chain = TracebackType(chain, inner.tb_frame, inner.tb_lasti, inner.tb_lineno)
    return chain


def defined_at(function: Callable[..., Any]) -> str | None:
    """Return the "file:line" of a function's beginning, without wrappers; None for built-ins."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code and f"{code.co_filename}:{code.co_firstlineno}"


@contextmanager
def blaming(what: str, begins: str | None = None, during: str = "it was traced") -> Iterator[None]:
    """A context for the user's function: prints go to stderr, exceptions become TraceErrors.

    `what` names the function.  `begins` is its place, for errors that appear after it has returned.
    `during` completes "while ..." in the message.  A defect of OLYMPUS is raised as it is.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except TraceError as error:
        error.location = error.location or place_of(error) or begins
        raise
    except UsageError as error:  # from the function's own calls, or on its result
        location = place_of(error) or begins
        raise TraceError(str(error), hint=error.hint, location=location) from error
    except BaseException as error:  # an exit in the function does not end the command
        if is_ours_on_purpose(error) or is_interrupt(error) or is_defect(error, begins):
            raise
        message = f"{what} raised {type(error).__name__} while {during}: {described(error)}"
        message = message.removesuffix(": ")
        location = place_of(error, own_alone=True) or begins or place_of(error)
        raise TraceError(message, hint=advice(error), location=location) from error


def is_ours_on_purpose(error: BaseException) -> bool:
    """Return True if an exception has a class that OLYMPUS raises to inform the user.

    Their base class is not one of them: only a program raises it.
    """
    is_specific = isinstance(error, OlympusError) and error.exit_code != OlympusError.exit_code
    return is_specific or isinstance(error, InternalError)


def is_interrupt(error: BaseException) -> bool:
    """Return True if an exception is from Ctrl-C or SIGTERM, not from the program itself."""
    if isinstance(error, Terminated):
        return True
    return isinstance(error, KeyboardInterrupt) and interrupts.may_be_ctrl_c()


def is_defect(error: BaseException, begins: str | None = None) -> bool:
    """Return True if our own code raised an exception of a class that it raises only by mistake."""
    return isinstance(error, (OlympusError, *_DEFECTS)) and _is_ours(error, begins)


def reportable(error: BaseException) -> OlympusError:
    """Return the error to report for any exception; an OlympusError of ours is returned as it is.

    An exception of the user's own code becomes a TraceError, in any command; any other exception
    becomes an InternalError.
    """
    if isinstance(error, OlympusError) and (is_ours_on_purpose(error) or _is_ours(error)):
        return error
    message = f"{type(error).__name__}: {described(error)}".removesuffix(": ")
    if _is_ours(error):
        reported: OlympusError = InternalError(message)
        reported.__traceback__ = error.__traceback__
    else:
        what = f"the program raised {message}"
        reported = TraceError(what, hint=advice(error), location=place_of(error))
    reported.__cause__ = error  # it has the frames
    return reported


def _is_ours(error: BaseException, begins: str | None = None) -> bool:
    """Return True if the deciding frame is in our code; `begins` is the user's function's place."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, AttributeError) and _last_function(error) == "__getattr__":
        files.pop()  # the frame before it uses a name that does not exist
    entry = begins and begins.rpartition(":")[0]
    dependencies = _dependencies()
    for file in reversed(files):
        if file.startswith(_OURS):
            return True
        passes = file.startswith(dependencies) or (
            file.startswith(_STDLIB) and not _is_installed(file)
        )
        if file == entry or not passes:
            return False
    return True


def _last_function(error: BaseException) -> str:
    """Return the name of the function that raised an exception."""
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    return names[-1] if names else ""


def _dependencies() -> tuple[str, ...]:
    """Return the folders of the packages that our own code calls."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in _DEPENDENCIES)
    return tuple(f"{Path(file).parent}/" for file in files if file)
