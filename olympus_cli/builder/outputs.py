"""The files of a built target.

program.olympuspr  program.stablehlo.mlir  program.hlo.txt   as lowered for the first backend
<backend>/optimized.hlo.txt  <backend>/executable.bin        and a stablehlo.mlir that differs
<target>.olympus                                             the bundle: all in one file
the report, as JSON and as text
olympus-build.json                                           the list of all the others
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from olympus_cli.builder.manifest import Manifest, output_file
from olympus_cli.program.bundle import save_bundle
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.json import write_report
from olympus_cli.reports.model import (
    BackendReport,
    CostReport,
    OutputFile,
    Report,
)
from olympus_cli.reports.text import write_summary
from olympus_cli.versions import tool_versions

__all__ = ["write_outputs"]


def write_outputs(
    program: Program, keys: Mapping[str, str], directory: Path, project: str
) -> Report:
    """Write every file of the compiled program into `directory`; the report is also returned.

    `keys` are the content keys by the labels of its backends.  `project` is the path from the
    target's folder to the project's, for the list of files.
    """
    first = program.units[0]
    _write(directory / "program.olympuspr", f"{program.traced.olympuspr}\n")
    _write(directory / "program.stablehlo.mlir", first.stablehlo)
    _write(directory / "program.hlo.txt", first.lowered.as_text("hlo"))
    for unit in program.units:
        _write_unit(unit, directory / unit.label, first.stablehlo)
    save_bundle(program, directory)
    report = _report(program, keys, directory)
    summary = output_file(directory, write_summary(report, directory))
    report = replace(report, outputs=(*report.outputs, summary))
    listed = (*report.outputs, output_file(directory, write_report(report, directory)))
    Manifest(project, report.target, listed).write(directory)
    return report


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # names of files may be none


def _write_unit(unit: Unit, directory: Path, stablehlo: str) -> None:
    directory.mkdir()
    if unit.stablehlo != stablehlo:
        _write(directory / "stablehlo.mlir", unit.stablehlo)
    _write(directory / "optimized.hlo.txt", unit.compiled.as_text())
    (directory / "executable.bin").write_bytes(unit.compiled.serialize())


def _report(program: Program, keys: Mapping[str, str], directory: Path) -> Report:
    ops = operation_counts(program.units[0].stablehlo)
    warnings = list(program.warnings)
    if loops := ops.get("stablehlo.while", 0):
        warnings.append(
            f"flops and bytes accessed count a loop's body once; loops in this program: {loops}"
        )
    return Report(
        target=program.spec.name,
        entry=program.spec.entry,
        versions=tool_versions(),
        statics=program.statics,
        arguments=program.arguments,
        results=program.results,
        trace_seconds=program.trace_seconds,
        ops=ops,
        backends=tuple(_backend(unit, keys[unit.label]) for unit in program.units),
        outputs=_files(directory),
        warnings=tuple(warnings),
    )


def _backend(unit: Unit, key: str) -> BackendReport:
    return BackendReport(
        label=unit.label,
        name=unit.kind,
        device=unit.backend.device,
        key=key,
        lower_seconds=unit.lower_seconds,
        compile_seconds=unit.compile_seconds,
        cost=_cost(unit.compiled.cost_analysis()),
        memory=unit.compiled.memory_analysis(),
        ops=instruction_counts(unit.compiled.as_text()),
    )


def _cost(analysis: dict[str, float] | None) -> CostReport:
    found = analysis or {}
    names = ("flops", "transcendentals", "bytes accessed")
    return CostReport(*(_amount(found.get(name)) for name in names))


def _amount(told: float | None) -> float | None:
    """What a compiler tells, where that is an amount: some answer -1 or infinity for "unknown"."""
    return told if told is not None and 0 <= told < math.inf else None


def _files(directory: Path) -> tuple[OutputFile, ...]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return tuple(output_file(directory, path) for path in files)
