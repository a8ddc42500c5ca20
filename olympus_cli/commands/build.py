"""`olympus build`: bring targets of olympus.toml up to date."""

from __future__ import annotations

import click

from olympus.errors import UsageError
from olympus_cli import console, interrupts
from olympus_cli.builder.driver import build
from olympus_cli.builder.plan import Options
from olympus_cli.builder.show import outcome_data, outcome_line, raise_failures, watching
from olympus_cli.options import (
    PositiveNumber,
    json_option,
    project_option,
    targets_argument,
    verbose_option,
)
from olympus_cli.spec.backends import named_backend
from olympus_cli.spec.resolve import open_project

__all__ = ["command"]


@click.command("build")
@targets_argument
@project_option
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Build this many targets at a time; one for each processor otherwise.",
)
@click.option(
    "--time-limit",
    type=PositiveNumber(),
    metavar="SECONDS",
    help="Give up a target after this long.",
)
@click.option(
    "--backend",
    metavar="NAME",
    help="Build only for this one of a target's backends: cpu, gpu or gpu:h200.",
)
@click.option("--force", is_flag=True, help="Build also what is up to date.")
@click.option("--frozen", is_flag=True, help="Build nothing; exit 7 if something would be built.")
@json_option
@verbose_option
@click.pass_context
def command(
    context: click.Context,
    names: tuple[str, ...],
    project: str | None,
    jobs: int | None,
    time_limit: float | None,
    backend: str | None,
    force: bool,
    frozen: bool,
    as_json: bool,
) -> None:
    """Build the targets of olympus.toml, all or the named ones, where something has changed."""
    if entry := next((name for name in names if ":" in name), None):
        raise UsageError(
            f"{entry!r} is an entry, and build takes targets of olympus.toml",
            hint=f"olympus compile {entry} --shapes ... compiles an entry",
        )
    opened = open_project(project)
    chosen = named_backend(backend) if backend else None
    options = Options(jobs, time_limit, force, frozen, chosen)
    specs = {spec.name: spec for spec in opened.select(names) if options.labels(spec)}
    if not specs:
        raise UsageError(f"no target here is built for the backend {backend!r}")
    with interrupts.raised(), watching(len(specs)) as listener:
        outcomes = build(specs, opened.build_dir, options, listener)
    for each in outcomes:
        for warning in each.report.warnings if each.report else ():
            console.say(f"warning: target {each.target!r}: {warning}")
    if as_json:
        shown = [outcome_data(each, opened.build_dir / each.target) for each in outcomes]
        console.print_json({"build_dir": str(opened.build_dir), "targets": shown})
    else:
        for each in outcomes:
            console.data(outcome_line(each, opened.build_dir / each.target))
    raise_failures(outcomes, bool(context.meta.get("olympus.verbose")))
