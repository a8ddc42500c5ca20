"""`olympus compile`: compile one program, and show its cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olympus_cli.builder.driver import build
from olympus_cli.builder.folder import check_other_builds, outputs_folder
from olympus_cli.builder.plan import Options
from olympus_cli.builder.show import building, raise_failures
from olympus_cli.history.recording import record_build
from olympus_cli.options.shared import (
    Command,
    FolderPath,
    backend_options,
    common_options,
    entry_options,
    is_verbose,
    memory_limit_option,
    no_cache_option,
    page_option,
    stage_options,
    time_limit_option,
)
from olympus_cli.process import interrupts
from olympus_cli.reports.text import render_text
from olympus_cli.spec.cache import Use
from olympus_cli.spec.entries import is_entry
from olympus_cli.spec.resolve import Request, project_of
from olympus_cli.terminal import console

if TYPE_CHECKING:
    from olympus_cli.builder.outcome import Outcome
    from olympus_cli.spec.model import TargetSpec


@click.command("compile", cls=Command)
@entry_options
@backend_options
@stage_options
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=FolderPath(),
    help="Write the outputs to FOLDER; the default is build/TARGET.",
)
@page_option
@no_cache_option
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    output: Path | None,
    page: bool,
    no_cache: bool,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """Write the files that olympus build writes: the executable, the bundle and the report.
    Without --backend, compile for all backends of the target.

    \b
    Examples:
      olympus compile model:forward --shapes "x=f32[8,3]"
      olympus compile forward --backend gpu --device h200
    """
    spec = request.spec()
    instead = f"-o FOLDER gives the outputs of {spec.entry} a folder of their own"
    folder = output or outputs_folder(request, spec, instead)
    if output is None:
        check_other_builds(request, spec, folder, "-o FOLDER writes the outputs to another folder")
    with interrupts.interrupts_raised(), building([spec.name], jobs=1) as listener:
        use: Use | None = None if no_cache else "read"
        options = Options(
            jobs=1,
            time_limit=time_limit,
            memory_limit=memory_limit,
            force=True,
            page=page,
            use=use,
        )
        outcomes = build({folder.name: spec}, folder.parent, options, listener)
    if output is None:
        _record(request, spec, outcomes)
    raise_failures(outcomes, is_verbose())
    report = outcomes[0].report
    assert report is not None  # it was built
    if as_json:
        console.print_json({"directory": str(folder), "report": report.to_data()})
    else:
        console.prose(render_text(report, console.width()) + f"written to {folder}")


def _record(request: Request, spec: TargetSpec, outcomes: Sequence[Outcome]) -> None:
    """Add the figures of a target to the history: a build finds it fresh, and adds none."""
    project = None if is_entry(request.text) else project_of(request.project, spec.root)
    if project is not None:
        record_build(project, outcomes)
