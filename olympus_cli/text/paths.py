"""Places in the user's files, as text for messages."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def unwritable(folder: Path) -> str | None:
    """Return the reason why no file can be created in `folder`; None if one can.

    For a folder that does not exist, its nearest existing parent is checked.
    """
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        return f"{display_path(folder)} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        from olympus.files import write_refusal  # imports the compiler: only for an error

        return f"{os.strerror(write_refusal(folder)).lower()} in {display_path(folder)}"
    return None


def display_path(path: Path) -> str:
    """Return `path` as the user would write it: relative to the working directory if inside it."""
    with suppress(OSError, ValueError):  # not a valid name of a file
        here = Path.cwd()
        for way in (path, resolved(path)):
            if way.is_relative_to(here):
                return str(way.relative_to(here))
    return str(path)


def resolved(path: Path) -> Path:
    """Return `path` with all links resolved; `path` itself if no file can have that name.

    `Path.resolve` raises RuntimeError for a loop of links, and ValueError for a NUL character.
    """
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def quoted(place: str) -> str:
    """Return a "file:line" as two indented lines: the place, and the source line."""
    file, _, line = place.rpartition(":")
    if not line.isdigit():
        return f"  {place}"
    from olympus.files import source_line  # imports the compiler: only for an error

    source = source_line(file, int(line)) if len(line) < 10 else ""
    return f"  {display_path(Path(file))}:{line}" + (f"\n    {source}" if source else "")


def display_place(place: str) -> str:
    """Return a "file:line" with the file as the user would write it.

    >>> display_place("/elsewhere/model.py:41")
    '/elsewhere/model.py:41'
    """
    file, colon, line = place.rpartition(":")
    return f"{display_path(Path(file))}:{line}" if colon and line.isdigit() else place
