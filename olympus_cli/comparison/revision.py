"""The project at a revision: a temporary worktree of git, which is removed in the end.

Git does the checkout, with the hooks of the repository switched off; nothing of the user's working
tree, index or branches is touched.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from olympus.errors import OlympusError, UsageError
from olympus_cli.faults.failure import Failure
from olympus_cli.git import run_git

__all__ = [
    "PREFIX",
    "Checkout",
    "Checkouts",
    "blaming_revision",
    "checkout",
    "split_revision",
]

PREFIX = "git:"


def split_revision(text: str) -> tuple[str, str | None]:
    """The revision and the entry or target, if it is said, of "git:REV" or "git:REV:TARGET".

    >>> split_revision("git:HEAD~1:model:forward")
    ('HEAD~1', 'model:forward')
    """
    revision, _, target = text.removeprefix(PREFIX).partition(":")
    return revision, target or None


class Checkout:
    """A revision's files: `tree` is the temporary worktree, `top` the folder that it is one of."""

    def __init__(self, revision: str, tree: Path, top: Path) -> None:
        self.revision, self.tree, self.top = revision, tree, top

    def counterpart(self, folder: Path) -> Path:
        """Where a folder of the working tree is in the worktree.

        Raises:
            UsageError: the revision does not have it.
        """
        place = folder.resolve().relative_to(self.top)
        found = self.tree / place
        if not found.is_dir():
            raise UsageError(f"the revision has no folder {place}")
        return found


@contextmanager
def checkout(revision: str, folder: Path) -> Iterator[Checkout]:
    """The files of a revision of the repository that `folder` is in, as long as the context lasts.

    Raises:
        UsageError: git is not installed, there is no repository, it has no such revision, or git
            cannot check it out.
    """
    if shutil.which("git") is None:
        raise UsageError(f"{PREFIX}{revision} needs git, which is not installed")
    top = _git(folder, "rev-parse", "--show-toplevel", why="there is no git repository here")
    commit = _git(
        folder,
        *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"),
        why=f"the repository {top} has no revision {revision!r}",
    )
    temporary = tempfile.mkdtemp(prefix="olympus-diff-")
    tree = Path(temporary).resolve() / Path(temporary).name  # git calls it by its last part
    try:
        _git(
            Path(top),
            *("worktree", "add", "--quiet", "--detach", str(tree), commit),
            why=f"revision {revision!r} cannot be checked out",
        )
        yield Checkout(revision, tree, Path(top).resolve())
    finally:
        run_git(Path(top), "worktree", "remove", "--force", str(tree))
        shutil.rmtree(temporary, ignore_errors=True)
        run_git(Path(top), "worktree", "prune")


class Checkouts(ExitStack):
    """The revisions that are asked for, each checked out once, until the context ends."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[tuple[str, Path], Checkout] = {}

    def of(self, revision: str, folder: Path) -> Checkout:
        """The files of a revision, as `checkout` has them, and its errors."""
        key = revision, folder
        if key not in self._made:
            self._made[key] = self.enter_context(checkout(revision, folder))
        return self._made[key]


@contextmanager
def blaming_revision(found: Checkout) -> Iterator[None]:
    """Say of an error within that it is one of the revision, and name its files as git does."""
    try:
        yield
    except OlympusError as error:
        failure = Failure.of(error)
        name = f"{found.revision}:"
        message, hint, location = (
            text and text.replace(f"{found.tree}{os.sep}", name).replace(str(found.tree), name)
            for text in (failure.message, failure.hint, failure.location)
        )
        told = replace(
            failure,
            message=f"revision {found.revision!r} cannot be compared: {message}",
            hint=hint,
            location=location,
        )
        raise told.error() from error


def _git(folder: Path, *arguments: str, why: str) -> str:
    """What git prints; UsageError with `why` and git's own reason if it fails."""
    done = run_git(folder, *arguments)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise UsageError(f"{why}: {said[-1]}" if said else why)
    return done.stdout.strip()
