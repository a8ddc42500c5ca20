"""The saved figures and programs of targets, in `goldens/`, for relative limits and comparison.

A target has `TARGET.figures.json` and, if it is golden, `TARGET.BACKEND.mlir` for each backend.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from olympus.artifact import write_whole
from olympus.errors import ArtifactError, UsageError
from olympus.files import read_regular, typed
from olympus_cli.reports.versioned_json import read_json
from olympus_cli.terminal.output import check_writable
from olympus_cli.text.paths import display_path

GOLDENS = "goldens"  # the folder's name, beside olympus.toml

_MAX_BYTES = 2**31  # of a program, the limit of the compilers' formats
_VERSION = 1  # increased with each change that an old reader would misread


@dataclass(frozen=True)
class Saved:
    """The figures of a target by the label of the backend, then by the key of a budget."""

    target: str
    figures: Mapping[str, Mapping[str, float]]


def program_path(root: Path, target: str, label: str) -> Path:
    """Return the file of the saved program of a target for a backend."""
    return root / GOLDENS / f"{target}.{label}.mlir"


def read_program(root: Path, target: str, label: str) -> bytes | None:
    """Return the saved program of a target for a backend, as StableHLO text; None without one.

    Raises:
        ArtifactError: the file cannot be read.
    """
    path = program_path(root, target, label)
    try:
        return read_regular(path, _MAX_BYTES, follow_links=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"{display_path(path)} cannot be read: {error.strerror}"
        hint = (
            f"olympus check {target} --update saves it again, or git restore {display_path(path)}"
        )
        raise ArtifactError(message, hint=hint) from error


def write_program(root: Path, target: str, label: str, text: str) -> Path:
    """Save the program of a target for a backend; return the path of the file.

    Raises:
        UsageError: the file cannot be written.
    """
    path = program_path(root, target, label)
    _write(path, text)
    return path


def _write(path: Path, text: str) -> None:
    folder = path.parent
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{display_path(folder)} cannot be created: {error.strerror}") from error
    check_writable(path)
    write_whole(path, text)


def _path(root: Path, target: str) -> Path:
    return root / GOLDENS / f"{target}.figures.json"


def read_saved(root: Path, target: str) -> Saved:
    """Return the saved figures of a target; they are empty if there is no file.

    Raises:
        ArtifactError: the file cannot be read, or is not one of saved figures.
    """
    path = _path(root, target)
    remedy = (
        f"olympus check {target} --update saves them again, or git restore {display_path(path)}"
    )
    if not os.path.lexists(path):
        return Saved(target, {})
    try:
        saved: Saved = typed(read_json(path, _VERSION), Saved)
    except ArtifactError as error:
        error.hint = error.hint or remedy
        raise
    except ValueError as error:
        message = f"{display_path(path)} does not hold saved figures: {error}"
        raise ArtifactError(message, hint=remedy) from error
    if saved.target != target:
        message = f"{display_path(path)} has the figures of target {saved.target!r}"
        raise ArtifactError(message, hint=remedy)
    return saved


def write_saved(root: Path, saved: Saved) -> Path:
    """Save the figures of a target; return the path of the file.

    Raises:
        UsageError: the file cannot be written.
    """
    path = _path(root, saved.target)
    text = json.dumps({"schema_version": _VERSION, **asdict(saved)}, indent=2, sort_keys=True)
    _write(path, text + "\n")
    return path
