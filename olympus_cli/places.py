"""Places in the user's files, as text for messages."""

from __future__ import annotations

import linecache
from pathlib import Path

__all__ = ["quoted", "shown"]


def shown(path: Path) -> str:
    """`path` as the user would write it: relative to the working directory when inside it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def quoted(place: str) -> str:
    """A "file:line" as two indented lines: where it is, and what the line says."""
    file, _, line = place.rpartition(":")
    if not line.isdigit():
        return f"  {place}"
    source = linecache.getline(file, int(line)).strip()
    return f"  {shown(Path(file))}:{line}" + (f"\n    {source}" if source else "")
