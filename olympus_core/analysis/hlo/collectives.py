"""The collectives of a program, with their bytes, mesh axes and times."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from olympus_core.analysis.hlo.estimate import machine_of, timed
from olympus_core.analysis.hlo.kernels import LoopCounts, Transfer
from olympus_core.analysis.hlo.tpu_machine import Place
from olympus_core.analysis.records import AxisTraffic, Collective
from olympus_core.placement.mesh import AnyMesh
from olympus_core.xla.hlo.hlo_module import HloModule
from olympus_core.xla.targets.device_models import DeviceModel
from olympus_core.xla.targets.targets import Target


def by_axes(collectives: Iterable[Collective]) -> tuple[AxisTraffic, ...]:
    """Sum collectives by the axes that they go along, the most bytes first.

    Collectives along two axes have a row of their own.

    Example:
      >>> [(each.axes, each.calls, each.bytes) for each in by_axes(compiled.collectives())]
      [(('model',), 2, 2097152), (('data',), 1, 4096)]
    """
    sums: dict[tuple[str, ...] | None, AxisTraffic] = {}
    for collective in collectives:
        axes = collective.axes
        sums[axes] = sums.get(axes, AxisTraffic(axes, 0, 0, 0, 0.0)) + collective
    return tuple(sorted(sums.values(), key=lambda row: (-row.bytes, row.axes or ())))


def collectives_of(
    module: HloModule,
    target: Target,
    count: int,
    meshes: Sequence[AnyMesh] = (),
    device: str | DeviceModel | None = None,
    loops: LoopCounts = dict,
    network: float | None = None,
    places: Sequence[Place] | None = None,
) -> tuple[Collective, ...]:
    """Return the collectives of an optimized program of `count` devices, in schedule order.

    With several `meshes` of the devices, a collective gets the axes of the mesh that describes its
    groups with the fewest axes; of equals, the first. The other arguments are as for `estimate`.

    Raises:
      UsageError: as `estimate` does.
    """
    machine = machine_of(target, device, network, count, places)
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
    """Return the axes of one of the meshes that a collective goes along; None without any."""
    candidates = (_axes(transfer, mesh, count) for mesh in meshes)
    return min((axes for axes in candidates if axes is not None), key=len, default=None)


def _axes(transfer: Transfer, mesh: AnyMesh, count: int) -> tuple[str, ...] | None:
    """Return the axes of a mesh that a collective goes along; None if there are none."""
    if mesh.size != count:
        return None
    grid = np.arange(count).reshape(mesh.axis_sizes)
    if transfer.pairs:
        return _between(transfer.pairs, mesh)
    groups = {frozenset(group) for group in transfer.groups or [range(count)]}
    axes = [i for i, size in enumerate(mesh.axis_sizes) if size > 1]
    for length in range(len(axes) + 1):
        for chosen in itertools.combinations(axes, length):
            rows = np.moveaxis(grid, chosen, range(-length, 0)).reshape(
                -1, int(np.prod([mesh.axis_sizes[i] for i in chosen], dtype=int))
            )
            if {frozenset(map(int, row)) for row in rows} == groups:
                return tuple(str(mesh.axis_names[i]) for i in chosen)
    return None


def _between(pairs: Sequence[tuple[int, ...]], mesh: AnyMesh) -> tuple[str, ...] | None:
    """Return the axes along which the two devices of some pair have different coordinates."""
    if any(not 0 <= device < mesh.size for pair in pairs for device in pair):
        return None
    places = np.array([np.unravel_index(pair, mesh.axis_sizes) for pair in pairs])
    differ = (places[:, :, 0] != places[:, :, 1]).any(axis=0)
    return tuple(str(n) for n, is_one in zip(mesh.axis_names, differ, strict=True) if is_one)
