"""Opening of the files that a user names, and of artifacts.

A folder, a device, a pipe or a socket is an immediate error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader


@contextmanager
def open_regular(
    path: str | os.PathLike[str], most: int | None = None, *, follow_links: bool = True
) -> Iterator[BufferedReader]:
    """Open a regular file for reading, of at most `most` bytes.

    Raises:
        OSError: the path is not a regular file, or the file is larger or cannot be read;
            `strerror` is the reason.  With `follow_links=False`, a link is not a regular file.

    Example:
      >>> Path("note.txt").write_bytes(b"abc")
      3
      >>> with open_regular("note.txt") as file:
      ...     file.read(2)
      b'ab'
    """
    # without O_NONBLOCK, opening a pipe waits for a writer
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except ValueError as error:
        raise no_name(error) from error
    try:
        _check_regular(os.fstat(descriptor), most)
        file = open(descriptor, "rb")  # noqa: SIM115
    except BaseException:
        os.close(descriptor)
        raise
    with file:
        yield file


def _check_regular(status: os.stat_result, most: int | None) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if most is not None and status.st_size > most:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes")


def no_name(error: ValueError) -> OSError:
    """Return the error for a name with a NUL character, or one that the system cannot encode."""
    return OSError(errno.EINVAL, f"no file can have this name: {error}")
