"""A report as text for people: the summary that `olympus compile` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from olympus.stages import MemoryAnalysis
from olympus_cli.choices import OPTIMIZE
from olympus_cli.program.leaves import Leaf
from olympus_cli.reports.model import BackendReport, BlockReport, Report
from olympus_cli.units import array_type, byte_size, count, duration

__all__ = ["SUMMARY", "render_text", "write_summary"]

SUMMARY = "summary.txt"  # its name in a target's folder

_MOST_ARRAYS = 12  # of arguments or results listed one by one
_MOST_OPS = 8
_MOST_FILES = 2  # of a repeated block


def render_text(report: Report) -> str:
    """The text of `summary.txt`."""
    return "\n".join(_lines(report)) + "\n"


def write_summary(report: Report, folder: Path) -> Path:
    """Write the text into `folder`; the path of its file."""
    path = folder / SUMMARY
    path.write_text(render_text(report), encoding="utf-8", errors="backslashreplace")
    return path


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.target}  ({report.entry})"
    if report.statics:
        yield _row("statics", ", ".join(f"{k}={v}" for k, v in report.statics.items()))
    yield from _arrays("arguments", report.arguments)
    yield from _arrays("results", report.results)
    yield _row("operations", _ops(report.ops))
    yield _row("trace", duration(report.seconds.trace))
    xla = duration(sum(backend.xla_seconds for backend in report.backends))
    yield _row("build", f"{duration(report.seconds.total)}, of which XLA {xla}")
    yield _row("peak memory", byte_size(report.peak_memory))
    if report.optimize != OPTIMIZE[0]:
        yield _row("optimize", report.optimize)
    yield _row("versions", ", ".join(f"{k} {v}" for k, v in report.versions.items()))
    for backend in report.backends:
        yield ""
        yield from _backend(backend)
    yield ""
    yield "outputs"
    width = max((len(output.path) for output in report.outputs), default=0)
    for output in report.outputs:
        yield f"  {output.path:<{width}}  {byte_size(output.bytes):>9}"
    for warning in report.warnings:
        yield f"warning: {warning}"


def _row(name: str, value: str) -> str:
    return f"  {name:<14} {value}"


def _arrays(title: str, arrays: Sequence[Leaf]) -> Iterator[str]:
    total = byte_size(sum(array.bytes for array in arrays))
    yield _row(title, f"{len(arrays)} ({total})")
    shown = arrays[:_MOST_ARRAYS]
    width = max((len(array.name) for array in shown), default=0)
    for array in shown:
        donated = "  donated" if array.donated else ""
        yield f"    {array.name:<{width}}  {array_type(array.dtype, array.shape)}{donated}"
    if len(arrays) > _MOST_ARRAYS:
        yield f"    ... and {len(arrays) - _MOST_ARRAYS} more"


def _ops(ops: Mapping[str, int]) -> str:
    most = sorted(ops.items(), key=lambda item: (-item[1], item[0]))
    names = ", ".join(f"{number} {name.rpartition('.')[2]}" for name, number in most[:_MOST_OPS])
    more = ", ..." if len(most) > _MOST_OPS else ""
    return f"{sum(ops.values())} ({names}{more})" if ops else "none"


def _backend(backend: BackendReport) -> Iterator[str]:
    cost = backend.cost
    yield backend.name if backend.device is None else f"{backend.name} ({backend.device})"
    yield _row("lower", duration(backend.lower_seconds))
    yield _row("compile", duration(backend.compile_seconds))
    yield _row("flops", count(cost.flops))
    yield _row("bytes accessed", byte_size(cost.bytes_accessed))
    intensity = "unknown" if cost.intensity is None else f"{cost.intensity:.3g} flops per byte"
    yield _row("intensity", intensity)
    yield _row("memory", ", ".join(_memory(backend.memory)))
    yield _row("optimized", _ops(backend.ops))
    for block in backend.blocks:
        yield _row("repeated", _block(block))
    yield _row("key", backend.key[:16])


def _block(block: BlockReport) -> str:
    size, times = block.equations, block.occurrences
    return f"{size} equations x {times}, kept as {block.name} ({_places(block.lines)})"


def _places(lines: Iterable[str]) -> str:
    """The lines as ranges: "gpt.py:12-40"."""
    found: dict[str, list[int]] = {}
    for line in lines:
        file, _, number = line.rpartition(":")
        found.setdefault(file, []).append(int(number))
    ranges = [
        f"{file}:{min(numbers)}" + (f"-{max(numbers)}" if len(numbers) > 1 else "")
        for file, numbers in found.items()
    ]
    return ", ".join(ranges[:_MOST_FILES]) + (", ..." if len(ranges) > _MOST_FILES else "")


def _memory(memory: MemoryAnalysis) -> Iterable[str]:
    named = {
        "arguments": memory.argument_size_in_bytes,
        "results": memory.output_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "donated": memory.alias_size_in_bytes,
        "code": memory.generated_code_size_in_bytes,
        "peak": memory.peak_memory_in_bytes,
    }
    return (f"{name} {byte_size(size)}" for name, size in named.items())
