"""The loaded modules that may be the user's, found without a look at each module of OLYMPUS.

A process of a build has some thousand modules. A look at each copies the memory that a forked
process shares with its parent, which takes longer than the trace of a small program.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from olympus_cli.faults.blame import is_users

_last: list[str] = []  # the last module at the mark
_possible: list[str] = []  # the modules before the mark that may be the user's


def mark_modules() -> None:
    """Note that the loaded modules are not of a program; a forked process inherits the note.

    A module that a program later puts in the place of one of these is not found.
    """
    _possible[:] = [name for name, module in list(sys.modules.items()) if _may_be_users(module)]
    _last[:] = [next(reversed(sys.modules))]


def user_modules() -> list[tuple[str, ModuleType]]:
    """Return the names and modules that may be the user's, in the order of their import.

    Without a mark these are all modules.

    >>> [name for name, _ in user_modules()][-1]
    'model'
    """
    newer: list[str] = []
    for name in reversed(sys.modules):
        if name in _last:
            break
        newer.append(name)
    else:
        return list(sys.modules.items())
    names = (*_possible, *reversed(newer))
    return [(name, sys.modules[name]) for name in names if name in sys.modules]


def package_path(module: ModuleType) -> list[str]:
    """Return the folders of a package; none for another module."""
    try:
        return [place for place in module.__dict__.get("__path__", ()) if isinstance(place, str)]
    except (AttributeError, TypeError):  # an object in the place of a module
        return []


def _may_be_users(module: ModuleType) -> bool:
    file = getattr(module, "__dict__", {}).get("__file__")
    if isinstance(file, str) and is_users(file):
        return True
    return any(is_users(os.path.join(place, "")) for place in package_path(module))
