"""The search for `olympus.toml`, without the compiler or the user's program."""

from __future__ import annotations

import os
from pathlib import Path

FILE = "olympus.toml"


def find_project(start: Path) -> Path | None:
    """Return the nearest `olympus.toml` in `start` or a folder above it; None if there is none.

    It may be a pipe or a device, which `load_project` refuses.
    """
    folder = Path(os.path.realpath(start))
    places = (place / FILE for place in (folder, *folder.parents))
    return next((file for file in places if is_named(file)), None)


def is_named(path: Path) -> bool:
    """Return True if `path` exists and is not a folder: a file, a pipe, a device or a socket."""
    return os.path.exists(path) and not os.path.isdir(path)
