"""New files that appear as a whole: written under another name, flushed, and renamed."""

from __future__ import annotations

import errno
import fcntl
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

#: The prefix of the names of unfinished files.
UNFINISHED = ".new-"

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def write_new(
    path: Path, pieces: Sequence[bytes], *, replaces: bool, is_private: bool = True
) -> None:
    """Write a file and the folders above it that are absent.

    Only their owner can read them, or without `is_private` whoever the umask permits. With
    `replaces` it takes the place of an existing file; without, an existing file is retained.
    A lock marks an unfinished file whose process is alive.

    Raises:
        OSError: it cannot be written; no part of it is left.
    """
    make_folders(path.parent, 0o700 if is_private else 0o777)
    new = path.with_name(f"{UNFINISHED}{uuid.uuid4().hex}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(new, flags, 0o600 if is_private else 0o666)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for piece in pieces:
            _write(descriptor, piece)
        os.fsync(descriptor)
        if replaces:
            os.rename(new, path)
        else:
            _link(new, path)
    finally:
        with suppress(OSError):  # renamed already
            os.unlink(new)
        os.close(descriptor)


def make_folders(path: Path, mode: int) -> None:
    """Create a folder and those above it; absent ones get `mode`, without the bits of the umask.

    Raises:
        OSError: a folder cannot be created.
    """
    if not path.is_dir():
        if path.parent != path:
            make_folders(path.parent, mode)
        try:
            os.mkdir(path, mode)
        except FileExistsError:  # another process created it, or it is a file
            if not path.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _link(new: Path, path: Path) -> None:
    """Give a file its name, unless another file has it."""
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(new, path)
