"""Git, as it is asked about the repository of a project, without what is configured to run."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["remove_stale", "remove_worktree", "run_git", "temporary_folder"]


def run_git(
    folder: Path,
    *arguments: str,
    time_limit: float | None = None,
    errors: str = "backslashreplace",
) -> subprocess.CompletedProcess[str]:
    """Run git, without what a hook that calls us has set for it, and without running hooks.

    `errors` is for what git prints that is not UTF-8: "surrogateescape" where that are paths.

    Raises:
        FileNotFoundError: git is not installed.
        subprocess.TimeoutExpired: it took longer than `time_limit` seconds, and was ended.

    Example: `run_git(folder, "rev-parse", "HEAD").stdout`.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    settings = (f"core.hooksPath={os.devnull}", "core.fsmonitor=false")  # both name programs
    options = [word for setting in settings for word in ("-c", setting)]
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *arguments],
        env={**environment, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,  # Ctrl-C is for us, who clear up
        timeout=time_limit,
    )
    printed = (each.decode("utf-8", errors) for each in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *printed)


_PREFIX = "olympus-diff-"
_LOCK = "lock"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder for one worktree, locked as long as this process or a child of it lives."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    try:
        descriptor = os.open(folder / f"{_LOCK}.new", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.rename(folder / f"{_LOCK}.new", folder / _LOCK)  # never there without being locked
            yield folder
        finally:
            os.close(descriptor)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_stale(top: Path) -> None:
    """Remove the worktrees and folders of processes that were killed.

    Folders of other users, and those that a living process has locked, stay.
    """
    for tree in _registered(top):
        if tree.parent.name == tree.name and tree.name.startswith(_PREFIX):
            with _unlocked(tree.parent) as is_stale:
                if is_stale:
                    remove_worktree(top, tree)
                    shutil.rmtree(tree.parent, ignore_errors=True)
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with _unlocked(folder) as is_stale:
            if is_stale:
                shutil.rmtree(folder, ignore_errors=True)


def remove_worktree(top: Path, tree: Path) -> None:
    """Remove a worktree and its registration, also one that was only begun."""
    run_git(top, "worktree", "remove", "--force", "--force", os.fspath(tree))


def _registered(top: Path) -> list[Path]:
    listed = run_git(top, "worktree", "list", "--porcelain", "-z", errors="surrogateescape").stdout
    word = "worktree "
    return [Path(each[len(word) :]) for each in listed.split("\0") if each.startswith(word)]


@contextmanager
def _unlocked(folder: Path) -> Iterator[bool]:
    """Whether the process that made a folder of ours is gone; it is locked meanwhile."""
    descriptor = None
    with suppress(OSError):  # it is not there, has no lock, or is not ours
        if os.lstat(folder).st_uid == os.getuid():
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    if descriptor is None:
        yield False
        return
    try:
        is_free = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            is_free = False
        yield is_free
    finally:
        os.close(descriptor)
