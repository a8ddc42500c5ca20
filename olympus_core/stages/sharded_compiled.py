"""Compiled programs of several devices, and programs of earlier compilations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, put_array
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base import tree
from olympus_core.base.context import state
from olympus_core.base.errors import ShardingError, UsageError
from olympus_core.base.permissions import check_execution
from olympus_core.execution.eager import check_values
from olympus_core.execution.hidden_arguments import HiddenArguments
from olympus_core.execution.spmd import Placement, ShardedProgram, torus_places
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.sharding import Sharding
from olympus_core.stages.compiled import Compiled, finish_buffers
from olympus_core.stages.interface import Interface, unlaid

if TYPE_CHECKING:
    from olympus_core.stages.lowered import Lowered


class ShardedCompiled(Compiled):
    """A program compiled for the devices of its shardings."""

    def __init__(
        self,
        signature: Interface,
        program: ShardedProgram,
        target: xla.Target,
        lowered: Lowered | None = None,
        constants: HiddenArguments | None = None,
    ) -> None:
        count = len(program.in_shardings) - len(signature.in_avals)
        signature = signature._replace(
            in_shardings=program.in_shardings[count:], out_shardings=program.out_shardings
        )
        super().__init__(signature, program.executable, target, lowered, constants)
        self._program = program
        program.names = (*[f"constants[{i}]" for i in range(count)], *signature.arg_names)

    @functools.cached_property
    def _constant_arrays(self) -> tuple[DeviceArray, ...]:
        return self.constants.placed(self._program.in_shardings[: len(self.constants)])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments of the compiled types; movable ones are placed as needed.

        Raises SignatureError (a TypeError) that lists the arguments of another type, and
        ShardingError for an argument that has another sharding and may not be moved.
        """
        arrays = self._arrays(args, kwargs)
        if state.no_execution:
            check_execution(self.signature.name)
        try:
            outs = self._execute([*self._constant_arrays, *arrays])
        except UsageError as e:
            raise self._with_names(e, arrays) from None
        if state.debug_nans or state.debug_infs:
            check_values(outs, self._refuse_value)
        if self.signature.is_movable:
            outs = [x.release() for x in outs]
        return self.out_tree.unflatten(outs)

    def _execute(self, arrays: Sequence[DeviceArray]) -> Sequence[DeviceArray]:
        """Return the results; arguments that the program does not use may be on any devices."""
        try:
            self._program.check_layouts(arrays)
            return self._program.run(arrays)
        except ShardingError:
            used = [True] * len(self.constants)
            used += [s is not None for s in self._used(self._program.in_shardings[len(used) :])]
            if all(used):
                raise
        columns = zip(arrays, self._program.in_shardings, used, strict=True)
        moved = [x if is_used else put_on(x, where) for x, where, is_used in columns]
        self._program.check_layouts(moved)
        return self._program.run(moved)

    @property
    def num_devices(self) -> int:
        """The number of devices that the program runs on."""
        return self._program.num_devices

    def _places(self) -> Sequence[tuple[int, ...]] | None:
        return torus_places(self.target, self._program.where)

    def _meshes(self) -> Sequence[AnyMesh]:
        return self._program.meshes

    def _arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[DeviceArray]:
        leaves, in_tree = tree.flatten((args, kwargs))
        self._refuse_tracers(leaves)
        if in_tree != self.in_tree:
            leaves = self._rearranged(args, kwargs)
        avals = self._avals(leaves)
        return [
            x if isinstance(x, DeviceArray) else put_array(x, a)
            for x, a in zip(leaves, avals, strict=True)
        ]

    def prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[], Callable[[], None]]:
        """Return a function as `Compiled.prepared` does.

        Also raises ShardingError for an argument that may not be moved.
        """
        count = len(self.constants)
        arrays = self._program.placed([*self._constant_arrays, *self._arrays(args, kwargs)])
        donated = {i + count: arrays[i + count].numpy() for i in self.signature.donated}

        def prepare() -> Callable[[], None]:
            inputs = list(arrays)
            for i, value in donated.items():
                inputs[i] = put_on(value, self._program.in_shardings[i])
            finish_buffers([x.buffer for x in inputs])
            return lambda: finish_buffers([x.buffer for x in self._program.run(inputs)])

        return prepare

    def _flat_inputs(self) -> Sequence[Sharding | None]:
        return self._used(unlaid(self.signature.in_shardings))

    def _flat_outputs(self) -> Sequence[Sharding | None]:
        return unlaid(self.signature.out_shardings)


class SavedCompiled(Compiled):
    """A program of an earlier compilation, for inspection; a call raises BackendError."""

    def __init__(
        self,
        signature: Interface,
        executable: xla.CompileOnlyExecutable,
        target: xla.Target,
        lowered: Lowered,
        where: Placement | None,
    ) -> None:
        super().__init__(signature, executable, target, lowered)
        self._where = where

    @property
    def num_devices(self) -> int:
        """The number of devices that the program runs on."""
        return 1 if self._where is None else self._where.num_devices

    def _places(self) -> Sequence[tuple[int, ...]] | None:
        return None if self._where is None else torus_places(self.target, self._where)

    def _meshes(self) -> Sequence[AnyMesh]:
        return () if self._where is None else self._where.meshes
