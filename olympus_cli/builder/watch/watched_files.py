"""The files whose changes start a build again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from olympus_cli.spec.model import Project

#: Folders, at any depth, whose files no program is made of.
_FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", "site-packages"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox"),
        *(".idea", ".vscode", ".ipynb_checkpoints"),
    )
)
#: The ends and starts of the names of files that editors and Python write beside a file.
_ENDS = (".pyc", ".pyo", "~", ".swp", ".swo", ".swx", ".tmp", ".sqlite-journal")
_STARTS = (".#", "#", ".~")
_NAMES = frozenset(("4913", ".DS_Store"))  # Vim tests a folder with the file 4913


@dataclass(frozen=True)
class WatchedFiles:
    """The folders to watch with all folders in them, and single files in other folders.

    Files below `ignored`, the files that the command itself writes, are not watched.
    """

    folders: tuple[Path, ...]
    files: tuple[Path, ...] = ()
    ignored: tuple[Path, ...] = ()

    @staticmethod
    def of(
        project: Project, more: Iterable[Path] = (), written: Iterable[Path] = ()
    ) -> WatchedFiles:
        """Return the files of a project.

        `more` are files that the command reads, and `written` its own files.
        """
        targets = project.targets.values()
        paths = dict.fromkeys(folder for target in targets for folder in target.python_path)
        folders = _outermost([project.root, *(path for path in paths if path.is_dir())])
        own = [] if project.history is None else [project.history]
        files = [file for file in (*project.files, *more) if not _is_below(file, folders)]
        ignored = (project.build_dir, *own, *written)
        return WatchedFiles(folders, tuple(files), _outermost(ignored))

    def has(self, path: str | Path) -> bool:
        """Return True if a change of `path` starts a build.

        >>> WatchedFiles((Path("/p"),), ignored=(Path("/p/build"),)).has("/p/model.py")
        True
        """
        path = Path(path)
        if path in self.files:
            return True
        name = path.name
        if name in _NAMES or name.endswith(_ENDS) or name.startswith(_STARTS):
            return False
        if _is_below(path, self.ignored):
            return False
        inside = [path.relative_to(folder) for folder in self.folders if _is_below(path, [folder])]
        return bool(inside) and _FOLDERS.isdisjoint(inside[0].parts)


def _outermost(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the real paths of the folders that are not inside another of them."""
    known = dict.fromkeys(map(_real, folders))
    return tuple(one for one in known if not _is_below(one.parent, [k for k in known if k != one]))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    """Return True if a path is one of the folders, or inside one."""
    return any(path.is_relative_to(folder) for folder in folders)
