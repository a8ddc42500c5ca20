"""`olympus check`: hold targets against their budgets and golden programs."""

from __future__ import annotations

import click

from olympus.errors import UsageError
from olympus_cli import console
from olympus_cli.builder.reuse import clearing
from olympus_cli.gates.checking import Checked, perform
from olympus_cli.gates.report import HAS_RULES, UNJUDGED, broken_message, checked_report
from olympus_cli.gates.saved import Saved, read_saved, write_program, write_saved
from olympus_cli.gates.trials import Trials
from olympus_cli.history.recording import record_check
from olympus_cli.isolated.call import call
from olympus_cli.options import Command, gate_options, is_verbose, project_option
from olympus_cli.places import shown
from olympus_cli.reports.outputs import Outputs
from olympus_cli.spec.model import Project, TargetSpec
from olympus_cli.spec.project import place_of_target
from olympus_cli.spec.resolve import open_project

__all__ = ["command"]


@click.command("check", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@click.option(
    "--update",
    is_flag=True,
    help="Save the figures that relative limits are of, and golden programs.",
)
@gate_options
def command(names: tuple[str, ...], project: str | None, update: bool, outputs: Outputs) -> None:
    """Without a name, check the default targets that have a budget or are golden. A target that is
    named and has neither is not judged, which is exit code 2. Nothing is run, and nothing is timed.

    \b
    Examples:
      olympus check
      olympus check forward --json
      olympus check --output junit=check.xml --output github
      olympus check --update
    """
    opened = open_project(project)
    selected = opened.select(names)
    specs = [spec for spec in selected if spec.budget or spec.golden]
    others = [spec.name for spec in selected if not (spec.budget or spec.golden)]
    trials = Trials("check", len(selected))
    if names or not specs:
        _fail_unjudged(trials, opened, others)
    found: list[Checked] = []
    try:
        for spec in specs:
            with trials.of(spec.name):
                found.append(_checked(spec, update))
                if told := broken_message(found[-1]):
                    trials.says_no(told)
    finally:
        try:  # what the user waits for comes first: another Ctrl-C ends the process
            roots = {spec.name: spec.root for spec in specs}
            outputs.write(checked_report(found, trials, roots, others))
        finally:
            record_check(opened, found)
    if not names and not specs:
        raise UsageError(f"nothing to check: no target {HAS_RULES}", hint=_HINT)
    trials.raise_failures(is_verbose())


_HINT = 'add [target.NAME.budget] with a limit, such as flops = "2 GFLOP", to olympus.toml'


def _fail_unjudged(trials: Trials, opened: Project, targets: list[str]) -> None:
    """Record targets that were to be judged and have neither a budget nor a golden program."""
    for target in targets:
        hint = _HINT.replace("NAME", target.partition("@")[0])
        error = UsageError(f"target {target!r} is not judged: {UNJUDGED}", hint=hint)
        trials.not_judged(target, error, place_of_target(opened.file, target))


def _checked(spec: TargetSpec, update: bool) -> Checked:
    saved = Saved(spec.name, {}) if update else read_saved(spec.root, spec.name)
    with clearing(spec), console.progress(f"checking {spec.name}"):
        checked = Checked.from_data(call(perform, spec, saved.figures, update, does="checks"))
    if update:
        paths = [
            write_program(spec.root, spec.name, label, text)
            for label, text in checked.programs.items()
        ]
        if spec.budget:
            paths.append(write_saved(spec.root, Saved(spec.name, checked.figures)))
        for path in paths:
            console.say(f"wrote {shown(path)}")
    return checked
