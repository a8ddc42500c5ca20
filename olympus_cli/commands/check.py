"""`olympus check`: check targets against their budgets and golden programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click

from olympus.errors import UsageError
from olympus_cli.builder.folder_locks import FolderLocks
from olympus_cli.builder.reuse import clearing
from olympus_cli.builder.selection.changed import changed
from olympus_cli.check.calling import CheckEnd, check_targets
from olympus_cli.check.check import Checked
from olympus_cli.check.golden_files import Saved, write_program, write_saved
from olympus_cli.check.verdicts import (
    HAS_RULES,
    NO_DONATION,
    UNJUDGED,
    broken_message,
    checked_report,
)
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.gate_reports.target_runs import TargetRuns
from olympus_cli.history.recording import record_check
from olympus_cli.options.shared import (
    Command,
    changed_since_option,
    gate_options,
    is_verbose,
    memory_limit_option,
    project_option,
    time_limit_option,
    whole_number,
)
from olympus_cli.process import interrupts
from olympus_cli.spec.model import Project, TargetSpec
from olympus_cli.spec.project import place_of_target
from olympus_cli.spec.resolve import open_project
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path
from olympus_cli.workers.executor import Limits
from olympus_cli.workers.pool import default_jobs


@click.command("check", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@changed_since_option
@click.option(
    "--update",
    is_flag=True,
    help="Save golden programs, and the figures that relative limits refer to.",
)
@click.option(
    "-j",
    "--jobs",
    type=whole_number(1),
    metavar="N",
    help="Check N targets at a time; the default is one for each processor.",
)
@time_limit_option
@memory_limit_option
@gate_options
def command(
    names: tuple[str, ...],
    project: str | None,
    changed_since: str | None,
    update: bool,
    jobs: int | None,
    time_limit: float | None,
    memory_limit: int | None,
    outputs: Outputs,
) -> None:
    """Without a name, check the default targets that have a budget or a golden program. A named
    target that has neither is an error (exit code 2). Targets are checked in parallel, and are not
    run. A stale target is built if a limit needs its executable.

    \b
    Examples:
      olympus check
      olympus check forward --json
      olympus check --output junit=check.xml --output github
      olympus check --update
    """
    opened = open_project(project)
    selected = changed(opened.select(names), opened, changed_since)
    specs = [spec for spec in selected if spec.budget or spec.golden]
    others = [spec.name for spec in selected if not (spec.budget or spec.golden)]
    target_runs = TargetRuns("check", len(selected))
    if names or (selected and not specs):
        _fail_unchecked(target_runs, opened, others)
    limits = Limits(time_limit, memory_limit)
    ends, interruption = _ended_checks(specs, update, jobs or default_jobs(), limits)
    checked: list[Checked] = []
    try:
        _record(specs, ends, update, target_runs, interruption, checked)
        if names or (specs and not any(result.is_judged for result in checked)):
            _fail_without_donation(target_runs, opened, checked)
    finally:
        try:  # what the user waits for comes first: another Ctrl-C ends the process
            roots = {spec.name: spec.root for spec in specs}
            outputs.write(checked_report(checked, target_runs, roots, others))
        finally:
            record_check(opened, checked)
    if interruption is not None:
        raise interruption
    if not names and selected and not specs:
        raise UsageError(f"nothing to check: no target {HAS_RULES}", hint=_HINT)
    target_runs.raise_failures(is_verbose())


def _ended_checks(
    specs: Sequence[TargetSpec], update: bool, jobs: int, limits: Limits
) -> tuple[dict[str, CheckEnd], KeyboardInterrupt | None]:
    """Check the targets; return the checks that ended by name, and the interruption if one came."""
    ends: dict[str, CheckEnd] = {}

    def on_wait(folder: Path) -> None:
        console.message(f"waiting for another build in {folder} to end")

    try:
        with (
            interrupts.interrupts_raised(),
            interrupts.terminations_raised(),
            console.progress("checking", len(specs)) as bar,
            FolderLocks(on_wait) as locks,
            closing(
                check_targets(
                    specs,
                    update,
                    jobs,
                    limits,
                    locks,
                    lambda name, stage: bar.describe(f"checking {name}: {stage}"),
                )
            ) as running,
        ):
            for end in running:
                ends[end.target] = end
                bar.advance()
    except KeyboardInterrupt as error:
        return ends, error
    return ends, None


def _record(
    specs: Sequence[TargetSpec],
    ends: Mapping[str, CheckEnd],
    update: bool,
    target_runs: TargetRuns,
    interruption: KeyboardInterrupt | None,
    results: list[Checked],
) -> None:
    """Record the checks in the order of the targets; add those without an error to `results`.

    With `update`, the figures and golden programs of these are saved.
    """
    for spec in specs:
        end = ends.get(spec.name)
        if end is None:
            assert interruption is not None
            target_runs.add_interruption(spec.name, interruption)
            continue
        if end.log:
            console.message(f"{spec.name} printed:\n{end.log.rstrip()}")
        with target_runs.record(spec.name, end.seconds), clearing(spec):
            checked = end.result()
            results.append(checked)
            if update:
                _save(spec, checked)
            if violation := broken_message(checked):
                target_runs.add_failure(violation)


_HINT = 'add [target.NAME.budget] with a limit, such as flops = "2 GFLOP", to olympus.toml'


def _fail_unchecked(target_runs: TargetRuns, opened: Project, targets: list[str]) -> None:
    """Record the selected targets that have neither a budget nor a golden program."""
    for target in targets:
        hint = _HINT.replace("NAME", target.partition("@")[0])
        error = UsageError(f"target {target!r} is not judged: {UNJUDGED}", hint=hint)
        target_runs.add_unchecked(target, error, place_of_target(opened.file, target))


def _fail_without_donation(
    target_runs: TargetRuns, opened: Project, checked: Sequence[Checked]
) -> None:
    """Record the targets that donate no array and have `donation` as their only budget."""
    for target in [result.target for result in checked if not result.is_judged]:
        hint = f"add donate = [...] to [target.{target.partition('@')[0]}], the names of arguments"
        error = UsageError(f"target {target!r} is not judged: {NO_DONATION}", hint=hint)
        target_runs.add_unchecked(target, error, place_of_target(opened.file, target))


def _save(spec: TargetSpec, checked: Checked) -> None:
    """Write the figures and the golden programs of a target."""
    paths = [
        write_program(spec.root, spec.name, label, text) for label, text in checked.programs.items()
    ]
    if spec.budget:
        paths.append(write_saved(spec.root, Saved(spec.name, checked.figures)))
    for path in paths:
        console.message(f"wrote {display_path(path)}")
