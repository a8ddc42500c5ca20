"""A remote store in any file system of fsspec: `s3://bucket/prefix`, `gs://bucket/prefix`.

An object is created exclusively, so that the first writer wins. The file system finds its
credentials in the environment.
"""

from __future__ import annotations

from typing import Any

from olympus_cli.builder.results.entry import MAX_BYTES
from olympus_cli.builder.results.remote_interface import ANSWER_LIMIT, RemoteError, within

_WITH_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "r2")
_INSTALL = 'pip install "olympus[remote]"'


class FsspecRemote:
    """The objects below a URL."""

    def __init__(self, url: str) -> None:
        self._scheme = url.partition(":")[0].lower()
        try:
            import fsspec
        except ImportError:
            text = f"{self._scheme}:// needs the package fsspec: {_INSTALL}"
            raise RemoteError(text, is_fatal=True) from None
        try:
            # an object that another machine has written meanwhile must be found
            found = fsspec.core.url_to_fs(url.rstrip("/"), use_listings_cache=False)
            self._files, self._root = found
        except (ImportError, ValueError) as error:
            raise RemoteError(f"{error}", is_fatal=True) from None

    def has(self, key: str) -> bool:
        """Return True if there is an object for a key."""
        return self._size(key) is not None

    def get(self, key: str) -> bytes | None:
        """Return the content of the object for a key; None if there is none."""
        size = self._size(key)
        if size is None:
            return None
        if size > MAX_BYTES:
            raise RemoteError(f"the object of {key} has {size} bytes, and {MAX_BYTES} is the most")
        try:
            content: bytes = self._files.cat_file(self._path(key))
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise RemoteError(f"{error}", is_fatal=True) from None
        return content

    def put(self, key: str, content: bytes, *, replaces: bool = False) -> None:
        """Create the object for a key, unless there is one; with `replaces` also then."""
        path, mode = self._path(key), "overwrite" if replaces else "create"
        try:
            try:
                self._files.pipe_file(path, content, mode=mode)
            except FileNotFoundError as error:
                if self._scheme in _WITH_BUCKETS:  # a bucket with a wrong name is not created
                    raise RemoteError(f"{error}", is_fatal=True) from None
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
                self._files.pipe_file(path, content, mode=mode)
        except FileExistsError:
            pass
        except PermissionError as error:
            raise RemoteError(f"{error}", is_fatal=True) from None

    def _size(self, key: str) -> int | None:
        """Return the size of an object in bytes; None if there is none."""
        try:
            info: dict[str, Any] = within(
                ANSWER_LIMIT, lambda: self._files.info(self._path(key), refresh=True)
            )
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise RemoteError(f"{error}", is_fatal=True) from None
        return int(info.get("size") or 0)

    def _path(self, key: str) -> str:
        return f"{self._root}/{key[:2]}/{key}.result"
