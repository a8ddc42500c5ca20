"""Whether this process is the command's own, and what such a process does not import.

The first module of a command: until it has run, Python may look for modules in the working
directory.  So it imports nothing that could be found there: `sys` and `os` are part of Python.
"""

import os
import sys

__all__ = ["claim", "is_own", "safe_path"]

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_claimed = False


def claim() -> None:
    """Make this process the command's own, and its import path a safe one.

    `python -m` puts the working directory first, and so does an empty entry of PYTHONPATH: an
    innocent `signal.py` there would take the place of Python's.
    """
    global _claimed
    _claimed = True
    by_python = not sys.flags.safe_path and bool(sys.path) and _is_here(sys.path[0])
    kept = sys.path[1:] if by_python and not _is_home(sys.path[0]) else sys.path
    sys.path[:] = safe_path(kept)


def is_own() -> bool:
    """Whether nothing but the command runs in this process, so that it may be forked."""
    return _claimed


def safe_path(path: list[str]) -> list[str]:
    """`path` with the working directory, if it is there, after all other places.

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
    """Whether it is where these packages are, as in a checkout that is not installed."""
    return os.path.realpath(place) == os.path.realpath(_HOME)
