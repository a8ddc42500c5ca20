"""`olympus run`: execute a program, summarize its results and write them to a file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np

from olympus.errors import ArtifactError, CompileError, UsageError
from olympus.files import is_device
from olympus_cli.builder.reuse import clearing, ready_to_run
from olympus_cli.options.inputs import bundle_options, input_options
from olympus_cli.options.shared import (
    Command,
    backend_options,
    common_options,
    memory_limit_option,
    output_option,
    program_options,
    stage_options,
    time_limit_option,
    whole_number,
)
from olympus_cli.program.bundle import bundle_loader
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.input_files import listed, npz_bytes, portable
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable, check_flags
from olympus_cli.reports.arrays import ArraySummary, summarize_array
from olympus_cli.spec.resolve import Request
from olympus_cli.spec.toml import toml_key
from olympus_cli.terminal import console
from olympus_cli.terminal.output import emit, write_file
from olympus_cli.text.paths import display_path
from olympus_cli.workers.call import OnStage, call

Array = np.ndarray[Any, Any]

_SUFFIX = ".npz"
_COLUMNS = ("output", "shape", "dtype", "mean", "min", "max", "non-finite")


@click.command("run", cls=Command)
@program_options
@backend_options
@stage_options
@input_options
@bundle_options
@click.option(
    "--size",
    type=whole_number(1),
    metavar="N",
    help="Call a bundle of several sizes with N rows; the default is its largest size.",
)
@output_option("the results", form=".npz, which --inputs reads")
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    inputs: InputOptions,
    allowed: BundleOptions,
    output: Path | Literal["-"] | None,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """The executable in a FILE.olympus is native code, which runs with all your permissions: run
    only files from authors whom you trust (--trust verifies a signature), or use --no-native.

    \b
    Examples:
      olympus run model:forward --shapes "x=f32[8,3]"
      olympus run forward.olympus --inputs in.npz -o out.npz
    """
    if output == "-" and as_json:
        raise UsageError("`-o -` cannot be combined with --json: both write to stdout")
    _check_form(output)
    check_flags()
    inputs = replace(inputs, weights=request.weights_file)
    bundle = bundle_loader(request, allowed)
    load, spec = bundle, None
    if load is None:
        spec = request.spec()
        load, inputs = partial(ready_to_run, spec), inputs.of(spec)
    with clearing(spec), console.progress(f"compiling {request.text}") as bar:
        summaries, content = call(
            _run,
            load,
            inputs,
            output is not None,
            action="runs" if bundle is None else f"runs {request.text}",
            quiet=bundle is not None,  # it prints nothing, except in a native crash
            death=ArtifactError if bundle else CompileError,
            time_limit=time_limit,
            memory_limit=memory_limit,
            on_stage=lambda stage: bar.describe(f"{request.text}: {stage}"),
        )
    if output == "-":
        emit(content, None)
        return
    if output is not None:
        write_file(output, content)
    if as_json:
        file = output and display_path(output)
        console.print_json({"outputs": summaries, "file": file})
    else:
        console.table(_COLUMNS, [ArraySummary(**summary).row() for summary in summaries])


def _check_form(output: Path | Literal["-"] | None) -> None:
    """Raise UsageError for a file whose name does not end in .npz, before the work for it."""
    if output is None or output == "-" or output.suffix == _SUFFIX or is_device(output):
        return
    raise UsageError(
        f"--output {display_path(output)}: the name must end in {_SUFFIX}",
        hint=f"--output {shlex.quote(display_path(output.with_suffix(_SUFFIX)))}",
    )


def _run(
    on_stage: OnStage, load: Callable[[OnStage], Runnable], inputs: InputOptions, keep: bool
) -> tuple[list[dict[str, Any]], bytes]:
    """Summaries of what a program gives, and, to `keep` it, the content of a .npz file."""
    program = load(on_stage)
    for warning in program.warnings:
        console.message(f"warning: {warning}")
    arrays = inputs.arrays(program.arguments)
    on_stage("run")
    results = program(arrays)
    named = [(leaf.name, array) for leaf, array in zip(program.results, results, strict=True)]
    summaries = [asdict(summarize_array(name, array)) for name, array in named]
    _note_nan(inputs, program, results, [summary["non_finite"] for summary in summaries])
    return summaries, npz_bytes(_written(named)) if keep else b""


def _note_nan(
    inputs: InputOptions, program: Runnable, results: Sequence[Array], non_finite: Sequence[int]
) -> None:
    """Note results that are NaN alone, if values of arguments are drawn from the seed."""
    nan = [
        leaf.name
        for leaf, array, count in zip(program.results, results, non_finite, strict=True)
        if 0 < array.size == count and np.isnan(array).all()
    ]
    undeclared = inputs.undeclared(program.arguments)
    drawn = [
        leaf.name
        for leaf, is_undeclared in zip(program.arguments, undeclared, strict=True)
        if is_undeclared
    ]
    if nan and drawn:
        console.message(
            f"note: {listed(nan)}: every element is NaN, on drawn values of {listed(drawn)}; give "
            f"--inputs FILE, or describe them in [target.NAME.inputs] of olympus.toml, such as "
            f"{toml_key(drawn[0])} = {{ range = [0.1, 1] }}"
        )


def _written(named: list[tuple[str, Array]]) -> list[tuple[str, Array]]:
    """Return the results in dtypes that .npz files support, with a note on each converted one."""
    arrays = [(name, portable(array)) for name, array in named]
    for (name, array), (_, wide) in zip(named, arrays, strict=True):
        if wide.dtype != array.dtype:
            console.message(
                f"note: {name} is {array.dtype.name}, which .npz files do not have, and is written "
                f"as {wide.dtype.name}"
            )
    return arrays
