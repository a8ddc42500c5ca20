"""`olympus cache`: list, verify and remove the stored results of compilations."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, Literal

import click

from olympus.errors import ArtifactError, SpecError, UsageError
from olympus.files import to_data
from olympus_cli.builder.results.compiling import local_store
from olympus_cli.builder.results.local import LocalStore
from olympus_cli.builder.results.maintenance import (
    USUAL_AGE,
    USUAL_BYTES,
    Listed,
    listed_results,
    over_limits,
    remove,
    unusable,
)
from olympus_cli.options.shared import Command, common_options, project_option
from olympus_cli.spec.cache import environment_cache
from olympus_cli.spec.limits import QUANTITIES, parse_limit
from olympus_cli.spec.project import find_project, load_project
from olympus_cli.terminal import console
from olympus_cli.text.units import byte_size, counted, duration

Action = Literal["path", "list", "verify", "gc", "clear"]

_ACTIONS = ("path", "list", "verify", "gc", "clear")
_AGE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*([smhdw])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_COLUMNS = ("key", "program", "backend", "size", "compile time", "last use", "from")
_KEY_DIGITS = 12


@click.command("cache", cls=Command)
@click.argument("action", metavar="path|list|verify|gc|clear", type=click.Choice(_ACTIONS))
@project_option
@click.option(
    "--max-size",
    metavar="SIZE",
    help="gc: Retain at most this size of the results used last; the default is 10GB.",
)
@click.option(
    "--older",
    metavar="AGE",
    help="gc: Remove results not used for this time, such as 12h or 30d; the default is 90d.",
)
@click.option("--dry-run", is_flag=True, help="gc, clear: Remove nothing, and show the effect.")
@common_options
def command(
    action: Action,
    project: str | None,
    max_size: str | None,
    older: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Compilers' results are stored by key in a folder of the user, and builds of equal programs
    share them. `verify` removes damaged results. `gc` removes the results that were not used for
    the longest time; builds do this once a day.

    \b
    Examples:
      olympus cache list
      olympus cache gc --max-size 2GB --older 30d --dry-run
    """
    if (max_size or older) and action != "gc":
        raise UsageError(f"--{'max-size' if max_size else 'older'} is for olympus cache gc")
    if dry_run and action not in ("gc", "clear"):
        raise UsageError("--dry-run is for olympus cache gc and clear")
    store = _store(project)
    if action == "path":
        _show({"path": str(store.folder)}, str(store.folder), as_json)
    elif action == "list":
        _list(store, as_json)
    elif action == "verify":
        _verify(store, as_json)
    else:
        most, age = (0, None) if action == "clear" else _limits(max_size, older)
        _remove(store, most, age, dry_run, as_json)


def _store(project: str | None) -> LocalStore:
    """Return the store of the project here, or that of the environment."""
    file = Path(project) if project else find_project(Path.cwd())
    cache = environment_cache() if file is None else load_project(file).cache
    store = local_store(cache)
    if store is None:
        raise UsageError(
            "the store of results is off", hint="OLYMPUS_CACHE_DIR or `cache` in olympus.toml"
        )
    return store


def _limits(max_size: str | None, older: str | None) -> tuple[int | None, float | None]:
    """Return the bytes to retain and the age; one of the options alone leaves the other open."""
    if max_size is None and older is None:
        return USUAL_BYTES, USUAL_AGE
    most, age = None, None
    if max_size is not None:
        limit = None
        try:
            limit = parse_limit(max_size, QUANTITIES["bytes"]).most
        except SpecError as error:
            raise UsageError(f"--max-size {error}", hint=error.hint) from error
        if limit is None:
            raise UsageError(f"--max-size must be a size, such as 10GB; got {max_size!r:.40}")
        most = int(limit)
    if older is not None:
        match = _AGE.fullmatch(older.strip())
        if match is None:
            raise UsageError(f"--older must be a time, such as 12h or 30d; got {older!r:.40}")
        age = float(match[1]) * _SECONDS[match[2]]
    return most, age


def _show(document: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        console.print_json(document)
    else:
        console.data(text)


def _list(store: LocalStore, as_json: bool) -> None:
    entries = listed_results(store)
    if as_json:
        results = [_data(entry) for entry in entries]
        console.print_json({"path": str(store.folder), "results": results})
        return
    now = time.time()
    if entries:
        console.table(_COLUMNS, [_row(entry, now) for entry in entries])
    size = byte_size(sum(entry.file.bytes for entry in entries))
    console.data(f"{counted(len(entries), 'result')}, {size}, in {store.folder}")


def _row(entry: Listed, now: float) -> tuple[str, ...]:
    file, header = entry.file, entry.header
    place = "a remote store" if file.kind == "fetched" else "this machine"
    key, size, age = file.key[:_KEY_DIGITS], byte_size(file.bytes), _ago(now - file.used)
    if file.kind == "refined":
        return key, "a bundle with symbolic sizes", "cpu", size, "", age, place
    if header is None:
        return key, f"damaged: {entry.problem}", "", size, "", age, place
    took = duration(header.figures.compile_seconds)
    return key, header.program, header.backend, size, took, age, place


def _ago(seconds: float) -> str:
    for unit in ("d", "h", "m"):
        if seconds >= _SECONDS[unit]:
            return f"{int(seconds / _SECONDS[unit])}{unit} ago"
    return "now"


def _data(entry: Listed) -> dict[str, Any]:
    file, header = entry.file, entry.header
    return {
        "key": file.key,
        "bytes": file.bytes,
        "used": file.used,
        "from": "remote" if file.kind == "fetched" else "local",
        "program": header and header.program,
        "backend": header and header.backend,
        "compile_seconds": header and header.figures.compile_seconds,
        "versions": header and to_data(header.versions),
        "problem": entry.problem,
    }


def _verify(store: LocalStore, as_json: bool) -> None:
    """Verify each result; remove the damaged ones, and raise an error for unusable ones."""
    with console.progress("verifying"):
        problems = [*unusable(store)]
    count = sum(1 for _ in store.files())
    damaged = [entry for entry in problems if entry.is_damaged]
    others = [entry for entry in problems if not entry.is_damaged]
    _unlink(store, [entry.file for entry in damaged])
    for entry in problems:
        verb = "removed" if entry.is_damaged else "not used:"
        console.message(f"{verb} {entry.file.path}: {entry.problem}")
    if as_json:
        data = {"damaged": [*map(_data, damaged)], "unusable": [*map(_data, others)]}
        console.print_json({"results": count, **data})
    if damaged:
        raise ArtifactError(f"{len(damaged)} of {counted(count, 'result')} were damaged")
    if others:
        raise ArtifactError(f"{len(others)} of {counted(count, 'result')} cannot be used")
    if not as_json:
        console.data(f"{counted(count, 'result')}: all intact")


def _remove(
    store: LocalStore, most: int | None, age: float | None, dry_run: bool, as_json: bool
) -> None:
    files = over_limits(store, most, age)
    size = sum(file.bytes for file in files)
    if not dry_run:
        size = _unlink(store, files)
    word = "would be removed" if dry_run else "removed"
    text = f"{counted(len(files), 'result')} {word}, {byte_size(size)}"
    _show({"removed": len(files), "bytes": size, "dry_run": dry_run}, text, as_json)


def _unlink(store: LocalStore, files: list[Any]) -> int:
    try:
        return remove(store, files)
    except OSError as error:
        raise UsageError(f"the store {store.folder} cannot be changed: {error.strerror}") from error
