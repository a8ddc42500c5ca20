"""`olympus build`: bring targets of olympus.toml up to date."""

from __future__ import annotations

from pathlib import Path

import click

from olympus_cli.builder.build_request import BuildRequest
from olympus_cli.builder.freshness.shortcut import fresh_build, request_key
from olympus_cli.builder.gate_report import build_report
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.options.shared import (
    Command,
    Form,
    changed_since_option,
    device_config_option,
    form_options,
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
@click.option(
    "--executor",
    default="local",
    metavar="WHERE",
    help="Where targets are built: local (default), dask://HOST:PORT for the workers of a Dask "
    "scheduler, or dask for a new local cluster.",
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
@click.option("--explain", is_flag=True, help="Show every reason why a target is stale or fresh.")
@form_options
def command(
    names: tuple[str, ...],
    project: str | None,
    changed_since: str | None,
    jobs: int | None,
    executor: str,
    time_limit: float | None,
    memory_limit: int | None,
    keep_going: bool,
    backend: str | None,
    device_config: Path | None,
    optimize: str | None,
    repeats: str | None,
    linalg: str | None,
    as_is: bool,
    page: bool,
    force: bool,
    no_cache: bool,
    frozen: bool,
    watch: bool,
    checks: bool,
    quiet: bool,
    explain: bool,
    forms: tuple[Form, ...],
) -> None:
    """Without a name, build all targets, or the default targets that olympus.toml names.

    \b
    Examples:
      olympus build
      olympus build forward --backend gpu --jobs 2
      olympus build --frozen --output github
      olympus build --watch --check
    """
    settings = stage_settings(optimize, repeats, linalg, as_is)
    devices = device_config and str(device_config)
    key = request_key(names, *settings.items(), backend, devices, page)
    usual = force or watch or checks or changed_since is not None
    fresh = None if usual else fresh_build(project, key, save=not frozen)
    if fresh is not None:
        with Outputs("build", forms) as outputs:
            if quiet:
                outputs.silence()
            outputs.write(build_report(*fresh, explain=explain))
        return
    request = BuildRequest(
        names=names,
        project=project,
        changed_since=changed_since,
        key=key if changed_since is None else "",
        stages=settings,
        backend=backend,
        device_config=device_config,
        executor=executor,
        jobs=jobs,
        time_limit=time_limit,
        memory_limit=memory_limit,
        fail_fast=not keep_going,
        page=page,
        force=force,
        frozen=frozen,
        use=None if no_cache else "write" if force else "read",
        explain=explain,
        quiet=quiet,
        verbose=is_verbose(),
    )
    _build(request, forms, watch, checks)


def _build(request: BuildRequest, forms: tuple[Form, ...], watch: bool, checks: bool) -> None:
    # they import the compiler
    from olympus_cli.builder.project_build import BuildHistory, build_project
    from olympus_cli.builder.watch.project_watch import watch_project
    from olympus_cli.check.watched_checks import WatchedChecks
    from olympus_cli.history.last_builds import recorded_builds
    from olympus_cli.history.recording import prepare, record_build

    history = BuildHistory(prepare, record_build, recorded_builds)
    with Outputs("build", forms) as outputs:
        request.check(watch=watch, checks=checks)
        if watch:
            watch_project(request, outputs, history, WatchedChecks if checks else None)
        else:
            build_project(request, outputs, history)
