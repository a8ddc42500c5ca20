"""What the devices of a program send each other: its collectives, with bytes, axes and times."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from olympus_core.analysis.estimate import machine_of, timed
from olympus_core.analysis.kernels import LoopCounts, Transfer
from olympus_core.analysis.producers import LineBytes
from olympus_core.mesh import AnyMesh
from olympus_core.xla.device_models import DeviceModel
from olympus_core.xla.hlo_module import HloModule
from olympus_core.xla.targets import Target

__all__ = ["AxisTraffic", "Collective", "by_axes", "collectives_of"]


@dataclass(frozen=True)
class Collective:
    """An operation by which devices send each other parts of arrays.

    `kind` is HLO's name, such as "all-reduce".  `axes` are those of the mesh that it goes along;
    None where no axes of the mesh say it, or the mesh is not known.  `devices` is how many it
    brings together, `bytes` what one call has going into or coming out of a device, whichever is
    more, and `sent` what each device then sends to others, by the formulas of `Transfer.sent`.
    `calls` is how often a call of the program runs it, `seconds` the estimate of all its calls.
    `operation` is what the program calls it, `line` the user's, as "path/file.py:41", if it is
    known.  `loops` are the lines of the loops around it of which nobody knows how often they run:
    each counts as run once, and with any of them `calls` and `seconds` are lower bounds.

    XLA makes one collective of those of several lines, such as of the gradients of several weights,
    and gives it one of their lines: `lines` are the `bytes` by the line of what makes the arrays,
    the most first, or by `line` alone where there is one.
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
    lines: tuple[LineBytes, ...] = ()


@dataclass(frozen=True)
class AxisTraffic:
    """What the collectives along the same axes of a mesh do together in a call of the program.

    `axes` are as those of `Collective`; `calls` counts the collectives that run, `bytes` and `sent`
    are those of all of them, of each device, and `seconds` is the estimate of their time.  `loops`
    are those of the collectives: with any of them the figures are lower bounds.
    """

    axes: tuple[str, ...] | None
    calls: int
    bytes: int
    sent: int
    seconds: float
    loops: tuple[str, ...] = ()

    def __add__(self, each: Collective) -> AxisTraffic:
        """The sums with those of one more collective, along the same axes."""
        return replace(
            self,
            calls=self.calls + each.calls,
            bytes=self.bytes + each.calls * each.bytes,
            sent=self.sent + each.calls * each.sent,
            seconds=self.seconds + each.seconds,
            loops=tuple(dict.fromkeys((*self.loops, *each.loops))),
        )


def by_axes(collectives: Iterable[Collective]) -> tuple[AxisTraffic, ...]:
    """The sums of collectives by the axes that they go along, the most bytes first.

    Those along two axes at once are a row of their own.

    Example:
      >>> [(each.axes, each.calls, each.bytes) for each in by_axes(compiled.collectives())]
      [(('model',), 2, 2097152), (('data',), 1, 4096)]
    """
    sums: dict[tuple[str, ...] | None, AxisTraffic] = {}
    for each in collectives:
        sums[each.axes] = sums.get(each.axes, AxisTraffic(each.axes, 0, 0, 0, 0.0)) + each
    return tuple(sorted(sums.values(), key=lambda row: (-row.bytes, row.axes or ())))


def collectives_of(
    module: HloModule,
    target: Target,
    count: int,
    meshes: Sequence[AnyMesh] = (),
    device: str | DeviceModel | None = None,
    loops: LoopCounts = dict,
    network: float | None = None,
) -> tuple[Collective, ...]:
    """The collectives of an optimized program of `count` devices, in the order of its schedule.

    Of several `meshes` of the devices, a collective has the axes of the one that says by the fewest
    axes which devices it brings together; of equals, the first.  The other arguments are as for
    `estimate`.

    Raises:
      UsageError: as `estimate` does.
    """
    machine = machine_of(target, device, network, count)
    _, runs, times = timed(module, machine, loops)
    return tuple(
        Collective(
            kind=transfer.kind,
            axes=_axes_of(transfer, meshes, count),
            devices=transfer.devices(count),
            bytes=transfer.bytes,
            sent=transfer.sent(count),
            calls=run.calls,
            line=run.kernel.line,
            operation=run.kernel.operation,
            seconds=seconds,
            loops=run.loops,
            lines=run.kernel.lines,
        )
        for run, seconds in zip(runs, times, strict=True)
        if (transfer := run.kernel.transfer) is not None
    )


def _axes_of(transfer: Transfer, meshes: Sequence[AnyMesh], count: int) -> tuple[str, ...] | None:
    """The axes of one of the meshes that a collective goes along; None where none has them."""
    found = (_axes(transfer, mesh, count) for mesh in meshes)
    return min((axes for axes in found if axes is not None), key=len, default=None)


def _axes(transfer: Transfer, mesh: AnyMesh, count: int) -> tuple[str, ...] | None:
    """The axes of a mesh that a collective goes along; None where there are none."""
    if mesh.size != count:
        return None
    grid = np.arange(count).reshape(mesh.axis_sizes)
    if transfer.pairs:
        return _between(transfer.pairs, mesh)
    wanted = {frozenset(group) for group in transfer.groups or [range(count)]}
    axes = [i for i, size in enumerate(mesh.axis_sizes) if size > 1]
    for length in range(len(axes) + 1):
        for chosen in itertools.combinations(axes, length):
            rows = np.moveaxis(grid, chosen, range(-length, 0)).reshape(
                -1, int(np.prod([mesh.axis_sizes[i] for i in chosen], dtype=int))
            )
            if {frozenset(map(int, row)) for row in rows} == wanted:
                return tuple(str(mesh.axis_names[i]) for i in chosen)
    return None


def _between(pairs: Sequence[tuple[int, ...]], mesh: AnyMesh) -> tuple[str, ...] | None:
    """The axes along which the devices of some pair differ in their places."""
    if any(not 0 <= device < mesh.size for pair in pairs for device in pair):
        return None
    places = np.array([np.unravel_index(pair, mesh.axis_sizes) for pair in pairs])
    differ = (places[:, :, 0] != places[:, :, 1]).any(axis=0)
    return tuple(str(n) for n, is_one in zip(mesh.axis_names, differ, strict=True) if is_one)
