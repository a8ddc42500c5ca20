"""Changes to folders that a crash of the machine or a reader cannot see half done.

`sync_tree` and `sync_folder` put what was written on the disk, and `exchanged` lets two folders
change places in one step.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["exchanged", "sync_folder", "sync_tree"]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def sync_tree(directory: Path) -> None:
    """Put all files in `directory` and below, and the folders that name them, on the disk."""
    for folder, _, names in os.walk(directory):
        for name in names:
            _sync(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW)
        _sync(folder, os.O_RDONLY)


def sync_folder(directory: Path) -> None:
    """Put the names in `directory` on the disk."""
    _sync(directory, os.O_RDONLY)


def _sync(path: str | Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchanged(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False where the system has no such step.

    Raises:
        OSError: the system has it and refuses this one.
    """
    renameat2 = _renameat2()
    if renameat2 is None:
        return False
    names = os.fsencode(one), os.fsencode(other)
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


@cache
def _renameat2() -> Any:
    """Linux's call of that name, as its manual page renameat2(2) describes it; None elsewhere."""
    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    path, folder = ctypes.c_char_p, ctypes.c_int
    found.argtypes = (folder, path, folder, path, ctypes.c_uint)
    return found
