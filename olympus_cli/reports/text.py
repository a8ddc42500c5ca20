"""A report as text for people: the summary that `olympus compile` prints."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from olympus.analysis import Collective
from olympus.stages import ArgInfo
from olympus_cli.reports.build_report import (
    BackendReport,
    BlockReport,
    Report,
    ResultOrigin,
    XlaReport,
)
from olympus_cli.reports.program_figures import (
    CompiledFigures,
    CostReport,
    DeviceCostReport,
    TotalReport,
    padded_buffers,
)
from olympus_cli.reports.torus import torus_rows
from olympus_cli.terminal import console
from olympus_cli.text.option_values import OPTIMIZE
from olympus_cli.text.units import array_type, byte_size, count, duration

SUMMARY = "summary.txt"  # its name in a target's folder

_MAX_ARRAYS = 12  # of arguments or results listed one by one
_MAX_OPS = 8
_MAX_COLLECTIVES = 20
_MAX_COMBINED = 3  # lines of one of them
_WIDTH = 100  # columns of a sentence
_MAX_PADDED = 3  # buffers with much padding
_MAX_FILES = 2  # of a repeated block


def render_text(report: Report, width: int | None = None) -> str:
    """Return the text of `summary.txt`, its tables folded to `width` columns if that is given."""
    return "\n".join(_lines(report, width)) + "\n"


def write_summary(report: Report, folder: Path) -> Path:
    """Write the text into `folder`; return the path of its file."""
    path = folder / SUMMARY
    path.write_text(render_text(report), encoding="utf-8", errors="backslashreplace")
    return path


def _lines(report: Report, width: int | None) -> Iterator[str]:
    yield f"{report.target}  ({report.entry})"
    for backend in report.backends:
        yield ""
        yield _named(backend)
        yield from figure_lines(backend.cost, backend)
    yield ""
    yield "program"
    if report.statics:
        yield figure_row("statics", ", ".join(f"{k}={v}" for k, v in report.statics.items()))
    yield from _arrays("arguments", report.arguments)
    yield from _arrays("results", report.results)
    yield figure_row("StableHLO", _ops(report.ops))
    for backend in report.backends:
        yield ""
        yield f"compiled for {_named(backend)}"
        yield from _compiled(backend)
        yield from collective_lines(backend, width)
        yield from estimate_notes(backend, width)
    yield ""
    yield from _build(report)
    yield ""
    yield "outputs"
    width = max((len(output.path) for output in report.outputs), default=0)
    for output in report.outputs:
        yield f"  {output.path:<{width}}  {byte_size(output.bytes):>9}"
    for warning in report.warnings:
        yield f"warning: {warning}"


def _build(report: Report) -> Iterator[str]:
    yield "build"
    yield figure_row("trace", duration(report.seconds.trace))
    compiled = [b for b in report.backends if b.result.source == "compiled"]
    xla = duration(sum(backend.xla_seconds for backend in compiled))
    part = f", of which XLA {xla}" if compiled else ""
    yield figure_row("all", f"{duration(report.seconds.total)}{part}")
    if report.peak_memory is not None:
        yield figure_row("peak memory", byte_size(report.peak_memory))
    if report.optimize != OPTIMIZE[0]:
        yield figure_row("optimize", report.optimize)
    yield figure_row("versions", ", ".join(f"{k} {v}" for k, v in report.versions.items()))


def figure_row(name: str, value: str) -> str:
    """Return a line with a figure and its name."""
    return f"  {name:<15} {value}"


def _arrays(title: str, arrays: Sequence[ArgInfo]) -> Iterator[str]:
    total = byte_size(sum(array.bytes for array in arrays))
    yield figure_row(title, f"{len(arrays)} ({total})")
    shown = arrays[:_MAX_ARRAYS]
    width = max((len(array.name) for array in shown), default=0)
    for array in shown:
        donated = "  donated" if array.donated else ""
        yield f"    {array.name:<{width}}  {array_type(array.dtype_name, array.shape)}{donated}"
    if len(arrays) > _MAX_ARRAYS:
        yield f"    ... and {len(arrays) - _MAX_ARRAYS} more"


def _ops(ops: Mapping[str, int]) -> str:
    most = sorted(ops.items(), key=lambda item: (-item[1], item[0]))
    names = ", ".join(f"{number} {name.rpartition('.')[2]}" for name, number in most[:_MAX_OPS])
    more = ", ..." if len(most) > _MAX_OPS else ""
    return f"{sum(ops.values())} ({names}{more})" if ops else "none"


def _named(backend: BackendReport) -> str:
    if backend.devices == 1:
        return backend.name if backend.device is None else f"{backend.name} ({backend.device})"
    kind = "devices" if backend.device is None else backend.device
    return f"{backend.name} ({backend.devices} {kind})"


def figure_lines(cost: CostReport, compiled: CompiledFigures | None = None) -> Iterator[str]:
    """Yield the known figures of a call's cost and, for a compiled program, of its needs."""
    for name, value in _cost_rows(cost):
        yield figure_row(name, value)
    if compiled is None:
        return
    rows = [*_device_rows(compiled), *_memory_rows(compiled)]
    if compiled.torus is not None:
        rows = [*torus_rows(compiled.torus), *rows]
    for name, value in rows:
        yield figure_row(name, value)
    if (estimate := compiled.estimate) is not None:
        time = least_text(estimate.unknown) + duration(estimate.seconds)
        yield figure_row("estimated time", f"{time} on {estimate.device}, an estimate")
        if compiled.utilization is not None:
            share = f"{compiled.utilization:.1%} of the peak of {estimate.device} in products"
            yield figure_row("utilization", f"{share} as written")
        if compiled.fits is not None:
            yield figure_row("fits", f"{estimate.device}: {'yes' if compiled.fits else 'no'}")
    for text in itertools.islice(padded_buffers(compiled), _MAX_PADDED):
        yield figure_row("padding", text)


def collective_lines(compiled: CompiledFigures | None, width: int | None = None) -> Iterator[str]:
    """Yield the collectives of a program: by axis, and then the slowest first.

    The tables are folded to `width` columns if that is given.
    """
    if compiled is None or not compiled.collectives:
        return
    sums = [("axes", "calls", "bytes", "sent", "time")]
    sums += [
        (
            axes_text(row.axes),
            least_text(row.loops) + count(row.calls),
            least_text(row.loops) + byte_size(row.bytes),
            least_text(row.loops) + byte_size(row.sent),
            least_text(row.loops) + duration(row.seconds),
        )
        for row in compiled.axes
    ]
    yield from _table(sums, width)
    rows = [("collective", "axes", "devices", "bytes", "calls", "time", "line")]
    rows += [
        (
            collective.kind,
            axes_text(collective.axes),
            str(collective.devices),
            byte_size(collective.bytes),
            least_text(collective.loops) + count(collective.calls),
            least_text(collective.loops) + duration(collective.seconds),
            lines_text(collective),
        )
        for collective in compiled.collectives[:_MAX_COLLECTIVES]
    ]
    yield from _table(rows, width)
    if (more := len(compiled.collectives) - _MAX_COLLECTIVES) > 0:
        yield f"  ... and {more} more"


def axes_text(axes: Sequence[str] | None) -> str:
    """Return the axes of a mesh in a collective as text.

    >>> axes_text(("data", "model")), axes_text(()), axes_text(None)
    ('data, model', 'none', 'unknown')
    """
    return "unknown" if axes is None else ", ".join(axes) or "none"


def lines_text(collective: Collective) -> str:
    """Return the lines of a collective, the one with the most bytes first."""
    if len(collective.lines) < 2:
        return collective.line or ""
    named = [part.line or "unknown" for part in collective.lines]
    more = len(named) - _MAX_COMBINED
    return ", ".join(named[:_MAX_COMBINED]) + (f" and {more} more" if more > 0 else "")


def least_text(unknown: Sequence[str]) -> str:
    """Return the prefix of a figure that counts an unknown part once.

    >>> least_text(("model.py:12",)) + "4 KiB", least_text(()) + "4 KiB"
    ('at least 4 KiB', '4 KiB')
    """
    return "at least " if unknown else ""


def _table(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    """Rows under a heading, after an empty line."""
    if width is not None:
        yield ""
        yield from (
            f"  {line}".rstrip() for line in console.table_lines(rows[0], rows[1:], width - 2)
        )
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield ""
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()


def estimate_notes(compiled: CompiledFigures | None, width: int | None = None) -> Iterator[str]:
    """Yield the assumptions of the estimate of a program's time, and the parts not in it."""
    columns = min(width or _WIDTH, _WIDTH)
    if compiled is None or compiled.estimate is None:
        return
    yield ""
    yield "the estimate of the time"
    for sentence in (*compiled.estimate.unknown, *compiled.estimate.assumptions):
        yield from _item_lines(sentence, columns)


def _item_lines(sentence: str, columns: int) -> Iterator[str]:
    """Yield the lines of an item of a list, broken at spaces: `textwrap` takes longer."""
    line = "  -"
    for word in sentence.split():
        if len(line) + len(word) >= columns and line.strip(" -"):
            yield line
            line = "   "
        line = f"{line} {word}"
    yield line


def _cost_rows(cost: CostReport) -> Iterator[tuple[str, str]]:
    """Yield the figures of a cost with their names; for an unknown one, its lower bound."""
    least = cost.at_least
    flops = _at_least(count, cost.flops, least.flops)
    products = {k: v for k, v in (least.matmul_flops or {}).items() if v}
    if products:
        parts = " and ".join(f"{count(v)} of {k}" for k, v in sorted(products.items()))
        flops += f", in products and convolutions {parts}"
    yield "flops", flops
    if least.transcendentals:
        yield "transcendentals", _at_least(count, cost.transcendentals, least.transcendentals)
    passed = byte_size(cost.io_bytes)
    moved = _at_least(byte_size, cost.bytes, least.bytes)
    yield "bytes", f"{moved}, in arguments, results and constants {passed}"
    if cost.intensity is not None:
        yield "intensity", f"{cost.intensity:.3g} flops per byte"
    yield "operations", _at_least(count, cost.operations, least.operations)
    if least.collective_bytes:
        moved = _at_least(byte_size, cost.collective_bytes, least.collective_bytes)
        yield "collectives", moved


def _at_least(shown: Callable[[float | None], str], total: int | None, least: int | None) -> str:
    return shown(total) if total is not None else f"at least {shown(least)}"


def _device_rows(compiled: CompiledFigures) -> Iterator[tuple[str, str]]:
    """Yield the work of each of several devices, and their sums; nothing for one device."""
    device, total = compiled.each_device, compiled.total
    if device is None or total is None:
        return
    yield "devices", f"{compiled.devices}; the lines above count all, as the program is written"
    least = least_text(device.unknown)
    yield "each does", least + _done(device)
    repeated = (
        "" if device.repeated is None else f"; {device.repeated:.3g} times the flops as written"
    )
    yield "all do", least + _done(total) + repeated
    for sentence in device.unknown:
        yield "unknown", sentence


def _done(work: DeviceCostReport | TotalReport) -> str:
    """Return the work of a device, or of all."""
    sent = f", {byte_size(work.sent)} sent" if work.sent else ""
    special = f", transcendentals {count(work.transcendentals)}" if work.transcendentals else ""
    return f"flops {count(work.flops)}{special}, {byte_size(work.bytes)} moved{sent}"


def _memory_rows(compiled: CompiledFigures) -> Iterator[tuple[str, str]]:
    memory, total = compiled.memory, compiled.total
    named = {
        "arguments": memory.arguments,
        "results": memory.results,
        "temporaries": memory.temporaries,
        "donated": memory.aliased,
        "constants": memory.constants,
        "code": memory.code,
    }
    parts = ", ".join(f"{name} {byte_size(size)}" for name, size in named.items() if size)
    own = memory.workspace_bound
    if memory.peak is not None:
        yield (
            "peak memory",
            _in_all(memory.peak, own, total.peak if total else None, compiled.devices),
        )
    if own:
        yield "kernels", f"allocate at most {byte_size(own)} of the peak by themselves, a bound"
    if parts:
        size = memory.allocated
        all_need = total.allocated if total else None
        whole = "" if size is None else f"{_in_all(size, own, all_need, compiled.devices)}: "
        yield "allocated", whole + parts + (" on each device" if total else "")


def between_text(size: int | None, workspace_bound: int) -> str:
    """Return a size, or its bounds if kernels allocate up to `workspace_bound` more bytes.

    >>> between_text(1024, 0), between_text(1024, 1024)
    ('1.00 KiB', 'at least 1.00 KiB, at most 2.00 KiB')
    """
    if size is None or not workspace_bound:
        return byte_size(size)
    return f"at least {byte_size(size)}, at most {byte_size(size + workspace_bound)}"


def _in_all(need: int, own: int, total: int | None, devices: int) -> str:
    """Return the need of each device and, of several, the sum."""
    if total is None:
        return between_text(need, own)
    all_need = between_text(total, own * devices)
    return f"{between_text(need, own)} on each device, {all_need} on all"


def _compiled(backend: BackendReport) -> Iterator[str]:
    yield figure_row("lower", duration(backend.lower_seconds))
    yield figure_row("compile", _compilation(backend))
    yield figure_row("instructions", _ops(backend.ops))
    for block in backend.blocks:
        yield figure_row("repeated", _block(block))
    if figures := ", ".join(_xla(backend.xla)):
        yield figure_row("XLA's figures", figures)
    yield figure_row("key", backend.key[:16])


def _compilation(backend: BackendReport) -> str:
    """Return the time of the compilation, and the origin of its result if that is a store."""
    time = duration(backend.compile_seconds)
    return f"{time} {origin_text(backend.result)}".rstrip()


def origin_text(origin: ResultOrigin) -> str:
    """Return the origin of a stored result; empty if the program was compiled.

    >>> origin_text(ResultOrigin("local", None, None))
    'at an earlier build: the result is from the local store'
    """
    if origin.source == "compiled":
        return ""
    return f"at an earlier build: the result is from {store_of_result(origin)}"


def store_of_result(origin: ResultOrigin) -> str:
    """Return the store of a stored result.

    >>> store_of_result(ResultOrigin("local", None, None))
    'the local store'
    """
    return "the local store" if origin.url is None else origin.url


def _xla(xla: XlaReport) -> Iterator[str]:
    """Yield XLA's own figures, which count a loop's body once and do not count library calls."""
    if xla.cost.flops is not None:
        yield f"flops {count(xla.cost.flops)}"
    if xla.cost.bytes_accessed is not None:
        yield f"bytes accessed {byte_size(xla.cost.bytes_accessed)}"
    if xla.cost.optimal_seconds is not None:
        yield f"optimal seconds {duration(xla.cost.optimal_seconds)}"
    if xla.memory.temp_size_in_bytes is not None:
        yield f"temporary {byte_size(xla.memory.temp_size_in_bytes)}"
    if xla.memory.peak_memory_in_bytes is not None:
        yield f"peak {byte_size(xla.memory.peak_memory_in_bytes)}"


def _block(block: BlockReport) -> str:
    size, times = block.equations, block.occurrences
    return f"{size} equations x {times}, kept as {block.name} ({_places(block.lines)})"


def _places(lines: Iterable[str]) -> str:
    """Return the lines as ranges: "gpt.py:12-40"."""
    numbers_of: dict[str, list[int]] = {}
    for line in lines:
        file, _, number = line.rpartition(":")
        numbers_of.setdefault(file, []).append(int(number))
    ranges = [
        f"{file}:{min(numbers)}" + (f"-{max(numbers)}" if len(numbers) > 1 else "")
        for file, numbers in numbers_of.items()
    ]
    return ", ".join(ranges[:_MAX_FILES]) + (", ..." if len(ranges) > _MAX_FILES else "")
