"""The place of `olympus.toml`, found without the compiler or the user's program."""

from __future__ import annotations

import os
from pathlib import Path

from olympus_cli.places import resolved

__all__ = ["FILE", "find_project"]

FILE = "olympus.toml"


def find_project(start: Path) -> Path | None:
    """The nearest `olympus.toml` in `start` or a folder above it."""
    folder = resolved(start)
    places = (place / FILE for place in (folder, *folder.parents))
    return next((file for file in places if os.path.isfile(file)), None)
