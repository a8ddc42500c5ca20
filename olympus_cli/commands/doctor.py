"""`olympus doctor`: show versions, backends, the cache and what is missing."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import click

import olympus
from olympus.artifact import COMPILERS
from olympus.errors import OlympusError
from olympus_cli.builder.results.local import LocalStore
from olympus_cli.options.shared import Command, common_options
from olympus_cli.program.versions import installed_version
from olympus_cli.reports.json import reports_below
from olympus_cli.spec.cache import CacheSpec, environment_cache
from olympus_cli.spec.model import Project
from olympus_cli.spec.project import find_project, load_project
from olympus_cli.spec.project_file import PYPROJECT, has_project
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path
from olympus_cli.text.units import byte_size, counted

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
        store = health.store and {**asdict(health.store), "path": str(health.store.path)}
        backends = [status._asdict() for status in health.backends]
        data = {**asdict(health), "backends": backends, "cache": cache, "store": store}
        console.print_json(data)
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
    if health.store is None:
        console.data("store    off")
    else:
        stored = counted(health.store.results, "result")
        console.data(f"store    {health.store.path}: {stored}, {byte_size(health.store.bytes)}")
        if health.store.remote is not None:
            console.data(f"remote   {health.store.remote}")
        if health.store.problem is not None:
            console.data(f"store    {health.store.problem}")
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
class StoreHealth:
    """The store of compilation results, and the URL of the remote one without credentials.

    `problem` is the reason why it cannot be written.
    """

    path: Path
    results: int
    bytes: int
    problem: str | None
    remote: str | None


@dataclass(frozen=True)
class Health:
    """Versions by name (None: not installed), backends, the cache of a project, and the store."""

    versions: dict[str, str | None]
    backends: tuple[olympus.BackendStatus, ...]
    cache: Cache | None
    store: StoreHealth | None
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
    project, trouble = _project(start)
    cache = None if project is None else _cache(project.build_dir)
    store = _store(environment_cache() if project is None else project.cache)
    return Health(versions, backends, cache, store, (*problems, *trouble))


def _project(start: Path) -> tuple[Project | None, tuple[str, ...]]:
    """Return the project found upward from a folder, and what is wrong with its files."""
    file = find_project(start)
    if file is None:
        return None, ()
    pyproject = file.with_name(PYPROJECT)
    text = f"{display_path(pyproject)} has a table [tool.olympus], which {file.name} replaces"
    ignored = (text,) if file != pyproject and has_project(pyproject) else ()
    try:
        return load_project(file), ignored
    except OlympusError as error:
        return None, (*ignored, str(error))


def _store(spec: CacheSpec) -> StoreHealth | None:
    if spec.folder is None:
        return None
    files = [*LocalStore(spec.folder).files()]
    problem, folder = None, spec.folder
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        problem = f"{folder} cannot be written: results are not stored"
    return StoreHealth(
        spec.folder, len(files), sum(file.bytes for file in files), problem, spec.remote
    )


def _cache(folder: Path) -> Cache:
    files = [path for path in folder.rglob("*") if path.is_file()]
    programs = sum(1 for _ in reports_below(folder))
    return Cache(folder, programs, sum(path.stat().st_size for path in files))
