"""A remote store in a folder that several machines mount: `file:///mnt/cache`."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from olympus.files import read_regular
from olympus_cli.builder.results.entry import MAX_BYTES
from olympus_cli.builder.results.new_files import write_new
from olympus_cli.builder.results.remote_interface import RemoteError


class FolderRemote:
    """The entries in a folder. A new one appears as a whole, and the first writer wins."""

    def __init__(self, url: str) -> None:
        self._folder = Path(unquote(urlsplit(url).path))

    def has(self, key: str) -> bool:
        """Return True if there is a file for a key."""
        try:
            return os.path.lexists(self._path(key))
        except OSError as error:
            raise _failed(error) from error

    def get(self, key: str) -> bytes | None:
        """Return the content of the file for a key; None if there is none."""
        try:
            return read_regular(self._path(key), MAX_BYTES, follow_links=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _failed(error) from error

    def put(self, key: str, content: bytes, *, replaces: bool = False) -> None:
        """Write the file for a key, unless there is one; with `replaces` also then.

        The umask decides who can read and write the files and folders.
        """
        try:
            write_new(self._path(key), [content], replaces=replaces, is_private=False)
        except OSError as error:
            raise _failed(error) from error

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.result"


def _failed(error: OSError) -> RemoteError:
    is_fatal = error.errno in (errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.ESTALE)
    return RemoteError(f"{error.strerror or error}", is_fatal=is_fatal)
