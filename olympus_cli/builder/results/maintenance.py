"""The contents of the local store: list, verify and remove results, also during builds.

A file is removed as a whole, and a build that has opened it reads it to its end. The files that
were used last are retained. Once a day a build removes the files over the limits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from olympus.artifact import stored_executable
from olympus.errors import ArtifactError, OlympusError
from olympus.files import open_regular, read_regular
from olympus_cli.builder.results.entry import MAX_BYTES, DamagedEntry, Header, decoded, read_header
from olympus_cli.builder.results.local import LocalStore, StoredFile, inode_of
from olympus_cli.spec.cache import environment_cache
from olympus_cli.spec.model import TargetSpec

#: The limits of the store: all its bytes, and the seconds since the last use of a result.
USUAL_BYTES = 10 * 10**9
USUAL_AGE = 90 * 86400.0

_DAY = 86400.0
_STAMP = "cleaned"  # the file whose time of modification is that of the last removal


class Listed(NamedTuple):
    """A file of the store with its header; None for a file that cannot be used, with the `problem`.

    The header of a program that was compiled when a bundle was loaded is None too.
    `is_damaged` is False if the file cannot be read now, or is not trusted.
    """

    file: StoredFile
    header: Header | None
    problem: str | None = None
    is_damaged: bool = False


def listed_results(store: LocalStore) -> list[Listed]:
    """Return the files of the store, the last used first; only the headers are read."""
    return [_with_header(file) for file in _last_used_first(store)]


def _last_used_first(store: LocalStore) -> list[StoredFile]:
    return sorted(store.files(), key=lambda file: (-file.used, file.key))


def _with_header(file: StoredFile) -> Listed:
    if file.kind == "refined":
        return Listed(file, None)
    try:
        with open_regular(file.path, MAX_BYTES, follow_links=False) as content:
            return Listed(file, read_header(content, file.key))
    except OSError as error:
        return Listed(file, None, error.strerror or str(error))
    except ArtifactError as error:
        return Listed(file, None, str(error), is_damaged=True)


def unusable(store: LocalStore) -> Iterator[Listed]:
    """Yield the files of the store that cannot be used, after reading and verifying all of each.

    A result of a remote store must be signed if the store has trusted keys.
    """
    for file in store.files():
        trust = store.trust if file.kind == "fetched" else ()
        try:
            content = read_regular(file.path, MAX_BYTES, follow_links=False)
            if file.kind == "refined":
                if stored_executable(content, file.key) is None:
                    yield Listed(file, None, "its SHA-256 is another one", is_damaged=True)
                continue
            decoded(content, file.key, trust)
        except FileNotFoundError:  # another process removed it
            continue
        except OSError as error:
            yield Listed(file, None, error.strerror or str(error))
        except OlympusError as error:
            yield Listed(file, None, str(error), isinstance(error, DamagedEntry))


def over_limits(store: LocalStore, most: int | None, age: float | None) -> list[StoredFile]:
    """Return the files used longest ago, without which the others have `most` bytes at most.

    Files that were not used for `age` seconds are returned too. None is no limit.
    """
    files = _last_used_first(store)
    now, total, chosen = time.time(), sum(file.bytes for file in files), list[StoredFile]()
    for file in reversed(files):
        is_old = age is not None and now - file.used > age
        if not is_old and (most is None or total <= most):
            break
        chosen.append(file)
        total -= file.bytes
    return chosen


def remove(store: LocalStore, files: Sequence[StoredFile]) -> int:
    """Remove files, and what killed processes left; return the number of bytes of the files.

    A file that another process has replaced is retained.

    Raises:
        OSError: a file cannot be removed.
    """
    removed = 0
    for file in files:
        with suppress(FileNotFoundError):
            if inode_of(file.path) == file.inode:
                file.path.unlink()
                removed += file.bytes
    store.remove_leftovers()
    return removed


def clean_stores(specs: Iterable[TargetSpec]) -> None:
    """Remove old results from the stores of some targets: see `clean_daily`."""
    folders = {(spec.cache or environment_cache()).folder for spec in specs}
    for folder in folders:
        if folder is not None:
            clean_daily(LocalStore(folder))


def clean_daily(store: LocalStore) -> None:
    """Remove the files over the usual limits, if that was not done in the last day."""
    stamp = store.folder / _STAMP
    try:
        age = time.time() - os.stat(stamp).st_mtime
    except FileNotFoundError:
        age = _DAY
    except OSError:
        return
    if not store.folder.is_dir() or 0 <= age < _DAY:
        return
    with suppress(OSError):
        stamp.touch(mode=0o600)
        remove(store, over_limits(store, USUAL_BYTES, USUAL_AGE))
