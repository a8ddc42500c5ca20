"""The local store: a folder with one file for each result, which all projects of a user share.

    results/v1/ab/abcd....result    a result that this user compiled
    results/v1/ab/abcd....fetched   a result of a remote store
    results/v1/ab/abcd....refined   a program that a loaded bundle was compiled to for some sizes
    results/v1/ab/abcd....lock      the lock of a key that is compiled now

A file is written under another name, flushed to the disk and renamed, so that no reader finds a
part. Its time of modification is that of its last use. A file is read as a whole and verified, and
the verified bytes are used. The outputs of a build are therefore copies: a hard link would let a
user who edits an output change the store, and would be verified only before the change.

A failure of the store is no failure of a build: a result that cannot be read is compiled, and one
that cannot be written is not stored.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from olympus.errors import OlympusError
from olympus.files import read_regular
from olympus_cli.builder.results.entry import MAX_BYTES, DamagedEntry, decoded
from olympus_cli.builder.results.locks import key_lock, remove_unused
from olympus_cli.builder.results.new_files import UNFINISHED, make_folders, write_new
from olympus_cli.builder.results.result import CompilationResult

Kind = Literal["result", "fetched", "refined"]

_VERSION = "v1"  # another form of the folder has another name
#: The kinds of compilation results, which a build reads; `olympus_runtime` writes the others.
_KINDS: tuple[Kind, ...] = ("result", "fetched")
_ALL_KINDS: dict[str, Kind] = {"result": "result", "fetched": "fetched", "refined": "refined"}
#: Errors of a store that a user cannot write, such as in a container: it is not used.
_UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}


class StoredFile(NamedTuple):
    """A file of the store: its size in bytes, the time of its last use in seconds, its inode."""

    path: Path
    key: str
    kind: Kind
    bytes: int
    used: float
    inode: int


def inode_of(path: Path) -> int:
    """Return the number of the file at a path, which a replacement changes; raise OSError."""
    return os.stat(path, follow_symlinks=False).st_ino


@dataclass
class LocalStore:
    """The results in a folder. `problems` are the texts of the failures so far.

    With `is_default`, the user did not choose the folder, and a folder that cannot be written is
    no problem. If `trust` has public keys, one must have signed each result of a remote store.
    """

    folder: Path
    trust: Sequence[Path | bytes] = ()
    is_default: bool = False
    problems: list[str] = field(default_factory=list)

    def get(self, key: str) -> CompilationResult | None:
        """Return the result for a key, and note its use; None if there is none.

        A damaged file is removed, and is one of the `problems`.
        """
        for kind in _KINDS:
            path = self._path(key, kind)
            try:
                inode = inode_of(path)
                content = read_regular(path, MAX_BYTES, follow_links=False)
                result = decoded(content, key, self.trust if kind == "fetched" else ())
            except (FileNotFoundError, NotADirectoryError):
                continue
            except DamagedEntry as error:
                self._drop(path, inode, str(error))
            except OlympusError as error:
                self.problems.append(f"the stored result {path} is not used: {error}")
            except OSError as error:
                self._failed(f"the stored result {path} cannot be read", error)
            else:
                with suppress(OSError):
                    os.utime(path)
                return result
        return None

    def content(self, key: str) -> bytes | None:
        """Return the bytes of the entry of a result that this user compiled; None without it."""
        with suppress(OSError):
            return read_regular(self._path(key, "result"), MAX_BYTES, follow_links=False)
        return None

    def put(self, key: str, pieces: Sequence[bytes], kind: Kind = "result") -> bool:
        """Store the bytes of an entry, flushed to the disk; return False if they are not stored."""
        path = self._path(key, kind)
        if sum(map(len, pieces)) > MAX_BYTES:
            self.problems.append(f"the result is not stored: it has more than {MAX_BYTES} bytes")
            return False
        try:
            write_new(path, pieces, replaces=True)
        except OSError as error:
            self._failed("the result is not stored", error)
            return False
        return True

    def lock(self, key: str, on_wait: Callable[[], None]) -> AbstractContextManager[bool]:
        """Return a context in which this process alone compiles a key: see `key_lock`."""
        path = self.folder / _VERSION / key[:2] / f"{key}.lock"
        try:
            make_folders(path.parent, 0o700)
        except OSError:
            return nullcontext(False)
        return key_lock(path, on_wait)

    def files(self) -> Iterator[StoredFile]:
        """Yield the files of all results, in no particular order; links are left out."""
        for path in self._below():
            key, _, kind = path.name.partition(".")
            if kind not in _ALL_KINDS or len(key) != 64:
                continue
            with suppress(OSError):
                status = os.stat(path, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    continue
                size, used, inode = status.st_size, status.st_mtime, status.st_ino
                yield StoredFile(path, key, _ALL_KINDS[kind], size, used, inode)

    def remove_leftovers(self) -> None:
        """Remove the unfinished files and the locks of processes that were killed."""
        for path in self._below():
            if path.name.startswith(UNFINISHED) or path.suffix == ".lock":
                remove_unused(path)

    def _below(self) -> Iterator[Path]:
        with suppress(OSError):
            for folder in sorted((self.folder / _VERSION).iterdir()):
                if not folder.is_symlink():
                    with suppress(OSError):
                        yield from sorted(folder.iterdir())

    def _path(self, key: str, kind: Kind) -> Path:
        return self.folder / _VERSION / key[:2] / f"{key}.{kind}"

    def _drop(self, path: Path, inode: int, reason: str) -> None:
        self.problems.append(f"the stored result {path} was removed, because {reason}")
        with suppress(OSError):
            if inode_of(path) == inode:  # else another process has replaced it
                os.unlink(path)

    def _failed(self, text: str, error: OSError) -> None:
        if not (self.is_default and error.errno in _UNWRITABLE):
            self.problems.append(f"{text}: {error.strerror or error}")
