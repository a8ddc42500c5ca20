"""What a program costs and needs, as plain records: the figures that a report leads with.

They are those of `olympus.stages`, with places in the project's folder told from there.  Counts are
of one call; sizes are in bytes and times in seconds; None is what is not known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import olympus
from olympus_cli.reports.strict import typed
from olympus_cli.units import array_type, byte_size

if TYPE_CHECKING:
    from olympus.analysis import Cost, Estimate, Kind, Memory
    from olympus.stages import Compiled

__all__ = [
    "BufferReport",
    "CollectiveReport",
    "CompiledFigures",
    "CostReport",
    "Counts",
    "EstimateReport",
    "KernelReport",
    "MemoryReport",
    "RowReport",
    "UnknownReport",
    "compiled_figures",
    "cost_report",
    "relative_line",
    "row_reports",
    "uncounted",
    "unfitting",
]

_MOST_BUFFERS = 20
_MOST_KERNELS = 100
_MOST_COLLECTIVES = 100
_MOST_NAMED = 3  # buffers in a warning


@dataclass(frozen=True)
class Counts:
    """What one call does.

    `matmul_flops` are those of products and convolutions by the dtype of their operands;
    `io_bytes` are the arguments, results and constants, once.
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
    """What could not be counted: `what` it is, the source `line` of it, and `why`."""

    what: str
    line: str | None
    why: str

    def __str__(self) -> str:
        place = f" at {self.line}" if self.line else ""
        return f"{self.what}{place}: {self.why}"


@dataclass(frozen=True)
class RowReport:
    """The part that a source line, such as "model.py:12", or a scope, operation or dtype has.

    `share` is its part of all flops, or of all bytes where there are no flops.
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
    """What one call costs; `at_least` counts what is not known once.

    `lines` add up to the total, or where that is not known to `at_least`.
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
        """JSON-like data, with the intensity."""
        return {**asdict(self), "arithmetic_intensity": self.intensity}

    @staticmethod
    def from_data(data: object, where: str = "cost") -> CostReport:
        """The cost that `to_data` gave `data` for; raises ValueError where it did not."""
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
    """What one call needs: `peak` is the most that is live at once, `largest` what is then."""

    arguments: int | None
    results: int | None
    temporaries: int | None
    aliased: int | None
    constants: int | None
    code: int | None
    peak: int | None
    allocated: int | None
    largest: tuple[BufferReport, ...]

    @property
    def needed(self) -> int | None:
        """What a device must have: all that the runtime allocates, or else the peak."""
        return self.peak if self.allocated is None else self.allocated


@dataclass(frozen=True)
class KernelReport:
    """One kernel of the optimized program; `seconds` are of all its `calls`, estimated."""

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
    """An estimate of the time of one call on a device, with what it assumes.

    `kernels` are the slowest.
    """

    device: str
    seconds: float
    assumptions: tuple[str, ...]
    unknown: tuple[str, ...]
    kernels: tuple[KernelReport, ...]


@dataclass(frozen=True)
class CollectiveReport:
    """What the devices of a program send each other at one place of it.

    `axes` are those of the mesh, None where no axes say which devices it is among: `devices` of
    them in a group.  `bytes` go into or come out of a device in one call, whichever is more;
    `seconds` are of all its `calls`, estimated.
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


@dataclass(frozen=True)
class CompiledFigures:
    """What is told of a compiled program; of one of several `devices`, for each of them.

    `fits` tells whether it needs the memory of its device at most; None where either is not known.
    `collectives` are the slowest.
    """

    memory: MemoryReport
    estimate: EstimateReport | None
    fits: bool | None
    devices: int = field(default=1, kw_only=True)
    collectives: tuple[CollectiveReport, ...] = field(default=(), kw_only=True)


def relative_line(line: str | None, root: Path) -> str | None:
    """A "file:line" as told from the project's folder, if it is in there.

    >>> relative_line("/home/me/model.py:12", Path("/home/me"))
    'model.py:12'
    """
    return line and line.removeprefix(f"{root}{os.sep}")


def _counts(cost: Cost) -> Counts:
    """The figures of a cost alone."""
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
    """The rows of a cost by "line", "scope", "operation" or "dtype", the dearest first.

    With `operation` or `dtype`, those of the part that has these.
    """
    fields = [name for name in RowReport.__dataclass_fields__ if name != "key"]
    return tuple(
        RowReport(
            relative_line(row.key, root) or "", **{name: getattr(row, name) for name in fields}
        )
        for row in cost.by(kind, operation=operation, dtype=dtype)
    )


def cost_report(cost: Cost, root: Path) -> CostReport:
    """What is told of a cost."""
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
    """What is told of a program's memory."""
    sizes = [name for name in MemoryReport.__dataclass_fields__ if name != "largest"]
    return MemoryReport(
        **{name: getattr(memory, name) for name in sizes},
        largest=tuple(
            BufferReport(
                each.bytes,
                each.dtype,
                tuple(each.shape),
                each.operation,
                relative_line(each.line, root),
                each.kind,
                each.name,
            )
            for each in memory.largest(_MOST_BUFFERS)
        ),
    )


def _estimate_report(estimate: Estimate, root: Path) -> EstimateReport:
    """What is told of an estimate."""
    fields = [name for name in KernelReport.__dataclass_fields__ if name != "line"]
    slowest = sorted(estimate.kernels, key=lambda kernel: -kernel.seconds)[:_MOST_KERNELS]
    return EstimateReport(
        estimate.device,
        estimate.seconds,
        tuple(estimate.assumptions),
        tuple(estimate.unknown),
        tuple(
            KernelReport(
                line=relative_line(each.line, root),
                **{name: getattr(each, name) for name in fields},
            )
            for each in slowest
        ),
    )


def compiled_figures(compiled: Compiled, root: Path, trips: Mapping[str, int]) -> CompiledFigures:
    """What is told of a compiled program's memory, its time on the device, and whether it fits.

    `trips` says how often loops run whose number of iterations depends on data, by source line.
    """
    memory = _memory_report(compiled.memory(), root)
    estimate = _estimate_report(compiled.estimate(trips=trips), root)
    device = olympus.stages.device_model(compiled.target)
    fits = None
    if device is not None and memory.needed is not None:
        fits = olympus.analysis.fits(memory.needed, device).is_enough
    collectives = _collective_reports(compiled, root, trips)
    return CompiledFigures(
        memory, estimate, fits, devices=compiled.num_devices, collectives=collectives
    )


def _collective_reports(
    compiled: Compiled, root: Path, trips: Mapping[str, int]
) -> tuple[CollectiveReport, ...]:
    """The slowest of what the devices of a program send each other."""
    if compiled.num_devices == 1:
        return ()
    found = sorted(compiled.collectives(trips=trips), key=lambda each: -each.seconds)
    return tuple(
        CollectiveReport(**{**vars(each), "line": relative_line(each.line, root)})
        for each in found[:_MOST_COLLECTIVES]
    )


def uncounted(cost: CostReport) -> Iterator[str]:
    """A warning for each part of a program that could not be counted."""
    for each in cost.unknown:
        told = f"flops and bytes are not known, only with one trip of it: {each}"
        if each.what.endswith("loop") and each.line:
            told += f" (--trips {each.line}=N, or trips of the target, says it)"
        yield told


def unfitting(figures: CompiledFigures) -> Iterator[str]:
    """A warning for a program that does not fit its device, with its largest buffers."""
    if figures.fits is False and figures.estimate is not None:
        largest = "; ".join(map(str, figures.memory.largest[:_MOST_NAMED]))
        yield (
            f"the program does not fit {figures.estimate.device}: it needs "
            f"{byte_size(figures.memory.needed)}{_each(figures)}. The largest buffers: {largest}"
        )


def _each(figures: CompiledFigures) -> str:
    return f" on each of {figures.devices}" if figures.devices > 1 else ""
