"""The programs that this user has compiled for sizes: files in the folder of stored results.

    results/v1/ab/abcd....refined   a line with the key and the SHA-256, and the executable

A file is written under another name and renamed, so that no reader finds a part. A failure of the
store is no failure of a call: the program is compiled.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from olympus_bundle.regular_file import open_regular

#: The variable of the environment with the folder; empty for no store.
FOLDER = "OLYMPUS_CACHE_DIR"
SUFFIX = ".refined"
#: The first word of a file.
MAGIC = b"olympus-refined"
MAX_BYTES = 2**34
_CACHES = {"darwin": "~/Library/Caches"}


def folder() -> Path | None:
    """Return the folder of stored results, as the environment has it; None without one."""
    if (path := os.environ.get(FOLDER)) is not None:
        return Path(path) if path else None
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or _CACHES.get(sys.platform, "~/.cache")
    store = Path(os.path.expanduser(base)) / "olympus" / "results"
    return store if store.is_absolute() else None  # a user without a home


def key_of(*parts: object) -> str:
    """Return the key of a program from everything that its compilation depends on."""
    return hashlib.sha256(repr((MAGIC, *parts)).encode()).hexdigest()


def read(key: str) -> bytes | None:
    """Return the executable of a key, and note its use; None if it is absent or damaged."""
    path = _path(key)
    if path is None:
        return None
    try:
        with open_regular(path, MAX_BYTES, follow_links=False) as file:
            content = executable_in(file.read(), key)
        os.utime(path)
    except OSError:
        return None
    return content


def executable_in(content: bytes, key: str) -> bytes | None:
    """Return the executable in a file of the store; None if the file is damaged.

    >>> executable_in(b"olympus-refined ...", key) is None
    True
    """
    line, _, executable = content.partition(b"\n")
    digest = hashlib.sha256(executable).hexdigest()
    return executable if line == _line(key, digest) else None


def write(key: str, executable: bytes) -> None:
    """Store the executable of a key; nothing is stored in a folder that cannot be written."""
    path = _path(key)
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(_line(key, hashlib.sha256(executable).hexdigest()) + b"\n")
                file.write(executable)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise


def _line(key: str, digest: str) -> bytes:
    return MAGIC + f" {key} {digest}".encode()


def _path(key: str) -> Path | None:
    store = folder()
    return None if store is None else store / "v1" / key[:2] / f"{key}{SUFFIX}"
