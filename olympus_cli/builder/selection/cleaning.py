"""The removal of outputs: of files that a build wrote, and of no others."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import ArtifactError, UsageError
from olympus_cli.builder.freshness.index import INDEX, Index
from olympus_cli.builder.manifest import MANIFEST, Manifest, written_by_build
from olympus_cli.builder.output_place import Place, locate, locked_places
from olympus_cli.program.buckets import is_joined
from olympus_cli.reports.json import REPORT
from olympus_cli.reports.versioned_json import NewerSchema
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.model import Project
from olympus_cli.text.paths import display_path


@dataclass(frozen=True)
class Removal:
    """The folder of a target: the bytes of its removed files, and the files that are not a build's.

    `foreign` are paths in the folder.
    """

    target: str
    folder: Path
    bytes: int
    files: int
    foreign: tuple[str, ...]


def stale_folders(project: Project) -> list[str]:
    """Return the names of folders with outputs of targets that olympus.toml no longer has.

    Folders of another project that shares the build folder are left out.
    """
    names = []
    with suppress(OSError):
        for folder in sorted(project.build_dir.iterdir()):
            if folder.name not in project.targets and _is_own(folder, project):
                names.append(folder.name)
    return names


def _is_own(folder: Path, project: Project) -> bool:
    """Return True if a folder has the outputs of a build of this project's target of its name."""
    try:
        manifest = Manifest.read(folder)
    except ArtifactError:
        return False
    place = os.path.realpath(folder / manifest.project)
    return manifest.target == folder.name and place == os.path.realpath(project.root)


def remove_outputs(
    names: Iterable[str],
    project: Project,
    dry_run: bool,
    on_wait: Callable[[Path], None] = lambda _folder: None,
) -> list[Removal]:
    """Remove the files that builds of the targets wrote, while no build runs; return the removals.

    A `dry_run` removes nothing, and returns the same.

    Raises:
        UsageError: the working directory is in a folder, the folder has outputs of another project
            or of a newer version of OLYMPUS, or a file cannot be removed.
    """
    chosen = list(names)
    found = [_located(name, project) for name in chosen]
    with locked_places(project.build_dir, found, on_wait, make=False):
        places = [(name, _place(name, project)) for name in chosen]
        listed = [(name, place, _written(name, place)) for name, place in places]
        removals = [_removed(name, place, own, dry_run) for name, place, own in listed]
        if not dry_run:
            _clean_index(project, set(chosen))
        return removals


def _clean_index(project: Project, names: Collection[str]) -> None:
    """Remove the failures of targets from the index, and all inputs if no output is left."""
    places = os.path.realpath(project.build_dir), os.path.realpath(project.root)
    index = Index.load(*places)
    failed = [name for name in index.failed if name not in names]
    if any(project.build_dir.glob(f"*/{MANIFEST}")):
        if failed == index.failed:
            return
    else:
        index = Index(*places)
    index.failed = failed
    if index.is_empty:
        _unlink(project.build_dir / INDEX)
    else:
        index.save()


def _located(name: str, project: Project) -> Place:
    return locate(project.build_dir, name, name + BUNDLE_SUFFIX)


def _place(name: str, project: Project) -> Place:
    place = _located(name, project)
    place.check_owner(project.root)
    if place.occupied:
        raise UsageError(
            f"{display_path(place.final)} would be removed, and the working directory is in it",
            hint="change to another directory",
        )
    return place


def _written(name: str, place: Place) -> frozenset[str]:
    """Return the paths in the folder of a target that a build wrote."""
    if not place.final.is_dir():
        return frozenset()
    bundle = place.final / (name + BUNDLE_SUFFIX)
    if not (place.final / MANIFEST).exists() and is_joined(bundle):
        return frozenset([bundle.name])
    try:
        return written_by_build(place.final, name + BUNDLE_SUFFIX)
    except NewerSchema as error:
        raise UsageError(f"{display_path(place.final)} is not removed: {error}") from error


def _removed(name: str, place: Place, own: frozenset[str], dry_run: bool) -> Removal:
    folder = place.final
    paths = [path for path in sorted(folder.rglob("*")) if not path.is_dir() or path.is_symlink()]
    inside = [(path, path.relative_to(folder).as_posix()) for path in paths]
    # the files that identify the folder go last: a removal that was cut off can be repeated
    remaining = sorted(
        (text in (MANIFEST, REPORT), text, path) for path, text in inside if text in own
    )
    size = 0
    for _, _, path in remaining:
        size += os.lstat(path).st_size
        if not dry_run:
            _unlink(path)
    foreign = tuple(text for _, text in inside if text not in own)
    if own and not dry_run:
        _remove_empty(folder, itself=folder.name == name)
    return Removal(name, folder, size, len(remaining), foreign if own else ())


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{display_path(path)} cannot be removed: {error.strerror}") from error


def _remove_empty(folder: Path, itself: bool) -> None:
    """Remove the folders in a folder, and `itself`, as far as they are empty.

    A folder to which a link in the build folder leads is the user's.
    """
    folders = [path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink()]
    for path in [*sorted(folders, reverse=True), *([folder] if itself else [])]:
        with suppress(OSError):  # it has other files
            path.rmdir()
