"""Atomic and durable changes to folders.

`sync_tree` and `sync_folder` flush written files to the disk. `exchanged` swaps two folders in one
step, so that no reader sees a partial change.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def sync_tree(directory: Path) -> None:
    """Flush `directory`, with all files and folders below, to the disk."""
    for folder, _, names in os.walk(directory):
        for name in names:
            _sync(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW)
        _sync(folder, os.O_RDONLY)


def sync_folder(directory: Path) -> None:
    """Flush the names in `directory` to the disk."""
    _sync(directory, os.O_RDONLY)


def _sync(path: str | Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchanged(one: Path, other: Path) -> bool:
    """Swap two paths in one step; return False if the system does not support it.

    Raises:
        OSError: the system supports the swap, but this one failed.
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
    """Return Linux's renameat2, as described in its manual page renameat2(2); None elsewhere."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    path, folder = ctypes.c_char_p, ctypes.c_int
    rename.argtypes = (folder, path, folder, path, ctypes.c_uint)
    return rename
