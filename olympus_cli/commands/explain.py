"""`olympus explain`: show why targets are stale or fresh, without building them."""

from __future__ import annotations

import click

from olympus_cli.builder.freshness.shortcut import fresh_build, request_key
from olympus_cli.builder.gate_report import build_report
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.options.shared import (
    Command,
    common_options,
    memory_limit_option,
    project_option,
    time_limit_option,
)


@click.command("explain", cls=Command)
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@project_option
@time_limit_option
@memory_limit_option
@common_options
def command(
    names: tuple[str, ...],
    project: str | None,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """A target is fresh if nothing that its last trace read has changed: files, folders of modules,
    settings, environment variables, packages and the machine. A target with a change is traced, and
    is stale if its program differs.

    Without a name, all targets are explained, or the default targets that olympus.toml names.

    \b
    Examples:
      olympus explain
      olympus explain forward
    """
    forms = [("json", None)] if as_json else []
    fresh = fresh_build(project, request_key(names), save=False)
    if fresh is None:
        from olympus_cli.builder.project_build import explain_project  # imports the compiler

        explain_project(names, project, time_limit, memory_limit, forms)
        return
    with Outputs("explain", forms) as outputs:
        outputs.write(build_report(*fresh, command="explain", explain=True))
