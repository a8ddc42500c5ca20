"""The shortcut of a build with nothing to do: it reads the index and imports no compiler.

The index stores, for each request, the targets that it selects and the files that this depends on.
If these files, the inputs of every selected target and all outputs are unchanged, the targets are
fresh. In every other case, also after an error, the usual build runs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from olympus_cli.builder.freshness.index import INDEX, Index
from olympus_cli.spec.project_file import TOOL, find_project, is_pyproject, project_at

_MAX_BYTES = 1 << 24


class FreshTarget(NamedTuple):
    """The outcome of a target with nothing to do, and the warnings of its last build."""

    target: str
    warnings: list[str]
    status: str = "fresh"
    reasons: tuple[()] = ()
    reason: None = None
    seconds: float = 0.0
    failure: None = None
    staged: bool = False
    traced_because: tuple[()] = ()
    unchanged: str = ""


class FreshBuild(NamedTuple):
    """A request all of whose targets are fresh."""

    targets: list[FreshTarget]
    build_dir: Path
    root: Path


def request_key(names: tuple[str, ...], *settings: object) -> str:
    """Return the text that identifies a request: the names of targets, and options that matter.

    An option without a value has no effect on the key.
    """
    return repr((names, settings if any(settings) else ()))


def key_in_file(key: str, file: Path) -> str:
    """Return the key of a request to the project in `file`: a folder may have two such files."""
    return f"{file.name} {key}"


def fresh_build(project: str | None, key: str, *, save: bool) -> FreshBuild | None:
    """Return the targets of a request if all are fresh; None if there may be something to do.

    `project` is the path of the option --project. With `save`, an index is written again whose
    files have another status and the same content.
    """
    try:
        return _fresh_build(project, key, save=save)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        # the usual build reports it
        return None


def _fresh_build(project: str | None, key: str, *, save: bool) -> FreshBuild | None:
    file = find_project(Path.cwd()) if project is None else project_at(Path(project))
    if file is None:
        return None
    root = Path(os.path.realpath(file)).parent
    build_dir = root / _build_dir(file)
    if not os.path.exists(build_dir / INDEX):
        return None
    index = Index.load(os.path.realpath(build_dir), str(root))
    selection = index.requests.get(key_in_file(key, file))
    if selection is None or not selection.targets or not index.is_unchanged(selection.inputs):
        return None
    targets = []
    for name, (settings, labels) in selection.targets.items():
        entry = index.fresh(name, settings, labels)
        if entry is None:
            return None
        targets.append(FreshTarget(name, entry.warnings, unchanged=index.unchanged(entry)))
    if save and index.here.renewed:
        index.save_if_free()
    return FreshBuild(targets, build_dir, root)


def _build_dir(file: Path) -> str:
    """Return the build folder that a project's file names; that of an extended file is not found.

    Without an index there, the usual build reads the whole project.
    """
    with open(file, "rb") as opened:
        content = opened.read(_MAX_BYTES)
    if b"build-dir" not in content:
        return "build"
    import tomli  # most projects have the usual folder

    table: Any = tomli.loads(content.decode("utf-8-sig"))
    for key in (*(TOOL if is_pyproject(file) else ()), "project"):
        table = table.get(key, {})
    return str(table.get("build-dir", "build"))
