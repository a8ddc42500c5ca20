"""The selection of the targets whose inputs changed since a revision."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from olympus.errors import OlympusError, UsageError
from olympus_cli.builder.freshness.index import Index
from olympus_cli.builder.selection.inputs_of import input_files
from olympus_cli.revisions.changes import Changes, changes_since
from olympus_cli.spec.entries import is_entry
from olympus_cli.spec.model import Project, TargetSpec
from olympus_cli.spec.project_source import ProjectSource, read_project
from olympus_cli.spec.resolve import Request, expanded, open_project
from olympus_cli.terminal import console
from olympus_cli.text.paths import resolved

#: The tables of a project's file that every target depends on.
_COMMON = ("budget", "bench", "device")


def changed(
    specs: Sequence[TargetSpec], project: Project, since: str | None
) -> Sequence[TargetSpec]:
    """Return the targets whose inputs changed since "git:REV", in order; all of them for None.

    The inputs are the files of `input_files`, and the values in olympus.toml. A target whose files
    are unknown has changed. If no target changed, a message reports it.

    Raises:
        UsageError: as `changes_since`.
    """
    if since is None:
        return specs
    changes = changes_since(since, project.root)
    tables = _ChangedTables(project, changes)
    index = Index.load(os.path.realpath(project.build_dir), os.path.realpath(project.root))
    own = frozenset(map(resolved, project.files))  # their tables are compared
    paths = {path for path in changes.paths if resolved(path) not in own}
    changes = replace(changes, paths=frozenset(paths))
    has = cache(changes.has)  # targets share most of their inputs
    selected = [spec for spec in specs if tables.has(spec) or _has_changed(spec, has, index)]
    if not selected:
        console.message(f"no target changed since {since}")
    return selected


def changed_names(names: Sequence[str], request: Request, since: str | None) -> list[str]:
    """Return the names of programs, as `expanded` does, of which the inputs changed.

    Raises:
        UsageError: as `expanded` and `changes_since`, or a name is an entry.
    """
    if since is None:
        return expanded(names, request)
    if entry := next((name for name in names if is_entry(name)), None):
        raise UsageError(f"--changed-since selects targets, and {entry!r} is an entry")
    project = open_project(request.project, request.devices)
    return [spec.name for spec in changed(project.select(names), project, since)]


def _has_changed(spec: TargetSpec, has: Callable[[Path], bool], index: Index) -> bool:
    files = input_files(spec, index)
    return files is None or any(map(has, files))


class _ChangedTables:
    """The comparison of the tables of targets with those of a revision."""

    def __init__(self, project: Project, changes: Changes) -> None:
        self._now = self._then = None
        if not any(changes.has(path) for path in project.files):
            return
        self._now = read_project(project.file)
        try:
            self._then = read_project(project.file, changes.reader())
        except OlympusError:  # it did not exist, or was wrong
            self._then = None

    def has(self, spec: TargetSpec) -> bool:
        """Return True if the values of a target in olympus.toml differ."""
        if self._now is None:
            return False
        name = spec.name.partition("@")[0]
        return self._then is None or _values(self._now, name) != _values(self._then, name)


def _values(source: ProjectSource, name: str) -> list[Any]:
    """Return the values of a project's text that a target depends on."""
    target = source.data["target"].get(name)
    settings = source.data["project"].get("python-path")
    return [target, settings, *(source.data[table] for table in _COMMON)]
