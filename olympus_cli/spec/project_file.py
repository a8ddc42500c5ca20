"""The search for the file of a project, without the compiler or the user's program.

It is `olympus.toml`, or a `pyproject.toml` with the table `[tool.olympus]`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

FILE = "olympus.toml"
PYPROJECT = "pyproject.toml"
#: The key path of a project in a pyproject.toml.
TOOL = ("tool", "olympus")

_HEADER = re.compile(r"^\s*\[\s*tool\s*\.\s*[\"']?olympus[\"']?\s*[.\]]", re.MULTILINE)
_MAX_BYTES = 16 * 2**20


def find_project(start: Path) -> Path | None:
    """Return the nearest file of a project in `start` or a folder above it; None if none has one.

    It may be a pipe or a device, which `load_project` refuses.
    """
    folder = Path(os.path.realpath(start))
    places = (project_in(place) for place in (folder, *folder.parents))
    return next((file for file in places if file is not None), None)


def project_in(folder: Path) -> Path | None:
    """Return the file of the project in `folder`; None if it has none.

    An olympus.toml has precedence over a pyproject.toml.
    """
    file, pyproject = folder / FILE, folder / PYPROJECT
    if is_named(file):
        return file
    return pyproject if has_project(pyproject) else None


def project_at(path: Path) -> Path:
    """Return the file of the project at `path`, a folder or a file; it may not exist."""
    return (project_in(path) or path / FILE) if os.path.isdir(path) else path


def has_project(pyproject: Path) -> bool:
    """Return True if a pyproject.toml has the table `[tool.olympus]`.

    A file that is not TOML has it if a line is its header: the error is reported when it is read.
    """
    if not os.path.isfile(pyproject):
        return False
    try:
        with open(pyproject, "rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    if "olympus" not in text:
        return False
    return _HEADER.search(text) is not None or isinstance(_table(text), dict)


def _table(text: str) -> Any:
    """Return the value of `tool.olympus` in a TOML text; None if it has none."""
    import tomli  # most folders have no pyproject.toml that names OLYMPUS

    try:
        value: Any = tomli.loads(text)
    except (ValueError, RecursionError):
        return None
    for key in TOOL:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_pyproject(path: Path) -> bool:
    """Return True if the project in a file is its table `[tool.olympus]`."""
    return path.name == PYPROJECT


def is_named(path: Path) -> bool:
    """Return True if `path` exists and is not a folder: a file, a pipe, a device or a socket."""
    return os.path.exists(path) and not os.path.isdir(path)
