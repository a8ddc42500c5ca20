"""What has to be built: the tasks of a build, and why a task is not up to date.

Target specs and what the build directory holds enter; tasks, and for the keys of a freshly lowered
program a reason to build it or None, leave.  A target is built for all its backends at once,
because one bundle holds them all: for all that are asked for, and whose compilers are here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import ArtifactError
from olympus_cli.build.manifest import MANIFEST, Manifest, intact
from olympus_cli.build.store import Place
from olympus_cli.reports.json import REPORT, read_report
from olympus_cli.spec.model import BackendSpec, TargetSpec

__all__ = ["Record", "Task", "backend_labels", "read_record", "reason_to_build"]


@dataclass(frozen=True)
class Record:
    """What the last build of a target left: a key per backend label, and damaged files if any.

    `trouble` is why the lists of what it left cannot be read, if they cannot.
    """

    keys: Mapping[str, str]
    damaged: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    trouble: str | None = None


@dataclass(frozen=True)
class Task:
    """One target to bring up to date, for the backends of `labels`; if `frozen`, only looked at."""

    spec: TargetSpec
    place: Place
    labels: tuple[str, ...]
    force: bool = False
    frozen: bool = False


def reason_to_build(
    record: Record | None, keys: Mapping[str, str], others: Collection[str] = ()
) -> str | None:
    """Why outputs for `keys` have to be built, in words; None when they are there already.

    `others` are the labels of backends that the target has and that are not built for now.
    """
    if record is None:
        return "it has not been built before"
    if record.trouble is not None:
        return record.trouble
    for label, key in keys.items():
        if label not in record.keys:
            return f"it has not been built for {label} before"
        if record.keys[label] != key:
            return f"its program for {label}, or what compiles it, has changed"
    for label in record.keys:
        if label not in keys and label not in others:
            return f"it is no longer built for {label}"
    if record.damaged:
        return f"{record.damaged[0]} is missing or has been changed"
    return None


def backend_labels(backends: Sequence[BackendSpec]) -> dict[str, BackendSpec]:
    """A short name for each backend: "gpu", or "gpu-h200" when there are several of its kind.

    >>> list(backend_labels([BackendSpec("cpu"), BackendSpec("gpu", "h200")]))
    ['cpu', 'gpu']
    """
    kinds = Counter(backend.name for backend in backends)
    return {
        backend.name if kinds[backend.name] == 1 else f"{backend.name}-{backend.device}": backend
        for backend in backends
    }


def read_record(directory: Path) -> Record | None:
    """What the lists in `directory` say was built, checked against the files that are there."""
    if not any(os.path.lexists(directory / name) for name in (MANIFEST, REPORT)):
        return None
    try:
        report = read_report(directory / REPORT)
        files = Manifest.read(directory).files
    except ArtifactError as error:
        return Record({}, trouble=str(error))
    keys = {backend.label: backend.key for backend in report.backends}
    damaged = [file.path for file in files if not intact(directory, file)]
    return Record(keys, tuple(damaged), report.warnings)
