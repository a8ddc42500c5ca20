"""The watched build of a project: `watch_loop` with the files of the project and its report."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path

from olympus.errors import OlympusError, UsageError
from olympus_cli.builder.build_request import BuildRequest
from olympus_cli.builder.gate_report import build_report
from olympus_cli.builder.project_build import BuildHistory, build_targets
from olympus_cli.builder.show import raise_failures
from olympus_cli.builder.watch.built import Built
from olympus_cli.builder.watch.changes import WatchedChanges
from olympus_cli.builder.watch.watch_loop import Checks, WatchOptions, watch_builds
from olympus_cli.builder.watch.watched_files import WatchedFiles
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.process import interrupts
from olympus_cli.spec.devices import read_devices
from olympus_cli.spec.project_file import find_project, project_at
from olympus_cli.spec.resolve import open_project
from olympus_cli.terminal import console
from olympus_cli.workers.executor import Limits


def watch_project(
    request: BuildRequest,
    outputs: Outputs,
    history: BuildHistory,
    checks: Callable[[int, Limits], Checks] | None,
) -> None:
    """Build again after each change of a file, until Ctrl-C, which is the usual end.

    `checks` returns the checks of the targets after each build, for a number of jobs and the
    limits of each.

    Raises:
        UsageError: an output cannot be used, or there is no project.
        Terminated: SIGTERM came.
    """
    if outputs.is_document:
        raise UsageError(
            "--watch writes a report after each build, and stdout takes one document",
            hint="--output json=FILE writes the report of the last build to a file",
        )
    if request.quiet:
        outputs.silence()
    limits = Limits(request.time_limit, request.memory_limit)
    after = None if checks is None else checks(request.num_jobs, limits)
    options = _options(request, outputs, after)
    requests = chain([request], repeat(request.without_force()))
    try:
        with (
            interrupts.interrupts_raised(),
            interrupts.terminations_raised(),
            WatchedChanges(_first_files(request, options)) as changes,
        ):
            watch_builds(
                changes,
                lambda: build_targets(next(requests), history),
                lambda built: _finish(built, request, outputs, history),
                options,
            )
    except interrupts.Terminated:
        raise
    except KeyboardInterrupt:
        console.message("stopped watching")


def _options(request: BuildRequest, outputs: Outputs, checks: Checks | None) -> WatchOptions:
    more = () if request.device_config is None else (request.device_config,)
    return WatchOptions(more, outputs.files, checks, request.quiet, request.verbose)


def _first_files(request: BuildRequest, options: WatchOptions) -> WatchedFiles:
    """Return the files to watch during the first build.

    If the project has errors, they are the files in its folder.

    Raises:
        UsageError: there is no project.
    """
    file = _project_file(request.project)
    try:
        project = open_project(request.project, read_devices(request.device_config))
    except OlympusError:  # the first build shows it
        ignored = (file.parent / "build", *options.written)
        return WatchedFiles((file.parent,), options.more, ignored)
    return WatchedFiles.of(project, options.more, options.written)


def _finish(built: Built, request: BuildRequest, outputs: Outputs, history: BuildHistory) -> None:
    """Write the lines of the targets that were not fresh, and record the build."""
    root, folder = built.project.root, built.project.build_dir
    changed = [outcome for outcome in built.outcomes if outcome.status != "fresh"]
    whole = build_report(built.outcomes, folder, root)
    shown = build_report(changed, folder, root, explain=request.explain)
    try:
        outputs.write(replace(whole, text=shown.text, text_in=shown.text_in))
    finally:
        history.record(built.project, built.outcomes)
    raise_failures(built.outcomes, request.verbose)


def _project_file(project: str | None) -> Path:
    """Return the file of a project, which may have errors.

    Raises:
        UsageError: there is no project.
    """
    file = find_project(Path.cwd()) if project is None else project_at(Path(project))
    if file is None or not file.is_file():
        return open_project(project).file  # it raises the error
    return Path(os.path.realpath(file))
