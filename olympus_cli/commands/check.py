"""`olympus check`: hold targets against their budgets and golden programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from olympus.errors import GateError, OlympusError, UsageError
from olympus_cli import console
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.show import raise_failures
from olympus_cli.faults.failure import Failure
from olympus_cli.gates.budget import Verdict
from olympus_cli.gates.checking import Checked, perform
from olympus_cli.gates.saved import Saved, read_saved, write_program, write_saved
from olympus_cli.history.recording import record_check
from olympus_cli.isolated.call import call
from olympus_cli.options import Command, common_options, is_verbose, project_option
from olympus_cli.places import shown
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import open_project

__all__ = ["command"]

COLUMNS = ("target", "backend", "budget", "figure", "limit", "verdict")


@click.command("check", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@click.option(
    "--update",
    is_flag=True,
    help="Save the figures that relative limits are of, and golden programs.",
)
@common_options
def command(names: tuple[str, ...], project: str | None, update: bool, as_json: bool) -> None:
    """Without a name, check the default targets that have a budget or are golden. Nothing is run,
    and nothing is timed.

    \b
    Examples:
      olympus check
      olympus check forward --json
      olympus check --update
    """
    opened = open_project(project)
    specs = [spec for spec in opened.select(names) if spec.budget or spec.golden]
    if not specs:
        raise UsageError(
            "there is nothing to check: no target has a budget or is golden",
            hint='such as [target.NAME.budget] with flops = "2 GFLOP" in olympus.toml',
        )
    found: list[Checked] = []
    outcomes: list[Outcome] = []
    for spec in specs:
        try:
            found.append(_checked(spec, update))
        except OlympusError as error:
            if len(specs) == 1:
                raise
            outcomes.append(Outcome(spec.name, "failed", failure=Failure.of(error)))
    record_check(opened, found)
    broken = [verdict for each in found for verdict in each.broken]
    for each in found:
        for warning in each.warnings:
            console.say(f"warning: target {each.target!r}: {warning}")
    if as_json:
        console.print_json({"targets": [_data(each) for each in found]})
    elif found:
        console.table(COLUMNS, [_row(v) for each in found for v in each.verdicts])
    raise_failures(outcomes, is_verbose())
    if broken:
        raise GateError("\n".join(_told(broken)))


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


def _row(verdict: Verdict) -> tuple[str, ...]:
    return (
        verdict.target,
        verdict.backend,
        verdict.key,
        verdict.figure,
        verdict.limit,
        _word(verdict),
    )


def _word(verdict: Verdict) -> str:
    return "broken" if verdict.is_broken else "kept"


def _data(checked: Checked) -> dict[str, Any]:
    """What became of a target, as JSON-like data."""
    verdicts = [{**asdict(each), "verdict": _word(each)} for each in checked.verdicts]
    return {
        "target": checked.target,
        "verdicts": verdicts,
        "figures": checked.figures,
        "warnings": list(checked.warnings),
    }


def _told(broken: Sequence[Verdict]) -> Iterator[str]:
    """What is wrong, with the lines that contribute most."""
    for verdict in broken:
        yield f"target {verdict.target!r} on {verdict.backend}: {verdict.why}"
        yield from (f"  {line}" for line in verdict.lines)
