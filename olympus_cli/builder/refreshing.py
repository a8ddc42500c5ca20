"""New source lines, or a page, for outputs that are up to date, without compiling.

A comment above a function moves its lines but does not change the program or its content key. The
outputs are then rewritten with the present lines. The compiler's results are copied from the files
of the earlier build, and everything derived from them is computed again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import olympus
from olympus.errors import ArtifactError
from olympus.files import read_regular
from olympus_cli.builder.files import Files
from olympus_cli.builder.outputs import (
    backend_warnings,
    block_report,
    finish,
    write_hlo,
    write_lowered,
)
from olympus_cli.builder.record import Record
from olympus_cli.builder.results.result import saved_figures
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.build_report import BackendReport, Report
from olympus_cli.reports.program_figures import cost_report
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.workers.call import OnStage

if TYPE_CHECKING:
    from olympus.analysis import Relocation, SourceMap

_SOURCES = "sources.json"
_MAX_BYTES = 2**40  # of a file


@dataclass(frozen=True)
class Moves:
    """The present source lines of a program that was built before: a map for each unit's label."""

    sources: Mapping[str, SourceMap]
    relocations: Mapping[str, Relocation]

    @property
    def are_needed(self) -> bool:
        """True if a line, a name scope or the text of a line differs."""
        return any(relocation.is_needed for relocation in self.relocations.values())

    @property
    def are_exact(self) -> bool:
        """True if each line of the earlier build is one line now, and the name scopes are equal."""
        return all(relocation.is_exact for relocation in self.relocations.values())


def moves_of(program: Program, directory: Path) -> Moves:
    """Compare the source lines of a lowered program with those of its outputs in `directory`.

    Raises:
        ArtifactError: the lines in `directory` cannot be read, or belong to another program.
    """
    from olympus.analysis import Relocation

    root, sources, relocations = program.spec.root, {}, {}
    for unit in program.units:
        now = sources[unit.label] = olympus.analysis.SourceMap.of(unit.lowered.module, root)
        before = _read_sources(directory, unit)
        relocations[unit.label] = Relocation.between(before, now, root)
    return Moves(sources, relocations)


def _read_sources(directory: Path, unit: Unit) -> SourceMap:
    own = directory / unit.label / _SOURCES
    path = own if own.exists() else directory / f"program.{_SOURCES}"
    try:
        return olympus.analysis.SourceMap.parse(read_regular(path, _MAX_BYTES))
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}") from error


def refresh(
    program: Program,
    record: Record,
    moves: Moves,
    before: Path,
    directory: Path,
    project: str,
    on_stage: OnStage,
    page: bool = False,
    profile: bool = False,
) -> Report:
    """Write the outputs in `before`, of the same program, into `directory` with new source lines.

    `record` is that of `before`; its report has exactly the backends of the program. The other
    arguments are those of `compile_and_write`. The page is also written if `before` has one.

    Raises:
        ArtifactError: a file of the earlier build is damaged.
        OSError: a file cannot be read or written.
    """
    on_stage("refresh")
    try:
        report = _report(program, record, moves, before, directory, runs=profile)
        wants_page = page or record.has_page
        return finish(
            program, report, directory, project, on_stage, page=wants_page, profile=profile
        )
    finally:
        for unit in program.units:  # the loaded programs cannot run
            unit.compiled = None


def _report(
    program: Program, record: Record, moves: Moves, before: Path, directory: Path, *, runs: bool
) -> Report:
    """Write all files except the report in its forms; return the report on them."""
    assert record.report is not None
    reports = {backend.label: backend for backend in record.report.backends}
    with Files(directory) as files:
        write_lowered(program, files)
        write_hlo(program, files)
        backends = []
        for unit in program.units:
            _load(unit, moves.relocations[unit.label], before, files, runs=runs)
            backends.append(_refreshed(unit, reports[unit.label], program))
        bundle = program.spec.name + BUNDLE_SUFFIX
        _write_bundle(program, moves, before / bundle, directory / bundle)
        files.add(bundle)
        outputs = files.listed()
    return replace(
        record.report,
        backends=tuple(backends),
        outputs=outputs,
        warnings=tuple(dict.fromkeys((*program.warnings, *backend_warnings(backends)))),
    )


def _load(unit: Unit, relocation: Relocation, before: Path, files: Files, *, runs: bool) -> None:
    """Write the compiled program with its new lines, and load it into the unit for inspection.

    With `runs` a program for the CPU is loaded so that it can run and be measured.
    """
    executable = read_regular(before / unit.label / "executable.bin", _MAX_BYTES)
    hlo = read_regular(before / unit.label / "optimized.hlo.txt", _MAX_BYTES)
    text = relocation.in_hlo(hlo.decode(errors="replace"))
    if unit.kind == "cpu":
        executable = relocation.in_executable(executable)
    files.write(f"{unit.label}/executable.bin", executable)
    files.write(f"{unit.label}/optimized.hlo.txt", text)
    if runs and unit.kind == "cpu":
        unit.compiled = unit.lowered.load(executable)
    else:
        unit.compiled = unit.lowered.read_compiled(text, executable)


def _refreshed(unit: Unit, before: BackendReport, program: Program) -> BackendReport:
    """Return the report of one backend with new lines; times are those of the compilation.

    For a GPU, sizes are also those of the compilation, because its text does not have all of them.
    """
    spec = program.spec
    figures = saved_figures(unit, spec, before.memory)
    return replace(
        before,
        memory=figures.memory,
        fits=figures.fits,
        estimate=figures.estimate,
        collectives=figures.collectives,
        axes=figures.axes,
        each_device=figures.each_device,
        cost=cost_report(unit.lowered.cost(spec.trips), spec.root),
        blocks=tuple(block_report(block, spec.root) for block in unit.lowered.blocks),
    )


def _write_bundle(program: Program, moves: Moves, before: Path, path: Path) -> None:
    if not moves.are_needed:
        _link(before, path)
        return
    sources: dict[str, SourceMap] = {}
    executables: dict[str, bytes] = {}
    for unit in program.units:
        sources.setdefault(unit.kind, moves.sources[unit.label])
        if unit.kind == "cpu":
            executables[unit.kind] = unit.compiled.serialize()
    olympus.artifact.update_sources(before, path, sources, executables)


def _link(before: Path, path: Path) -> None:
    """Hard-link a file, or copy it if the file system does not support hard links."""
    try:
        os.link(before, path)
    except OSError:
        shutil.copyfile(before, path)
