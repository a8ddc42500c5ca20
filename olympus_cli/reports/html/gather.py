"""A page from a build: its report, the texts of its programs, and the user's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import olympus
from olympus.analysis import KernelEstimate, LiveBuffer
from olympus.errors import BackendError
from olympus.files import read_regular
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.build_report import BackendReport, Report
from olympus_cli.reports.html.listing import hlo_listing, olympuspr_listing, stablehlo_listing
from olympus_cli.reports.html.page import BackendPage, MeasuredTime, Page, Roof
from olympus_cli.reports.html.source import MAX_FILES, shares_of_files
from olympus_cli.reports.program_figures import slowest_first
from olympus_cli.reports.relative_paths import relative
from olympus_cli.reports.stacks import StackReport, stack_reports

if TYPE_CHECKING:
    from olympus.analysis import CpuPeaks, Moment
    from olympus_cli.spec.devices import AnyModel

_NOTHING: Mapping[str, MeasuredTime] = MappingProxyType({})
_MAX_BUFFERS = 1000  # that are added up; the rest are small
_MAX_BYTES = 2 * 2**20  # of a source file: what is larger was written by a program


def gather(
    program: Program,
    report: Report,
    directory: Path,
    measured: Mapping[str, MeasuredTime] = _NOTHING,
) -> Page:
    """Return the page of a compiled program whose report and files are in `directory`.

    `measured` is what was measured for some of its backends, by their labels.
    """
    text = program.units[0].lowered.olympuspr_text(source_info=True)
    units = {unit.label: unit for unit in program.units}
    return Page(
        report=report,
        backends=tuple(
            replace(
                _backend(backend, units[backend.label], directory),
                measured=measured.get(backend.label),
                stacks=_stacks(program, units[backend.label]),
                kernels=_kernels(program, backend, units[backend.label]),
                buffers=_buffers(program, units[backend.label]),
            )
            for backend in report.backends
        ),
        olympuspr=olympuspr_listing(text, "program.olympuspr"),
        sources=_sources(report, program.spec.root),
        root=str(program.spec.root),
    )


def _backend(report: BackendReport, unit: Unit, directory: Path) -> BackendPage:
    label = report.label
    own = f"{label}/stablehlo.mlir"
    path = own if (directory / own).exists() else "program.stablehlo.mlir"
    optimized = f"{label}/optimized.hlo.txt"
    return BackendPage(
        report=report,
        timeline=_timeline(unit),
        roof=_roof(unit, _dtypes(report)),
        stablehlo=stablehlo_listing(unit.lowered.as_text(debug_info=True), path),
        optimized=hlo_listing((directory / optimized).read_text("utf-8"), optimized),
    )


def _stacks(program: Program, unit: Unit) -> tuple[StackReport, ...]:
    spec = program.spec
    return stack_reports(unit.lowered.cost(spec.trips, stacks=True), spec.root)


def _kernels(program: Program, report: BackendReport, unit: Unit) -> tuple[KernelEstimate, ...]:
    """Return all kernels, for the sums of equal ones; the report has only the slowest."""
    if report.estimate is None:
        return ()
    spec = program.spec
    estimate = relative(unit.compiled.estimate(trips=spec.trips), spec.root)
    return slowest_first(estimate).kernels


def _buffers(program: Program, unit: Unit) -> tuple[LiveBuffer, ...]:
    return relative(unit.compiled.memory().largest(_MAX_BUFFERS), program.spec.root)


def _timeline(unit: Unit) -> tuple[Moment, ...]:
    try:
        timeline: tuple[Moment, ...] = unit.compiled.memory().timeline()
    except BackendError:  # the order of its instructions is unknown
        return ()
    return timeline


def _dtypes(report: BackendReport) -> set[str]:
    """Return the dtypes of the program's products and of its kernels."""
    products = report.cost.at_least.matmul_flops or {}
    kernels = report.estimate.kernels if report.estimate else ()
    return {*products, *(kernel.dtype for kernel in kernels if kernel.dtype)}


def _roof(unit: Unit, dtypes: set[str]) -> Roof | None:
    if unit.kind == "cpu":
        peaks = olympus.analysis.known_peaks().of_each(unit.compiled.num_devices)
        return roof_of_cpu(peaks, dtypes)
    model = olympus.stages.device_model(unit.backend)
    return roof_of(model, dtypes) if model else None


def roof_of_cpu(peaks: CpuPeaks, dtypes: Iterable[str]) -> Roof:
    """Return the limits of this machine's CPU, without memory, which other programs use too."""
    rates = {"products in float32": peaks.product_float32, "elementwise": peaks.vector}
    if not {"float64", "complex128"}.isdisjoint(dtypes):
        rates["products in float64"] = peaks.product_float64
    return Roof("cpu", peaks.read, rates, None)


def roof_of(model: AnyModel, dtypes: Iterable[str]) -> Roof:
    """Return the limits of a device for computing in some dtypes; float32 is always among them."""
    return Roof(model.name, model.bandwidth, dict(_peaks(model, {*dtypes})), model.memory)


def _peaks(model: AnyModel, dtypes: set[str]) -> Iterator[tuple[str, float]]:
    yield "float32", model.float32_rate
    for dtype in sorted(dtypes):
        plain = getattr(model.tflops, dtype, None)
        if plain and dtype != "float32":
            yield dtype, plain * 1e12
        tensor = "tf32" if dtype == "float32" else dtype
        rate = getattr(model.tensor_tflops, tensor, None)
        if rate:
            yield f"{tensor}, tensor cores", rate * 1e12


def _sources(report: Report, root: Path) -> Mapping[str, str]:
    """Return the texts of the readable files in the lines of the report."""
    texts: dict[str, str] = {}
    for backend in report.backends:
        for path in [*shares_of_files(backend.cost)][:MAX_FILES]:
            if path not in texts:
                with suppress(OSError, UnicodeDecodeError, ValueError):
                    texts[path] = _read(root / path)
    return texts


def _read(path: Path) -> str:
    """Return the text of a regular file; raise OSError for a large one."""
    content = read_regular(path, _MAX_BYTES)
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
