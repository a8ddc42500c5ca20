"""`olympus bench`: measure how long each stage of a program takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from olympus.errors import ArtifactError, CompileError, OlympusError
from olympus_cli import console
from olympus_cli.bench.show import COLUMNS, times_data, times_rows, times_title
from olympus_cli.bench.stages import Effort, TargetTimes, bench_bundle, bench_target
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.show import raise_failures
from olympus_cli.faults.failure import Failure
from olympus_cli.input_options import bundle_options, effort_options, input_options
from olympus_cli.isolated.call import Say, call
from olympus_cli.options import (
    Command,
    backend_options,
    common_options,
    is_verbose,
    request_options,
    stage_options,
)
from olympus_cli.program.bundle import BundleOptions, bundle_backend, bundle_loader
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import check_flags
from olympus_cli.spec.resolve import Request, expanded

__all__ = ["command"]


@click.command("bench", cls=Command)
@click.argument("names", metavar="[ENTRY|TARGET|FILE.olympus]...", nargs=-1)
@request_options
@backend_options
@stage_options
@input_options
@bundle_options
@effort_options
@common_options
def command(
    names: tuple[str, ...],
    request: Request,
    inputs: InputOptions,
    allowed: BundleOptions,
    effort: Effort,
    as_json: bool,
) -> None:
    """Without a name, measure the default targets of olympus.toml.  Of a FILE.olympus, measure the
    loading and the calls.

    \b
    Examples:
      olympus bench
      olympus bench model:forward --shapes "x=f32[8,3]"
      olympus bench forward --time-limit 2 --json
    """
    programs = (replace(request, text=name) for name in expanded(names, request))
    works = [_work(program, allowed) for program in programs]
    check_flags()
    found: list[dict[str, Any]] = []
    outcomes: list[Outcome] = []
    try:
        for number, each in enumerate(works, 1):
            try:
                with console.progress(f"measuring {each.name} ({number} of {len(works)})"):
                    measured = call(
                        _measured,
                        each.bench,
                        inputs,
                        effort,
                        does="measures",
                        quiet=each.death is ArtifactError,
                        death=each.death,
                    )
            except OlympusError as error:
                if len(works) == 1:
                    raise
                outcomes.append(Outcome(each.name, "failed", failure=Failure.of(error)))
                continue
            outcomes.append(Outcome(each.name, "built"))
            found.append(measured["data"])
            if not as_json:
                console.table(COLUMNS, measured["rows"], measured["title"])
    finally:  # what comes after a target does not take its times
        if as_json and found:
            console.print_json({"targets": found})
    raise_failures(outcomes, is_verbose())


@dataclass(frozen=True)
class _Work:
    """One program to measure; `death` is what the end of the process that does means."""

    name: str
    death: type[OlympusError]
    bench: Callable[[InputOptions, Effort, Say], TargetTimes]


def _work(request: Request, allowed: BundleOptions) -> _Work:
    load = bundle_loader(request, allowed)
    if load is not None:
        bench = partial(bench_bundle, request.text, load, bundle_backend(request))
        return _Work(request.text, ArtifactError, bench)
    spec = request.spec()
    return _Work(spec.name, CompileError, partial(bench_target, spec))


def _measured(
    say: Say,
    bench: Callable[[InputOptions, Effort, Say], TargetTimes],
    inputs: InputOptions,
    effort: Effort,
) -> dict[str, Any]:
    """The times of one program, as data and as a table."""
    say("load")
    times = bench(inputs, effort, say)
    return {"data": times_data(times), "rows": times_rows(times), "title": times_title(times)}
