"""The store of compilation results: its folder, from olympus.toml and the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from olympus_cli.spec.section import Section

#: The use of stored results: "read" and "write" them, or only "write" those of this compilation.
Use = Literal["read", "write"]

#: The variable of the environment, which takes precedence.
FOLDER = "OLYMPUS_CACHE_DIR"


@dataclass(frozen=True)
class CacheSpec:
    """The store of results; `folder` is None without one.

    `is_default` is True if the user did not choose the folder.
    """

    folder: Path | None = None
    is_default: bool = False


def environment_cache() -> CacheSpec:
    """Return the store for a program without a project."""
    return _with_environment(CacheSpec(_default_folder(), is_default=True))


def cache_of(settings: Section, root: Path) -> CacheSpec:
    """Return the store of a project; `settings` is its table, and `root` its folder.

    Raises:
        SpecError: a key has an invalid value.
    """
    value = settings.data.get("cache", True)
    if isinstance(value, str) and value:
        return _with_environment(CacheSpec(root / settings.path("cache", "")))
    if not isinstance(value, bool):
        settings.wrong("cache", "true, false or the path of a folder", value)
    return environment_cache() if value else CacheSpec()


def _with_environment(spec: CacheSpec) -> CacheSpec:
    path = os.environ.get(FOLDER)
    if path is None:
        return spec
    return CacheSpec(Path(path).absolute() if path else None)


def _default_folder() -> Path | None:
    """Return the folder in `XDG_CACHE_HOME`, or in `~/.cache`; None for a user without a home."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    base = folder if os.path.isabs(folder) else os.path.expanduser("~/.cache")
    return Path(base, "olympus", "results") if os.path.isabs(base) else None
