"""The figures of builds and checks, in the form of the history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING

from olympus.files import read_regular
from olympus_cli.history.points import Figure, StoredProgram
from olympus_cli.reports.build_report import BackendReport, Report, Seconds
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.text.metrics import UNITS

if TYPE_CHECKING:
    from olympus_cli.check.check import Checked

_PROGRAM, _SOURCES = "program.stablehlo.mlir", "program.sources.json"

_MAX_BYTES = 2**31  # of a program, the limit of the compilers' formats

Programs = Mapping[str, StoredProgram]


def build_programs(report: Report, folder: Path) -> dict[str, StoredProgram]:
    """Return the readable programs of a build in its folder, by the labels of its backends."""
    programs = {}
    for backend in report.backends:
        own = folder / backend.label / "stablehlo.mlir", folder / backend.label / "sources.json"
        program, sources = own if own[0].is_file() else (folder / _PROGRAM, folder / _SOURCES)
        try:
            programs[backend.label] = StoredProgram.of(
                read_regular(program, _MAX_BYTES), read_regular(sources, _MAX_BYTES)
            )
        except OSError:  # another build replaces them now, and its figures come with its programs
            continue
    return programs


def build_figures(report: Report, programs: Programs) -> Iterator[Figure]:
    """Yield the figures of a build: cost, memory, estimate, sizes, and the times of its stages.

    A build with results from a store has no times, which would not be those of compilations.
    """
    sizes = {output.path: output.bytes for output in report.outputs}
    measured: dict[str, float | None] = {
        f"build-{field.name}": _seconds(report, field.name) for field in fields(Seconds)
    }
    measured["build-time"] = sum(astuple(report.seconds))
    measured["build-memory"] = report.peak_memory
    if any(backend.result.source != "compiled" for backend in report.backends):
        measured = {}
    for backend in report.backends:
        counted = {
            **_counted(backend),
            "executable-size": sizes.get(f"{backend.label}/executable.bin"),
            "bundle-size": sizes.get(f"{report.target}{BUNDLE_SUFFIX}"),
        }
        stored = programs.get(backend.label)
        program = None if stored is None else stored.digest
        for count, figures in ((None, counted), (1, measured)):
            for name, value in figures.items():
                if value is not None:
                    yield Figure(
                        report.target, backend.label, name, UNITS[name], value, count=count,
                        program=program,
                    )  # fmt: skip


def _seconds(report: Report, stage: str) -> float:
    seconds: float = getattr(report.seconds, stage)
    return seconds


def _counted(backend: BackendReport) -> dict[str, float | None]:
    """Return the figures that a budget can limit, by its keys, and some others."""
    cost, memory, products = backend.cost, backend.memory, backend.cost.matmul_flops
    return {
        "flops": cost.flops,
        "matmul-flops": None if products is None else sum(products.values()),
        "transcendentals": cost.transcendentals,
        "bytes": cost.bytes,
        "operations": cost.operations,
        "collective-bytes": backend.collective_bytes,
        "collectives": backend.collective_calls,
        "peak-memory": memory.bound(memory.peak),
        "argument-memory": memory.arguments,
        "result-memory": memory.results,
        "temporary-memory": memory.bound(memory.temporaries),
        "fusions": backend.ops.get("fusion", 0),
        "custom-calls": backend.ops.get("custom-call", 0),
        "estimated-time": backend.estimated_seconds,
    }


def check_figures(checked: Checked) -> tuple[list[Figure], list[StoredProgram]]:
    """Return the figures of a check, and the programs that it checked."""
    figures, programs = [], []
    for label, values in checked.figures.items():
        program = StoredProgram.of(
            checked.lowered[label].encode(), checked.sources[label].encode("utf-8")
        )
        programs.append(program)
        figures += [
            Figure(checked.target, label, key, UNITS[key], value, program=program.digest)
            for key, value in values.items()
        ]
    return figures, programs
