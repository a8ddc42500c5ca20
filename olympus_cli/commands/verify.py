"""`olympus verify`: are the numbers of programs right, and which operation is not?"""

from __future__ import annotations

from dataclasses import replace

import click

from olympus.errors import UsageError
from olympus.files import typed
from olympus_cli.builder.reuse import clearing
from olympus_cli.builder.selection.changed import changed_names
from olympus_cli.gate_reports.gate_report import Table
from olympus_cli.gate_reports.outputs import Outputs
from olympus_cli.gate_reports.target_runs import TargetRuns
from olympus_cli.options.inputs import bundle_options, input_options
from olympus_cli.options.shared import (
    Command,
    backend_options,
    changed_since_option,
    gate_options,
    is_verbose,
    memory_limit_option,
    request_options,
    stage_options,
    time_limit_option,
    whole_number,
)
from olympus_cli.process import interrupts
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import check_flags
from olympus_cli.spec.entries import is_bundle
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.verify.gate_report import verified_report, verified_table
from olympus_cli.verify.progress import Lines
from olympus_cli.verify.records import VerifiedTarget
from olympus_cli.verify.references import Reference, parse_reference, results_of
from olympus_cli.verify.show import failure_message, not_judged, not_judged_hint
from olympus_cli.verify.work import verify_target
from olympus_cli.workers.call import OnStage, call
from olympus_cli.workers.executor import Limits


@click.command("verify", cls=Command)
@click.argument("names", metavar="[ENTRY|TARGET]...", nargs=-1)
@request_options
@changed_since_option
@backend_options
@stage_options
@input_options
@bundle_options
@click.option(
    "--against",
    multiple=True,
    metavar="REFERENCE",
    default=("op-by-op",),
    show_default=True,
    help="Compare with op-by-op, float64, interpreter, golden, a backend or a FILE.olympus; "
    "may be repeated.",
)
@click.option(
    "--runs",
    type=whole_number(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Verify with the inputs of N seeds, the first of which is --seed.",
)
@time_limit_option
@memory_limit_option
@click.option("--failures-only", is_flag=True, help="Show only comparisons that failed.")
@click.option("--update", is_flag=True, help="Write the golden outputs if nothing fails.")
@gate_options
def command(
    names: tuple[str, ...],
    request: Request,
    changed_since: str | None,
    inputs: InputOptions,
    allowed: BundleOptions,
    against: tuple[str, ...],
    runs: int,
    failures_only: bool,
    update: bool,
    time_limit: float | None,
    memory_limit: int | None,
    outputs: Outputs,
) -> None:
    """Without a name, verify the default targets of olympus.toml. Each program is run, and its
    results are compared with those of the same program run operation by operation, or with the
    references of --against.

    \b
    Examples:
      olympus verify
      olympus verify model:forward --shapes "x=f32[8,3]" --against float64
      olympus verify forward --against golden --update
      olympus verify --output junit=verify.xml --output github
    """
    limits = Limits(time_limit, memory_limit)
    if inputs.file is not None and runs > 1:
        raise UsageError("--runs cannot be combined with --inputs: it draws inputs from seeds")
    specs = [
        _spec(replace(request, text=name), allowed)
        for name in changed_names(names, request, changed_since)
    ]
    others = [reference for text in against if (reference := parse_reference(text, allowed))]
    check_flags()
    work = [(spec, replace(inputs, seed=inputs.seed + i)) for spec in specs for i in range(runs)]
    target_runs, documents = TargetRuns("verify", len(work)), list[VerifiedTarget]()
    tables, lines = list[Table](), Lines(len(work))
    try:
        with interrupts.interrupts_raised(), interrupts.terminations_raised():
            for spec, target_inputs in work:
                with target_runs.record(spec.name), lines.of(spec.name) as describe:
                    judged = _verified(
                        spec, target_inputs.of(spec), against, others, update, limits, describe
                    )
                    documents.append(judged)
                    if table := verified_table(judged, runs > 1, failures_only):
                        tables.append(table)
                    _judge(judged, target_runs)
                outputs.show(*tables)
    finally:  # what comes after a target does not take its results
        outputs.write(verified_report(documents, target_runs, tables, runs > 1, failures_only))
    target_runs.raise_failures(is_verbose())


def _spec(request: Request, allowed: BundleOptions) -> TargetSpec:
    """Return the requested target; --trust is also for a bundle that is its entry."""
    spec = request.spec()
    if not allowed.trust or not is_bundle(spec.entry):
        return spec
    return replace(spec, trust=allowed.trust, outputs=None)


def _judge(verified: VerifiedTarget, target_runs: TargetRuns) -> None:
    """Keep that a target failed.

    Raises:
        UsageError: nothing of it was judged.
    """
    if reason := not_judged(verified):
        raise UsageError(
            f"{verified.target} is not judged: {reason}", hint=not_judged_hint(verified)
        )
    if not verified.passed:
        target_runs.add_failure(failure_message(verified))


def _verified(
    spec: TargetSpec,
    inputs: InputOptions,
    against: tuple[str, ...],
    others: list[Reference],
    update: bool,
    limits: Limits,
    describe: OnStage,
) -> VerifiedTarget:
    """Return the result of verifying one target; it runs in isolation, as each reference does."""
    results = {reference.name: results_of(reference, spec, inputs, limits) for reference in others}
    names = [*against, "golden"] if update and "golden" not in against else list(against)
    with clearing(spec):
        data = call(
            verify_target,
            spec,
            inputs,
            names,
            results,
            update,
            action="verifies",
            time_limit=limits.time,
            memory_limit=limits.memory,
            on_stage=describe,
        )
    verified: VerifiedTarget = typed(data, VerifiedTarget)
    return verified
