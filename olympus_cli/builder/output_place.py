"""The build directory: outputs appear in it whole or not at all.

It is locked for one build at a time. A target is written into a hidden sibling of its final
directory and flushed to the disk. Then it is swapped with the earlier outputs in one step, so that
a reader always finds one of the two. If the system does not support the swap, the old outputs are
moved aside first. The next process that takes the lock removes the files of a crashed build, and
restores outputs that were only moved aside.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import ArtifactError, CompileError, UsageError
from olympus_cli.builder.durable import exchanged, sync_folder
from olympus_cli.builder.manifest import Manifest, written_by_build
from olympus_cli.reports.versioned_json import NewerSchema
from olympus_cli.spec.project_file import project_in

_NEW = ".olympus-new-"
_OLD = ".olympus-old-"
_BETWEEN_TRIES = 0.05  # seconds between two attempts of a waiting build to take the lock


@dataclass(frozen=True)
class Place:
    """The place for the outputs of one target; it is changed only while its parent is locked."""

    final: Path
    bundle: str = ""  # the file name of its bundle
    occupied: bool = False  # the user's shell is in it

    def path_to(self, project: Path) -> str:
        """Return the relative path to a project's folder, valid after both move together."""
        return os.path.relpath(project, self.final)

    def check_owner(self, project: Path) -> None:
        """Check that the outputs here are not those of another project's target of the same name.

        Raises:
            UsageError: they are, and that project still exists.
        """
        if not os.path.lexists(self.final):
            return
        try:
            manifest = Manifest.read(self.final)
        except ArtifactError:
            return
        other = os.path.normpath(self.final / manifest.project)
        if manifest.project == self.path_to(project) or project_in(Path(other)) is None:
            return
        raise UsageError(
            f"{self.final} has the outputs of target {manifest.target!r} of another project, "
            f"{other}: they will not be replaced",
            hint="give one of the two projects another build-dir; "
            f"olympus build --force {manifest.target} replaces them",
        )

    def stage(self) -> Path:
        """Return a new empty directory for the outputs, beside the final one.

        Raises:
            UsageError: the final place has files that no build of ours wrote, or is the working
                directory, or the directory cannot be made.
        """
        with _usable(self.final):
            self._check_replaceable()
            _remove(self._beside(_NEW))  # of an earlier attempt
            self._beside(_NEW).mkdir()
        return self._beside(_NEW)

    def commit(self) -> None:
        """Replace the outputs in the final place, if any, by the staged ones.

        Raises:
            UsageError: files that no build wrote have appeared there in the meantime, or the system
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
    """Return the place of `name` in the build directory `root`, with links resolved.

    `bundle` is the name of the file in it that contains the target's bundle.

    Raises:
        UsageError: the name is outside the directory, or the links form a circle.
    """
    if not name or name != Path(name).name or name.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of an output directory")
    with _usable(root / name):
        final = (root / name).resolve()
        if final.is_symlink():  # a circle of links is not resolved further
            raise OSError(0, "its links lead in a circle")
        return Place(final, bundle, Path.cwd().is_relative_to(final))


@contextmanager
def locked(
    root: Path,
    on_wait: Callable[[Path], None] = lambda _root: None,
    make: bool = True,
    time_limit: float | None = None,
) -> Iterator[None]:
    """Lock the directory `root` for one build at a time; `on_wait` is called if another has it.

    The directory is made if necessary; without `make`, a missing directory is not locked. The
    kernel's lock on the directory itself is used. It ends with the process, also after a crash, and
    leaves no file behind. A directory that was made and is empty at the end is removed.

    Raises:
        CompileError: another build has it for longer than `time_limit`, in seconds.
        UsageError: the directory cannot be made or locked.
    """
    if not make and not os.path.exists(root):  # False for a path that is too long
        yield
        return
    is_new = not os.path.exists(root)
    try:
        descriptor = _locked_folder(root, on_wait, time_limit)
    except BaseException:  # a signal, too
        if is_new:
            _remove_unused(root)
        raise
    try:
        _recover(root)
        try:
            yield
        finally:
            _recover(root)
    finally:
        if is_new:
            with suppress(OSError):  # it has outputs
                root.rmdir()
        os.close(descriptor)


def _locked_folder(root: Path, on_wait: Callable[[Path], None], time_limit: float | None) -> int:
    """Return the descriptor of a directory, made if necessary, that this process has locked."""
    while True:
        with _usable(root):
            root.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(root, os.O_RDONLY)
        try:
            if not _lock(root, descriptor):
                on_wait(root)
                _wait_for_lock(root, descriptor, time_limit)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(root), os.fstat(descriptor)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # another build has made it, and removed it because it failed


def _remove_unused(root: Path) -> None:
    """Remove a directory, if it exists, is empty and no build has locked it."""
    with suppress(OSError):
        descriptor = os.open(root, os.O_RDONLY)
        try:
            if _lock(root, descriptor):
                root.rmdir()
        finally:
            os.close(descriptor)


def folders_to_lock(build_dir: Path, places: Iterable[Place]) -> list[Path]:
    """Return the folders that a process locks before it changes outputs of a build folder.

    They are the build folder, which has the index, and the folders to which links in it lead. They
    are sorted, so that processes that lock several folders do not wait for each other.

    >>> folders_to_lock(Path("/p/build"), [Place(Path("/p/build/f")), Place(Path("/disk/g"))])
    [PosixPath('/disk'), PosixPath('/p/build')]
    """
    return sorted({Path(os.path.realpath(build_dir)), *(place.final.parent for place in places)})


@contextmanager
def locked_places(
    build_dir: Path,
    places: Iterable[Place],
    on_wait: Callable[[Path], None] = lambda _root: None,
    make: bool = True,
    time_limit: float | None = None,
) -> Iterator[None]:
    """Lock a build folder and the places of targets in it, as `locked` locks one folder."""
    with ExitStack() as stack:
        for folder in folders_to_lock(build_dir, places):
            stack.enter_context(locked(folder, on_wait, make, time_limit))
        yield


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
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # the next build tries again
            path.unlink(missing_ok=True)


def _foreign(directory: Path, bundle: str) -> str | None:
    """Return the reason why the contents are not entirely a build's output; None if they are."""
    if not directory.exists():
        return None
    if not directory.is_dir():
        return "exists and is not a folder"
    if not any(directory.iterdir()):
        return None
    try:
        known = written_by_build(directory, bundle)
    except NewerSchema as error:
        return f"exists and cannot be recognized as the output of a build: {error}"
    if not known:
        return "exists and is not the output of a build"
    known |= {parent.as_posix() for path in known for parent in Path(path).parents}
    paths = (path.relative_to(directory).as_posix() for path in sorted(directory.rglob("*")))
    foreign = next((path for path in paths if path not in known), None)
    return foreign and f"holds {foreign!r}, which no build put there"


@contextmanager
def _usable(directory: Path) -> Iterator[None]:
    """Turn errors of the system into UsageErrors that name this directory."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # the latter for links in a circle
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(f"the build folder {directory} cannot be used: {reason}") from error
