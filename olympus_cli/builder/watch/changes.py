"""The changes of files, by the package watchfiles, and by their stat data outside the folders."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from olympus.errors import BackendError, UsageError
from olympus_cli.builder.watch.watched_files import WatchedFiles
from olympus_cli.process import interrupts
from olympus_cli.text.paths import display_path

_INSTALL = "pip install 'olympus[watch]'"
_STEP = 50  # milliseconds without a change that end a group of changes
_LONGEST = 1600  # milliseconds of a group
_BETWEEN_STATS = 0.5  # seconds, for files outside the watched folders
_LOCK_TIMEOUT = 10.0  # seconds to wait for the end of a command of git

Stat = tuple[int, int, int] | None


@dataclass(frozen=True)
class Changed:
    """The files of a group of changes, before the end of the last build and after it."""

    during_build: tuple[Path, ...]
    later: tuple[Path, ...]


class ChangeSource(Protocol):
    """The changes that `watch_loop` waits for."""

    def wait(self, build_end: float) -> Changed:
        """Wait for a group of changes; `build_end` is the time of the last build's end."""
        ...

    def watch(self, files: WatchedFiles) -> None:
        """Watch other files from now on."""
        ...


class WatchedChanges(AbstractContextManager["WatchedChanges"]):
    """The changes of files since the start of the context, in groups.

    A group ends 50 ms after its last change, and not while git works in the repository: a checkout
    of many files is one group.

    Raises:
        BackendError: the package watchfiles is not installed.
        UsageError: a folder cannot be watched.
    """

    def __init__(self, files: WatchedFiles) -> None:
        self._files = files
        self._groups: Iterator[set[tuple[Any, str]]] | None = None
        self._close: Callable[[], None] = lambda: None
        self._pending: set[Path] = set()
        self._signals: list[BaseException] = []
        self._stats: dict[Path, Stat] = {}
        self._stats_at = 0.0
        self._roots: dict[Path, Stat] = {}

    def __enter__(self) -> WatchedChanges:
        self._stats = _stats(self._files.files)
        self._start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._close()

    def is_set(self) -> bool:
        """Return True if a signal came: the wait of watchfiles ends then."""
        return bool(self._signals)

    def watch(self, files: WatchedFiles) -> None:
        """Watch other files from now on; a folder that was replaced is watched again.

        Earlier changes of these files that `wait` has not returned are not lost.
        """
        is_same = files.folders == self._files.folders and self._roots == _stats(files.folders)
        self._files = files
        self._stats = {**_stats(files.files), **_of(files.files, self._stats)}
        if is_same:
            return
        old, close = self._groups, self._close
        self._start()
        with suppress(UsageError):  # its folders may be gone
            while changed := self._changes_in(old):
                self._pending |= changed
        close()

    def wait(self, build_end: float) -> Changed:
        """Wait for a group of changes; `build_end` is the time of the last build's end.

        Raises:
            KeyboardInterrupt: Ctrl-C or SIGTERM came.
            UsageError: a watched folder was removed.
        """
        changed = first = self._next()
        while not changed:
            self._check_folders()
            changed = self._next()
        changed = self._settled(changed)
        self._check_folders()
        before = {path for path in changed if _changed_before(path, build_end, path in first)}
        return Changed(tuple(sorted(before)), tuple(sorted(changed - before)))

    def _settled(self, changed: set[Path]) -> set[Path]:
        """Return the changes, and the ones that follow while git has a lock on its index."""
        deadline = time.monotonic() + _LOCK_TIMEOUT
        was_locked = self._has_git_lock()
        while was_locked:
            was_locked = self._has_git_lock() and time.monotonic() < deadline
            changed = changed | self._next()
        return changed

    def _has_git_lock(self) -> bool:
        return any(
            (parent / ".git" / "index.lock").exists()
            for folder in self._files.folders
            for parent in (folder, *folder.parents)
        )

    def _start(self) -> None:
        watch = _library()
        self._check_folders()
        groups = watch(
            *self._files.folders,
            watch_filter=None,
            debounce=_LONGEST,
            step=_STEP,
            stop_event=self,
            rust_timeout=_STEP,
            yield_on_timeout=True,
        )
        self._groups, self._close = groups, groups.close
        self._roots = _stats(self._files.folders)
        self._pending |= self._changes_in(groups)  # it watches from here on

    def _next(self) -> set[Path]:
        """Return the next group of changes, after at most 100 ms if there is none."""
        found = {path for path in self._pending if self._files.has(path)}
        self._pending = set()
        return found | self._changes_in(self._groups) | self._changed_outside()

    def _changes_in(self, groups: Iterator[set[tuple[Any, str]]] | None) -> set[Path]:
        """Return the next group of a watcher."""
        assert groups is not None
        try:
            with interrupts.deferred() as self._signals:
                group = next(groups, None)
        except (OSError, RuntimeError) as error:  # a class of the package's own
            raise _unwatchable(self._files.folders, error) from error
        finally:
            self._signals = []
        return {Path(name) for _, name in group or () if self._files.has(name)}

    def _changed_outside(self) -> set[Path]:
        if time.monotonic() - self._stats_at < _BETWEEN_STATS:
            return set()
        self._stats_at = time.monotonic()
        before, self._stats = self._stats, _stats(self._files.files)
        return {path for path, stat in self._stats.items() if stat != before.get(path)}

    def _check_folders(self) -> None:
        for folder in self._files.folders:
            if not folder.is_dir():
                raise UsageError(
                    f"{display_path(folder)} was removed, so that it cannot be watched"
                )


def _stats(paths: Sequence[Path]) -> dict[Path, Stat]:
    """Return the inode of each path, and for a file its size and time too."""
    stats: dict[Path, Stat] = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            stats[path] = None
            continue
        own = (0, 0) if path.is_dir() else (stat.st_size, stat.st_mtime_ns)
        stats[path] = (stat.st_ino, *own)
    return stats


def _of(paths: Sequence[Path], stats: Mapping[Path, Stat]) -> dict[Path, Stat]:
    return {path: stats[path] for path in paths if path in stats}


def _changed_before(path: Path, moment: float, if_removed: bool) -> bool:
    """Return True if a file changed before a moment; `if_removed` if it does not exist."""
    try:
        return path.stat().st_ctime <= moment
    except OSError:
        return if_removed


def _library() -> Callable[..., Any]:
    try:
        from watchfiles import watch
    except ImportError as error:
        raise BackendError(
            f"--watch needs the package watchfiles, which is not installed: {_INSTALL}",
            hint=_INSTALL,
        ) from error
    return watch


def _unwatchable(folders: Sequence[Path], error: Exception) -> UsageError:
    names = ", ".join(display_path(folder) for folder in folders)
    return UsageError(
        f"{names} cannot be watched: {error}",
        hint="WATCHFILES_FORCE_POLLING=1 reads the times of all files again and again instead",
    )
