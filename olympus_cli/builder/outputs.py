"""The files of a built target.

program.olympuspr  program.stablehlo.mlir  program.hlo.txt   as lowered for the first backend
program.sources.json                                         where its operations come from
<backend>/optimized.hlo.txt  <backend>/executable.bin        and both for a program that differs:
<backend>/stablehlo.mlir  <backend>/sources.json
<target>.olympus                                             the bundle: all in one file
the report, as JSON and as text
olympus-build.json                                           the list of all the others
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from olympus.analysis import SourceMap
from olympus.stages import Block
from olympus_cli.builder.durable import sync_tree
from olympus_cli.builder.manifest import Manifest, output_file
from olympus_cli.isolated.call import Say
from olympus_cli.peak_memory import peak_memory
from olympus_cli.program.bundle import save_bundle
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.json import write_report
from olympus_cli.reports.model import (
    BackendReport,
    BlockReport,
    CostReport,
    OutputFile,
    Report,
    Seconds,
)
from olympus_cli.reports.text import write_summary
from olympus_cli.versions import tool_versions

__all__ = ["compile_and_write"]


def compile_and_write(
    program: Program, keys: Mapping[str, str], directory: Path, project: str, say: Say
) -> Report:
    """Compile a lowered program and write every file into `directory`; the report is returned.

    `keys` are the content keys by the labels of its backends.  `project` is the path from the
    target's folder to the project's, for the list of files.  All is on the disk in the end.

    Raises OSError for what cannot be written, and what `Program.compile` does.
    """
    clock = program.clock
    with ThreadPoolExecutor(1, "olympus-build") as beside:
        lowered = beside.submit(_write_lowered, program, directory)  # while XLA is at work
        program.compile()
        say("write")
        with clock.part("write"):
            lowered.result()
    with clock.part("inspect"):
        backends = [
            _inspect(unit, keys[unit.label], directory, program.spec.root) for unit in program.units
        ]
    with clock.part("serialize"):
        executables = {unit.backend: unit.compiled.serialize() for unit in program.units}
    with clock.part("write"):
        for unit in program.units:
            (directory / unit.label / "executable.bin").write_bytes(executables[unit.backend])
        save_bundle(program, directory, executables)
        outputs = _files(directory)
        sync_tree(directory)
    return _reported(_report(program, backends, outputs), directory, project)


def _write_lowered(program: Program, directory: Path) -> None:
    """Write the files of the program as lowered, and make the folders of its backends."""
    first = program.units[0]
    _write(directory / "program.olympuspr", f"{program.olympuspr}\n")
    _write(directory / "program.stablehlo.mlir", first.stablehlo)
    _write(directory / "program.hlo.txt", first.lowered.as_text("hlo"))
    _write_sources(directory / "program.sources.json", first, program)
    for unit in program.units:
        (directory / unit.label).mkdir()
        if unit.stablehlo != first.stablehlo:
            _write(directory / unit.label / "stablehlo.mlir", unit.stablehlo)
            _write_sources(directory / unit.label / "sources.json", unit, program)


def _write_sources(path: Path, unit: Unit, program: Program) -> None:
    path.write_bytes(SourceMap.of(unit.lowered.module, program.spec.root).to_bytes())


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # names of files may be none


def _inspect(unit: Unit, key: str, directory: Path, root: Path) -> BackendReport:
    """What is told of the program as compiled for one backend; its text is written meanwhile."""
    text = unit.compiled.as_text()  # once, and not kept: it is large
    _write(directory / unit.label / "optimized.hlo.txt", text)
    return BackendReport(
        label=unit.label,
        name=unit.kind,
        device=unit.backend.device,
        key=key,
        lower_seconds=unit.lower_seconds,
        compile_seconds=unit.compile_seconds,
        xla_seconds=unit.compiled.executable.xla_seconds,
        cost=_cost(unit.compiled.cost_analysis()),
        memory=unit.compiled.memory_analysis(),
        ops=instruction_counts(text),
        blocks=tuple(_block(each, root) for each in unit.lowered.blocks),
    )


def _block(block: Block, root: Path) -> BlockReport:
    """What is told of a block; lines in the project's folder are told from there."""
    inside = f"{root}{os.sep}"
    lines = (line.removeprefix(inside) for line in block.lines)
    return BlockReport(block.name, block.equations, block.occurrences, tuple(lines))


def _report(
    program: Program, backends: Sequence[BackendReport], outputs: tuple[OutputFile, ...]
) -> Report:
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
        optimize=program.spec.optimize,
        seconds=Seconds(**program.seconds),
        peak_memory=peak_memory(),
        ops=ops,
        backends=tuple(backends),
        outputs=outputs,
        warnings=tuple(warnings),
    )


def _reported(report: Report, directory: Path, project: str) -> Report:
    """Write the report in its forms, and the list of all files; the report with the text's file."""
    summary = output_file(directory, write_summary(report, directory))
    report = replace(report, outputs=(*report.outputs, summary))
    listed = (*report.outputs, output_file(directory, write_report(report, directory)))
    Manifest(project, report.target, listed).write(directory)
    sync_tree(directory)
    return report


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
