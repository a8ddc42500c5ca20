"""Where the outputs of one program go: an entry's never over those of a target or another entry."""

from __future__ import annotations

from pathlib import Path

from olympus.errors import ArtifactError, UsageError
from olympus_cli.places import shown
from olympus_cli.reports.json import read_report
from olympus_cli.spec.devices import Devices
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request, build_dir, project_of

__all__ = ["entry_folder", "outputs_folder"]


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


def outputs_folder(request: Request, spec: TargetSpec) -> Path:
    """The folder, as an absolute path, of the outputs of the program that a command was asked for.

    Raises:
        UsageError: as `entry_folder` does.
    """
    if ":" in request.text:
        return Path.cwd() / entry_folder(spec, request.project, request.devices)
    return Path.cwd() / build_dir(request.project, spec.root, request.devices) / spec.name
