"""The folder for the outputs of one program, never that of another target or entry."""

from __future__ import annotations

from pathlib import Path

from olympus.errors import ArtifactError, UsageError
from olympus_cli.reports.json import read_report
from olympus_cli.spec.devices import Devices
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request, build_dir, project_of
from olympus_cli.text.paths import display_path


def _entry_folder(
    spec: TargetSpec, project: str | Path | None, own: Devices | None, instead: str
) -> Path:
    """Return the folder of the function's name in the build folder.

    `own` are the user's devices in addition to the project's. `instead` is the hint for a folder
    that another program uses.

    Raises:
        UsageError: the project has a target of that name, or another entry's outputs are there.
    """
    found = project_of(project, spec.root, own)
    folder = (found.build_dir if found else spec.root / "build") / spec.name
    if found and spec.name in found.targets:
        raise UsageError(
            f"{display_path(folder)} is for the outputs of target {spec.name!r}",
            hint=f"{spec.name!r} without a file is the target; {instead}",
        )
    try:
        other = read_report(folder).entry
    except ArtifactError:  # the folder is empty, or has no readable report
        other = spec.entry
    if other != spec.entry:
        raise UsageError(
            f"{display_path(folder)} has the outputs of {other}",
            hint=instead,
        )
    return folder


def outputs_folder(request: Request, spec: TargetSpec, instead: str) -> Path:
    """Return the absolute path of the folder for the outputs of the requested program.

    `instead` is the hint for a folder that another program uses: it names another place for the
    entry.

    Raises:
        UsageError: the project has a target of the entry's name, or another entry's outputs are
            there.
    """
    if ":" in request.text:
        return Path.cwd() / _entry_folder(spec, request.project, request.devices, instead)
    return Path.cwd() / build_dir(request.project, spec.root, request.devices) / spec.name
