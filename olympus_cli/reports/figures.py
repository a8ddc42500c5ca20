"""The cost and needs of a program as plain records: the main figures of a report.

They are the figures of `olympus.stages`, with places relative to the project's folder.  Counts are
for one call; sizes are in bytes and times in seconds; None is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import olympus
from olympus.files import path_text
from olympus_cli.program.fitting import fits_between
from olympus_cli.reports.strict import typed
from olympus_cli.text.units import array_type, byte_size

if TYPE_CHECKING:
    from olympus.analysis import Collective, Cost, Estimate, Kind, Memory
    from olympus.stages import Compiled

_MOST_BUFFERS = 20
_MOST_KERNELS = 100
_MOST_COLLECTIVES = 100
_MOST_NAMED = 3  # buffers in a warning


@dataclass(frozen=True)
class Counts:
    """The work of one call, on all devices together, as the program is written.

    `matmul_flops` are the flops of products and convolutions by the dtype of their operands;
    `io_bytes` are the arguments, results and constants, each counted once.
    """

    flops: int | None
    matmul_flops: Mapping[str, int] | None
    transcendentals: int | None
    bytes: int | None
    io_bytes: int
    operations: int | None
    collective_bytes: int | None


@dataclass(frozen=True)
class UnknownReport:
    """A part that could not be counted: `what` it is, its source `line`, and the reason `why`."""

    what: str
    line: str | None
    why: str

    def __str__(self) -> str:
        place = f" at {self.line}" if self.line else ""
        return f"{self.what}{place}: {self.why}"


@dataclass(frozen=True)
class RowReport:
    """The part of a cost at a source line, such as "model.py:12", or a scope, operation or dtype.

    `share` is its part of all flops, or of all bytes if the program has no flops.
    """

    key: str
    flops: int
    matmul_flops: int
    transcendentals: int
    bytes: int
    operations: int
    collective_bytes: int
    backward_flops: int
    backward_bytes: int
    direction: str
    share: float


@dataclass(frozen=True)
class CostReport(Counts):
    """The cost of one call; `at_least` counts unknown parts once.

    `lines` add up to the total, or to `at_least` if the total is unknown.
    """

    at_least: Counts
    unknown: tuple[UnknownReport, ...]
    lines: tuple[RowReport, ...]

    @property
    def intensity(self) -> float | None:
        """Arithmetic intensity: flops per byte that is read or written."""
        if self.flops is None or not self.bytes:
            return None
        return self.flops / self.bytes

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data, with the intensity."""
        return {**asdict(self), "arithmetic_intensity": self.intensity}

    @staticmethod
    def from_data(data: object, where: str = "cost") -> CostReport:
        """Return the cost of `to_data`'s `data`; raise ValueError for other data."""
        if isinstance(data, dict):
            data = {k: v for k, v in data.items() if k != "arithmetic_intensity"}
        found: CostReport = typed(data, CostReport, where)
        return found


@dataclass(frozen=True)
class BufferReport:
    """A buffer that is live at the peak; `kind` is argument, result, temporary or constant."""

    bytes: int
    dtype: str
    shape: tuple[int, ...]
    operation: str
    line: str | None
    kind: str
    name: str

    def __str__(self) -> str:
        place = f" at {self.line}" if self.line else ""
        made = f"the {self.kind} {self.name}" if self.kind == "argument" else self.operation
        return f"{byte_size(self.bytes)} {array_type(self.dtype, self.shape)} of {made}{place}"


@dataclass(frozen=True)
class MemoryReport:
    """The memory of one call: `peak` is the maximum of live bytes, `largest` the buffers then.

    `workspace_bound` is an upper bound of the memory that kernels allocate in addition: with it,
    `temporaries`, `peak` and `allocated` are lower bounds, and those ending in `_bound` are upper
    bounds.
    """

    arguments: int | None
    results: int | None
    temporaries: int | None
    aliased: int | None
    constants: int | None
    code: int | None
    peak: int | None
    allocated: int | None
    largest: tuple[BufferReport, ...]
    workspace_bound: int = field(default=0, kw_only=True)

    @property
    def needed(self) -> int | None:
        """The memory that a device needs: all that the runtime allocates, or else the peak."""
        return self.peak if self.allocated is None else self.allocated

    def bound(self, size: int | None) -> int | None:
        """Return an upper bound of a figure of this memory plus the kernels' own memory."""
        return None if size is None else size + self.workspace_bound


@dataclass(frozen=True)
class KernelReport:
    """One kernel of the optimized program; `seconds` is the estimate for all its `calls`."""

    name: str
    operation: str
    line: str | None
    flops: int
    bytes: int
    dtype: str | None
    calls: int
    bound: str
    seconds: float


@dataclass(frozen=True)
class EstimateReport:
    """An estimate of the time of one call on a device, with its assumptions.

    `kernels` are the slowest.
    """

    device: str
    seconds: float
    assumptions: tuple[str, ...]
    unknown: tuple[str, ...]
    kernels: tuple[KernelReport, ...]


@dataclass(frozen=True)
class LineReport:
    """The bytes of a source `line` in a collective, for one call."""

    line: str | None
    bytes: int


@dataclass(frozen=True)
class CollectiveReport:
    """A collective operation at one place of a program.

    `axes` are the axes of the mesh, None if no axes describe its groups of `devices` devices.
    `bytes` go into or come out of a device in one call, whichever is more; `seconds` is the
    estimate for all its `calls`.  `loops` are the lines of the enclosing loops with unknown trip
    counts, each counted once: with any of them, `calls` and `seconds` are lower bounds. The
    compiler combines collectives of several lines: `lines` has the part of each, the largest first.
    """

    kind: str
    axes: tuple[str, ...] | None
    devices: int
    bytes: int
    sent: int
    calls: int
    line: str | None
    operation: str
    seconds: float
    loops: tuple[str, ...] = ()
    lines: tuple[LineReport, ...] = ()


@dataclass(frozen=True)
class AxesReport:
    """The sums of the collectives along some `axes` of the mesh in a call.

    `calls` counts all executions, and `bytes` and `sent` are their sums, for each device. With
    `loops`, as in `CollectiveReport`, all are lower bounds.
    """

    axes: tuple[str, ...] | None
    calls: int
    bytes: int
    sent: int
    seconds: float
    loops: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceCostReport:
    """The work of each of several devices in one call, counted from the optimized program.

    `repeated` is the ratio of the flops of all devices to the program as written, None if the
    latter are unknown or 0; `unknown` are sentences about uncounted parts.
    """

    flops: int
    matmul_flops: Mapping[str, int]
    transcendentals: int
    bytes: int
    collective_bytes: int
    sent: int
    repeated: float | None
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class TotalReport:
    """The work and needs of several devices together: the figures of each times their number."""

    flops: int
    transcendentals: int
    bytes: int
    collective_bytes: int
    sent: int
    arguments: int | None
    results: int | None
    temporaries: int | None
    constants: int | None
    peak: int | None
    allocated: int | None
    workspace_bound: int = field(default=0, kw_only=True)


@dataclass(frozen=True)
class CompiledFigures:
    """The figures of a compiled program; with several `devices`, for each of them.

    `fits` is True if the program's memory does not exceed its device's; None if either is unknown,
    or if the device's memory is between the bounds of the need. `collectives` are the slowest, with
    equal ones of one line combined, and `axes` the sums of all by the axes of the mesh.
    `each_device`, the work of each device, and `total`, the sums, exist only for several devices.
    """

    memory: MemoryReport
    estimate: EstimateReport | None
    fits: bool | None
    devices: int = field(default=1, kw_only=True)
    collectives: tuple[CollectiveReport, ...] = field(default=(), kw_only=True)
    axes: tuple[AxesReport, ...] = field(default=(), kw_only=True)
    each_device: DeviceCostReport | None = field(default=None, kw_only=True)
    total: TotalReport | None = field(default=None, kw_only=True)

    @property
    def collective_bytes(self) -> int | None:
        """The bytes into or out of a device in the collectives of a call, whichever is more.

        None if the trip count of a collective is unknown.
        """
        return None if self.collective_loops else sum(row.bytes for row in self.axes)

    @property
    def collective_calls(self) -> int | None:
        """The number of collectives in a call; None if it is unknown."""
        return None if self.collective_loops else sum(row.calls for row in self.axes)

    @property
    def collective_loops(self) -> tuple[str, ...]:
        """The lines of the loops with collectives whose trip counts are unknown."""
        return tuple(dict.fromkeys(loop for row in self.axes for loop in row.loops))

    @property
    def estimated_seconds(self) -> float | None:
        """The estimated time of a call; None without an estimate, or if it is a lower bound."""
        found = self.estimate
        return None if found is None or found.unknown else found.seconds


def relative_line(line: str | None, root: Path) -> str | None:
    """Return a "file:line" relative to the project's folder, if it is inside.

    >>> relative_line("/home/me/model.py:12", Path("/home/me"))
    'model.py:12'
    """
    return line and line.removeprefix(f"{path_text(root)}{os.sep}")


def _relative(lines: Iterable[str], root: Path) -> tuple[str, ...]:
    return tuple(relative_line(line, root) or "" for line in lines)


def _told_in(root: Path, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences with their lines relative to the project's folder."""
    return tuple(sentence.replace(f" {root}{os.sep}", " ") for sentence in sentences)


def _counts(cost: Cost) -> Counts:
    """Return only the figures of a cost."""
    return Counts(
        flops=cost.flops,
        matmul_flops=None if cost.matmul_flops is None else dict(cost.matmul_flops),
        transcendentals=cost.transcendentals,
        bytes=cost.bytes,
        io_bytes=cost.io_bytes,
        operations=cost.operations,
        collective_bytes=cost.collective_bytes,
    )


def row_reports(
    cost: Cost, kind: Kind, root: Path, *, operation: str | None = None, dtype: str | None = None
) -> tuple[RowReport, ...]:
    """Return the rows of a cost by "line", "scope", "operation" or "dtype", the largest first.

    With `operation` or `dtype`, only the rows of that part.
    """
    fields = [name for name in RowReport.__dataclass_fields__ if name != "key"]
    return tuple(
        RowReport(
            relative_line(row.key, root) or "", **{name: getattr(row, name) for name in fields}
        )
        for row in cost.by(kind, operation=operation, dtype=dtype)
    )


def cost_report(cost: Cost, root: Path) -> CostReport:
    """Return the report of a cost."""
    return CostReport(
        **vars(_counts(cost)),
        at_least=_counts(cost.at_least),
        unknown=tuple(
            UnknownReport(each.what, relative_line(each.line, root), each.why)
            for each in cost.unknown
        ),
        lines=row_reports(cost, "line", root),
    )


def _memory_report(memory: Memory, root: Path) -> MemoryReport:
    """Return the report of a program's memory."""
    sizes = [name for name in MemoryReport.__dataclass_fields__ if name != "largest"]
    return MemoryReport(
        **{name: getattr(memory, name) for name in sizes},
        largest=buffer_reports(memory, root, _MOST_BUFFERS),
    )


def buffer_reports(memory: Memory, root: Path, most: int) -> tuple[BufferReport, ...]:
    """Return the `most` largest buffers live at the peak, with lines relative to `root`."""
    return tuple(
        BufferReport(
            each.bytes,
            each.dtype,
            tuple(each.shape),
            each.operation,
            relative_line(each.line, root),
            each.kind,
            each.name,
        )
        for each in memory.largest(most)
    )


def kernel_reports(estimate: Estimate, root: Path) -> tuple[KernelReport, ...]:
    """Return all kernels of an estimate, the slowest first, with lines relative to `root`."""
    fields = [name for name in KernelReport.__dataclass_fields__ if name != "line"]
    slowest = sorted(estimate.kernels, key=lambda kernel: -kernel.seconds)
    return tuple(
        KernelReport(
            line=relative_line(each.line, root), **{name: getattr(each, name) for name in fields}
        )
        for each in slowest
    )


def _estimate_report(estimate: Estimate, root: Path) -> EstimateReport:
    """Return the report of an estimate."""
    return EstimateReport(
        estimate.device,
        estimate.seconds,
        tuple(estimate.assumptions),
        _told_in(root, estimate.unknown),
        kernel_reports(estimate, root)[:_MOST_KERNELS],
    )


def compiled_figures(compiled: Compiled, root: Path, trips: Mapping[str, int]) -> CompiledFigures:
    """Return a compiled program's memory, its time on the device, and `fits`.

    `trips` are the trip counts of loops whose number of iterations depends on data, by source line.
    """
    memory = _memory_report(compiled.memory(), root)
    estimate = _estimate_report(compiled.estimate(trips=trips), root)
    device = olympus.stages.device_model(compiled.target)
    fits = None
    if device is not None:
        fits = fits_between(memory.needed, memory.bound(memory.needed), device)
    alone = CompiledFigures(memory, estimate, fits, devices=compiled.num_devices)
    return alone if alone.devices == 1 else _of_several(alone, compiled, root, trips)


def _of_several(
    alone: CompiledFigures, compiled: Compiled, root: Path, trips: Mapping[str, int]
) -> CompiledFigures:
    """Return the figures with each device's work, the sums, and the collectives."""
    collectives = compiled.collectives(trips=trips)
    cost, memory = compiled.cost_per_device(trips), compiled.memory()
    all_cost, all_memory = vars(cost.total), memory.total._asdict()
    known = {**all_memory, **all_cost}
    each = {**vars(cost), "matmul_flops": dict(cost.matmul_flops), "repeated": cost.repeated}
    each["unknown"] = _told_in(root, cost.unknown)
    return replace(
        alone,
        collectives=_collective_reports(collectives, root),
        axes=tuple(
            AxesReport(**{**vars(row), "loops": _relative(row.loops, root)})
            for row in olympus.analysis.by_axes(collectives)
        ),
        each_device=DeviceCostReport(**_fields(each, DeviceCostReport)),
        total=TotalReport(**_fields(known, TotalReport)),
    )


def _fields(known: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    """Return the values that a report has fields for."""
    return {name: known[name] for name in kind.__dataclass_fields__}


def _collective_reports(
    collectives: Iterable[Collective], root: Path
) -> tuple[CollectiveReport, ...]:
    """Return the slowest collectives of a program, with equal ones combined."""
    alike: dict[Collective, CollectiveReport] = {}
    for each in collectives:
        key = replace(each, calls=0, seconds=0.0)
        old = alike.get(key)
        alike[key] = CollectiveReport(
            **{
                **vars(each),
                "line": relative_line(each.line, root),
                "loops": _relative(each.loops, root),
                "lines": tuple(
                    LineReport(relative_line(part.line, root), part.bytes) for part in each.lines
                ),
                "calls": each.calls + (old.calls if old else 0),
                "seconds": each.seconds + (old.seconds if old else 0.0),
            }
        )
    found = sorted(alike.values(), key=lambda each: -each.seconds)
    return tuple(found[:_MOST_COLLECTIVES])


def uncounted(cost: CostReport) -> Iterator[str]:
    """Yield a warning for each part of a program that could not be counted."""
    for each in cost.unknown:
        told = f"flops and bytes are not known, only with one trip of it: {each}"
        if each.what.endswith("loop") and each.line:
            told += f" (olympus cost --trips {each.line}=N, or trips of the target, sets it)"
        yield told


def unfitting(figures: CompiledFigures) -> Iterator[str]:
    """Yield a warning for a program that does not fit its device, with its largest buffers."""
    if figures.fits is False and figures.estimate is not None:
        largest = "; ".join(map(str, figures.memory.largest[:_MOST_NAMED]))
        yield (
            f"the program does not fit {figures.estimate.device}: it needs "
            f"{byte_size(figures.memory.needed)}{_each(figures)}. The largest buffers: {largest}"
        )


def _each(figures: CompiledFigures) -> str:
    return f" on each of {figures.devices}" if figures.devices > 1 else ""
