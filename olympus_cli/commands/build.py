"""`olympus build`: bring targets of olympus.toml up to date."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import click

from olympus.errors import UsageError
from olympus_cli.builder.driver import build
from olympus_cli.builder.plan import Options
from olympus_cli.builder.selection.changed import changed
from olympus_cli.builder.show import build_report, building, raise_failures
from olympus_cli.builder.watch.built import Built
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.history.last_builds import recorded_builds
from olympus_cli.history.recording import prepare, record_build
from olympus_cli.options.shared import (
    Command,
    changed_since_option,
    device_config_option,
    gate_options,
    is_verbose,
    memory_limit_option,
    no_cache_option,
    page_option,
    project_option,
    stage_options,
    stage_settings,
    time_limit_option,
    whole_number,
)
from olympus_cli.process import interrupts
from olympus_cli.reports.json import has_report
from olympus_cli.spec.backends import backend_text, named_backend
from olympus_cli.spec.cache import Use
from olympus_cli.spec.devices import read_devices
from olympus_cli.spec.entries import is_entry
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.project_file import find_project, project_at
from olympus_cli.spec.resolve import open_project
from olympus_cli.terminal import console
from olympus_cli.workers.pool import default_jobs


@click.command("build", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@changed_since_option
@click.option(
    "-j",
    "--jobs",
    type=whole_number(1),
    metavar="N",
    help="Build N targets at a time; the default is one for each processor.",
)
@time_limit_option
@memory_limit_option
@click.option(
    "--keep-going/--fail-fast",
    "keep_going",
    default=True,
    help="After a failure, build the other targets (default), or end the build.",
)
@click.option(
    "--backend",
    metavar="NAME",
    help="Build only for this backend of each target, such as cpu, gpu or gpu:h200.",
)
@device_config_option
@stage_options
@page_option
@click.option("--force", is_flag=True, help="Also build targets that are fresh, and compile them.")
@no_cache_option
@click.option(
    "--frozen", is_flag=True, help="Build nothing; exit with code 7 if a target is stale."
)
@click.option(
    "--watch", is_flag=True, help="Build again after each saved file of the project, until Ctrl-C."
)
@click.option(
    "--check",
    "checks",
    is_flag=True,
    help="With --watch: check budgets and golden files of the targets after each build.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Write only errors, and the output of programs that fail.",
)
@gate_options
def command(
    names: tuple[str, ...],
    project: str | None,
    changed_since: str | None,
    jobs: int | None,
    time_limit: float | None,
    memory_limit: int | None,
    keep_going: bool,
    backend: str | None,
    device_config: Path | None,
    optimize: str | None,
    repeats: str | None,
    as_is: bool,
    page: bool,
    force: bool,
    no_cache: bool,
    frozen: bool,
    watch: bool,
    checks: bool,
    quiet: bool,
    outputs: Outputs,
) -> None:
    """Without a name, build all targets, or the default targets that olympus.toml names.

    \b
    Examples:
      olympus build
      olympus build forward --backend gpu --jobs 2
      olympus build --frozen --output github
      olympus build --watch --check
    """
    if entry := next((name for name in names if is_entry(name)), None):
        raise UsageError(
            f"{entry!r} is an entry, and build takes targets of olympus.toml",
            hint=f"olympus compile {entry} --shapes ... compiles an entry",
        )
    if checks and not watch:
        raise UsageError("--check needs --watch", hint="olympus check checks the targets once")
    if watch:
        _check_watched(frozen, outputs)
    if quiet:
        outputs.silence()
    use: Use | None = None if no_cache else "write" if force else "read"
    options = Options(
        jobs,
        time_limit,
        force,
        frozen,
        page=page,
        memory_limit=memory_limit,
        fail_fast=not keep_going,
        use=use,
    )
    settings = stage_settings(optimize, repeats, as_is)
    config = device_config
    request = _Request(names, project, changed_since, config, backend, settings, options, quiet)
    if watch:
        _watch(request, outputs, checks)
        return
    built = request.build()
    opened, outcomes = built.project, built.outcomes
    try:  # what the user waits for comes first: a Ctrl-C from here on ends the process
        outputs.write(build_report(outcomes, opened.build_dir, opened.root))
    finally:
        record_build(opened, outcomes)
    raise_failures(outcomes, is_verbose())


@dataclass(frozen=True)
class _Request:
    """The targets and the options of the command; `olympus.toml` is not read yet."""

    names: tuple[str, ...]
    project: str | None
    changed_since: str | None
    device_config: Path | None
    backend: str | None
    settings: Mapping[str, Any]
    options: Options
    quiet: bool

    def without_force(self) -> _Request:
        """Return the request for a build of stale targets only."""
        use = "read" if self.options.use == "write" else self.options.use
        return replace(self, options=replace(self.options, force=False, use=use))

    def build(self) -> Built:
        """Read the project, and build its targets."""
        opened = open_project(self.project, read_devices(self.device_config))
        chosen = named_backend(self.backend, opened.devices) if self.backend else None
        options = replace(self.options, backend=chosen)
        selected = changed(opened.select(self.names), opened, self.changed_since)
        if not selected:
            return Built(opened, {}, [])
        of_targets = (replace(spec, **self.settings) for spec in selected)
        specs = {spec.name: spec for spec in of_targets if options.labels(spec)}
        if not specs:
            raise UsageError(
                f"none of the targets is built for the backend {self.backend!r}",
                hint=_backends_hint(selected),
            )
        is_new = {name: options.force or not has_report(opened.build_dir / name) for name in specs}
        new = [name for name, it_is in is_new.items() if it_is and not options.frozen]
        meanwhile = cache(partial(prepare, opened))
        past = recorded_builds(opened, new)
        jobs = options.jobs or default_jobs()
        shown = building(specs, jobs, meanwhile, new, quiet=self.quiet)
        with interrupts.interrupts_raised(), shown as listener:
            outcomes = build(specs, opened.build_dir, options, listener, past=past)
        return Built(opened, specs, outcomes)


def _check_watched(frozen: bool, outputs: Outputs) -> None:
    """Check that the options of a watched build are not contradictory.

    Raises:
        UsageError: they are.
    """
    if frozen:
        raise UsageError("--watch builds, and --frozen builds nothing: use one of them")
    if outputs.is_document:
        raise UsageError(
            "--watch writes a report after each build, and stdout takes one document",
            hint="--output json=FILE writes the report of the last build to a file",
        )


def _watch(request: _Request, outputs: Outputs, checks: bool) -> None:
    """Build again after each change of a file, until Ctrl-C, which is the usual end.

    Raises:
        Terminated: SIGTERM came.
    """
    from olympus_cli.builder.watch.changes import WatchedChanges
    from olympus_cli.builder.watch.watch_loop import WatchOptions, watch_builds
    from olympus_cli.builder.watch.watched_files import WatchedFiles
    from olympus_cli.check.watched_checks import WatchedChecks

    file = _project_file(request.project)
    more = () if request.device_config is None else (request.device_config,)
    options = WatchOptions(
        more,
        outputs.files,
        WatchedChecks(request.options.jobs or default_jobs()) if checks else None,
        request.quiet,
        is_verbose(),
    )
    requests = chain([request], repeat(request.without_force()))
    first = WatchedFiles((file.parent,), more, (file.parent / "build", *outputs.files))
    try:
        with (
            interrupts.interrupts_raised(),
            interrupts.terminations_raised(),
            WatchedChanges(first) as changes,
        ):
            watch_builds(
                changes,
                lambda: next(requests).build(),
                lambda built: _finish(built, outputs),
                options,
            )
    except interrupts.Terminated:
        raise
    except KeyboardInterrupt:
        console.message("stopped watching")


def _finish(built: Built, outputs: Outputs) -> None:
    """Write the lines of the targets that were not fresh, and record the build."""
    root, folder = built.project.root, built.project.build_dir
    report = build_report(built.outcomes, folder, root)
    changed = build_report([o for o in built.outcomes if o.status != "fresh"], folder, root)
    try:
        outputs.write(replace(report, text=changed.text, text_in=changed.text_in))
    finally:
        record_build(built.project, built.outcomes)
    raise_failures(built.outcomes, is_verbose())


def _project_file(project: str | None) -> Path:
    """Return the file of a project, which may have errors.

    Raises:
        UsageError: there is no project.
    """
    file = find_project(Path.cwd()) if project is None else project_at(Path(project))
    if file is None or not file.is_file():
        return open_project(project).file  # it raises the error
    return Path(os.path.realpath(file))


def _backends_hint(specs: Iterable[TargetSpec]) -> str:
    """The backends that olympus.toml gives the targets, with a target for each."""
    targets: dict[str, list[str]] = {}
    for spec in specs:
        for backend in spec.backends:
            targets.setdefault(backend_text(backend), []).append(spec.name)
    named = (
        f"{text} ({names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''})"
        for text, names in targets.items()
    )
    return f"they are built for {', '.join(named)}; `backends` in olympus.toml adds others"
