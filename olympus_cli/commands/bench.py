"""`olympus bench`: programs enter; how long each stage of each takes leaves."""

from __future__ import annotations

import click

from olympus_cli import console
from olympus_cli.bench.show import COLUMNS, times_data, times_rows, times_title
from olympus_cli.bench.stages import Budget, bench_target
from olympus_cli.commands.inputs import input_options
from olympus_cli.commands.options import (
    json_option,
    project_option,
    target_options,
    targets_argument,
    verbose_option,
)
from olympus_cli.frontends.resolve import open_project, resolve
from olympus_cli.inputs import InputOptions

__all__ = ["command"]

_POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command("bench")
@targets_argument
@click.option("--shapes", metavar="SHAPES", help="The arguments' shapes, as for `olympus trace`.")
@click.option("--static", "statics", metavar="NAME=VALUE", multiple=True, help="A static argument.")
@project_option
@target_options
@input_options
@click.option(
    "--precision",
    type=_POSITIVE,
    default=0.02,
    show_default=True,
    metavar="RATIO",
    help="Measure until half the interval of the median is this part of it.",
)
@click.option(
    "--time-limit",
    type=_POSITIVE,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Measure a target's calls no longer than this.",
)
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
    precision: float,
    time_limit: float,
    as_json: bool,
) -> None:
    """Measure targets of olympus.toml, all or the named ones, or entries, stage by stage."""
    names = names or tuple(target.name for target in open_project(project).select())
    specs = [resolve(name, shapes, statics, project, backend, device) for name in names]
    found = []
    with console.progress("measuring", len(specs)) as bar:
        for spec in specs:
            bar.describe(f"measuring {spec.name}")
            found.append(bench_target(spec, inputs, Budget(precision, time_limit)))
            bar.advance()
    if as_json:
        console.print_json({"targets": [times_data(times) for times in found]})
        return
    for times in found:
        console.table(COLUMNS, times_rows(times), times_title(times))
