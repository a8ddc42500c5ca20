"""The project at a revision: a temporary git worktree, which is removed at the end.

Git does the checkout, with the hooks of the repository disabled.  The user's working tree, index
and branches are not changed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from olympus.errors import OlympusError, UsageError
from olympus_cli.faults.failure import Failure
from olympus_cli.revisions.git import remove_stale, remove_worktree, run_git, temporary_folder
from olympus_cli.spec.model import Checkout
from olympus_cli.text.paths import display_path

PREFIX = "git:"
_SYMLINK = "120000"  # the mode of a symbolic link in git


def split_revision(text: str) -> tuple[str, str | None]:
    """Return the revision, and the entry or target or None, of "git:REV" or "git:REV:TARGET".

    >>> split_revision("git:HEAD~1:model:forward")
    ('HEAD~1', 'model:forward')
    """
    revision, _, target = text.removeprefix(PREFIX).partition(":")
    return revision, target or None


def repository_of(folder: Path, revision: str) -> tuple[Path, str]:
    """Return the folder of the working tree that `folder` is in, and the commit of a revision.

    Raises:
        UsageError: git is not installed, there is no repository, or it has no such revision.
    """
    if shutil.which("git") is None:
        raise UsageError(f"{PREFIX}{revision} needs git, which is not installed")
    why = f"{display_path(folder)} is not in a git repository"
    top = Path(_git(folder, "rev-parse", "--show-toplevel", why=why)).resolve()
    commit = _git(
        folder,
        *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"),
        why=f"the repository {top} has no revision {revision!r}",
    )
    return top, commit


@contextmanager
def checkout(revision: str, folder: Path) -> Iterator[Checkout]:
    """Check out a revision of the repository of `folder`; the files exist until the context ends.

    Worktrees of processes that were killed are removed.

    Raises:
        UsageError: git is not installed, there is no repository, it has no such revision, or git
            cannot check it out.
    """
    top, commit = repository_of(folder, revision)
    remove_stale(top)
    with temporary_folder() as temporary:
        tree = temporary / temporary.name  # git names it by its last part
        try:
            _git(
                top,
                *("worktree", "add", "--quiet", "--detach", str(tree), commit),
                why=f"revision {revision!r} cannot be checked out",
            )
            checkout = Checkout(revision, tree, top)
            _keep_links_inside(checkout)
            yield checkout
        finally:
            remove_worktree(top, tree)


def _keep_links_inside(checkout: Checkout) -> None:
    """Redirect symbolic links that leave the checkout.

    A relative link to a file outside the repository gets the path of that file.  An absolute link
    to a file of the repository is redirected from the working tree to the checkout.
    """
    listed = run_git(checkout.tree, "ls-files", "--stage", "-z", errors="surrogateescape").stdout
    for entry in listed.split("\0"):
        facts, _, name = entry.partition("\t")
        link = checkout.tree / name
        if not facts.startswith(_SYMLINK) or not link.is_symlink():
            continue
        text = os.readlink(link)
        target = Path(os.path.normpath(checkout.top / Path(name).parent / text))
        if not os.path.isabs(text) and target.is_relative_to(checkout.top):
            continue
        link.unlink()
        link.symlink_to(_goal(checkout, target))


def _goal(checkout: Checkout, target: Path) -> Path:
    """Return the file of the checkout for the target of a link, or the target itself."""
    inside = target.is_relative_to(checkout.top)
    places = (
        checkout.tree / target.relative_to(checkout.top) if inside else None,
        checkout.moved(target),
    )
    return next((path for path in places if path is not None and os.path.lexists(path)), target)


class Checkouts(ExitStack):
    """A context with checkouts of revisions, each checked out once, until the context ends."""

    def __init__(self) -> None:
        super().__init__()
        self._checkouts: dict[tuple[str, Path], Checkout] = {}

    def of(self, revision: str, folder: Path) -> Checkout:
        """Return the checkout of a revision; raise the errors of `checkout`."""
        key = revision, folder
        if key not in self._checkouts:
            self._checkouts[key] = self.enter_context(checkout(revision, folder))
        return self._checkouts[key]


@contextmanager
def blaming_revision(checkout: Checkout) -> Iterator[None]:
    """Report an error in the context as an error of the revision, with file names as in git."""
    try:
        yield
    except OlympusError as error:
        failure = Failure.of(error)
        name = f"{checkout.revision}:"
        message, hint, location = (
            text
            and text.replace(f"{checkout.tree}{os.sep}", name).replace(str(checkout.tree), name)
            for text in (failure.message, failure.hint, failure.location)
        )
        renamed = replace(
            failure,
            message=f"revision {checkout.revision!r} cannot be compared: {message}",
            hint=hint,
            location=location,
        )
        raise renamed.error() from error


def _git(folder: Path, *arguments: str, why: str) -> str:
    """Return the output of git; raise UsageError with `why` and git's own reason if it fails."""
    done = run_git(folder, *arguments, errors="surrogateescape")
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise UsageError(f"{why}: {lines[-1]}" if lines else why)
    return done.stdout.removesuffix("\n")  # the name of a folder may end in a space or a line break
