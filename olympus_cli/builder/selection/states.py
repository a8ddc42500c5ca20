"""The state of the outputs of targets, from the files of their last build; nothing is traced."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from olympus.errors import ArtifactError
from olympus_cli.builder.freshness.index import Index
from olympus_cli.builder.freshness.index_use import settings_digest
from olympus_cli.builder.manifest import MANIFEST, Manifest
from olympus_cli.builder.schedule import last_build
from olympus_cli.reports.json import has_report
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import Project, TargetSpec

#: "fresh" and "stale" are by the index of the build folder, and "built" is a target that it lacks.
#: "failed": its last build failed; the outputs are those of the build before, if it has any.
#: "damaged": a file of the build is missing or has another size, or its list cannot be read.
State = Literal["fresh", "stale", "built", "never built", "damaged", "failed"]


@dataclass(frozen=True)
class TargetState:
    """The outputs of a target: the time of the last build in UTC, and the bytes of its files.

    `seconds` is the time that the build took, from its report; None if it is unknown.
    """

    target: str
    entry: str
    backends: tuple[str, ...]
    state: State
    built: str | None
    seconds: float | None
    bytes: int
    folder: Path


def target_states(specs: Iterable[TargetSpec], project: Project) -> list[TargetState]:
    """Return the state of each target of a project, in order.

    Example: `target_states(project.select(), project)[0].state == "fresh"`.
    """
    build_dir = project.build_dir
    index = Index.load(os.path.realpath(build_dir), os.path.realpath(project.root))
    return [_state(spec, build_dir / spec.name, index) for spec in specs]


def _state(spec: TargetSpec, folder: Path, index: Index) -> TargetState:
    names = tuple(backend_text(backend) for backend in spec.backends)
    state, built, size = _outputs(folder)
    if state == "built" and spec.name in index.entries:
        is_fresh = index.fresh(spec.name, settings_digest(spec), tuple(spec.labels)) is not None
        state = "fresh" if is_fresh else "stale"
    if spec.name in index.failed:
        state = "failed"
    last = None if built is None else last_build(folder)
    seconds = None if last is None else last.seconds
    return TargetState(spec.name, spec.entry, names, state, built, seconds, size, folder)


def _outputs(folder: Path) -> tuple[State, str | None, int]:
    if not os.path.lexists(folder / MANIFEST) and not has_report(folder):
        return "never built", None, 0
    try:
        files = Manifest.read(folder).files
        built = os.stat(folder / MANIFEST).st_mtime
    except (ArtifactError, OSError):
        return "damaged", None, sum(_size(path) or 0 for path in folder.rglob("*"))
    sizes = [_size(folder / file.path) for file in files]
    is_whole = all(size == file.bytes for size, file in zip(sizes, files, strict=True))
    moment = datetime.fromtimestamp(built, UTC).isoformat(timespec="seconds")
    return "built" if is_whole else "damaged", moment, sum(size or 0 for size in sizes)


def _size(path: Path) -> int | None:
    """Return the size of a regular file; None if there is none."""
    try:
        return os.stat(path).st_size if path.is_file() else None
    except OSError:
        return None
