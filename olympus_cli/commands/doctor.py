"""`olympus doctor`: show versions, backends, the cache and what is missing."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import click

import olympus
from olympus.artifact import COMPILERS
from olympus.errors import OlympusError
from olympus_cli.options.shared import Command, common_options
from olympus_cli.program.versions import installed_version
from olympus_cli.reports.json import reports_below
from olympus_cli.spec.project import find_project, load_project
from olympus_cli.terminal import console
from olympus_cli.text.units import byte_size

_MAX = 8  # devices that the table names


@click.command("doctor", cls=Command)
@common_options
def command(as_json: bool) -> None:
    """\b
    Examples:
      olympus doctor
      olympus doctor --json
    """
    health = examine(Path.cwd())
    if as_json:
        cache = health.cache and {**asdict(health.cache), "path": str(health.cache.path)}
        backends = [status._asdict() for status in health.backends]
        console.print_json({**asdict(health), "backends": backends, "cache": cache})
    else:
        _show(health)


def _devices(names: tuple[str, ...]) -> str:
    """Their names, where they are few."""
    return ", ".join(names) if len(names) <= _MAX else f"{len(names)}: olympus devices"


def _show(health: Health) -> None:
    versions = [(name, version or "not installed") for name, version in health.versions.items()]
    console.table(("software", "version"), versions)
    console.data("")
    rows = [
        (b.name, "yes" if b.available else "no", _devices(b.devices), b.note)
        for b in health.backends
    ]
    console.table(("backend", "available", "devices", "note"), rows)
    console.data("")
    if health.cache is None:
        console.data("cache    no project here")
    else:
        count, size = health.cache.programs, byte_size(health.cache.bytes)
        programs = f"{count} program" if count == 1 else f"{count} programs"
        console.data(f"cache    {health.cache.path}: {programs}, {size}")
    for problem in health.problems:
        console.data(f"missing  {problem}")
    for backend in health.backends:
        if backend.install:
            console.data(f"install  {backend.name}: {backend.install}")


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
