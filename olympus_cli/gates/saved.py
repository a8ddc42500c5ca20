"""The figures that relative limits are of: a file for each target under `goldens/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from olympus.artifact import write_whole
from olympus.errors import ArtifactError, UsageError
from olympus_cli.places import shown
from olympus_cli.reports.strict import read_json, typed

__all__ = ["GOLDENS", "Saved", "read_saved", "write_saved"]

GOLDENS = "goldens"  # the folder, in that of olympus.toml

_VERSION = 1  # raised with every change that an old reader would misread


@dataclass(frozen=True)
class Saved:
    """The figures of a target by the label of the backend, and there by the key of a budget."""

    target: str
    figures: Mapping[str, Mapping[str, float]]


def _path(root: Path, target: str) -> Path:
    return root / GOLDENS / f"{target}.figures.json"


def read_saved(root: Path, target: str) -> Saved:
    """What was saved of a target; without figures if nothing was.

    Raises:
        ArtifactError: the file cannot be read, or is not one of saved figures.
    """
    path = _path(root, target)
    if not path.exists():
        return Saved(target, {})
    try:
        found: Saved = typed(read_json(path, _VERSION), Saved)
    except ValueError as error:
        raise ArtifactError(f"{shown(path)} does not hold saved figures: {error}") from error
    return found


def write_saved(root: Path, saved: Saved) -> Path:
    """Save the figures of a target; the path of the file.

    Raises:
        UsageError: the file cannot be written.
    """
    path = _path(root, saved.target)
    text = json.dumps({"schema_version": _VERSION, **asdict(saved)}, indent=2, sort_keys=True)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{shown(path.parent)} cannot be made: {error.strerror}") from error
    write_whole(path, text + "\n")
    return path
