"""What this installation has and lacks, for `olympus doctor`."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import olympus
from olympus.artifact import COMPILERS
from olympus.errors import OlympusError
from olympus_cli.reports.json import reports_below
from olympus_cli.spec.project import find_project, load_project
from olympus_cli.versions import installed_version

__all__ = ["Cache", "Health", "examine"]

_PACKAGES = ("jaxlib", "numpy", "ml_dtypes", "click", "rich")


@dataclass(frozen=True)
class Cache:
    """The build folder of the project here: what is not rebuilt while nothing changes."""

    path: Path
    programs: int
    bytes: int


@dataclass(frozen=True)
class Health:
    """Versions by name (None: not installed), backends, and the cache if there is a project."""

    versions: dict[str, str | None]
    backends: tuple[olympus.BackendStatus, ...]
    cache: Cache | None
    problems: tuple[str, ...]


def examine(start: Path) -> Health:
    """The state of the installation, and of the project found upward from `start`."""
    versions: dict[str, str | None] = {
        "olympus": olympus.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}".lower(),
    }
    versions |= {
        name: installed_version(name) for name in (*_PACKAGES, *chain(*COMPILERS.values()))
    }
    backends = olympus.backends()
    problems = [
        f"{name} is not installed: pip install {name}"
        for name in _PACKAGES
        if versions[name] is None
    ]
    problems += [f"{b.name}: {b.note}" for b in backends if b.install]
    cache, trouble = _cache(start)
    return Health(versions, backends, cache, (*problems, *trouble))


def _cache(start: Path) -> tuple[Cache | None, tuple[str, ...]]:
    file = find_project(start)
    if file is None:
        return None, ()
    try:
        folder = load_project(file).build_dir
    except OlympusError as error:
        return None, (str(error),)
    files = [path for path in folder.rglob("*") if path.is_file()]
    programs = sum(1 for _ in reports_below(folder))
    return Cache(folder, programs, sum(path.stat().st_size for path in files)), ()
