"""The files that changed since a revision, and the project's text at that revision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from olympus.errors import SpecError, UsageError
from olympus_cli.revisions.git import run_git
from olympus_cli.revisions.revision import PREFIX, repository_of
from olympus_cli.spec.toml import TomlFile, load, parse_toml
from olympus_cli.text.paths import display_path, resolved


@dataclass(frozen=True)
class Changes:
    """The difference of the working tree from a commit.

    `top` is the folder of the working tree, without symbolic links, and `paths` are the changed,
    added and removed files in it, as absolute paths. Files that git ignores are not among them.
    """

    revision: str
    commit: str
    top: Path
    paths: frozenset[Path]

    def has(self, path: Path) -> bool:
        """Return True if a file changed, or the submodule that it is in."""
        real = resolved(path)
        return any(place in self.paths for place in (path, real, *real.parents))

    def reader(self) -> Callable[[Path], TomlFile]:
        """Return a function that reads a TOML file as it was; files of no repository as they are.

        It raises SpecError for a file that the commit does not have, or that is not TOML.
        """
        return self._read

    def _read(self, path: Path) -> TomlFile:
        real = resolved(path)
        if not real.is_relative_to(self.top):
            return load(path)
        name = real.relative_to(self.top).as_posix()
        shown = run_git(self.top, "show", f"{self.commit}:{name}", errors="surrogateescape")
        if shown.returncode:
            raise SpecError(f"{display_path(path)} is not in revision {self.revision!r}")
        return parse_toml(path, shown.stdout)


def changes_since(text: str, folder: Path) -> Changes:
    """Return the changes of the repository of `folder` since the revision "git:REV".

    If the revision is that of another branch, these are the changes since the branches parted.

    Raises:
        UsageError: the text has another form, git is not installed, there is no repository, or it
            has no such revision.
    """
    revision = text.removeprefix(PREFIX)
    if revision == text or not revision:
        hint = f"write --changed-since {PREFIX}{revision or 'main'}"
        raise UsageError(
            f"--changed-since {text!r} is not {PREFIX}REV, a revision of git", hint=hint
        )
    top, commit = repository_of(folder, revision)
    parted = run_git(top, "merge-base", commit, "HEAD")
    if parted.returncode == 0:  # in a shallow clone, the common commit may be absent
        commit = parted.stdout.strip()
    words = ("diff", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", commit, "--")
    names = {*_names(top, *words), *_names(top, "ls-files", "--others", "--exclude-standard", "-z")}
    return Changes(revision, commit, top, frozenset(top / name for name in names))


def _names(top: Path, *arguments: str) -> list[str]:
    listed = run_git(top, *arguments, errors="surrogateescape")
    if listed.returncode:
        raise UsageError(
            f"git cannot list the changes in {display_path(top)}: {listed.stderr.strip()}"
        )
    return [name for name in listed.stdout.split("\0") if name]
