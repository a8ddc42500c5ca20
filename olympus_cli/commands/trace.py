"""`olympus trace`: print the Olympuspr of an entry or a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olympus_cli.options.shared import (
    Command,
    common_options,
    entry_options,
    memory_limit_option,
    output_option,
    time_limit_option,
)
from olympus_cli.program.stages import Program
from olympus_cli.reports.program import program_document
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.terminal import console
from olympus_cli.terminal.output import emit
from olympus_cli.text.paths import display_path
from olympus_cli.workers.call import OnStage, call


@click.command("trace", cls=Command)
@entry_options
@output_option("the program", printed=True)
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    output: Path | None,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """\b
    Examples:
      olympus trace model:forward --shapes "x=f32[8,3]"
      olympus trace forward --output forward.olympuspr
    """
    olympuspr, document = call(
        _traced, request.spec(), action="traces", time_limit=time_limit, memory_limit=memory_limit
    )
    if not as_json:
        emit(olympuspr, output)
        return
    if output is None:
        document["olympuspr"] = olympuspr
    else:
        emit(olympuspr, output)
        document["output"] = display_path(output)
    console.print_json(document)


def _traced(on_stage: OnStage, spec: TargetSpec) -> tuple[str, dict[str, Any]]:
    """Return the Olympuspr of a target, and the document of its program."""
    program = Program.of(spec, on_stage, until="trace", keeps_sizes=True)
    for warning in program.warnings:
        console.message(f"warning: {warning}")
    return str(program.traced.olympuspr), program_document(program.source, program.traced)
