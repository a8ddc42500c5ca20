"""Where the outputs of an entry go: never over those of a target, nor over another entry's."""

from __future__ import annotations

from pathlib import Path

from olympus.errors import ArtifactError, UsageError
from olympus_cli.places import shown
from olympus_cli.reports.json import read_report
from olympus_cli.spec.devices import Devices
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import project_of

__all__ = ["entry_folder"]


def entry_folder(spec: TargetSpec, project: str | Path | None, own: Devices | None = None) -> Path:
    """The folder of the function's name in the build folder.

    `own` are devices of the user's besides the project's.

    Raises:
        UsageError: the project has a target of that name, or another entry's outputs are there.
    """
    found = project_of(project, spec.root, own)
    folder = (found.build_dir if found else spec.root / "build") / spec.name
    if found and spec.name in found.targets:
        raise UsageError(
            f"{shown(folder)} is for the outputs of target {spec.name!r}",
            hint=f"olympus compile {spec.name} compiles the target; "
            f"-o FOLDER gives those of {spec.entry} a folder of their own",
        )
    try:
        other = read_report(folder).entry
    except ArtifactError:  # nothing is there, or nothing that says what it is
        other = spec.entry
    if other != spec.entry:
        raise UsageError(
            f"{shown(folder)} has the outputs of {other}",
            hint=f"-o FOLDER gives those of {spec.entry} a folder of their own",
        )
    return folder
