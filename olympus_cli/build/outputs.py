"""The files of a built target.

A compilation that has gone through all its stages and an empty directory enter; files, and the
report on them, leave:

    program.olympuspr  program.stablehlo.mlir  program.hlo.txt   as lowered for the first backend
    <backend>/optimized.hlo.txt  <backend>/executable.bin        and a stablehlo.mlir that differs
    <target>.olympus                                             the bundle: all in one file
    report.json  summary.txt
    olympus-build.json                                           the list of all the others
"""

from __future__ import annotations

import math
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from olympus_cli.build.compilation import Compilation, Unit
from olympus_cli.build.key import tool_versions
from olympus_cli.build.manifest import Manifest, output_file
from olympus_cli.bundle import save_bundle
from olympus_cli.leaves import Leaf
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.json import REPORT, render_json
from olympus_cli.reports.model import Array, Backend, Cost, Memory, OutputFile, Report
from olympus_cli.reports.text import SUMMARY, render_text

__all__ = ["write_outputs"]

N = TypeVar("N", int, float)


def write_outputs(compilation: Compilation, directory: Path, project: str) -> Report:
    """Write every file of the target into `directory`; the report is also returned.

    `project` is the path from the target's folder to the project's, for the list of files.
    """
    first = compilation.units[0]
    _write(directory / "program.olympuspr", f"{compilation.traced.olympuspr}\n")
    _write(directory / "program.stablehlo.mlir", first.stablehlo)
    _write(directory / "program.hlo.txt", first.lowered.as_text("hlo"))
    for unit in compilation.units:
        _write_unit(unit, directory / unit.label, first.stablehlo)
    save_bundle(compilation, directory)
    report = _report(compilation, directory)
    _write(directory / SUMMARY, render_text(report))
    summary = output_file(directory, directory / SUMMARY)
    report = replace(report, outputs=(*report.outputs, summary))
    _write(directory / REPORT, render_json(report))
    listed = (*report.outputs, output_file(directory, directory / REPORT))
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


def _report(compilation: Compilation, directory: Path) -> Report:
    ops = operation_counts(compilation.units[0].stablehlo)
    warnings = list(compilation.warnings)
    if loops := ops.get("stablehlo.while", 0):
        warnings.append(
            f"flops and bytes accessed count a loop's body once; loops in this program: {loops}"
        )
    keys = compilation.keys()
    return Report(
        target=compilation.spec.name,
        entry=compilation.spec.entry,
        versions={**tool_versions(), "python": platform.python_version()},
        statics=compilation.statics,
        arguments=tuple(map(_array, compilation.arguments)),
        results=tuple(map(_array, compilation.results)),
        trace_seconds=compilation.trace_seconds,
        ops=ops,
        backends=tuple(_backend(unit, keys[unit.label]) for unit in compilation.units),
        outputs=_files(directory),
        warnings=tuple(warnings),
    )


def _array(leaf: Leaf) -> Array:
    return Array(leaf.name, leaf.dtype.name, leaf.shape, leaf.bytes, leaf.donated)


def _backend(unit: Unit, key: str) -> Backend:
    return Backend(
        label=unit.label,
        name=unit.backend.name,
        device=unit.backend.device,
        key=key,
        lower_seconds=unit.lower_seconds,
        compile_seconds=unit.compile_seconds,
        cost=_cost(unit.compiled.cost_analysis()),
        memory=_memory(unit.compiled.memory_analysis()),
        ops=instruction_counts(unit.compiled.as_text()),
    )


def _cost(analysis: dict[str, float] | None) -> Cost:
    found = analysis or {}
    names = ("flops", "transcendentals", "bytes accessed")
    return Cost(*(_amount(found.get(name)) for name in names))


def _memory(analysis: Any) -> Memory:
    return Memory(
        argument=_amount(analysis.argument_size_in_bytes),
        output=_amount(analysis.output_size_in_bytes),
        temp=_amount(analysis.temp_size_in_bytes),
        alias=_amount(analysis.alias_size_in_bytes),
        generated_code=_amount(analysis.generated_code_size_in_bytes),
        peak=_amount(analysis.peak_memory_in_bytes),
    )


def _amount(told: N | None) -> N | None:
    """What a compiler tells, where that is an amount: some answer -1 or infinity for "unknown"."""
    return told if told is not None and 0 <= told < math.inf else None


def _files(directory: Path) -> tuple[OutputFile, ...]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return tuple(output_file(directory, path) for path in files)
