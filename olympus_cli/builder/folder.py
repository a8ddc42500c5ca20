"""The folder for the outputs of a program that a command names, and the check that it is free.

A folder with the outputs of another target or entry is refused.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from olympus.errors import ArtifactError, UsageError
from olympus_cli.reports.json import read_report
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.devices import Devices
from olympus_cli.spec.entries import is_entry
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request, build_dir, project_of
from olympus_cli.text.paths import display_path


def _entry_folder(
    spec: TargetSpec, project: str | Path | None, own: Devices | None, instead: str
) -> Path:
    """Return the folder of an entry in the build folder: its name is that of the function.

    `own` are the user's devices in addition to the project's. `instead` is the hint for a folder
    that another program uses.

    Raises:
        UsageError: the project has a target of that name, or another entry's outputs are there.
    """
    declared = project_of(project, spec.root, own)
    folder = (declared.build_dir if declared else spec.root / "build") / spec.name
    if declared and spec.name in declared.targets:
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
    if is_entry(request.text):
        return Path.cwd() / _entry_folder(spec, request.project, request.devices, instead)
    return Path.cwd() / build_dir(request.project, spec.root, request.devices) / spec.name


def check_other_builds(request: Request, spec: TargetSpec, folder: Path, instead: str) -> None:
    """Check that `folder` has no build of the requested target for a backend that `spec` lacks.

    `spec` is the target with the options of the request, and `instead` is the hint of the error.

    Raises:
        UsageError: the outputs for `spec` would remove such a build.
    """
    if is_entry(request.text):
        return
    try:
        builds = read_report(folder).backends
    except ArtifactError:  # the folder is empty, or has no readable report
        return
    own = replace(request, backend=None, device=None, topology=None).spec().all_labels
    lost = [
        backend_text(own[build.label])
        for build in builds
        if build.label in own
        and own[build.label].device == build.device
        and own[build.label] not in spec.backends
    ]
    if lost:
        raise UsageError(
            f"{display_path(folder)} has the build of target {spec.name!r} for "
            f"{', '.join(lost)}, which outputs for "
            f"{', '.join(map(backend_text, spec.backends))} would replace",
            hint=instead,
        )
