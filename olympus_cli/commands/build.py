"""`olympus build`: bring targets of olympus.toml up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from olympus.errors import UsageError
from olympus_cli.builder.driver import build
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Options
from olympus_cli.builder.selection.changed import changed
from olympus_cli.builder.show import build_report, building, raise_failures
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
from olympus_cli.spec.model import Project, TargetSpec
from olympus_cli.spec.resolve import open_project
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
    quiet: bool,
    outputs: Outputs,
) -> None:
    """Without a name, build all targets, or the default targets that olympus.toml names.

    \b
    Examples:
      olympus build
      olympus build forward --backend gpu --jobs 2
      olympus build --frozen --output github
    """
    if entry := next((name for name in names if is_entry(name)), None):
        raise UsageError(
            f"{entry!r} is an entry, and build takes targets of olympus.toml",
            hint=f"olympus compile {entry} --shapes ... compiles an entry",
        )
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
    opened, _, outcomes = request.build()
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

    def build(self) -> tuple[Project, Mapping[str, TargetSpec], list[Outcome]]:
        """Read the project and build its targets; return all three."""
        opened = open_project(self.project, read_devices(self.device_config))
        chosen = named_backend(self.backend, opened.devices) if self.backend else None
        options = replace(self.options, backend=chosen)
        selected = changed(opened.select(self.names), opened, self.changed_since)
        if not selected:
            return opened, {}, []
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
        return opened, specs, outcomes


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
