"""`olympus check`: hold targets against their budgets and golden programs."""

from __future__ import annotations

import click

from olympus.errors import UsageError
from olympus_cli import console
from olympus_cli.gates.checking import Checked, perform
from olympus_cli.gates.report import broken_message, checked_report
from olympus_cli.gates.saved import Saved, read_saved, write_program, write_saved
from olympus_cli.gates.trials import Trials
from olympus_cli.history.recording import record_check
from olympus_cli.isolated.call import call
from olympus_cli.options import Command, gate_options, is_verbose, project_option
from olympus_cli.places import shown
from olympus_cli.reports.outputs import Outputs
from olympus_cli.spec.model import TargetSpec
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
    """Without a name, check the default targets that have a budget or are golden. Nothing is run,
    and nothing is timed.

    \b
    Examples:
      olympus check
      olympus check forward --json
      olympus check --output junit=check.xml --output github
      olympus check --update
    """
    opened = open_project(project)
    specs = [spec for spec in opened.select(names) if spec.budget or spec.golden]
    if not specs:
        raise UsageError(
            "there is nothing to check: no target has a budget or is golden",
            hint='such as [target.NAME.budget] with flops = "2 GFLOP" in olympus.toml',
        )
    trials = Trials("check", len(specs))
    found: list[Checked] = []
    try:
        for spec in specs:
            with trials.of(spec.name):
                found.append(_checked(spec, update))
                if told := broken_message(found[-1]):
                    trials.says_no(told)
    finally:
        try:  # what the user waits for comes first: another Ctrl-C ends the process
            outputs.write(checked_report(found, trials, {spec.name: spec.root for spec in specs}))
        finally:
            record_check(opened, found)
    trials.raise_failures(is_verbose())


def _checked(spec: TargetSpec, update: bool) -> Checked:
    saved = Saved(spec.name, {}) if update else read_saved(spec.root, spec.name)
    with console.progress(f"checking {spec.name}"):
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
