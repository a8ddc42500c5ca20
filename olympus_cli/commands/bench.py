"""`olympus bench`: programs enter; how long each stage of each takes leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from olympus_cli import console
from olympus_cli.bench.show import COLUMNS, times_data, times_rows, times_title
from olympus_cli.bench.stages import Budget, bench_target
from olympus_cli.frontends.resolve import open_project, resolve
from olympus_cli.input_options import budget_options, input_options
from olympus_cli.inputs import InputOptions
from olympus_cli.options import (
    ProgramCommand,
    json_option,
    project_option,
    target_options,
    targets_argument,
    verbose_option,
)
from olympus_cli.runnable import check_flags

__all__ = ["command"]


@click.command("bench", cls=ProgramCommand)
@targets_argument
@click.option("--shapes", metavar="SHAPES", help="The arguments' shapes, as for `olympus trace`.")
@click.option("--static", "statics", metavar="NAME=VALUE", multiple=True, help="A static argument.")
@project_option
@target_options
@input_options
@budget_options
@json_option
@verbose_option
def command(
    names: tuple[str, ...],
    shapes: str | None,
    statics: tuple[str, ...],
    project: str | None,
    backend: str | None,
    device: str | None,
    inputs: InputOptions,
    budget: Budget,
    as_json: bool,
) -> None:
    """Measure targets of olympus.toml, all or the named ones, or entries, stage by stage."""
    specs = [
        resolve(name, shapes, statics, project, backend, device)
        for name in _expanded(names, project)
    ]
    check_flags()
    found: list[dict[str, Any]] = []
    try:
        for number, spec in enumerate(specs, 1):
            with console.progress(f"measuring {spec.name} ({number} of {len(specs)})"):
                times = bench_target(spec, inputs, budget)
            found.append(times_data(times))
            if not as_json:
                console.table(COLUMNS, times_rows(times), times_title(times))
    finally:  # one target's error does not take the times of those before
        if as_json and found:
            console.print_json({"targets": found})


def _expanded(names: Sequence[str], project: str | None) -> list[str]:
    """`names` with the targets that the name of a matrix stands for; none stands for all."""
    entries = [name for name in names if ":" in name]
    targets = [name for name in names if ":" not in name]
    if targets or not names:
        targets = [target.name for target in open_project(project).select(targets)]
    return entries + targets
