"""`olympus doctor`: show versions, backends, the cache and what is missing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from olympus_cli import console
from olympus_cli.health import Health, examine
from olympus_cli.options import Command, common_options
from olympus_cli.units import byte_size

__all__ = ["command"]

_MOST = 8  # devices that the table names


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
    return ", ".join(names) if len(names) <= _MOST else f"{len(names)}: olympus devices"


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
        found, size = health.cache.programs, byte_size(health.cache.bytes)
        programs = f"{found} program" if found == 1 else f"{found} programs"
        console.data(f"cache    {health.cache.path}: {programs}, {size}")
    for problem in health.problems:
        console.data(f"missing  {problem}")
    for backend in health.backends:
        if backend.install:
            console.data(f"install  {backend.name}: {backend.install}")
