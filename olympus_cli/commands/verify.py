"""`olympus verify`: are the numbers of programs right, and which operation is not?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import click

from olympus.errors import GateError, OlympusError, UsageError
from olympus_cli import console
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.show import raise_failures
from olympus_cli.faults.failure import Failure
from olympus_cli.input_options import bundle_options, input_options
from olympus_cli.isolated.call import call
from olympus_cli.options import (
    Command,
    backend_options,
    common_options,
    is_verbose,
    request_options,
    stage_options,
    whole_number,
)
from olympus_cli.program.bundle import BundleOptions
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import check_flags
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request, expanded
from olympus_cli.verifying.references import Reference, parse_reference, results_of
from olympus_cli.verifying.show import COLUMNS, message, notes, rows
from olympus_cli.verifying.work import verify_target

__all__ = ["command"]


@click.command("verify", cls=Command)
@click.argument("names", metavar="[ENTRY|TARGET]...", nargs=-1)
@request_options
@backend_options
@stage_options
@input_options
@bundle_options
@click.option(
    "--against",
    multiple=True,
    metavar="REFERENCE",
    default=("op-by-op",),
    show_default="op-by-op",
    help="Compare with op-by-op, float64, interpreter, golden, a backend or a FILE.olympus; "
    "may be repeated.",
)
@click.option(
    "--runs",
    type=whole_number(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Verify on the inputs of N seeds, from --seed on.",
)
@click.option("--update", is_flag=True, help="Write the golden outputs, if nothing is wrong.")
@common_options
def command(
    names: tuple[str, ...],
    request: Request,
    inputs: InputOptions,
    allowed: BundleOptions,
    against: tuple[str, ...],
    runs: int,
    update: bool,
    as_json: bool,
) -> None:
    """Without a name, verify the default targets of olympus.toml.  Each is run, and compared with
    the same program operation by operation, or with what --against names.

    \b
    Examples:
      olympus verify
      olympus verify model:forward --shapes "x=f32[8,3]" --against float64
      olympus verify forward --against golden --update
    """
    if inputs.file is not None and runs > 1:
        raise UsageError("--runs draws inputs from several seeds, and --inputs gives them")
    specs = [replace(request, text=name).spec() for name in expanded(names, request)]
    others = [found for text in against if (found := parse_reference(text, allowed))]
    check_flags()
    work = [
        _Work(
            spec, replace(inputs, seed=inputs.seed + i).of(spec), against, others, update, runs > 1
        )
        for spec in specs
        for i in range(runs)
    ]
    outcomes: list[Outcome] = []
    documents: list[dict[str, Any]] = []
    try:
        for each in work:
            outcomes.append(_outcome(each, documents, not as_json, len(work) == 1))
    finally:  # what comes after a target does not take its results
        if as_json and documents:
            console.print_json({"targets": documents})
    raise_failures(outcomes, is_verbose())


@dataclass(frozen=True)
class _Work:
    """One target to verify on its inputs, `against` the references of names and of `others`."""

    spec: TargetSpec
    inputs: InputOptions
    against: tuple[str, ...]
    others: list[Reference]
    update: bool
    says_seed: bool


def _outcome(
    work: _Work, documents: list[dict[str, Any]], is_shown: bool, is_only: bool
) -> Outcome:
    """Verify one target, add what is found to `documents`, and show it; its failure, if any.

    Raises:
        OlympusError: it fails, and is the only one.
    """
    try:
        document = _verified(work)
        documents.append(document)
        if is_shown:
            _show(document, work.says_seed)
        if not document["passed"]:
            raise GateError(message(document))
    except OlympusError as error:
        if is_only:
            raise
        return Outcome(work.spec.name, "failed", failure=Failure.of(error))
    return Outcome(work.spec.name, "built")


def _show(document: dict[str, Any], with_seed: bool) -> None:
    seed = f", seed {document['seed']}" if with_seed else ""
    title = f"{document['target']}  ({document['entry']}, {document['backend']}{seed})"
    console.table(COLUMNS, rows(document), title)
    for each in notes(document):
        console.say(f"note: {each}")


def _verified(work: _Work) -> dict[str, Any]:
    """What verification of one target finds; it runs, as each reference does, in isolation."""
    spec, inputs, names = work.spec, work.inputs, [*work.against]
    if work.update and "golden" not in names:
        names.append("golden")
    with console.progress(f"verifying {spec.name}") as bar:
        results = {each.name: results_of(each, spec, inputs) for each in work.others}
        found: dict[str, Any] = call(
            verify_target,
            spec,
            inputs,
            names,
            results,
            work.update,
            does="verifies",
            on_stage=lambda stage: bar.describe(f"{spec.name}: {stage}"),
        )
    return found
