"""The result of one compilation, and the figures that only the compiler knows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import olympus
from olympus.analysis import MemorySizes
from olympus.stages import CompiledFiles
from olympus_cli.builder.results.compile_key import Line
from olympus_cli.program.stages import Stopwatch, Unit
from olympus_cli.reports.build_report import XlaCost, XlaReport
from olympus_cli.reports.program_figures import (
    CompiledFigures,
    MemoryReport,
    compiled_figures,
    fits_between,
)
from olympus_cli.spec.model import TargetSpec


@dataclass(frozen=True)
class CompilerFigures:
    """The figures of a compilation that cannot be read from its files.

    Of `compile_seconds`, XLA itself took `xla_seconds`.
    """

    compile_seconds: float
    xla_seconds: float
    xla: XlaReport
    memory: MemorySizes


@dataclass(frozen=True)
class CompilationResult:
    """The executable and the optimized HLO of a program, with the source lines in them.

    `shardings` are those of the arguments and results of a program for several devices.
    """

    executable: bytes
    hlo: str
    lines: tuple[Line, ...]
    figures: CompilerFigures
    shardings: tuple[tuple[bytes, ...], tuple[bytes, ...]] | None = None

    @staticmethod
    def of(unit: Unit, clock: Stopwatch, lines: tuple[Line, ...] = ()) -> CompilationResult:
        """Return the result of a unit that this process has compiled.

        `clock` gets the times of "serialize" and "inspect".

        Raises:
            ArtifactError: the compiler cannot serialize the executable.
        """
        compiled = unit.compiled
        with clock.part("serialize"):
            executable = compiled.serialize()
        with clock.part("inspect"):
            compiled.executable.read_from(executable)
            text = compiled.as_text()  # one time: it is large
            xla = XlaReport(_xla_cost(compiled.cost_analysis()), compiled.memory_analysis())
            memory = compiled.memory()
        sizes = {name: getattr(memory, name) for name in MemorySizes.__dataclass_fields__}
        seconds = unit.compile_seconds, compiled.executable.xla_seconds
        figures = CompilerFigures(*seconds, xla, MemorySizes(**sizes))
        return CompilationResult(executable, text, lines, figures, compiled.compiler_shardings())

    @staticmethod
    def of_files(
        unit: Unit,
        files: CompiledFiles,
        inspected: CompiledFigures | None,
        lines: tuple[Line, ...] = (),
    ) -> CompilationResult:
        """Return the result of a unit that another process has compiled to `files`.

        `inspected` are its figures if that process has computed them.
        """
        xla = XlaReport(_xla_cost(files.cost), files.memory)
        memory = unit.compiled.memory() if inspected is None else inspected.memory
        sizes = {name: getattr(memory, name) for name in MemorySizes.__dataclass_fields__}
        seconds = unit.compile_seconds, files.xla_seconds
        figures = CompilerFigures(*seconds, xla, MemorySizes(**sizes))
        return CompilationResult(files.executable, files.hlo, lines, figures)


def saved_figures(unit: Unit, spec: TargetSpec, sizes: MemorySizes) -> CompiledFigures:
    """Return the figures of a compiled program that was read from files.

    `sizes` are the sizes at its compilation. They are used for an accelerator, because the text of
    its program does not have all of them.
    """
    figures = compiled_figures(unit.compiled, spec.root, spec.trips)
    device = olympus.stages.device_model(unit.backend)
    if unit.kind == "cpu":
        return figures
    known: dict[str, Any] = {
        name: getattr(sizes, name) for name in MemorySizes.__dataclass_fields__
    }
    memory = MemoryReport(**known, largest=figures.memory.largest)
    fits = figures.fits
    if device is not None and memory.needed is not None:
        fits = fits_between(memory.needed, memory.bound(memory.needed), device)
    total = figures.total
    if total is not None:
        names = known.keys() & vars(total).keys()
        times = {name: known[name] and known[name] * figures.devices for name in names}
        total = replace(total, **times)
    return replace(figures, memory=memory, fits=fits, total=total)


def _xla_cost(analysis: dict[str, float] | None) -> XlaCost:
    figures = analysis or {}
    names = ("flops", "transcendentals", "bytes accessed", "optimal_seconds")
    return XlaCost(*(_amount(figures.get(name)) for name in names))


def _amount(figure: float | None) -> float | None:
    """Return a compiler's figure if it is an amount; some give -1 or infinity for "unknown"."""
    return figure if figure is not None and 0 <= figure < math.inf else None
