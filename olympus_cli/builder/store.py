"""The build directory: outputs appear in it whole or not at all.

It is locked for one build at a time.  A target is written into a hidden sibling of its final
directory, put on the disk, and then changes places with the outputs before it in one step, so that
a reader finds one of the two at any time.  Where the system has no such step, the old outputs are
moved aside first.  What a crashed build left behind is cleared, and what it had only moved aside is
put back, by whoever takes the lock next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import ArtifactError, CompileError, UsageError
from olympus_cli.builder.durable import exchanged, sync_folder
from olympus_cli.builder.manifest import Manifest, written_by_build
from olympus_cli.reports.strict import NewerSchema
from olympus_cli.spec.project import FILE

__all__ = ["Place", "locate", "locked"]

_NEW = ".olympus-new-"
_OLD = ".olympus-old-"
_BETWEEN_TRIES = 0.05  # seconds, in which a build that waits looks whether the other has ended


@dataclass(frozen=True)
class Place:
    """Where the outputs of one target go; it is changed while its parent is locked only."""

    final: Path
    bundle: str = ""  # the file name of its bundle
    occupied: bool = False  # the user's shell is in it

    def path_to(self, project: Path) -> str:
        """The path from here to a project's folder: it stays when both move together."""
        return os.path.relpath(project, self.final)

    def check_owner(self, project: Path) -> None:
        """See that what is here is not the output of another project's target of the same name.

        Raises:
            UsageError: it is, and that project still exists.
        """
        try:
            manifest = Manifest.read(self.final)
        except ArtifactError:
            return
        other = os.path.normpath(self.final / manifest.project)
        if manifest.project == self.path_to(project) or not os.path.isfile(f"{other}/{FILE}"):
            return
        raise UsageError(
            f"{self.final} has the outputs of target {manifest.target!r} of another project, "
            f"{other}: they will not be replaced",
            hint="give one of the two projects another build-dir; "
            f"olympus build --force {manifest.target} replaces them",
        )

    def stage(self) -> Path:
        """An empty directory to write the outputs into; it is beside the final one.

        Raises:
            UsageError: the final place holds something that no build of ours put there, or is
                where the user is, or the directory cannot be made.
        """
        with _usable(self.final):
            self._check_replaceable()
            _remove(self._beside(_NEW))  # of an attempt before this one
            self._beside(_NEW).mkdir()
        return self._beside(_NEW)

    def commit(self) -> None:
        """Let the staged outputs take the place of the ones there, if any.

        Raises:
            UsageError: something that no build put there has come there meanwhile, or the system
                refuses.
        """
        new, aside = self._beside(_NEW), self._beside(_OLD)
        with _usable(self.final):
            self._check_replaceable()
            if not os.path.lexists(self.final):
                new.rename(self.final)
            elif not exchanged(new, self.final):
                self.final.rename(aside)
                new.rename(self.final)
            sync_folder(self.final.parent)
        _remove(new)
        _remove(aside)

    def _check_replaceable(self) -> None:
        if why := _foreign(self.final, self.bundle):
            raise UsageError(
                f"{self.final} {why}: it will not be replaced",
                hint="choose another directory, or move this one away",
            )
        if self.occupied:
            raise UsageError(
                f"{self.final} would be replaced, and the working directory is in it",
                hint="change to another directory, or choose another one for the outputs",
            )

    def _beside(self, prefix: str) -> Path:
        return self.final.with_name(prefix + self.final.name)


def locate(root: Path, name: str, bundle: str = "") -> Place:
    """The place of `name` in the build directory `root`: where a link leads, if there is one.

    `bundle` is the name of the file in it that holds the target's bundle.

    Raises:
        UsageError: the name would lead out of the directory, or the link in a circle.
    """
    if not name or name != Path(name).name or name.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of an output directory")
    with _usable(root / name):
        final = (root / name).resolve()
        if final.is_symlink():  # that is as far as a circle is followed
            raise OSError(0, "its links lead in a circle")
        return Place(final, bundle, Path.cwd().is_relative_to(final))


@contextmanager
def locked(
    root: Path,
    on_wait: Callable[[Path], None] = lambda _root: None,
    make: bool = True,
    time_limit: float | None = None,
) -> Iterator[None]:
    """Hold the directory `root` for one build at a time; `on_wait` is called if another has it.

    It is made if need be; without `make`, one that is not there has nothing to be kept from others.
    The lock is the kernel's, on the directory itself: it ends with the process that holds it,
    however that ends, and leaves no file behind.

    Raises:
        CompileError: another build has it for longer than `time_limit`, in seconds.
        UsageError: the directory cannot be made or locked.
    """
    if not make and not root.exists():
        yield
        return
    with _usable(root):
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root, os.O_RDONLY)
    try:
        if not _lock(root, descriptor):
            on_wait(root)
            _wait_for_lock(root, descriptor, time_limit)
        _recover(root)
        try:
            yield
        finally:
            _recover(root)
    finally:
        os.close(descriptor)


def _wait_for_lock(root: Path, descriptor: int, time_limit: float | None) -> None:
    start = time.monotonic()
    while not _lock(root, descriptor):
        if time_limit is not None and time.monotonic() - start >= time_limit:
            raise CompileError(
                f"another build in {root} did not end within the time limit of {time_limit:g} s"
            )
        time.sleep(_BETWEEN_TRIES)


def _lock(root: Path, descriptor: int) -> bool:
    with _usable(root):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


def _foreign(directory: Path, bundle: str) -> str | None:
    """Why what is there was not, or not all of it, put there by a build; None if it was."""
    if not directory.exists():
        return None
    if not directory.is_dir():
        return "exists and is not a folder"
    if not any(directory.iterdir()):
        return None
    try:
        known = written_by_build(directory, bundle)
    except NewerSchema as error:
        return f"exists and is not the output of a build that can be told: {error}"
    if not known:
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
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"the build folder {directory} cannot be used: {reason}") from error
