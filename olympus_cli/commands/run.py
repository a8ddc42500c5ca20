"""`olympus run`: a program and its inputs enter; a summary of each output, and a file, leave."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from olympus.errors import UsageError
from olympus_cli import console
from olympus_cli.bundle import SUFFIX, load_bundle
from olympus_cli.frontends.resolve import resolve
from olympus_cli.input_options import input_options
from olympus_cli.inputs import InputOptions, npz_bytes
from olympus_cli.options import (
    ProgramCommand,
    entry_options,
    json_option,
    output_option,
    target_options,
    verbose_option,
)
from olympus_cli.output import write_file
from olympus_cli.places import shown
from olympus_cli.runnable import Runnable, check_flags, compile_to_run
from olympus_cli.summary import summarize_array

__all__ = ["command"]

_COLUMNS = ("output", "shape", "dtype", "mean", "min", "max", "non-finite")


@click.command("run", cls=ProgramCommand)
@entry_options
@target_options
@input_options
@click.option(
    "--recompile/--no-recompile",
    default=True,
    help="Whether a FILE.olympus that does not fit this machine is compiled again.",
)
@output_option
@json_option
@verbose_option
def command(
    text: str,
    shapes: str | None,
    statics: tuple[str, ...],
    project: str | None,
    backend: str | None,
    device: str | None,
    inputs: InputOptions,
    recompile: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Execute a program, or a built FILE.olympus, on files or on inputs made from a seed."""
    check_flags()
    with console.progress(f"compiling {text}"):
        if text.endswith(SUFFIX):
            if shapes or statics:
                raise UsageError(f"{text} is built already: it takes no shapes and no statics")
            program = load_bundle(Path(text), backend, device, recompile)
        else:
            program = compile_to_run(resolve(text, shapes, statics, project, backend, device))
    _run(program, inputs, output, as_json)


def _run(program: Runnable, inputs: InputOptions, output: Path | None, as_json: bool) -> None:
    arrays = program(inputs.arrays(program.arguments))
    named = {leaf.name: array for leaf, array in zip(program.results, arrays, strict=True)}
    if output is not None:
        write_file(output, npz_bytes(named))
    summaries = [summarize_array(name, array) for name, array in named.items()]
    if as_json:
        file = output and shown(output)
        console.print_json({"outputs": [asdict(each) for each in summaries], "file": file})
    else:
        console.table(_COLUMNS, [each.row() for each in summaries])
