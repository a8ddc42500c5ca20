"""The ownership of this process by the command, and a safe import path for it.

A command imports this module first: until `claim` has run, Python may import modules from the
working directory.  Therefore this module imports only `sys` and `os`, which are part of Python.
"""

import os
import sys

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_claimed = False


def claim() -> None:
    """Mark this process as the command's own, and make its import path safe.

    `python -m` puts the working directory first in the import path, and so does an empty entry of
    PYTHONPATH.  A user's `signal.py` there would be imported in place of Python's.
    """
    global _claimed
    _claimed = True
    by_python = not sys.flags.safe_path and bool(sys.path) and _is_here(sys.path[0])
    path = sys.path[1:] if by_python and not _is_home(sys.path[0]) else sys.path
    sys.path[:] = safe_path(path)


def is_own() -> bool:
    """Return True if only the command runs in this process, so that it may be forked."""
    return _claimed


def safe_path(path: list[str]) -> list[str]:
    """Return `path` with the working directory, if it has that, after all other entries.

    >>> safe_path(["", "/nowhere"])
    ['/nowhere', '']
    """
    return sorted(path, key=_is_here)


def _is_here(place: str) -> bool:
    try:
        return os.path.samefile(place or os.curdir, os.curdir)
    except OSError:
        return False


def _is_home(place: str) -> bool:
    """Return True if the folder has these packages, as in a checkout that is not installed."""
    return os.path.realpath(place) == os.path.realpath(_HOME)
