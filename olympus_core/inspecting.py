"""The compilation of a program that inspects where its arrays lie.

On several devices XLA's partitioner knows, and says so by calling back; on one, all is whole.  The
user's functions are called when the compilation is done, in the thread that asked for it: what
they raise or print is no business of the compiler's threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from olympus_core import lowering, xla
from olympus_core.avals import ShapedArray
from olympus_core.effects import effects_in
from olympus_core.errors import CompileError
from olympus_core.olympuspr import Olympuspr
from olympus_core.primitives.inspection import Inspection
from olympus_core.sharding import Sharding, whole_on

__all__ = ["Inspected"]

_Told = Iterator[tuple[Inspection, ShapedArray, Sharding]]


class Inspected(NamedTuple):
    """A module without effects, its program with them, and what its entry function says."""

    module: Any
    program: Olympuspr
    entry: lowering.Entry

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
        devices = tuple(grid or (_first_device(target),))
        watch, module = None, self.module
        if len(devices) > 1:
            watch = xla.Watch()
            module = self._module_for(watch, target)
        try:
            made = xla.compile(module, target, options, grid, watch)
        except CompileError:
            _tell(self._found(watch, devices, like))
            raise
        _tell(self._found(watch, devices, like))
        return made

    def _module_for(self, watch: xla.Watch, target: xla.Target) -> Any:
        """The module for this compilation alone, by which the compiler calls back."""

        def config(inspection: Inspection, aval: ShapedArray) -> bytes:
            return watch.config((inspection, aval))

        return lowering.lower_module(self.program, self.entry, xla.platform_of(target), config)

    def _found(
        self, watch: xla.Watch | None, devices: Sequence[Any], like: Sequence[Sharding]
    ) -> _Told:
        if watch is None:
            whole = whole_on(devices[0], like)
            for eqn in effects_in(self.program):
                yield eqn.params["callback"], eqn.inputs[0].aval, whole
        else:
            for (inspection, aval), found in watch.seen:
                yield inspection, aval, xla.sharding_like(found, len(aval.shape), like, devices)


def _tell(found: _Told) -> None:
    for inspection, aval, sharding in found:
        inspection.tell(aval.shape, sharding)


def _first_device(target: xla.Target) -> xla.Device:
    """The device of a program of one: where it is not here, one that programs are compiled for."""
    if target.backend == "gpu" and target.device is not None:
        return xla.topology_devices(target)[0]
    return xla.devices(target.backend)[0]
