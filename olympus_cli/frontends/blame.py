"""Whose fault an exception is: it enters with its traceback, the user's own line leaves."""

from __future__ import annotations

import inspect
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import olympus
from olympus.errors import OlympusError, TraceError, UsageError

__all__ = ["blaming", "defined_at", "place_of"]

_HERE = Path(olympus.__file__).resolve().parent.parent
_OURS = tuple(f"{_HERE / name}/" for name in ("olympus", "olympus_core", "olympus_cli"))
_PATHS = sysconfig.get_paths()
_STDLIB = (_PATHS["stdlib"], _PATHS["platstdlib"], "<")
_INSTALLED = (_PATHS["purelib"], _PATHS["platlib"])

#: What our own code raises only by mistake; other built-in classes are how it refuses arguments.
_DEFECTS = (AssertionError, AttributeError, ImportError, KeyError, NameError)


def place_of(error: BaseException) -> str | None:
    """The "file:line" of the user's frame nearest to where `error` was raised; None for none.

    An installed package's frame counts only where there is none outside of site-packages.
    """
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_OURS)
    ]
    installed = [f for f in frames if f[0].startswith(_INSTALLED)]
    own = [f for f in frames if f not in installed and not f[0].startswith(_STDLIB)]
    found = own or installed
    return "{}:{}".format(*found[-1]) if found else None


def defined_at(function: Callable[..., Any]) -> str | None:
    """The "file:line" where a function begins, inside of its wrappers; None for built-ins."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code and f"{code.co_filename}:{code.co_firstlineno}"


@contextmanager
def blaming(what: str, begins: str | None = None) -> Iterator[None]:
    """Run the user's function: what it prints goes to stderr, what it raises is a TraceError.

    `what` names the function, and `begins` is its place, for what shows after it has ended.  A
    defect of ours passes through as it is.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except TraceError as error:
        error.location = error.location or place_of(error)
        raise
    except UsageError as error:  # of the function's own calls, or of what it returns
        location = place_of(error) or begins
        raise TraceError(str(error), hint=error.hint, location=location) from error
    except OlympusError:
        raise
    except (Exception, SystemExit) as error:  # what the function ends is itself, not the command
        if _is_ours(error):
            raise
        message = f"{what} raised {type(error).__name__} while it was traced: {error}"
        raise TraceError(message, location=place_of(error)) from error


def _is_ours(error: BaseException) -> bool:
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_code.co_filename.startswith(_OURS) and isinstance(error, _DEFECTS)
