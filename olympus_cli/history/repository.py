"""The state of a project's git repository: the commit, its time, the branch, and changes."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from olympus_cli.history.points import utc_text
from olympus_cli.revisions.git import run_git

_TIME_LIMIT = 5.0  # seconds: a build does not wait longer for information
_NO_COMMIT = "(initial)"  # git's name for the commit of a repository without one
_NO_BRANCH = "(detached)"


@dataclass(frozen=True)
class RepositoryState:
    """The state of a repository; all None if it or git does not exist, or git takes too long."""

    commit: str | None = None
    commit_time: str | None = None
    dirty: bool | None = None
    branch: str | None = None


def repository_state(folder: Path) -> RepositoryState:
    """Return the state of the repository of a folder.

    It is dirty if a file that git tracks differs from the commit.
    """
    output = _output(folder, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    if output is None:
        return RepositoryState()
    lines = output.splitlines()
    heads = [line.split(" ", 2) for line in lines if line.startswith("# branch.")]
    facts = {parts[1]: parts[2] for parts in heads if len(parts) == 3}
    commit, branch = facts.get("branch.oid"), facts.get("branch.head")
    is_dirty = any(not line.startswith("#") for line in lines)
    if commit is None or commit == _NO_COMMIT:
        return RepositoryState(branch=branch)
    return RepositoryState(
        commit, commit_time(folder, commit), is_dirty, None if branch == _NO_BRANCH else branch
    )


def commit_time(folder: Path, revision: str) -> str | None:
    """Return the time of a revision, in the history's form; None if it is not known.

    >>> commit_time(Path.cwd(), "HEAD~1")
    '2026-01-31T12:00:00.000000Z'
    """
    output = _output(
        folder, "log", "-1", "--no-show-signature", "--format=%cI", "--end-of-options", revision
    )
    try:
        return utc_text(datetime.fromisoformat((output or "").strip()))
    except ValueError:
        return None


def _output(folder: Path, *arguments: str) -> str | None:
    try:
        done = run_git(folder, *arguments, time_limit=_TIME_LIMIT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout
