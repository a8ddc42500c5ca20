"""The compilation of a program that inspects where its arrays lie.

On several devices XLA's partitioner knows, and says so by calling back; on one, all is whole, and
what is lowered is told.  The user's functions are called when the compilation is done, in the
thread that asked for it: what they raise or print is no business of the compiler's threads.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core import lowering, xla
from olympus_core.avals import ShapedArray
from olympus_core.effects import effects_in
from olympus_core.entry import Entry
from olympus_core.errors import CompileError
from olympus_core.mesh import Mesh
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitives.inspection import Inspection
from olympus_core.sharding import (
    NamedSharding,
    PartitionSpec,
    Sharding,
    TiledSharding,
    Tiling,
    whole_on,
)

__all__ = ["Inspected"]

_Told = Iterator[tuple[Inspection, ShapedArray, Sharding]]


class Inspected(NamedTuple):
    """A module without effects, its program with them, and what its entry function says."""

    module: Any
    program: Olympuspr
    entry: Entry

    def compiled(
        self,
        target: xla.Target,
        options: xla.Options | None,
        grid: Sequence[xla.Device] | None,
        like: Sequence[Sharding],
    ) -> Any:
        """The executable, as `xla.compile` gives it; the inspections have been told.

        They are told too where the compiler fails.  `like` are the shardings that the program is
        placed by.  Raises what `xla.compile` raises, and what the user's functions do.
        """
        if not grid or len(grid) == 1:
            with _telling(lambda: self._whole(target, grid, like)):
                return xla.compile(self.module, target, options, grid)
        watch = xla.Watch()
        # the module for this compilation alone, by which the compiler calls back
        module = self._lowered(target, lambda *what: watch.config(what))
        with _telling(lambda: _seen(watch, grid, like)):
            return xla.compile(module, target, options, grid, watch)

    def _lowered(self, target: xla.Target, watch: lowering.Watching) -> Any:
        return lowering.lower_module(self.program, self.entry, xla.platform_of(target), watch)

    def _whole(
        self, target: xla.Target, grid: Sequence[xla.Device] | None, like: Sequence[Sharding]
    ) -> _Told:
        """What one device has.

        The lowering knows which branches and loops the target has.  Where a function is called
        twice and one call needs less of it, it is lowered twice, and is told once all the same.
        """
        there: set[Inspection] = set()
        self._lowered(target, lambda inspection, *_: there.add(inspection))
        whole = whole_on(grid[0] if grid else _first_device(target), like)
        for eqn in effects_in(self.program):
            if eqn.params["callback"] in there:
                yield eqn.params["callback"], eqn.inputs[0].aval, whole


def _seen(watch: xla.Watch, grid: Sequence[xla.Device], like: Sequence[Sharding]) -> _Told:
    """What the compiler said."""
    for (inspection, aval, manual), found in watch.seen:
        if manual is None:
            sharding = xla.sharding_like(found, aval.ndim, like, grid)
        else:
            sharding = _along_the_rest(found, aval.ndim, manual, grid)
        yield inspection, aval, sharding


@contextlib.contextmanager
def _telling(found: Callable[[], _Told]) -> Iterator[None]:
    """A context after which, and after a failure of the compiler, the user's functions are told."""
    try:
        yield
    except CompileError:
        _tell(found())
        raise
    _tell(found())


def _tell(found: _Told) -> None:
    for inspection, aval, sharding in found:
        inspection.tell(aval.shape, sharding)


def _along_the_rest(
    proto: Any, ndim: int, manual: lowering.Manual, devices: Sequence[Any]
) -> Sharding:
    """The sharding of a value in a `shard_map`, along the axes that are not mapped over.

    The compiler numbers the devices along those anew for each operation, so that it tells how many
    parts each dimension has, and not which of two axes of one size makes them.
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
    """The device of a program of one: where it is not here, one that programs are compiled for."""
    if target.backend == "gpu" and target.device is not None:
        return xla.topology_devices(target)[0]
    return xla.devices(target.backend)[0]
