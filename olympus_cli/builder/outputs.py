"""The files of a built target.

program.olympuspr  program.stablehlo.mlir  program.hlo.txt   as lowered for the first backend
program.sources.json                                         the source lines of its operations
<backend>/optimized.hlo.txt  <backend>/executable.bin        and for a program that differs:
<backend>/stablehlo.mlir  <backend>/sources.json
<target>.olympus                                             the bundle, with everything in one file
the report, as JSON, as text and, on request, as a page
olympus-build.json                                           the list of all the others
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import olympus
from olympus.stages import Block
from olympus_cli.builder.durable import sync_tree
from olympus_cli.builder.files import Files
from olympus_cli.builder.key import content_parts
from olympus_cli.builder.manifest import Manifest, output_file
from olympus_cli.builder.results.compile_process import has_helper
from olympus_cli.builder.results.compiling import Compiling, Obtained, compiling
from olympus_cli.builder.source_digest import source_digest
from olympus_cli.process.memory import peak_memory
from olympus_cli.program.bundle import save_bundle
from olympus_cli.program.stages import Program, Unit
from olympus_cli.program.versions import tool_versions
from olympus_cli.reports.build_report import (
    BackendReport,
    BlockReport,
    OutputFile,
    Report,
    Seconds,
)
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.json import write_report
from olympus_cli.reports.program_figures import (
    CostReport,
    cost_report,
    uncounted,
    unfitting,
)
from olympus_cli.reports.text import write_summary
from olympus_cli.spec.cache import Use
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import OnStage

if TYPE_CHECKING:
    from olympus.analysis import SourceMap
    from olympus_cli.reports.html.page import MeasuredTime

_TURN = 0.0005  # seconds; Python's 0.005 is a twentieth of a small program's compile time


def compile_and_write(
    program: Program,
    keys: Mapping[str, str],
    directory: Path,
    project: str,
    on_stage: OnStage,
    page: bool = False,
    profile: bool = False,
    use: Use | None = "read",
) -> Report:
    """Compile a lowered program and write every file into `directory`; return the report.

    `keys` are the content keys by backend label. `project` is the path from the target's folder to
    the project's, for the list of files. With `page` the report is also written as a page; with
    `profile` the page includes measurements on the CPU. `use` is the use of the store of results;
    with None it is not used. All files are flushed to the disk at the end. A unit whose result is
    stored is not compiled afterwards, unless with `profile`.

    Raises OSError if a file cannot be written, and the errors of `Program.compile`.
    """
    with Files(directory) as files:
        settings = compiling(program, use=use or "read", runs=profile, has_store=use is not None)
        lowered, obtained = _compile(program, settings, files, on_stage)
        with program.clock.part("inspect"):
            backends = [
                _inspect(unit, obtained[unit.label], lowered, keys[unit.label], files)
                for unit in program.units
            ]
        with program.clock.part("serialize"):  # no time if all results are stored
            executables = {
                unit.backend: obtained[unit.label].result.executable for unit in program.units
            }
        with program.clock.part("write"):
            files.add(save_bundle(program, directory, executables, lowered.sources).name)
            outputs = files.listed()
        peaks = [one.peak_memory for one in obtained.values()]
        report = _report(program, lowered, backends, outputs, peaks)
    report = finish(program, report, directory, project, on_stage, page=page, profile=profile)
    if not profile:
        _drop_read(program, obtained)
    return report


def _drop_read(program: Program, obtained: Mapping[str, Obtained]) -> None:
    """Remove the executables that were only read, to be inspected, from a program."""
    for unit in program.units:
        if not obtained[unit.label].can_run:
            unit.compiled = None  # it cannot run


def finish(
    program: Program,
    report: Report,
    directory: Path,
    project: str,
    on_stage: OnStage,
    *,
    page: bool,
    profile: bool,
) -> Report:
    """Write the report in its forms and the list of files, and flush all of it to the disk.

    The arguments are those of `compile_and_write`. The returned report includes all files.
    """
    if page:
        measured = _measured(program, on_stage) if profile else {}
        on_stage("draw")
        report = _with(report, directory, _write_page(program, report, directory, measured))
    return _reported(program, report, directory, project)


class _Lowered(NamedTuple):
    """Figures of the lowered program: costs by label, sources by kind of backend."""

    spec: TargetSpec
    costs: Mapping[str, CostReport]
    sources: Mapping[str, SourceMap]
    ops: Mapping[str, int]
    versions: Mapping[str, str]


def _compile(
    program: Program, settings: Compiling, files: Files, on_stage: OnStage
) -> tuple[_Lowered, dict[str, Obtained]]:
    """Compile a program, and inspect its lowered form while the compiler runs."""
    begun = Event()
    converts = not has_helper(on_stage)
    with _taking_turns(), ThreadPoolExecutor(1, "olympus-build") as beside:
        looking = beside.submit(_look_at_lowered, program, files, begun, converts)
        try:
            obtained = settings.compile(program, on_stage, begun.set)
        finally:
            begun.set()
        on_stage("write")
        with program.clock.part("write"):
            lowered = looking.result()
            if not converts:
                write_hlo(program, files, obtained[program.units[0].label].lowered_hlo)
            return lowered, obtained


@contextmanager
def _taking_turns() -> Iterator[None]:
    """Switch between Python threads more often, so that the thread of XLA starts sooner."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _look_at_lowered(program: Program, files: Files, begun: Event, converts: bool) -> _Lowered:
    """Write the files of the lowered program, and compute everything that depends on it alone.

    The HLO is written only if this process `converts` the program to it.

    This waits until `begun` is set, when the compiler has started: the end of the build depends on
    the compiler.

    Values that the program caches are computed here too, such as its portable form for the bundle.
    """
    begun.wait()
    spec, first = program.spec, program.units[0]
    costs = {unit.label: unit.lowered.cost(spec.trips) for unit in program.units}
    sources = write_lowered(program, files)
    if converts:
        write_hlo(program, files)
    _ = program.arguments, program.results
    for unit in program.units:
        unit.lowered.bytecode()
    return _Lowered(
        spec,
        {label: cost_report(cost, spec.root) for label, cost in costs.items()},
        sources,
        operation_counts(first.stablehlo),
        tool_versions(),
    )


def write_lowered(program: Program, files: Files) -> dict[str, SourceMap]:
    """Write the files of the lowered program except its HLO, and make its backends' folders.

    Returns the source map of each program, by kind of backend.
    """
    first = program.units[0]
    files.write("program.olympuspr", f"{program.olympuspr}\n")
    files.write("program.stablehlo.mlir", first.stablehlo)
    sources = {first.kind: olympus.analysis.SourceMap.of(first.lowered.module, program.spec.root)}
    files.write("program.sources.json", sources[first.kind].to_bytes())
    for unit in program.units:
        (files.directory / unit.label).mkdir()
        if unit.stablehlo != first.stablehlo:
            source_map = olympus.analysis.SourceMap.of(unit.lowered.module, program.spec.root)
            files.write(f"{unit.label}/stablehlo.mlir", unit.stablehlo)
            files.write(f"{unit.label}/sources.json", source_map.to_bytes())
            sources.setdefault(unit.kind, source_map)
    return sources


def write_hlo(program: Program, files: Files, text: str | None = None) -> None:
    """Write the HLO of the lowered program; `text` is the HLO if it is known."""
    first = program.units[0]
    files.write("program.hlo.txt", first.lowered.as_text("hlo") if text is None else text)


def _inspect(
    unit: Unit, obtained: Obtained, lowered: _Lowered, key: str, files: Files
) -> BackendReport:
    """Return the report of the program compiled for one backend, and write its compiled files."""
    spec, result = lowered.spec, obtained.result
    files.write(f"{unit.label}/executable.bin", result.executable)
    files.write(f"{unit.label}/optimized.hlo.txt", result.hlo)
    return BackendReport(
        **vars(obtained.figures(unit, spec)),
        label=unit.label,
        name=unit.kind,
        device=unit.backend.device,
        key=key,
        cost=lowered.costs[unit.label],
        xla=result.figures.xla,
        lower_seconds=unit.lower_seconds,
        compile_seconds=result.figures.compile_seconds,
        xla_seconds=result.figures.xla_seconds,
        ops=instruction_counts(result.hlo),
        blocks=tuple(block_report(block, spec.root) for block in unit.lowered.blocks),
        result=obtained.origin,
    )


def block_report(block: Block, root: Path) -> BlockReport:
    """Return the report of a block; source lines in the project's folder are relative to it."""
    inside = f"{root}{os.sep}"
    lines = (line.removeprefix(inside) for line in block.lines)
    return BlockReport(block.name, block.equations, block.occurrences, tuple(lines))


def _report(
    program: Program,
    lowered: _Lowered,
    backends: Sequence[BackendReport],
    outputs: tuple[OutputFile, ...],
    peaks: Sequence[int | None],
) -> Report:
    """Return the report; `peaks` are the peak memories of other processes that compiled."""
    return Report(
        target=program.spec.name,
        entry=program.spec.entry,
        versions=lowered.versions,
        statics=program.statics,
        arguments=program.arguments,
        results=program.results,
        optimize=program.spec.optimize,
        seconds=Seconds(**program.seconds),
        peak_memory=max((n for n in (peak_memory(), *peaks) if n is not None), default=None),
        ops=lowered.ops,
        backends=tuple(backends),
        outputs=outputs,
        warnings=(*program.warnings, *backend_warnings(backends)),
    )


def backend_warnings(backends: Sequence[BackendReport]) -> Iterator[str]:
    """Yield warnings on uncounted operations and memory that does not fit, each only once."""
    warnings = [
        warning
        for backend in backends
        for warning in (*uncounted(backend.cost), *unfitting(backend))
    ]
    yield from dict.fromkeys(warnings)


def _measured(program: Program, on_stage: OnStage) -> dict[str, MeasuredTime]:
    """Return the measurements of the programs for the CPU, by label, with seeded inputs."""
    from olympus_cli.profile.page import measured  # slow to import

    on_stage("measure")
    return {unit.label: measured(program, unit) for unit in program.units if unit.kind == "cpu"}


def _write_page(
    program: Program, report: Report, directory: Path, measured: Mapping[str, MeasuredTime]
) -> Path:
    from olympus_cli.reports.html.gather import gather  # slow to import
    from olympus_cli.reports.html.render import write_page

    return write_page(gather(program, report, directory, measured), directory)


def _with(report: Report, directory: Path, path: Path) -> Report:
    """Return the report with one more file."""
    return replace(report, outputs=(*report.outputs, output_file(directory, path)))


def _reported(program: Program, report: Report, directory: Path, project: str) -> Report:
    """Write the report in its forms and the list of files; return the report with the text file."""
    report = _with(report, directory, write_summary(report, directory))
    listed = (*report.outputs, output_file(directory, write_report(report, directory)))
    parts = content_parts(program)
    Manifest(project, report.target, listed, parts, source_digest()).write(directory)
    sync_tree(directory)
    return report
