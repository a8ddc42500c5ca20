"""`olympus cost`: what a program costs, without compiling it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import click

from olympus.analysis import CostRow, Kind, Roofline, roofline
from olympus.files import to_data, typed
from olympus.stages import device_model
from olympus_cli.builder.results.compiling import compiling
from olympus_cli.builder.reuse import clearing, up_to_date
from olympus_cli.options.shared import (
    Command,
    backend_options,
    common_options,
    entry_options,
    memory_limit_option,
    stage_options,
    time_limit_option,
    trips_option,
    whole_number,
)
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.cost_table import Shown, show_cost, show_formulas, show_stacks
from olympus_cli.reports.program import program_document
from olympus_cli.reports.program_figures import (
    FORMS,
    CompiledFigures,
    CostReport,
    cost_report,
    uncounted,
    unfitting,
)
from olympus_cli.reports.relative_paths import relative
from olympus_cli.reports.stacks import STACK_FORMS, StackReport, stack_reports
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.fixed_sizes import with_fixed_sizes
from olympus_cli.spec.model import TargetSpec
from olympus_cli.spec.resolve import Request
from olympus_cli.terminal import console
from olympus_cli.workers.call import OnStage, call

#: The kinds of rows in the table, and their names in `Cost.by`.
KINDS: dict[str, Kind] = {"line": "line", "scope": "scope", "op": "operation", "dtype": "dtype"}
_STACK = "stack"  # which `Cost.by_stack` is for
_VERSION = 1  # of the document; raised with every change that an old reader would misread


@click.command("cost", cls=Command)
@entry_options
@backend_options
@stage_options
@click.option(
    "--by",
    type=click.Choice((*KINDS, _STACK)),
    default="line",
    show_default=True,
    help="Sum the cost by source line, name scope, operation, dtype or call stack.",
)
@trips_option
@click.option(
    "--rows",
    type=whole_number(1),
    metavar="N",
    default=20,
    show_default=True,
    help="Show at most N rows, those with the highest cost.",
)
@click.option(
    "--compile",
    "compiles",
    is_flag=True,
    help="Also compile the program, and show its memory and estimated time.",
)
@time_limit_option
@memory_limit_option
@common_options
def command(
    request: Request,
    by: str,
    rows: int,
    compiles: bool,
    time_limit: float | None,
    memory_limit: int | None,
    as_json: bool,
) -> None:
    """The program is traced and lowered, and not run. With --compile, the figures are those of the
    target's build, which is built first if it is stale.  Without --at, the cost of a program with
    symbolic sizes is shown as formulas; with --compile, its memory too, for multiples of 16.

    \b
    Examples:
      olympus cost model:forward --shapes "x=f32[8,3]"
      olympus cost forward --by op --device h200
      olympus cost forward --by stack
      olympus cost forward --compile --json
      olympus cost model:forward --shapes "x=f32[b,3]" --at b=64
    """
    spec = request.spec()
    with clearing(spec):
        document = call(
            _costed,
            spec,
            KINDS.get(by, _STACK),
            compiles,
            bool(request.at),
            action="counts",
            time_limit=time_limit,
            memory_limit=memory_limit,
        )
    for warning in document["warnings"]:
        console.message(f"warning: {warning}")
    if as_json:
        console.print_json(document)
        return
    if document["formulas"] is not None:
        show_formulas(document)
        return
    cost = CostReport.from_data(document["cost"])
    figures = typed(document["compiled"], CompiledFigures | None, "compiled", FORMS)
    title = f"{document['target']}  ({document['entry']}, {document['backend']})"
    shown = Shown(
        title,
        cost,
        figures,
        typed(document["roofline"], Roofline | None, "roofline"),
        document["device_memory"],
        document["devices"],
    )
    if by == _STACK:
        stacks = typed(document["rows"], tuple[StackReport, ...], "rows", STACK_FORMS)
        show_stacks(shown, stacks, spec.root, rows)
    else:
        table = typed(document["rows"], tuple[CostRow, ...], "rows", FORMS)
        show_cost(shown, document["by"], table, spec.root, rows)


def _formulas(program: Program, backend: str, unit: Unit) -> dict[str, Any]:
    """Return the document of a program with symbolic sizes: the formulas of its cost."""
    return {
        "schema_version": _VERSION,
        **program_document(program.source, program.traced),
        "backend": backend,
        "sizes": list(unit.lowered.size_names),
        "formulas": unit.lowered.cost_formulas(),
        "warnings": list(program.warnings),
    }


def _costed(
    on_stage: OnStage, spec: TargetSpec, kind: str, compiles: bool, has_sizes: bool
) -> dict[str, Any]:
    """Return the cost of one call of a target's program, on its first backend."""
    label, backend = next(iter(spec.labels.items()))
    stacks = kind == _STACK
    sizes = with_fixed_sizes(spec).sizes if has_sizes else {}
    keeps_sizes = not (
        compiles and has_sizes
    )  # the formulas are those of the program with symbolic sizes
    program = Program.of(
        spec, on_stage, until="lower", labels=[label], stacks=stacks, keeps_sizes=keeps_sizes
    )
    (unit,) = program.units
    on_stage("count")
    if sizes and keeps_sizes:
        unit.lowered = unit.lowered.at_sizes(sizes)
    if unit.lowered.size_names:
        document = _formulas(program, backend_text(backend), unit)
        if compiles:
            on_stage("compile at several sizes")
            memory = unit.lowered.memory_formulas()
            document["formulas"] |= {
                "peak_memory": memory["peak"],
                "argument_memory": memory["arguments"],
                "temporary_memory": memory["temporaries"],
            }
        return document
    cost = program.cost(unit)
    rows: Sequence[CostRow]
    if kind == _STACK:
        rows = stack_reports(program.cost(unit, stacks=True), spec.root)
    else:
        rows = relative(cost.by(cast("Kind", kind)), spec.root)
    report = cost_report(cost, spec.root)
    # its figures cover all devices together; the peaks of one device do not apply
    model = device_model(backend) if unit.lowered.num_devices == 1 else None
    document = {
        "schema_version": _VERSION,
        **program_document(program.source, program.traced),
        "backend": backend_text(backend),
        "devices": unit.lowered.num_devices,
        "by": kind,
        "cost": report.to_data(),
        "rows": to_data(rows, STACK_FORMS),
        "roofline": None if model is None else to_data(roofline(cost, model)),
        "device_memory": None if model is None else model.memory,
        "compiled": None,
        "formulas": None,
    }
    warnings = list(uncounted(report))
    if compiles:
        figures = _compiled_figures(program, on_stage)
        document["compiled"] = to_data(figures, FORMS)
        warnings += unfitting(figures)
    return {**document, "warnings": [*program.warnings, *warnings]}


def _compiled_figures(program: Program, on_stage: OnStage) -> CompiledFigures:
    """Return the figures of a program as compiled, from its target's build if it has one."""
    build, (unit,) = up_to_date(program, on_stage), program.units
    if build is not None:
        return next(b.figures for b in build.report.backends if b.label == unit.label)
    obtained = compiling(program).compile(program, on_stage)[unit.label]
    return obtained.figures(unit, program.spec)
