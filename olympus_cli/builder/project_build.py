"""The build of a project's targets for the command line: plan, build, show, record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from olympus.errors import UsageError
from olympus_cli.builder.bucket_bundles import join_groups
from olympus_cli.builder.build_request import BuildRequest
from olympus_cli.builder.driver import Selected, build
from olympus_cli.builder.farm.choice import executor_of
from olympus_cli.builder.freshness.shortcut import key_in_file
from olympus_cli.builder.gate_report import build_report
from olympus_cli.builder.joined_states import explain_joined
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Options
from olympus_cli.builder.schedule import LastBuild
from olympus_cli.builder.selection.changed import changed
from olympus_cli.builder.show import building, raise_failures
from olympus_cli.builder.watch.built import Built
from olympus_cli.builder.weight_bundles import join_weights
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.process import interrupts
from olympus_cli.reports.json import has_report
from olympus_cli.spec.backends import backend_text, named_backend
from olympus_cli.spec.devices import read_devices
from olympus_cli.spec.model import Project, TargetSpec
from olympus_cli.spec.resolve import open_project
from olympus_cli.workers.pool import default_jobs

Forms = Sequence[tuple[str, Path | None]]


class BuildHistory(NamedTuple):
    """The functions of the history of a project that a build uses.

    `prepare` prepares `record`, which adds the figures of a build. `past` returns the last builds
    of targets without outputs.
    """

    prepare: Callable[[Project], None]
    record: Callable[[Project, Iterable[Outcome]], None]
    past: Callable[[Project, Sequence[str]], Mapping[str, LastBuild]]


def build_project(request: BuildRequest, outputs: Outputs, history: BuildHistory) -> None:
    """Build the requested targets, write the report, and record the build.

    Raises:
        UsageError: a name or an option is wrong.
        FrozenError: something would have to be built, and the request is frozen.
        OlympusError: the error of a target that failed.
    """
    if request.quiet:
        outputs.silence()
    built = build_targets(request, history)
    folders = built.outcomes, built.project.build_dir, built.project.root
    try:  # what the user waits for comes first: a Ctrl-C from here on ends the process
        outputs.write(build_report(*folders, explain=request.explain))
    finally:
        history.record(built.project, built.outcomes)
    raise_failures(built.outcomes, request.verbose)


def build_targets(request: BuildRequest, history: BuildHistory) -> Built:
    """Read the project, and build its requested targets.

    Raises:
        UsageError: a name or an option is wrong.
    """
    opened = open_project(request.project, read_devices(request.device_config))
    options = _options(request, opened)
    selected = changed(opened.select(request.names), opened, request.changed_since)
    if not selected:
        return Built(opened, {}, [])
    of_targets = (replace(spec, **request.stages) for spec in selected)
    specs = {spec.name: spec for spec in of_targets if options.labels(spec)}
    if not specs:
        raise UsageError(
            f"none of the targets is built for the backend {request.backend!r}",
            hint=_backends_hint(selected),
        )
    is_new = {name: options.force or not has_report(opened.build_dir / name) for name in specs}
    new = [name for name, it_is in is_new.items() if it_is and not options.frozen]
    meanwhile = cache(partial(history.prepare, opened))
    past = history.past(opened, new)
    files = (*opened.files, *([request.device_config] if request.device_config else ()))
    has_joined = any(spec.buckets or spec.data for spec in specs.values())
    # the index has the outputs of targets, and not the bundles that are joined from them
    key = "" if has_joined else request.key and key_in_file(request.key, opened.file)
    by_index = Selected(key, opened.root, files, opened.targets.keys())
    shown = building(specs, request.num_jobs, meanwhile, new, quiet=request.quiet)
    with interrupts.interrupts_raised(), shown as listener:
        place = executor_of(request, opened, specs.values(), listener.on_note)
        outcomes = build(
            specs, opened.build_dir, options, listener, by_index, past=past, executor=place
        )
    joined = join_groups(specs, outcomes, opened.build_dir, frozen=options.frozen)
    outcomes = [*outcomes, *joined]
    bound = join_weights(specs, outcomes, opened.build_dir, frozen=options.frozen)
    return Built(opened, specs, [*outcomes, *bound])


def _options(request: BuildRequest, project: Project) -> Options:
    return Options(
        jobs=request.jobs,
        time_limit=request.time_limit,
        force=request.force,
        frozen=request.frozen,
        backend=named_backend(request.backend, project.devices) if request.backend else None,
        page=request.page,
        memory_limit=request.memory_limit,
        fail_fast=request.fail_fast,
        use=request.use,
        explain=request.explain,
    )


def explain_project(
    names: tuple[str, ...],
    project: str | None,
    time_limit: float | None,
    memory_limit: int | None,
    forms: Forms,
) -> None:
    """Write why targets are stale or fresh; targets with a changed input are traced, none is built.

    The limits are for each target, in seconds and in bytes.

    Raises:
        UsageError: a name is wrong.
    """
    with Outputs("explain", forms) as outputs:
        opened = open_project(project)
        specs = {spec.name: spec for spec in opened.select(names)}
        options = Options(
            frozen=True, explain=True, time_limit=time_limit, memory_limit=memory_limit
        )
        by_index = Selected("", opened.root, (), opened.targets.keys())
        with interrupts.interrupts_raised(), building(specs, default_jobs()) as listener:
            outcomes = build(specs, opened.build_dir, options, listener, by_index)
        outcomes = [*outcomes, *explain_joined(specs, outcomes, opened.build_dir)]
        folders = outcomes, opened.build_dir, opened.root
        outputs.write(build_report(*folders, command="explain", explain=True))


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
