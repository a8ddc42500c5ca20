"""Complete listings of the folders of the import path, which the workers of a build share.

Python lists a folder at the first import from it, and again when the folder's time is another. A
file that is added within the same tick of the clock is not seen. Therefore the listings are
forgotten before a project is imported. A listing is complete if the folder had not just changed,
and is then valid until the folder has another status.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import time

from olympus_cli.process.file_clock import TICK

_stat = os.stat  # while the reads of a program are recorded, the function is replaced
#: The times of each folder with a complete listing; None for one that is missing.
_complete: dict[str, tuple[int, int] | None] = {}


def list_completely(folder: str) -> None:
    """Let Python list a folder for imports, unless it has just changed."""
    times = _times(folder)
    if folder in _complete and _complete[folder] == times:
        return
    _complete.pop(folder, None)
    if times is not None and max(times) > time.time_ns() - TICK:
        return
    finder = pkgutil.get_importer(folder)
    if finder is not None:
        getattr(finder, "invalidate_caches", lambda: None)()
        finder.find_spec("olympus_absent_module")
    if _times(folder) == times:
        _complete[folder] = times


def forget_incomplete() -> None:
    """Let Python list all folders again, unless the whole import path has complete listings."""
    if any(folder not in _complete or _complete[folder] != _times(folder) for folder in sys.path):
        importlib.invalidate_caches()


def _times(folder: str) -> tuple[int, int] | None:
    """Return the times of the last change of content and of status; None if it is missing."""
    try:
        status = _stat(folder)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns
