"""The paths in the table `[defaults]` of an extended file, relative to the extending project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from olympus_cli.spec.entries import program_file


def moved_path(text: str, folder: Path, root: Path) -> str:
    """Return a path relative to `folder` as one relative to `root`; an absolute one unchanged.

    >>> moved_path("data/x.npy", Path("/a/base"), Path("/a/b"))
    '../base/data/x.npy'
    """
    return text if os.path.isabs(text) else os.path.relpath(folder / text, root)


def moved_entry(text: str, folder: Path, root: Path) -> str:
    """Return an entry of a file relative to `root`; an entry of a module unchanged.

    >>> moved_entry("train.py:step", Path("/a/base"), Path("/a/b"))
    '../base/train.py:step'
    """
    file = program_file(text)
    if file is not None:
        path = moved_path(file.path, folder, root)
        return path if file.part is None else f"{path}:{file.part}"
    place, colon, name = text.rpartition(":")
    is_file = place.endswith(".py") or "/" in place
    return f"{moved_path(place, folder, root)}:{name}" if colon and is_file else text


def moved_defaults(table: Any, folder: Path, root: Path) -> Any:
    """Return the keys of `[defaults]` with their entries and files relative to `root`."""
    if not isinstance(table, dict):
        return table
    moved = dict(table)
    if isinstance(entry := table.get("entry"), str):
        moved["entry"] = moved_entry(entry, folder, root)
    for key in ("args", "static", "inputs"):
        if key in table:
            moved[key] = _moved(table[key], folder, root, key == "inputs")
    return moved


def _moved(value: Any, folder: Path, root: Path, with_files: bool) -> Any:
    if isinstance(value, list):
        return [_moved(item, folder, root, with_files) for item in value]
    if not isinstance(value, dict):
        return value
    moved = {key: _moved(item, folder, root, with_files) for key, item in value.items()}
    for name in ("from", "type"):
        if isinstance(entry := value.get(name), str) and ":" in entry:
            moved[name] = moved_entry(entry, folder, root)
    if with_files and isinstance(file := value.get("file"), str):
        moved["file"] = moved_path(file, folder, root)
    return moved
