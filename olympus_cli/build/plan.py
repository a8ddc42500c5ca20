"""What has to be built: the tasks of a build, and why a task is not up to date.

Target specs and what the build directory holds enter; tasks, and for the keys of a freshly lowered
program a reason to build it or None, leave.  A target is built for all its backends at once,
because one bundle holds them all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olympus_cli.build.store import MARKER
from olympus_cli.spec.model import BackendSpec, TargetSpec

__all__ = ["Record", "Task", "backend_labels", "read_record"]


@dataclass(frozen=True)
class Record:
    """What the last build of a target left: a key per backend label, and missing files if any."""

    keys: Mapping[str, str]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One target to bring up to date; `staging` is None when nothing may be built (--frozen)."""

    spec: TargetSpec
    staging: Path | None
    log: Path
    record: Record | None
    force: bool = False

    def reason_to_build(self, keys: Mapping[str, str]) -> str | None:
        """Why outputs for `keys` have to be built, in words; None when they are there already."""
        if self.force:
            return "asked for by --force"
        if self.record is None:
            return "it has not been built before"
        for label, key in keys.items():
            if label not in self.record.keys:
                return f"it has not been built for {label} before"
            if self.record.keys[label] != key:
                return f"its program for {label}, or what compiles it, has changed"
        for label in self.record.keys:
            if label not in keys:
                return f"it is no longer built for {label}"
        if self.record.missing:
            return f"{self.record.missing[0]} is missing or has another size"
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
        sizes = {entry["path"]: entry["bytes"] for entry in report["outputs"]}
    except (OSError, ValueError, TypeError, KeyError):
        return None  # absent, or of another schema: as if it had never been built
    missing = [path for path, size in sizes.items() if _size(directory / path) != size]
    return Record(keys, tuple(missing))


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
