"""`olympus lower`: print a program as StableHLO or in another form."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import click

import olympus
from olympus_cli.options.shared import (
    Command,
    as_is_option,
    backend_options,
    common_options,
    entry_options,
    linalg_option,
    memory_limit_option,
    output_option,
    repeats_option,
    time_limit_option,
)
from olympus_cli.program.stages import Program
from olympus_cli.reports.program import program_document
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.terminal import console
from olympus_cli.terminal.output import emit
from olympus_cli.text.paths import display_path
from olympus_cli.workers.call import OnStage, call

FORMATS = ("stablehlo", "hlo", "olympuspr", "dot", "bytecode")


@click.command("lower", cls=Command)
@entry_options
@backend_options
@repeats_option
@linalg_option
@as_is_option
@click.option(
    "--format",
    "form",
    metavar="FORM",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help=f"Print the program as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.",
)
@click.option("--debug-info", is_flag=True, help="Include source locations and name scopes.")
@output_option("the program", printed=True)
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    form: str,
    debug_info: bool,
    output: Path | None,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """\b
    Examples:
      olympus lower model:forward --shapes "x=f32[8,3]"
      olympus lower forward --format bytecode -o out.mlirbc
    """
    content, document = call(
        _lowered,
        request.spec(),
        form,
        debug_info,
        action="lowers",
        time_limit=time_limit,
        memory_limit=memory_limit,
    )
    if output is not None or not as_json:
        emit(content, output)
    if as_json:
        if output is not None:
            document["output"] = display_path(output)
        elif isinstance(content, bytes):
            document["base64"] = base64.b64encode(content).decode()
        else:
            document["text"] = content
        console.print_json(document)


def _lowered(
    on_stage: OnStage, spec: TargetSpec, form: str, debug_info: bool
) -> tuple[str | bytes, dict[str, Any]]:
    """Return a target's program in the requested form, and its document."""
    label, backend = next(iter(spec.labels.items()))
    program = Program.of(
        spec, on_stage, until="lower", labels=[label], keeps_sizes=True, self_contained=True
    )
    for warning in program.warnings:
        console.message(f"warning: {warning}")
    content = _in_form(program.units[0].lowered, form, debug_info)
    document = program_document(program.source, program.traced)
    return content, {**document, "backend": backend_text(backend), "format": form}


def _in_form(stage: olympus.stages.Lowered, form: str, debug_info: bool) -> str | bytes:
    if form == "olympuspr":
        return str(stage.olympuspr)
    return stage.bytecode() if form == "bytecode" else stage.as_text(form, debug_info=debug_info)
