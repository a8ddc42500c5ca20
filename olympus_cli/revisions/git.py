"""Git commands on the repository of a project, without hooks and other configured programs."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def run_git(
    folder: Path,
    *arguments: str,
    time_limit: float | None = None,
    errors: str = "backslashreplace",
) -> subprocess.CompletedProcess[str]:
    """Run git without its hooks, and without the variables that a calling hook has set for git.

    `errors` is the error handler for output that is not UTF-8: "surrogateescape" for paths.

    Raises:
        FileNotFoundError: git is not installed.
        subprocess.TimeoutExpired: git took longer than `time_limit` seconds, and was killed.

    Example: `run_git(folder, "rev-parse", "HEAD").stdout`.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    settings = (f"core.hooksPath={os.devnull}", "core.fsmonitor=false")  # both can name programs
    options = [word for setting in settings for word in ("-c", setting)]
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *arguments],
        env={**environment, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,  # Ctrl-C must reach only this process, which cleans up
        timeout=time_limit,
    )
    printed = (stream.decode("utf-8", errors) for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *printed)


_PREFIX = "olympus-diff-"
_LOCK = "lock"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a folder for one worktree, locked while this process or a child of it runs.

    The folder is removed when the context ends.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    try:
        descriptor = os.open(folder / f"{_LOCK}.new", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.rename(folder / f"{_LOCK}.new", folder / _LOCK)  # already locked under this name
            yield folder
        finally:
            os.close(descriptor)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_stale(top: Path) -> None:
    """Remove the worktrees and folders of processes that were killed.

    Folders of other users, and folders that a running process has locked, are not removed.
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
    """Remove a worktree and its registration, also if its creation was interrupted."""
    run_git(top, "worktree", "remove", "--force", "--force", os.fspath(tree))


def _registered(top: Path) -> list[Path]:
    listed = run_git(top, "worktree", "list", "--porcelain", "-z", errors="surrogateescape").stdout
    word = "worktree "
    return [Path(line[len(word) :]) for line in listed.split("\0") if line.startswith(word)]


@contextmanager
def _unlocked(folder: Path) -> Iterator[bool]:
    """Yield True if the process that created a folder has ended; lock the folder in the context.

    Yield False for a folder of another user, or without a lock.
    """
    descriptor = None
    with suppress(OSError):  # the folder or its lock does not exist, or is another user's
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
