"""The build directory: outputs appear in it whole or not at all.

A directory enters; locked access to it, and the place of each target's outputs, leave.  A target is
written into a hidden sibling of its final directory and takes its place by renaming.  What a
crashed build left behind is cleared, and what it had only moved aside is put back, by whoever takes
the lock next.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import UsageError
from olympus_cli.reports.model import SCHEMA_VERSION

__all__ = ["MARKER", "SUMMARY", "Place", "locate", "locked"]

MARKER = "report.json"  # the file that tells a directory of ours from a user's own
SUMMARY = "summary.txt"
_NEW = ".olympus-new-"
_OLD = ".olympus-old-"


@dataclass(frozen=True)
class Place:
    """Where the outputs of one target go; it is changed while its parent is locked only."""

    final: Path
    occupied: bool = False  # the user's shell is in it

    def stage(self) -> Path:
        """An empty directory to write the outputs into; it is beside the final one.

        Raises:
            UsageError: the final place holds something that no build of ours put there, or is
                where the user is, or the directory cannot be made.
        """
        with _usable(self.final):
            if why := _foreign(self.final):
                raise UsageError(
                    f"{self.final} {why}: it will not be replaced",
                    hint="give another directory, or move that away yourself",
                )
            if self.occupied:
                raise UsageError(
                    f"{self.final} would be replaced, and the working directory is in it",
                    hint="go to another directory, or give another one for the outputs",
                )
            self._beside(_NEW).mkdir()
        return self._beside(_NEW)

    def commit(self) -> None:
        """Let the staged outputs take the place of the ones there, if any."""
        aside = self._beside(_OLD)
        with _usable(self.final):
            if os.path.lexists(self.final):
                self.final.rename(aside)
            self._beside(_NEW).rename(self.final)
        _remove(aside)

    def _beside(self, prefix: str) -> Path:
        return self.final.with_name(prefix + self.final.name)


def locate(root: Path, name: str) -> Place:
    """The place of `name` in the build directory `root`: where a link leads, if there is one.

    Raises:
        UsageError: the name would lead out of the directory, or the link in a circle.
    """
    if not name or name != Path(name).name or name.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of an output directory")
    with _usable(root / name):
        final = (root / name).resolve()
        if final.is_symlink():  # that is as far as a circle is followed
            raise OSError(0, "its links lead in a circle")
        return Place(final, Path.cwd().is_relative_to(final))


@contextmanager
def locked(
    root: Path, on_wait: Callable[[], None] = lambda: None, make: bool = True
) -> Iterator[None]:
    """Hold the directory `root` for one build at a time; `on_wait` is called if another has it.

    It is made if need be; without `make`, one that is not there has nothing to be kept from others.
    The lock is the kernel's, on the directory itself: it ends with the process that holds it,
    however that ends, and leaves no file behind.
    """
    if not make and not root.exists():
        yield
        return
    with _usable(root):
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root, os.O_RDONLY)
    try:
        if not _lock(root, descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            on_wait()
            _lock(root, descriptor, fcntl.LOCK_EX)
        _recover(root)
        try:
            yield
        finally:
            _recover(root)
    finally:
        os.close(descriptor)


def _lock(root: Path, descriptor: int, operation: int) -> bool:
    with _usable(root):
        try:
            fcntl.flock(descriptor, operation)
        except BlockingIOError:
            return False
    return True


def _recover(root: Path) -> None:
    for leftover in root.glob(_NEW + "*"):
        _remove(leftover)
    for aside in root.glob(_OLD + "*"):
        final = root / aside.name.removeprefix(_OLD)
        if os.path.lexists(final):
            _remove(aside)
        else:  # the build died between the two renames: the old outputs are the valid ones
            with _usable(final):
                aside.rename(final)


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)


def _foreign(directory: Path) -> str | None:
    """Why what is there was not, or not all of it, put there by a build; None if it was."""
    if not directory.exists():
        return None
    if not directory.is_dir():
        return "exists and is no folder"
    if not any(directory.iterdir()):
        return None
    try:
        report = json.loads((directory / MARKER).read_text(encoding="utf-8"))
        known = {MARKER, SUMMARY, *(output["path"] for output in report["outputs"])}
        ours = report["schema_version"] <= SCHEMA_VERSION
    except (OSError, ValueError, TypeError, KeyError):
        ours = False
    if not ours:
        return "exists and is not the output of a build"
    known |= {parent.as_posix() for path in known for parent in Path(path).parents}
    found = (path.relative_to(directory).as_posix() for path in sorted(directory.rglob("*")))
    foreign = next((path for path in found if path not in known), None)
    return foreign and f"holds {foreign!r}, which no build put there"


@contextmanager
def _usable(directory: Path) -> Iterator[None]:
    """Say of what the system refuses that it is about this directory."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # the latter for links in a circle
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the build folder {directory} cannot be used: {reason}") from error
