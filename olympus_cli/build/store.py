"""The build directory: outputs appear in it whole or not at all.

A directory enters; locked access to it leaves.  A target is written into a hidden sibling of its
final directory and takes its place by renaming.  What a crashed build left behind is cleared, and
what it had only moved aside is put back, by whoever takes the lock next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from olympus.errors import UsageError

__all__ = ["MARKER", "Store"]

MARKER = "report.json"  # the file that tells a directory of ours from a user's own
_NEW = ".olympus-new-"
_OLD = ".olympus-old-"


class Store:
    """Access to one build directory; everything that changes it happens inside `locked()`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def final(self, name: str) -> Path:
        """Where the outputs of `name` are, once they are."""
        if not name or name != Path(name).name or name.startswith("."):
            raise UsageError(f"{name!r} cannot be the name of an output directory")
        return self.root / name

    @contextmanager
    def locked(self, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the directory for one build at a time; `on_wait` is called if another has it.

        The lock is the kernel's, on the directory itself: it ends with the process that holds it,
        however that ends, and leaves no file behind.
        """
        _make_directory(self.root)
        with self._usable():
            descriptor = os.open(self.root, os.O_RDONLY)
        try:
            if not self._lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
                on_wait()
                self._lock(descriptor, fcntl.LOCK_EX)
            self._recover()
            try:
                yield
            finally:
                self._recover()
        finally:
            os.close(descriptor)

    def stage(self, name: str) -> Path:
        """An empty directory to write the outputs of `name` into; it is beside the final one.

        Raises UsageError when the final place holds something that no build of ours put there.
        """
        final = self.final(name)
        with self._usable():
            replaceable = not final.exists() or _is_ours(final)
        if not replaceable:
            raise UsageError(
                f"{final} exists and is not the output of a build: it will not be replaced",
                hint="give another directory, or remove that one yourself",
            )
        staged = self.root / (_NEW + name)
        _make_directory(staged)
        return staged

    def commit(self, name: str) -> None:
        """Let the staged outputs of `name` take the place of the ones there, if any."""
        final, aside = self.final(name), self.root / (_OLD + name)
        with self._usable():
            if final.exists():
                final.rename(aside)
            (self.root / (_NEW + name)).rename(final)
        shutil.rmtree(aside, ignore_errors=True)

    def _recover(self) -> None:
        for leftover in self.root.glob(_NEW + "*"):
            shutil.rmtree(leftover, ignore_errors=True)
        for aside in self.root.glob(_OLD + "*"):
            final = self.root / aside.name.removeprefix(_OLD)
            if final.exists():
                shutil.rmtree(aside, ignore_errors=True)
            else:  # the build died between the two renames: the old outputs are the valid ones
                with self._usable():
                    aside.rename(final)

    def _lock(self, descriptor: int, operation: int) -> bool:
        with self._usable():
            try:
                fcntl.flock(descriptor, operation)
            except BlockingIOError:
                return False
        return True

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Say of what the system refuses that it is about this directory."""
        try:
            yield
        except OSError as error:
            what = f"the build folder {self.root} cannot be used"
            raise UsageError(f"{what}: {error.strerror}") from error


def _is_ours(directory: Path) -> bool:
    return directory.is_dir() and ((directory / MARKER).is_file() or not any(directory.iterdir()))


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {path} cannot be made: {error.strerror}") from error
