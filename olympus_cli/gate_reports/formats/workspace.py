"""Places in the form of a CI system: relative to the folder of its checkout."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from olympus_cli.gate_reports.gate_report import split_place


def first_in_workspace(places: Iterable[str]) -> tuple[str, int] | None:
    """Return the path and the line of the first place in a file of the workspace, or None.

    The workspace is the folder in `GITHUB_WORKSPACE` or `CI_PROJECT_DIR`, or else the root of the
    repository, or else the working directory.
    """
    workspace = _workspace()
    for place in places:
        if (parts := split_place(place)) is None:
            continue
        with suppress(OSError, ValueError):  # a name that no file can have
            path = Path(os.path.realpath(parts[0]))
            if path.is_relative_to(workspace) and path.is_file():
                return path.relative_to(workspace).as_posix(), parts[1]
    return None


def _workspace() -> Path:
    if named := os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR"):
        return Path(os.path.realpath(named))
    here = Path(os.path.realpath("."))
    roots = (folder for folder in (here, *here.parents) if (folder / ".git").exists())
    return next(roots, here)
