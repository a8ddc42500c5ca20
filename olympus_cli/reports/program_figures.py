"""The figures of a program in a report: cost, memory, estimated time and collectives.

They are records of `olympus.analysis`, with paths relative to the project's folder. The classes
here contain the parts of those records that a report has. Counts are for one call; sizes are in
bytes and times in seconds; None is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import olympus
from olympus.analysis import (
    AxisTraffic,
    Collective,
    CostFigures,
    CostRow,
    DeviceWork,
    Estimate,
    KernelEstimate,
    LiveBuffer,
    MemorySizes,
    Unknown,
)
from olympus.files import Forms, form, to_data, typed
from olympus_cli.reports.relative_paths import relative
from olympus_cli.reports.torus import TorusReport, axis_name
from olympus_cli.spec.devices import AnyModel
from olympus_cli.text.units import array_type, byte_size

if TYPE_CHECKING:
    from olympus.analysis import Cost, Memory
    from olympus.stages import Compiled

_MAX_BUFFERS = 20
_MAX_KERNELS = 100
_MAX_COLLECTIVES = 100
_MAX_NAMED = 3  # buffers in a warning


@dataclass(frozen=True)
class CostReport(CostFigures):
    """The cost of one call on all devices together; `at_least` counts unknown parts once.

    `lines` add up to the total, or to `at_least` if the total is unknown.
    """

    at_least: CostFigures
    unknown: tuple[Unknown, ...]
    lines: tuple[CostRow, ...]

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data, with the intensity."""
        data: dict[str, Any] = to_data(self, FORMS)
        return data

    @staticmethod
    def from_data(data: object) -> CostReport:
        """Return the cost of `to_data`'s `data`; raise ValueError for other data."""
        cost: CostReport = typed(data, CostReport, "cost", FORMS)
        return cost


@dataclass(frozen=True)
class MemoryReport(MemorySizes):
    """The memory of one call; `largest` are the largest buffers that are live at the peak."""

    largest: tuple[LiveBuffer, ...]


@dataclass(frozen=True)
class DeviceCostReport(DeviceWork):
    """The work of each of several devices in one call, counted from the optimized program.

    `repeated` is the ratio of the flops of all devices to the program as written, None if the
    latter are unknown or 0; `unknown` are sentences about uncounted parts.
    """

    repeated: float | None
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class TotalReport:
    """The work and needs of several devices together."""

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

    `estimate` has the slowest kernels alone, the slowest first. `fits` is True if the program's
    memory does not exceed its device's; None if either is unknown, or if the device's memory is
    between the bounds of the need. `collectives` are the slowest, with equal ones of one line
    combined, and `axes` the sums of all by the axes of the mesh. `each_device`, the work of each
    device, and `total`, the sums, exist only for several devices. `utilization` is the fraction of
    the peak rate of products that the products of the program as written reach in the estimated
    time; None without products, or if either is unknown. `torus` is the slice of TPUs, if any.
    """

    memory: MemoryReport
    estimate: Estimate | None
    fits: bool | None
    devices: int = field(default=1, kw_only=True)
    collectives: tuple[Collective, ...] = field(default=(), kw_only=True)
    axes: tuple[AxisTraffic, ...] = field(default=(), kw_only=True)
    each_device: DeviceCostReport | None = field(default=None, kw_only=True)
    total: TotalReport | None = field(default=None, kw_only=True)
    utilization: float | None = field(default=None, kw_only=True)
    torus: TorusReport | None = field(default=None, kw_only=True)

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
        estimate = self.estimate
        return None if estimate is None or estimate.unknown else estimate.seconds


def row_form(kind: type[CostRow]) -> dict[str, str]:
    """Return the keys of a row of a cost in JSON, where the share is after the direction."""
    names = [name for name in CostRow.__dataclass_fields__ if name != "share"]
    own = [name for name in kind.__dataclass_fields__ if name not in (*names, "share")]
    return form(*names, "share", *own)


_SIZES = [name for name in MemorySizes.__dataclass_fields__ if name != "workspace_bound"]

#: The keys in JSON of the records that have others than their fields, or another order.
FORMS: Forms = MappingProxyType(
    {
        CostReport: form(
            *(*CostReport.__dataclass_fields__, "arithmetic_intensity"),
            arithmetic_intensity="intensity",
        ),
        CostRow: row_form(CostRow),
        MemoryReport: form(*_SIZES, "largest", "workspace_bound"),
        LiveBuffer: form(
            *("bytes", "dtype", "shape", "operation", "line", "kind", "name", "unpadded", "tile")
        ),
        Estimate: form("device", "seconds", "assumptions", "unknown", "kernels"),
        KernelEstimate: form(
            *(name for name in KernelEstimate.__dataclass_fields__ if name != "of_seconds")
        ),
    }
)


def cost_report(cost: Cost, root: Path) -> CostReport:
    """Return the report of a cost."""
    report = CostReport(
        **vars(cost.figures),
        at_least=cost.at_least.figures,
        unknown=cost.unknown,
        lines=cost.by("line"),
    )
    return relative(report, root)


def slowest_first(estimate: Estimate) -> Estimate:
    """Return an estimate with its kernels in the order of their times."""
    kernels = sorted(estimate.kernels, key=lambda kernel: -kernel.seconds)
    return replace(estimate, kernels=tuple(kernels))


def compiled_figures(compiled: Compiled, root: Path, trips: Mapping[str, int]) -> CompiledFigures:
    """Return a compiled program's memory, its time on the device, and `fits`.

    `trips` are the trip counts of loops whose number of iterations depends on data, by source line.
    """
    inspected = inspected_figures(
        compiled.memory(), compiled.estimate(trips=trips), compiled.target
    )
    return completed_figures(inspected, compiled, root, trips)


def inspected_figures(
    memory: Memory, estimate: Estimate, target: olympus.Target
) -> CompiledFigures:
    """Return the figures that depend only on the memory and the time of one device."""
    sizes = {name: getattr(memory, name) for name in MemorySizes.__dataclass_fields__}
    report = MemoryReport(**sizes, largest=memory.largest(_MAX_BUFFERS))
    sorted_estimate = slowest_first(estimate)
    device = olympus.stages.device_model(target)
    fits = None
    if device is not None:
        fits = fits_between(report.needed, report.bound(report.needed), device)
    kernels = sorted_estimate.kernels[:_MAX_KERNELS]
    return CompiledFigures(report, replace(sorted_estimate, kernels=kernels), fits)


def completed_figures(
    inspected: CompiledFigures, compiled: Compiled, root: Path, trips: Mapping[str, int]
) -> CompiledFigures:
    """Return the result of `inspected_figures` with the figures of the lowered program.

    The arguments are those of `compiled_figures`.
    """
    assert inspected.estimate is not None
    figures = replace(
        inspected,
        devices=compiled.num_devices,
        utilization=_utilization(compiled, inspected.estimate, trips),
        torus=_torus(compiled),
    )
    if figures.devices > 1:
        figures = _of_several(figures, compiled, trips)
    return relative(figures, root)


def _utilization(compiled: Compiled, estimate: Estimate, trips: Mapping[str, int]) -> float | None:
    """Return the fraction of the peak rate that the products as written reach."""
    model = olympus.stages.device_model(compiled.target)
    if model is None or estimate.unknown or not estimate.seconds:
        return None
    peak = olympus.analysis.product_seconds(compiled.cost(trips), model)
    return peak / compiled.num_devices / estimate.seconds if peak else None


def _torus(compiled: Compiled) -> TorusReport | None:
    target = compiled.target
    torus = target.topology
    if not isinstance(torus, olympus.Torus) or target.name is None:
        return None
    axes = {
        name: {axis_name(at): size for at, size in physical.items()}
        for name, physical in compiled.physical_axes().items()
    }
    return TorusReport(target.name, torus.sizes, torus.wraps, torus.devices_per_chip, axes)


def _of_several(
    figures: CompiledFigures, compiled: Compiled, trips: Mapping[str, int]
) -> CompiledFigures:
    """Return the figures with each device's work, the sums, and the collectives."""
    collectives = compiled.collectives(trips=trips)
    cost, memory = compiled.cost_per_device(trips), compiled.memory()
    work = {name: getattr(cost, name) for name in DeviceWork.__dataclass_fields__}
    sums = {**vars(memory.total), **vars(cost.total)}
    return replace(
        figures,
        collectives=_combined(collectives)[:_MAX_COLLECTIVES],
        axes=olympus.analysis.by_axes(collectives),
        each_device=DeviceCostReport(**work, repeated=cost.repeated, unknown=cost.unknown),
        total=TotalReport(**{name: sums[name] for name in TotalReport.__dataclass_fields__}),
    )


def _combined(collectives: Iterable[Collective]) -> tuple[Collective, ...]:
    """Return the collectives of a program with equal ones combined, the slowest first."""
    sums: dict[Collective, Collective] = {}
    for collective in collectives:
        key = replace(collective, calls=0, seconds=0.0)
        old = sums.get(key, key)
        calls, seconds = old.calls + collective.calls, old.seconds + collective.seconds
        sums[key] = replace(key, calls=calls, seconds=seconds)
    return tuple(sorted(sums.values(), key=lambda collective: -collective.seconds))


def unknown_text(part: Unknown) -> str:
    """Return the description of an uncounted part.

    >>> unknown_text(Unknown("while loop", "solver.py:41", "its condition reads an argument"))
    'while loop at solver.py:41: its condition reads an argument'
    """
    place = f" at {part.line}" if part.line else ""
    return f"{part.what}{place}: {part.why}"


def uncounted(cost: CostReport) -> Iterator[str]:
    """Yield a warning for each part of a program that could not be counted."""
    for part in cost.unknown:
        text = f"flops and bytes are not known, only with one trip of it: {unknown_text(part)}"
        if part.what.endswith("loop") and part.line:
            text += f" (olympus cost --trips {part.line}=N, or trips of the target, sets it)"
        yield text


def unfitting(figures: CompiledFigures) -> Iterator[str]:
    """Yield a warning for a program that does not fit its device, with its largest buffers."""
    if figures.fits is False and figures.estimate is not None:
        largest = "; ".join(map(_buffer_text, figures.memory.largest[:_MAX_NAMED]))
        needed = byte_size(figures.memory.needed)
        if figures.devices > 1:
            needed += f" on each of {figures.devices}"
        yield (
            f"the program does not fit {figures.estimate.device}: it needs {needed}. "
            f"The largest buffers: {largest}"
        )


def padded_text(buffer: LiveBuffer) -> str:
    """Return the size of a buffer, and that without padding if the layout's tiles pad it.

    >>> padded_text(buffer)
    '1.14 MiB, 48.8 MiB padded to tiles of 8 x 128'
    """
    size = byte_size(buffer.bytes)
    if buffer.unpadded is None:
        return size
    return f"{byte_size(buffer.unpadded)}, {size} padded to tiles of {tile_text(buffer.tile)}"


def tile_text(tile: Sequence[int]) -> str:
    """Return a tile as text.

    >>> tile_text((8, 128))
    '8 x 128'
    """
    return " x ".join(map(str, tile))


def padded_buffers(figures: CompiledFigures) -> Iterator[str]:
    """Yield the largest buffers of which a quarter or more is padding."""
    for buffer in figures.memory.largest:
        if buffer.unpadded is not None and 3 * buffer.bytes >= 4 * buffer.unpadded:
            yield _buffer_text(buffer)


def _buffer_text(buffer: LiveBuffer) -> str:
    place = f" at {buffer.line}" if buffer.line else ""
    content = buffer.operation
    if buffer.kind == "argument":
        content = f"the argument {buffer.name}"
    array = array_type(buffer.dtype, buffer.shape)
    if buffer.unpadded is not None:
        return f"{array} of {content}{place}: {padded_text(buffer)}"
    return f"{byte_size(buffer.bytes)} {array} of {content}{place}"


def fits_between(least: int | None, most: int | None, device: AnyModel) -> bool | None:
    """Return True if a need between two bounds fits a device; None if that is not certain."""
    if least is None or most is None:
        return None
    bounds = {olympus.analysis.fits(size, device).is_enough for size in (least, most)}
    return bounds.pop() if len(bounds) == 1 else None
