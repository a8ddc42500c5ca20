"""Locks of keys: one process compiles a key, and the others wait for its result.

The kernel's lock on a file ends with its process, also after a crash. The owner removes the file
before it releases the lock, so that no files remain.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_BETWEEN_TRIES = 0.02  # seconds
#: seconds after which a process stops to wait: the owner may be suspended
LONGEST_WAIT = 600.0


@contextmanager
def key_lock(
    path: Path, on_wait: Callable[[], None] = lambda: None, longest: float = LONGEST_WAIT
) -> Iterator[bool]:
    """Lock the file `path`, which is created; its folder exists. Yield False without the lock.

    `on_wait` is called if another process has the lock. There is no lock if the file cannot be
    created, if the file system has no locks, or after `longest` seconds: two processes may then do
    the same work, which is no error.
    """
    descriptor = _locked(path, on_wait, longest)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.unlink(path)
            os.close(descriptor)


def _locked(path: Path, on_wait: Callable[[], None], longest: float) -> int | None:
    begin, has_waited = time.monotonic(), False
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):  # else its owner removed it in the meantime
                return descriptor
        except BlockingIOError:
            pass
        except OSError:
            os.close(descriptor)
            return None
        os.close(descriptor)
        if time.monotonic() - begin > longest:
            return None
        if not has_waited:
            has_waited = True
            on_wait()
        time.sleep(_BETWEEN_TRIES)


def _is_at(descriptor: int, path: Path) -> bool:
    """Return True if a path is the name of an open file."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    own = os.fstat(descriptor)
    return (status.st_dev, status.st_ino) == (own.st_dev, own.st_ino)


def remove_unused(path: Path) -> bool:
    """Remove a lock file or an unfinished file whose process has ended; return True if removed."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(descriptor, path):
            return False
        os.unlink(path)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
