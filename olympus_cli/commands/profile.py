"""`olympus profile`: where the time of a call goes, measured kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

import olympus
from olympus.analysis import ProfileKind
from olympus.errors import ArtifactError, BackendError, CompileError, UsageError
from olympus_cli.builder.reuse import clearing, ready_to_run
from olympus_cli.options.inputs import bundle_options, input_options
from olympus_cli.options.shared import (
    Command,
    WritablePath,
    backend_options,
    common_options,
    memory_limit_option,
    program_options,
    stage_options,
    time_limit_option,
    whole_number,
)
from olympus_cli.profile.page import render_profile
from olympus_cli.profile.profiled import ProfiledProgram
from olympus_cli.profile.table import show_profile
from olympus_cli.profile.trace import trace_bytes
from olympus_cli.program.bundle import bundle_loader
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable, check_flags
from olympus_cli.reports.relative_paths import relative
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.resolve import Request
from olympus_cli.terminal import console
from olympus_cli.terminal.output import write_file
from olympus_cli.text.paths import display_path, resolved
from olympus_cli.workers.call import OnStage, call
from olympus_cli.workers.executor import Limits

#: The kinds of rows in the table, and their names in `Profile.by`.
KINDS: dict[str, ProfileKind] = {
    "line": "line",
    "scope": "scope",
    "op": "operation",
    "kernel": "kernel",
}
_PACKED = ".gz"
_TRACES = (".json", ".json.gz")


@click.command("profile", cls=Command)
@program_options
@backend_options
@stage_options
@input_options
@bundle_options
@click.option(
    "--by",
    type=click.Choice(tuple(KINDS)),
    default="line",
    show_default=True,
    help="Sum the times by source line, name scope, operation or kernel.",
)
@click.option(
    "--rows",
    type=whole_number(1),
    metavar="N",
    default=20,
    show_default=True,
    help="Show at most N rows, the slowest.",
)
@click.option(
    "--runs",
    type=whole_number(1),
    metavar="N",
    default=10,
    show_default=True,
    help="Measure N calls, and show the median.",
)
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=WritablePath(),
    help="Write a page with a flame graph to FILE.",
)
@click.option(
    "--trace",
    metavar="FILE",
    type=WritablePath(),
    help="Write the timeline of one call, for Perfetto, to FILE.json or FILE.json.gz.",
)
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    inputs: InputOptions,
    allowed: BundleOptions,
    by: str,
    rows: int,
    runs: int,
    page: Path | None,
    trace: Path | None,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """The program runs on the CPU, under XLA's profiler.

    \b
    Examples:
      olympus profile model:forward --shapes "x=f32[8,3]"
      olympus profile forward --by scope --html profile.html
      olympus profile forward.olympus --inputs in.npz --trace forward.json.gz
    """
    _check_files(page, trace)
    check_flags()
    inputs = replace(inputs, weights=request.weights_file)
    bundle = bundle_loader(request, allowed)
    work = _work(request, inputs, bundle)
    packed = None if trace is None else trace.suffix == _PACKED
    with clearing(work.inputs.target):
        arguments = work, KINDS[by], runs, packed
        limits = Limits(time_limit, memory_limit)
        program, timeline = _isolated(request.text, bundle is not None, limits, *arguments)
    if page is not None:
        write_file(page, render_profile(program, work.root))
    if trace is not None:
        write_file(trace, timeline)
    if as_json:
        files = {"page": page and display_path(page), "trace": trace and display_path(trace)}
        console.print_json({**program.document(), **files})
    else:
        show_profile(program, work.root, rows)


def _isolated(
    text: str, is_bundle: bool, limits: Limits, *args: _Work | ProfileKind | int | None
) -> tuple[ProfiledProgram, bytes]:
    """Return the result of `_profiled` with `args`, which runs in a process of its own."""
    with console.progress(f"profiling {text}") as bar:
        data, timeline = call(
            _profiled,
            *args,
            action=f"profiles {text}" if is_bundle else "profiles",
            quiet=is_bundle,
            death=ArtifactError if is_bundle else CompileError,
            time_limit=limits.time,
            memory_limit=limits.memory,
            on_stage=lambda stage: bar.describe(f"{text}: {stage}"),
        )
    return ProfiledProgram.from_data(data), timeline


def _check_files(page: Path | None, trace: Path | None) -> None:
    """Check that both files can be written and that their names have the right suffixes.

    Raises:
        UsageError: one of them cannot be written or has the wrong suffix.
    """
    if trace is None:
        return
    if not trace.name.endswith(_TRACES):
        raise UsageError(
            f"--trace {display_path(trace)}: the name must end in {' or '.join(_TRACES)}"
        )
    if page is not None and resolved(page) == resolved(trace):
        raise UsageError(f"--html and --trace would both be written to {display_path(page)}")


class _Work(NamedTuple):
    """The function that loads the program with its inputs, and the program's names.

    `named` has the target, the entry and the backend. Lines are relative to `root`.
    """

    load: Callable[[OnStage], Runnable]
    inputs: InputOptions
    named: tuple[str, str, str]
    root: Path


def _work(
    request: Request, inputs: InputOptions, bundle: Callable[[OnStage], Runnable] | None
) -> _Work:
    if bundle is not None:
        named = Path(request.text).stem, request.text, "cpu"
        return _Work(bundle, inputs, named, Path.cwd())
    spec = request.spec()
    backend = next((backend for backend in spec.backends if backend.backend == "cpu"), None)
    if backend is None:
        raise BackendError(
            f"{spec.name} is for {backend_text(spec.backends[0])}, and only programs for the CPU "
            "can be profiled",
            hint="add --backend cpu to compile it for the CPU",
        )
    spec = replace(spec, backends=(backend,))
    named = spec.name, spec.entry, backend_text(backend)
    return _Work(partial(ready_to_run, spec), inputs.of(spec), named, spec.root)


def _profiled(
    on_stage: OnStage, work: _Work, kind: ProfileKind, runs: int, packed: bool | None
) -> tuple[dict[str, Any], bytes]:
    """Return the profile of a program as data, and the content of a trace file."""
    program = work.load(on_stage)
    args, kwargs = program.bind(work.inputs.arrays(program.arguments))
    on_stage("measure")
    profile = olympus.analysis.profile(program.compiled, args, kwargs, runs=runs)
    profiled = ProfiledProgram(*work.named, kind, relative(profile, work.root))
    if packed is None:
        return profiled.to_data(), b""
    timeline = trace_bytes(profiled.profile, profiled.target, packed=packed)
    return profiled.to_data(), timeline
