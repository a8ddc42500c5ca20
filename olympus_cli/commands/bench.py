"""`olympus bench`: measure how long the stages and the calls of programs take."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from olympus.errors import GateError, OlympusError, UsageError
from olympus_cli.bench.baselines import baseline_path, check_saving, write_baseline
from olympus_cli.bench.compare.attempts import (
    Against,
    Attempt,
    CutShort,
    attempted,
    expected_time,
    total_gates,
)
from olympus_cli.bench.compare.other_side import (
    Other,
    RequestedProgram,
    jax_sides,
    other_sides,
    project_root,
)
from olympus_cli.bench.measure.work import BundleWork, Effort, SamplerWork
from olympus_cli.bench.show import attempt_tables, bench_report, worse_lines
from olympus_cli.bench.sweep import axes_of, sweep_page, sweeps_of
from olympus_cli.builder.selection.changed import changed_names
from olympus_cli.faults.failure import Failure
from olympus_cli.gate_reports.failures import raise_all, with_target
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.history.recording import record_bench
from olympus_cli.options.inputs import (
    baseline_options,
    bundle_options,
    effort_options,
    input_options,
)
from olympus_cli.options.shared import (
    Command,
    WritablePath,
    backend_options,
    changed_since_option,
    gate_options,
    is_verbose,
    request_options,
    stage_options,
)
from olympus_cli.process import interrupts
from olympus_cli.program.bundle import bundle_backend, bundle_loader
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import check_flags
from olympus_cli.spec.entries import is_bundle
from olympus_cli.spec.resolve import Request, project_of
from olympus_cli.terminal import console
from olympus_cli.terminal.output import write_file
from olympus_cli.text.paths import display_path

_PLOT_WIDTH = 80  # columns: a wider plot shows nothing more


@click.command("bench", cls=Command)
@click.argument("names", metavar="[ENTRY|TARGET|FILE.olympus]...", nargs=-1)
@request_options
@changed_since_option
@backend_options
@stage_options
@input_options
@bundle_options
@effort_options
@baseline_options
@click.option(
    "--plot",
    metavar="FILE",
    type=WritablePath(),
    help="Write a plot of time by size, for targets of a matrix, to FILE as SVG.",
)
@gate_options
def command(
    names: tuple[str, ...],
    request: Request,
    changed_since: str | None,
    inputs: InputOptions,
    allowed: BundleOptions,
    effort: Effort,
    against: Against,
    plot: Path | None,
    outputs: Outputs,
) -> None:
    """Without a name, measure the default targets of olympus.toml. For a FILE.olympus, measure
    loading and calls. For a matrix of numbers, also show a table and a plot of time by size.

    \b
    Examples:
      olympus bench
      olympus bench model:forward --shapes "x=f32[8,3]"
      olympus bench forward --time-limit 2 --json
      olympus bench mlp --plot mlp.svg
      olympus bench --save-baseline main
      olympus bench --baseline main
      olympus bench forward --baseline git:HEAD~1 --threshold 10%
      olympus bench step --against jax
      olympus bench --baseline main --output github --output junit=bench.xml
    """
    programs = [
        _program(replace(request, text=name), inputs, effort, against, allowed)
        for name in changed_names(names, request, changed_since)
    ]
    if not programs:
        outputs.write(bench_report([]))
        return
    if plot is not None and not axes_of(
        (benched.work.name, benched.work.matrix) for benched in programs
    ):
        raise UsageError(
            "--plot needs a target that is measured in at least two sizes",
            hint="name a target with a matrix of numbers",
        )
    baseline = against.save and baseline_path(project_root(request), against.save)
    if baseline:
        check_saving(baseline)
    check_flags()
    attempts: list[Attempt] = []
    try:
        with (
            interrupts.interrupts_raised(),
            interrupts.terminations_raised(),
            _others(against, programs, allowed) as others,
        ):
            works = [program.work for program in programs]
            console.message(f"note: {expected_time(works, others, against)}")
            _measure(programs, others, against, attempts, outputs)
    finally:  # what comes after a target does not take its times
        try:  # what the user waits for comes first: another Ctrl-C ends the process
            _show(attempts, outputs, plot)
        finally:
            attempts_ = [
                (program.work, benched.measured)
                for program, benched in zip(
                    programs, attempts, strict=False
                )  # a part, if interrupted
                if benched.measured is not None
            ]
            record_bench(project_of(request.project, Path.cwd(), request.devices), attempts_)
    if baseline:
        _save(baseline, attempts)
    _end(attempts)


def _program(
    request: Request,
    inputs: InputOptions,
    effort: Effort,
    against: Against,
    allowed: BundleOptions,
) -> RequestedProgram:
    """Return the requested program; options for bundles may apply to its baseline alone."""
    if is_bundle(against.baseline) and not is_bundle(request.text):
        allowed = BundleOptions()
    work = _work(request, allowed, inputs, effort)
    return RequestedProgram(request, replace(work, beside_jax=against.jax))


def _others(
    against: Against, programs: Sequence[RequestedProgram], allowed: BundleOptions
) -> AbstractContextManager[Sequence[Other | None]]:
    """The other side of each program, if it has one."""
    if against.jax:
        return nullcontext(jax_sides(programs))
    if against.baseline is None:
        return nullcontext([None] * len(programs))
    return other_sides(against.baseline, programs, allowed)


def _save(path: Path, attempts: Sequence[Attempt]) -> None:
    """Keep what was measured as a baseline; what is worse than its other side is left out.

    The next run would else be compared with the figures that failed this one.
    """
    targets = {}
    for attempt in attempts:
        if attempt.failure is not None or (attempt.compared is not None and attempt.compared.worse):
            why = (
                "failed" if attempt.compared is None else f"is worse than {attempt.compared.label}"
            )
            console.message(
                f"warning: {attempt.name} {why} and is not saved in {display_path(path)}"
            )
        elif attempt.rounds:
            targets[attempt.rounds[0].target] = attempt.rounds
    if targets:
        write_baseline(path, targets)
        console.message(f"wrote {display_path(path)}")


def _end(attempts: Sequence[Attempt]) -> None:
    """Raise the errors of targets that failed, or GateError for what is worse."""
    errors: list[OlympusError] = []
    for attempt in attempts:
        if attempt.failure is not None:
            errors.append(with_target(attempt.name, attempt.failure.error()))
        elif attempt.compared is not None and (worse := "\n".join(worse_lines(attempt.compared))):
            errors.append(GateError(worse))
    raise_all(errors, len(attempts), is_verbose())


def _work(
    request: Request, allowed: BundleOptions, inputs: InputOptions, effort: Effort
) -> SamplerWork:
    if bundle_loader(request, allowed) is not None:
        inputs = replace(inputs, weights=request.weights_file)
        bundle = BundleWork(Path(request.text), bundle_backend(request), allowed)
        return SamplerWork.of_bundle(request.text, bundle, inputs, effort)
    return SamplerWork.of_target(request.spec(), inputs, effort)


def _measure(
    programs: Sequence[RequestedProgram],
    others: Sequence[Other | None],
    against: Against,
    attempts: list[Attempt],
    outputs: Outputs,
) -> None:
    """Measure each of the programs; where there are several, the failure of one is an attempt too.

    Raises:
        OlympusError: the only one has failed.
        KeyboardInterrupt: Ctrl-C has come; what was measured by then is among the attempts.
    """
    gates = total_gates([program.work for program in programs], against)
    for number, (program, other) in enumerate(zip(programs, others, strict=True), 1):
        work = program.work
        text = f"measuring {work.label} ({number} of {len(programs)})"
        try:
            with console.progress(text) as bar:
                on_stage = partial(_describe, bar, text)
                attempt = attempted(work, other, against, gates, on_stage)
        except CutShort as error:
            attempts.append(error.attempt)
            raise error.__cause__ or error from None
        except OlympusError as error:
            if len(programs) == 1:
                raise
            attempts.append(Attempt(work.label, failure=Failure.of(error)))
        else:
            attempts.append(attempt)
        outputs.show(*attempt_tables(attempts))


def _describe(bar: console.Bar, text: str, stage: str) -> None:
    bar.describe(f"{text}: {stage}")


def _show(attempts: Sequence[Attempt], outputs: Outputs, plot: Path | None) -> None:
    """Write the report on all targets that were measured."""
    if not attempts:
        return
    outputs.write(bench_report(attempts))
    sweeps = sweeps_of([attempt.measured for attempt in attempts if attempt.measured is not None])
    if outputs.shows_text:
        only_ascii = not console.can_write("\u28ff")
        for sweep in sweeps:
            width = min(console.width(), _PLOT_WIDTH)
            console.data(sweep.plot.text(width, only_ascii=only_ascii))
    if plot is not None and sweeps:
        write_file(plot, sweep_page(sweeps))
    elif plot is not None:
        console.message(
            f"warning: {display_path(plot)} is not written: no target was measured in at least two "
            "sizes"
        )
