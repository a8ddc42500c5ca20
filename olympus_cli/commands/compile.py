"""`olympus compile`: compile one program, and say what it costs."""

from __future__ import annotations

from pathlib import Path

import click

from olympus_cli import console, interrupts
from olympus_cli.builder.driver import build
from olympus_cli.builder.folder import entry_folder
from olympus_cli.builder.plan import Options
from olympus_cli.builder.show import raise_failures, watching
from olympus_cli.options import (
    FolderPath,
    PositiveNumber,
    entry_options,
    json_option,
    target_options,
    verbose_option,
)
from olympus_cli.reports.text import render_text
from olympus_cli.spec.resolve import build_dir, resolve

__all__ = ["command"]


@click.command("compile")
@entry_options
@target_options
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=FolderPath(),
    help="Write to FOLDER, instead of build/<target>.",
)
@click.option(
    "--time-limit",
    type=PositiveNumber(),
    metavar="SECONDS",
    help="Give up after this long.",
)
@json_option
@verbose_option
@click.pass_context
def command(
    context: click.Context,
    text: str,
    shapes: str | None,
    statics: tuple[str, ...],
    project: str | None,
    backend: str | None,
    device: str | None,
    output: Path | None,
    time_limit: float | None,
    as_json: bool,
) -> None:
    """Compile one program, for the backend that is named or for those of its target."""
    spec = resolve(text, shapes, statics, project, backend, device)
    if output is None and ":" in text:
        output = entry_folder(spec, project)
    folder = Path.cwd() / (output or build_dir(project, spec.root) / spec.name)
    with interrupts.raised(), watching(1) as listener:
        options = Options(jobs=1, time_limit=time_limit, force=True)
        outcomes = build({folder.name: spec}, folder.parent, options, listener)
    raise_failures(outcomes, bool(context.meta.get("olympus.verbose")))
    report = outcomes[0].report
    assert report is not None  # it was built
    if as_json:
        console.print_json({"directory": str(folder), "report": report.to_data()})
    else:
        console.data(render_text(report) + f"written to {folder}")
