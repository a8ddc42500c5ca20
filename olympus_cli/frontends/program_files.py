"""The parts that the frontends of files share: the checks of a target, and its donations."""

from __future__ import annotations

from pathlib import Path

import olympus
from olympus.errors import EntryError, UsageError
from olympus_cli.spec.entries import ProgramFile
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.target_table import at_key, with_line
from olympus_cli.text.nearest import did_you_mean
from olympus_cli.text.paths import display_path


def check_file(spec: TargetSpec, file: ProgramFile) -> Path:
    """Return the path of the file of a target.

    Raises:
        EntryError: the file does not exist.
        UsageError: the target has a mesh, which only functions have.
    """
    for key, value in (("mesh", spec.mesh), ("out-sharding", spec.out_sharding)):
        if value:
            error = UsageError(f"{key} is for a Python function, and {spec.entry} is a file")
            raise with_line(error, spec, key)
    path = Path(spec.root) / file.path
    if not path.exists():
        with at_key(spec, "entry"):
            raise EntryError(f"file {display_path(path)} does not exist")
    return path


def with_donated(traced: olympus.stages.Traced, spec: TargetSpec) -> olympus.stages.Traced:
    """Return a program whose arguments in `donate` of its target are donated.

    A name is that of an array, or of an argument with several arrays.

    Raises:
        UsageError: a name is not that of an argument.
    """
    names = traced.arg_names
    donated: list[int] = []
    for name in spec.donate:
        parts = [i for i, x in enumerate(names) if x == name or x.startswith(f"{name}[")]
        if not parts:
            error = UsageError(
                f"donate names {name!r}, which is not an argument of {spec.entry}",
                hint=did_you_mean(name, names[:20], "its arguments are"),
            )
            raise with_line(error, spec, "donate")
        donated += parts
    return traced.with_donations(donated)
