"""Arrays of several devices: from the parts on the devices to one Buffer, and back.

The runtime checks little of its input (sizes, order, deletion), and a mistake ends the process with
some versions of jaxlib: the callers compare shardings first.
"""

from __future__ import annotations

import collections
import functools
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError, ShardingError
from olympus_core.placement.chosen_sharding import (
    TiledSharding,
    named_like,
)
from olympus_core.placement.mesh import AxisType, Mesh, as_tuple, checked_sizes
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    Tiling,
)
from olympus_core.xla.bindings import JAXLIB_RELEASE, Buffer, JaxRuntimeError, _hlo, _jax
from olympus_core.xla.messages import execution_error
from olympus_core.xla.runtime.arrays import put, result_handler
from olympus_core.xla.runtime.cpu import more_devices
from olympus_core.xla.runtime.devices import arranged
from olympus_core.xla.runtime.devices import devices as devices_of
from olympus_runtime.buffers import ArrayType


class _RuntimeSharding(_jax.GSPMDSharding):  # type: ignore[misc]
    """A sharding in the runtime's form; jaxlib below 0.12 reads these two from it."""

    memory_kind = None

    @property
    def _device(self) -> Any:
        """The device of an array on one device."""
        return self._internal_device_list[0]

    def _to_xla_hlo_sharding(self, rank: int) -> Any:
        return self._hlo_sharding


@functools.lru_cache(maxsize=4096)
def _runtime_sharding(sharding: Sharding, ndim: int) -> Any:
    if len(sharding.device_set) < len(sharding.devices):
        raise ShardingError(
            f"no array can have {sharding.spoken()}, whose devices {sharding.devices} are not "
            "distinct: the arrays of the devices must be from distinct devices"
        )
    return _RuntimeSharding(_jax.DeviceList(sharding.devices), _op_sharding(sharding.tiling(ndim)))


def _hlo_sharding(sharding: Sharding, ndim: int) -> Any:
    if isinstance(sharding, NamedSharding):
        spec, sizes = sharding.spec, dict(sharding.mesh.shape_tuple)
        split = [n for d in range(min(len(spec), ndim)) for n in spec.axes(d)]
        counts = sharding.tiling(ndim).counts
        if math.prod(counts) > 1:
            return _iota(counts, sizes, split)
    return _hlo.HloSharding.from_proto(_op_sharding(sharding.tiling(ndim)))


def _iota(counts: tuple[int, ...], sizes: dict[Any, int], split: list[Any]) -> Any:
    """Return a sharding of a mesh as an iota over its axes, in the order of the dimensions."""
    names = [*sizes]
    rest = [n for n in names if n not in split]
    copies = math.prod([sizes[n] for n in rest])
    replicated = [_hlo.OpSharding.Type.REPLICATED] * (copies > 1)
    return _hlo.HloSharding.iota_tile(
        [*counts, *[copies] * (copies > 1)],
        [sizes[n] for n in names],
        [names.index(n) for n in (*split, *rest)],
        replicated,
    )


Sharding.hlo_sharding = staticmethod(_hlo_sharding)


def _op_sharding(tiling: Tiling) -> Any:
    op_sharding = _hlo.OpSharding()
    part_count = math.prod(tiling.counts)
    if part_count == 1:
        op_sharding.type = _hlo.OpSharding.Type.REPLICATED
        return op_sharding
    op_sharding.type = _hlo.OpSharding.Type.OTHER
    copies = len(tiling.places) // part_count
    # the devices of each part, in row-major order of the parts
    order = np.argsort(
        [np.ravel_multi_index(p, tiling.counts) for p in tiling.places], kind="stable"
    )
    op_sharding.tile_assignment_dimensions = [*tiling.counts, *[copies] * (copies > 1)]
    op_sharding.tile_assignment_devices = [int(i) for i in order]
    op_sharding.replicate_on_last_tile_dim = copies > 1
    return op_sharding


def sharding_like(proto: Any, ndim: int, like: Sequence[Sharding], devices: Sequence[Any]) -> Any:
    """Return the sharding that the compiler gave an array of `ndim` dimensions.

    It uses the first mesh of `like` that has these devices and whose axes describe it, or else the
    first equal sharding without a mesh, if there is one.
    """
    tiling = tiling_of(proto, ndim, len(devices))
    meshes = [getattr(s, "mesh", None) for s in like]
    tiled = None
    for mesh in meshes:
        if isinstance(mesh, Mesh) and mesh.flat_devices == tuple(devices):
            sharding = named_like(mesh, tiling)
            if isinstance(sharding, NamedSharding):
                return sharding
            tiled = tiled or sharding
    if tiled is not None:
        return tiled
    if len(devices) == 1:
        return SingleDeviceSharding(devices[0])
    for own in like:
        if isinstance(own, TiledSharding) and _has_tiling(own, tiling, tuple(devices)):
            return own
    return TiledSharding(tuple(devices), tiling)


def _has_tiling(sharding: Sharding, tiling: Tiling, devices: tuple[Any, ...]) -> bool:
    """Return True for a sharding on these devices that splits arrays in the same way."""
    try:
        return sharding.devices == devices and sharding.tiling(len(tiling.counts)) == tiling
    except ShardingError:  # it is for arrays of another rank
        return False


def tiling_of(proto: Any, ndim: int, count: int) -> Tiling:
    """Return the tiling of an array of `ndim` dimensions in the compiler's sharding.

    Raises ArtifactError if it is not a sharding on `count` devices.
    """
    try:
        return _tiling(_hlo.HloSharding.from_proto(proto), ndim, count)
    except (ValueError, IndexError, JaxRuntimeError) as exc:
        raise ArtifactError(f"the executable has a sharding not of {count} devices") from exc


def _tiling(sharding: Any, ndim: int, count: int) -> Tiling:
    if sharding.is_replicated() or sharding.is_manual() or ndim == 0:
        return Tiling((1,) * ndim, ((0,) * ndim,) * count)
    dims = list(sharding.tile_assignment_dimensions())
    counts = tuple(dims[:ndim])
    copies = count // max(math.prod(counts), 1)
    order = np.array(sharding.tile_assignment_devices()).reshape(*counts, copies)
    places: list[tuple[int, ...]] = [()] * count
    for index in np.ndindex(*counts):
        for device in order[index]:
            places[int(device)] = tuple(map(int, index))
    return Tiling(counts, tuple(places))


def assembled(
    shape: tuple[int, ...], dtype: np.dtype[Any], sharding: Sharding, shards: Sequence[Buffer]
) -> Buffer:
    """Return one Buffer of the shards on the devices of `sharding`, in their order.

    Each shard must have the shape of the sharding, and be on its device.
    """
    if isinstance(sharding, SingleDeviceSharding):
        return shards[0]
    runtime_sharding = _runtime_sharding(sharding, len(shape))
    return _jax.ArrayImpl(
        ArrayType(shape, dtype), runtime_sharding, list(shards), True, _skip_checks=True
    )


def assembled_on(
    shape: tuple[int, ...], dtype: np.dtype[Any], devices: Sequence[Any], shards: Sequence[Buffer]
) -> Buffer:
    """Return one Buffer of an array of `shape` for each device, for a program of all of them."""
    if len(devices) == 1:
        return shards[0]
    replicated = _hlo.OpSharding()
    replicated.type = _hlo.OpSharding.Type.REPLICATED
    sharding = _RuntimeSharding(_jax.DeviceList(tuple(devices)), replicated)
    return _jax.ArrayImpl(ArrayType(shape, dtype), sharding, list(shards), True, _skip_checks=True)


def shard_buffers(buffer: Buffer) -> list[Buffer]:
    """Return the Buffers of the devices, in the order of the sharding's devices."""
    return list(buffer._arrays)


def put_shards(value: np.ndarray[Any, Any], sharding: Sharding) -> Buffer:
    """Copy the part of an array that each device of a sharding holds to that device."""
    if isinstance(sharding, NamedSharding) and sharding.unreduced:
        # the first device of each group has the whole, and the others zeros
        tiled = sharding.update(spec=sharding.spec.partitions)
        rows = zip(tiled.indices(value.shape), sharding.has_first_terms, strict=True)
        parts = [value[i] if first else np.zeros_like(value[i]) for i, first in rows]
    else:
        parts = [value[index] for index in sharding.indices(value.shape)]
    shards = [put(part, device) for part, device in zip(parts, sharding.devices, strict=True)]
    return assembled(value.shape, value.dtype, sharding, shards)


def sharded_result_handler(shape: tuple[int, ...], dtype: np.dtype[Any], sharding: Sharding) -> Any:
    """Return a function that turns one output of a program on `sharding` into a Buffer."""
    if isinstance(sharding, SingleDeviceSharding):
        return result_handler(sharding.device)
    runtime_sharding, aval = _runtime_sharding(sharding, len(shape)), ArrayType(shape, dtype)
    try:
        return _jax.array_result_handler(aval, runtime_sharding, True, _skip_checks=True)
    except TypeError:  # jaxlib 0.12 removed the argument, and the checks
        return _jax.array_result_handler(aval, runtime_sharding, True)


#: Programs with collectives wait for each other for ever once about 33 of them are under way on
#: the CPU, with jaxlib below 0.12; so they are waited for long before.
_MAX_UNDER_WAY = 16 if JAXLIB_RELEASE < (0, 12) else 0
_under_way: collections.deque[Buffer] = collections.deque()
_lock = threading.Lock()


def run_partitioned(
    run: Any, buffers: Sequence[Buffer], handlers: Sequence[Any], on_cpu: bool
) -> list[Buffer]:
    """Run a program of several devices on Buffers whose shardings are already checked.

    Raises:
      UsageError: a Buffer was deleted or donated.
      BackendError: the program fails.
      CompileError: the program runs out of memory.
    """
    try:
        with _lock:  # the devices must get the programs of all threads in one order
            outputs: list[Buffer] = run(buffers).consume_with_handlers(handlers)
            if _MAX_UNDER_WAY and on_cpu:
                _under_way.append(outputs[0] if outputs else None)
                if len(_under_way) >= _MAX_UNDER_WAY:
                    _wait()
            return outputs
    except (JaxRuntimeError, ValueError) as exc:
        raise execution_error(exc) from None


def _wait() -> None:
    """Wait for all running programs; the reader of a failed program's result gets the error."""
    while _under_way:
        buffer = _under_way.popleft()
        if buffer is not None and not buffer.is_deleted():
            try:
                buffer.block_until_ready()
            except JaxRuntimeError:  # the reader of that result gets the error
                continue


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """Return a mesh of the first available devices, or of `devices`, in their order.

    If `devices` are all devices of a slice of TPUs, as `topology_devices` returns them, the axes of
    the mesh are assigned to the physical axes of the slice: the last axis first, each to whole
    physical axes if possible.

    `axis_types` are the types of the axes, by default `AxisType.Explicit`: the shardings of arrays
    are in their types.

    Raises ShardingError for another type, for an invalid size, and if there are fewer devices than
    the product of the sizes.

    >>> make_mesh((2, 4), ("data", "model"))
    Mesh(axis_sizes=(2, 4), axis_names=('data', 'model'), axis_types=(Explicit, Explicit))
    """
    sizes = checked_sizes("make_mesh", axis_shapes)
    count = math.prod(sizes)
    given_devices = None if devices is None else as_tuple(devices, "the devices of make_mesh")
    available = devices_of(requested=count) if given_devices is None else given_devices
    if count > len(available):
        raise ShardingError(
            f"a mesh of {' x '.join(map(str, sizes))} needs {count} devices, and there "
            f"{'is' if len(available) == 1 else 'are'} {len(available)}: Number of devices "
            f"{len(available)} must be >= the product of mesh_shape {sizes}",
            hint=more_devices(count),
        )
    if given_devices is not None:
        available = arranged(given_devices, sizes)
    grid = np.array(available[:count], dtype=object).reshape(sizes)
    return Mesh(grid, axis_names, AxisType.Explicit if axis_types is None else axis_types)
