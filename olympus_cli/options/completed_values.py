"""The values that a shell completes: targets, parts of a matrix, devices, metrics and revisions.

Targets are read without the compiler: a Tab must be fast. A file that cannot be read has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from click.shell_completion import CompletionItem

from olympus_cli.spec import matrix
from olympus_cli.spec.project_file import TOOL, find_project, is_pyproject, project_at

Item = CompletionItem[str]

_NAME = re.compile(r"[\w.+-]+(@[\w.+=,-]+)?")
_ENTRY = re.compile(r"[\w./-]+:[\w.]+")
_COUNT = re.compile(r"(?:\d+x)*")
_MAX = 2000  # the most names from one file
_MAX_FILES = 20  # that extend one another


def project_of_words(args: Sequence[str]) -> Path | None:
    """Return the file of the project at `--project`, or of the nearest one; None if none is."""
    project = None
    for before, arg in zip(["", *args], args, strict=False):
        if before == "--project":
            project = arg
        elif arg.startswith("--project="):
            project = arg.partition("=")[2]
    if project is None:
        return find_project(Path.cwd())
    return project_at(Path(project).expanduser())


def target_items(file: Path | None, with_groups: bool) -> list[Item]:
    """Return the names of the targets of a project, in its order, with their entries as help.

    A target with a matrix has a name for each combination. With `with_groups`, its own name comes
    before them, and the names of the parts of its matrix, such as f@batch=8. Invalid names are
    left out.
    """
    if file is None:
        return []
    tables = list(_tables(file))
    targets = tables[0].get("target") if tables else None
    named = (
        CompletionItem(name, help=help_)
        for key, target in (targets.items() if isinstance(targets, dict) else ())
        if isinstance(target, dict)
        for name, help_ in _names(key, _with_defaults(target, tables), with_groups)
        if _NAME.fullmatch(name)
    )
    return list(islice(named, _MAX))


def _tables(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the table of a project's file, and of the files that it extends."""
    for _ in range(_MAX_FILES):
        table = _table(file)
        if table is None:
            return
        yield table
        base = table.get("extends")
        if not isinstance(base, str):
            return
        file = file.parent / base


def _table(file: Path) -> dict[str, Any] | None:
    import tomli

    try:
        if not file.is_file():
            return None
        value: Any = tomli.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    for key in TOOL if is_pyproject(file) else ():
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _with_defaults(
    target: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the keys of a target that names need, with those of `[defaults]`."""
    merged: dict[str, Any] = {}
    for table in reversed(tables):
        defaults = table.get("defaults")
        merged = _merged(merged, defaults if isinstance(defaults, dict) else {})
    return _merged(merged, target)


def _merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    axes = [table["matrix"] for table in (low, high) if isinstance(table.get("matrix"), dict)]
    merged = {**low, **high}
    if len(axes) == 2:
        merged["matrix"] = {**axes[0], **axes[1]}
    return merged


def _names(
    key: str, target: Mapping[str, Any], with_groups: bool
) -> Iterator[tuple[str, str | None]]:
    """Yield the names of a target, each with its help."""
    axes, entry = target.get("matrix"), target.get("entry")
    help_ = entry if isinstance(entry, str) and _ENTRY.fullmatch(entry) else None
    if not isinstance(axes, dict) or not all(isinstance(axis, list) for axis in axes.values()):
        yield key, help_
        return
    if with_groups:
        yield key, help_
        several = [(name, axis) for name, axis in axes.items() if len(axes) > 1]
        for name, axis in several:
            yield from ((f"{key}@{name}={matrix.text_of(value)}", "several") for value in axis)
    for values in matrix.each_combination(axes):
        yield key + matrix.suffix(values), help_


def metric_items() -> list[Item]:
    """Return the names of metrics, with their units."""
    from olympus_cli.text.metrics import UNITS

    return [CompletionItem(name, help=unit) for name, unit in UNITS.items()]


def device_items(file: Path | None, word: str, with_backend: bool) -> list[Item]:
    """Return the names of devices, after the number of devices in `word`, with their products.

    `file` is the project, whose devices come first. With `with_backend`, the items are backends:
    "cpu", "gpu:h200".
    """
    from olympus.stages import shipped_devices, shipped_tpus  # this imports the compiler

    own: dict[str, str] = {}
    for table in () if file is None else _tables(file):
        devices = table.get("device")
        names = devices if isinstance(devices, dict) else {}
        own |= {name: "of the project" for name in names if _NAME.fullmatch(name)}
    gpus = {name: device.product for name, device in shipped_devices().items()}
    tpus = dict.fromkeys(shipped_tpus(), "TPU")
    if with_backend:
        named = {f"gpu:{name}": text for name, text in gpus.items()}
        named |= {f"tpu:{name}": text for name, text in tpus.items()}
        kinds = {"cpu": "the CPU of this machine", "gpu": "GPUs", "tpu": "TPUs"}
        return [CompletionItem(name, help=text) for name, text in {**kinds, **named}.items()]
    match = _COUNT.match(word)
    count = match.group() if match is not None else ""
    return [
        CompletionItem(f"{count}{name}", help=text)
        for name, text in {**own, **gpus, **tpus}.items()
    ]


def revision_items() -> list[Item]:
    """Return "git:REV" for each branch and tag of the repository here."""
    from olympus_cli.revisions.git import run_git

    places = ("refs/heads", "refs/remotes", "refs/tags")
    try:
        listed = run_git(Path.cwd(), "for-each-ref", "--format=%(refname:short)", *places)
    except OSError:  # git is not installed
        return []
    names = ["HEAD", *listed.stdout.split()] if listed.returncode == 0 else []
    return [CompletionItem(f"git:{name}") for name in names[:_MAX]]
