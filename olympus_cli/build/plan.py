"""What has to be built: the tasks of a build, and why a task is not up to date.

Target specs and what the build directory holds enter; tasks, and for the keys of a freshly lowered
program a reason to build it or None, leave.  A target is built for all its backends at once,
because one bundle holds them all.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olympus_cli.build.store import MARKER, Place
from olympus_cli.spec.model import BackendSpec, TargetSpec

__all__ = ["Record", "Task", "backend_labels", "digest", "read_record", "reason_to_build"]


@dataclass(frozen=True)
class Record:
    """What the last build of a target left: a key per backend label, and damaged files if any."""

    keys: Mapping[str, str]
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One target to bring up to date; when `frozen`, only to be looked at."""

    spec: TargetSpec
    place: Place
    log: Path
    force: bool = False
    frozen: bool = False


def reason_to_build(record: Record | None, keys: Mapping[str, str]) -> str | None:
    """Why outputs for `keys` have to be built, in words; None when they are there already."""
    if record is None:
        return "it has not been built before"
    for label, key in keys.items():
        if label not in record.keys:
            return f"it has not been built for {label} before"
        if record.keys[label] != key:
            return f"its program for {label}, or what compiles it, has changed"
    for label in record.keys:
        if label not in keys:
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
    """What the report in `directory` says was built, checked against the files that are there."""
    try:
        report = json.loads((directory / MARKER).read_text(encoding="utf-8"))
        keys = {entry["label"]: entry["key"] for entry in report["backends"]}
        digests = {entry["path"]: entry["sha256"] for entry in report["outputs"]}
    except (OSError, ValueError, TypeError, KeyError):
        return None  # absent, or of another schema: as if it had never been built
    damaged = [path for path, known in digests.items() if _digest(directory / path) != known]
    return Record(keys, tuple(damaged))


def digest(path: Path) -> str:
    """The SHA-256 of a file's content, as the report has it for each output."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(path: Path) -> str | None:
    try:
        return digest(path)
    except OSError:
        return None
