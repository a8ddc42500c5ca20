"""The compilation of a program that inspects the shardings of its arrays.

On several devices XLA's partitioner reports them by a callback. On one device each array is whole,
and the inspections of the lowered program are reported. The user's functions are called after the
compilation, in the thread of the caller: the compiler's threads do not see their errors or output.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core import xla
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import CompileError
from olympus_core.ir.effects import inspections_in
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.lowering import whole_module as lowering
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.lowering.module_state import Manual, Watching
from olympus_core.placement.chosen_sharding import (
    TiledSharding,
    whole_on,
)
from olympus_core.placement.mesh import Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
    Tiling,
)
from olympus_core.primitives.inspection import Inspection

_Inspections = Iterator[tuple[Inspection, ShapedArray, Sharding]]


class Inspected(NamedTuple):
    """A module without inspections, its program with them, and its entry attributes."""

    module: Any
    program: Olympuspr
    entry: EntryAttributes

    def compiled(
        self,
        target: xla.Target,
        options: xla.Options | None,
        grid: Sequence[xla.Device] | None,
        like: Sequence[Sharding],
        calls: xla.HostCalls | None,
    ) -> Any:
        """Return the executable of `xla.compile`, after reporting the inspections.

        They are reported too if the compiler fails. `like` are the program's own shardings. Raises
        the errors of `xla.compile` and of the user's functions.
        """
        if not grid or len(grid) == 1:
            with _reporting(lambda: self._whole(target, grid, like)):
                return xla.compile(self.module, target, options, grid, calls=calls)
        watch = xla.Watch()
        # a module for this compilation only, with the addresses of the callbacks
        lowered = self._lowered(target, lambda *what: watch.config(what))
        if calls is not None:
            calls = calls._replace(partitioners=lowered.partitioners)
        with _reporting(lambda: _seen(watch, grid, like)):
            return xla.compile(lowered.module, target, options, grid, watch, calls)

    def _lowered(self, target: xla.Target, watch: Watching) -> lowering.LoweredModule:
        return lowering.lower_with_forms(self.program, self.entry, xla.platform_of(target), watch)

    def _whole(
        self, target: xla.Target, grid: Sequence[xla.Device] | None, like: Sequence[Sharding]
    ) -> _Inspections:
        """Yield the inspections on one device.

        The lowering determines the branches and loops of the target. A function that is called
        twice, once with fewer results, is lowered twice, but reported once.
        """
        lowered: set[Inspection] = set()
        self._lowered(target, lambda inspection, *_: lowered.add(inspection))
        whole = whole_on(grid[0] if grid else _first_device(target), like)
        for eqn in inspections_in(self.program):
            if eqn.params["callback"] in lowered:
                yield eqn.params["callback"], eqn.inputs[0].aval, whole


def _seen(watch: xla.Watch, grid: Sequence[xla.Device], like: Sequence[Sharding]) -> _Inspections:
    """Yield the inspections that the compiler reported."""
    for (inspection, aval, manual), proto in watch.seen:
        if manual is None:
            sharding = xla.sharding_like(proto, aval.ndim, like, grid)
        else:
            sharding = _along_the_rest(proto, aval.ndim, manual, grid)
        yield inspection, aval, sharding


@contextlib.contextmanager
def _reporting(inspections: Callable[[], _Inspections]) -> Iterator[None]:
    """Report the inspections to the user's functions after the context, or after a CompileError."""
    try:
        yield
    except CompileError:
        _report(inspections())
        raise
    _report(inspections())


def _report(inspections: _Inspections) -> None:
    for inspection, aval, sharding in inspections:
        inspection.callback(aval.shape, sharding)


def _along_the_rest(proto: Any, ndim: int, manual: Manual, devices: Sequence[Any]) -> Sharding:
    """Return the sharding of a value in a `shard_map`, along the axes that are not mapped over.

    The compiler renumbers the devices along those for each operation. Its report has the number of
    parts of each dimension, but does not distinguish two axes of one size.
    """
    mesh, sizes = manual.mesh, manual.mesh.shape
    free = tuple([1 if name in manual.names else n for name, n in mesh.shape_tuple])
    part = xla.tiling_of(proto, ndim, math.prod(free))
    grid = np.array(devices, dtype=object).reshape(mesh.axis_sizes)
    names = [name for name in mesh.axis_names if name not in manual.names and sizes[name] > 1]
    entries = _axes_for(part.counts, {name: sizes[name] for name in names})
    if entries is not None:
        return NamedSharding(Mesh(grid, mesh.axis_names), PartitionSpec(*entries))
    numbers = np.broadcast_to(np.arange(math.prod(free)).reshape(free), mesh.axis_sizes)
    places = tuple([part.places[i] for i in numbers.ravel()])
    return TiledSharding(tuple(devices), Tiling(part.counts, places))


def _axes_for(counts: Sequence[int], sizes: Mapping[Any, int]) -> list[tuple[Any, ...]] | None:
    """For each dimension the axes that cut it in so many parts; none for the last ones, whole.

    None where an axis would be cut itself.

    >>> _axes_for((1, 8, 1), {"x": 2, "y": 4})
    [(), ("x", "y")]
    """
    if math.prod(counts) == 1:
        return []
    for count in range(len(sizes) + 1):
        for names in itertools.combinations(sizes, count):
            if math.prod(sizes[name] for name in names) == counts[0]:
                rest = _axes_for(counts[1:], {n: k for n, k in sizes.items() if n not in names})
                if rest is not None:
                    return [names, *rest]
    return None


def _first_device(target: xla.Target) -> xla.Device:
    """Return the device of a one-device program; if it is absent, a compile-only device."""
    if target.device is not None:
        return xla.topology_devices(target)[0]
    return xla.devices(target.backend)[0]
