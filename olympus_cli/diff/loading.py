"""The reader of a side: its program as StableHLO, the source of its operations, and its metadata.

Each side is read in a separate process, because two revisions of a module have the same name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from olympus import artifact
from olympus.analysis import SourceMap
from olympus.errors import ArtifactError, UsageError
from olympus.files import read_regular
from olympus_cli.builder.manifest import MANIFEST, Manifest, intact
from olympus_cli.diff.comparing import SideProgram
from olympus_cli.diff.sides import STABLEHLO, BuildSide, BundleSide, FileSide, Side, TargetSide
from olympus_cli.program.stages import Program
from olympus_cli.program.versions import tool_versions
from olympus_cli.reports.build_report import BackendReport, Report
from olympus_cli.reports.json import has_report, read_report
from olympus_cli.reports.program_figures import CostReport, cost_report
from olympus_cli.reports.relative_paths import moved
from olympus_cli.reports.versioned_json import OlderSchema
from olympus_cli.spec.backends import backend_text, named_backend
from olympus_cli.spec.model import Checkout
from olympus_cli.text.paths import display_path
from olympus_cli.workers.call import OnStage

_MAX_BYTES = 2**31  # the largest size in the compilers' formats


def read_side(on_stage: OnStage, side: Side) -> dict[str, Any]:
    """Return a side's `SideProgram` as plain data.

    Raises:
        ArtifactError: a file is damaged or has another format.
        UsageError: a file cannot be read.
        TraceError: the program of a target fails.
    """
    match side:
        case TargetSide():
            program = _of_target(on_stage, side)
        case BuildSide():
            program = _of_build(side)
        case BundleSide():
            program = _of_bundle(side)
        case FileSide():
            program = SideProgram(side.label, "file", _content(side.path), file=side.label)
    return program.to_data()


def _of_target(on_stage: OnStage, side: TargetSide) -> SideProgram:
    label = next(iter(side.spec.labels))
    program = Program.of(side.spec, on_stage, until="lower", labels=[label])
    program.source.check_imports()
    (unit,), spec = program.units, side.spec
    sources = SourceMap.of(unit.lowered.module, spec.root)
    cost = cost_report(program.cost(unit), spec.root)
    if side.revision is not None:
        sources, cost = _in_repository(sources, cost, side.revision)
    return SideProgram(
        side.label,
        "revision" if side.revision else "target",
        unit.lowered.bytecode(),
        sources.to_bytes(),
        tuple(leaf.name for leaf in program.arguments),
        {
            "backend": backend_text(unit.backend),
            "optimize": spec.optimize,
            "compiler options": _options(spec.compiler_options),
        },
        tool_versions(),
        cost=cost,
    )


def _in_repository(
    sources: SourceMap, cost: CostReport, of: Checkout
) -> tuple[SourceMap, CostReport]:
    """Return the lines of a revision, with paths in its checkout replaced by repository paths."""
    places = moved(sources.places, of.tree, of.top)
    texts = {
        (moved(file, of.tree, of.top), line): text for (file, line), text in sources.texts.items()
    }
    return replace(sources, places=places, texts=texts), moved(cost, of.tree, of.top)


def _options(options: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(options.items())) or "none"


def _of_build(side: BuildSide) -> SideProgram:
    report, notes = _report(side.folder)
    program, sources = side.folder / STABLEHLO, side.folder / "program.sources.json"
    label = _label(side, report)
    if label is not None and (side.folder / label / "stablehlo.mlir").is_file():
        program = side.folder / label / "stablehlo.mlir"
        sources = side.folder / label / "sources.json"
    if (side.folder / MANIFEST).exists():
        for file in Manifest.read(side.folder).files:
            path = side.folder / file.path
            if path in (program, sources) and not intact(side.folder, file):
                raise ArtifactError(
                    f"{display_path(path)} is missing or has been changed since the build"
                )
    built = SideProgram(
        side.label,
        "build",
        _content(program),
        _content(sources) if sources.is_file() else None,
        notes=tuple(notes),
        file=display_path(program),
    )
    if report is None:
        return built
    backend = next(backend for backend in report.backends if label in (None, backend.label))
    return replace(
        built,
        arguments=tuple(leaf.name for leaf in report.arguments),
        options={"backend": _backend(backend), "optimize": report.optimize},
        versions=report.versions,
        report=backend,
        cost=backend.cost,
    )


def _report(folder: Path) -> tuple[Report | None, list[str]]:
    """Return the report of a build, or None; and a note if the schema of the report is too old."""
    if not has_report(folder):
        return None, []
    try:
        return read_report(folder), []
    except OlderSchema as error:
        return None, [f"{error}: its options, memory and time are not compared"]


def _label(side: BuildSide, report: Report | None) -> str | None:
    """Return the label of the requested backend, by default the first; None without a report."""
    if report is None or not report.backends:
        return None
    if side.backend is None:
        return report.backends[0].label
    wanted = named_backend(side.backend)
    for backend in report.backends:
        if backend.name == wanted.backend and wanted.device in (None, backend.device):
            return backend.label
    built = ", ".join(backend.label for backend in report.backends)
    raise UsageError(f"{side.label} is not built for {side.backend}, only for {built}")


def _backend(report: BackendReport) -> str:
    return report.name if report.device is None else f"{report.name}:{report.device}"


def _of_bundle(side: BundleSide) -> SideProgram:
    bundle = artifact.load(side.path, native=False)  # no code of the bundle is run
    backend = named_backend(side.backend).backend if side.backend else "cpu"
    if side.backend and backend not in bundle.manifest.programs:
        raise UsageError(
            f"{side.label} has no program for {backend}, only for "
            f"{', '.join(bundle.manifest.programs)}"
        )
    if backend not in bundle.manifest.programs:
        backend = next(iter(bundle.manifest.programs))
    sources = bundle.sources(backend)
    return SideProgram(
        side.label,
        "bundle",
        bundle.stablehlo(backend),
        None if sources is None else sources.to_bytes(),
        tuple(argument.name for argument in bundle.manifest.signature.arguments),
        {"compiler options": _options(bundle.manifest.compiler_options)},
        bundle.manifest.versions,
    )


def _content(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        UsageError: the path cannot be read, is not a file, or is larger than a program can be.
    """
    try:
        return read_regular(path, _MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{display_path(path)} cannot be read: {error.strerror}") from error
