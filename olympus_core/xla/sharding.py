"""Arrays of several devices: from the parts that devices hold to one Buffer, and back.

The runtime checks little of what it is given (sizes, order, deletion), and a mistake ends the
process with some versions of jaxlib: the callers compare shardings first.
"""

from __future__ import annotations

import collections
import functools
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.errors import ArtifactError, ShardingError
from olympus_core.mesh import AxisType, Mesh, as_tuple, checked_sizes
from olympus_core.sharding import Sharding, SingleDeviceSharding, TiledSharding, Tiling, named_like
from olympus_core.xla.arrays import _Aval, put, result_handler
from olympus_core.xla.client import devices as devices_of
from olympus_core.xla.client import more_devices
from olympus_core.xla.door import JAXLIB_VERSION, Buffer, JaxRuntimeError, _hlo, _jax
from olympus_core.xla.messages import execution_error

__all__ = [
    "assembled",
    "handler",
    "make_mesh",
    "parts",
    "put_parts",
    "run_partitioned",
    "sharding_like",
    "tiling_of",
]


class _Parts(_jax.GSPMDSharding):  # type: ignore[misc]
    """A sharding as the runtime wants it; jaxlib below 0.12 asks these two of one."""

    memory_kind = None

    def _to_xla_hlo_sharding(self, rank: int) -> Any:
        return self._hlo_sharding


@functools.lru_cache(maxsize=4096)
def _runtime_sharding(sharding: Sharding, ndim: int) -> Any:
    return _Parts(_jax.DeviceList(sharding.devices), _op_sharding(sharding.tiling(ndim)))


def _op_sharding(tiling: Tiling) -> Any:
    made = _hlo.OpSharding()
    parts = math.prod(tiling.counts)
    if parts == 1:
        made.type = _hlo.OpSharding.Type.REPLICATED
        return made
    made.type = _hlo.OpSharding.Type.OTHER
    copies = len(tiling.places) // parts
    # which devices hold each part, in row-major order of the parts
    order = np.argsort(
        [np.ravel_multi_index(p, tiling.counts) for p in tiling.places], kind="stable"
    )
    made.tile_assignment_dimensions = [*tiling.counts, *[copies] * (copies > 1)]
    made.tile_assignment_devices = [int(i) for i in order]
    made.replicate_on_last_tile_dim = copies > 1
    return made


def sharding_like(proto: Any, ndim: int, like: Sequence[Sharding], devices: Sequence[Any]) -> Any:
    """The sharding that the compiler gave an array of `ndim` dimensions.

    It is named after the first mesh of `like` that has these devices, where there is one.
    """
    tiling = tiling_of(proto, ndim, len(devices))
    meshes = [getattr(s, "mesh", None) for s in like]
    for mesh in meshes:
        if isinstance(mesh, Mesh) and mesh.flat_devices == tuple(devices):
            return named_like(mesh, tiling)
    if len(devices) == 1:
        return SingleDeviceSharding(devices[0])
    return TiledSharding(tuple(devices), tiling)


def tiling_of(proto: Any, ndim: int, count: int) -> Tiling:
    """How the sharding that the compiler gave an array of `ndim` dimensions cuts it.

    Raises ArtifactError where it is not one on `count` devices.
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
    """One Buffer of those that the devices of `sharding` hold, in their order.

    Each must have the shape that the sharding gives it, and lie on its device.
    """
    if isinstance(sharding, SingleDeviceSharding):
        return shards[0]
    made = _runtime_sharding(sharding, len(shape))
    return _jax.ArrayImpl(_Aval(shape, dtype), made, list(shards), True, _skip_checks=True)


def parts(buffer: Buffer) -> list[Buffer]:
    """The Buffers of the devices, in the order of the sharding's devices."""
    return list(buffer._arrays)


def put_parts(value: np.ndarray[Any, Any], sharding: Sharding) -> Buffer:
    """Copy to each device of a sharding the part of an array that it holds."""
    indices = sharding.indices(value.shape)
    shards = [
        put(value[index], device) for index, device in zip(indices, sharding.devices, strict=True)
    ]
    return assembled(value.shape, value.dtype, sharding, shards)


def handler(shape: tuple[int, ...], dtype: np.dtype[Any], sharding: Sharding) -> Any:
    """What turns one output of a program on the devices of `sharding` into a Buffer."""
    if isinstance(sharding, SingleDeviceSharding):
        return result_handler(sharding.device)
    made, aval = _runtime_sharding(sharding, len(shape)), _Aval(shape, dtype)
    try:
        return _jax.array_result_handler(aval, made, True, _skip_checks=True)
    except TypeError:  # jaxlib 0.12 took the argument away, and the checks with it
        return _jax.array_result_handler(aval, made, True)


#: Programs with collectives wait for each other for ever once about 33 of them are under way on
#: the CPU, with jaxlib below 0.12; so they are waited for long before.
_MOST_UNDER_WAY = 16 if tuple(map(int, JAXLIB_VERSION.split(".")[:2])) < (0, 12) else 0
_under_way: collections.deque[Buffer] = collections.deque()
_lock = threading.Lock()


def run_partitioned(
    run: Any, buffers: Sequence[Buffer], handlers: Sequence[Any], on_cpu: bool
) -> list[Buffer]:
    """Run a program of several devices on Buffers that were compared with what it takes.

    Raises:
      UsageError: when a Buffer was deleted or donated.
      BackendError: when the program fails.
    """
    try:
        with _lock:  # the devices must get the programs of all threads in one order
            outputs: list[Buffer] = run(buffers).consume_with_handlers(handlers)
            if _MOST_UNDER_WAY and on_cpu:
                _under_way.append(outputs[0] if outputs else None)
                if len(_under_way) >= _MOST_UNDER_WAY:
                    _wait()
            return outputs
    except (JaxRuntimeError, ValueError) as exc:
        raise execution_error(exc) from None


def _wait() -> None:
    """Wait for all programs under way; what failed says so to whom asks for its result."""
    while _under_way:
        buffer = _under_way.popleft()
        if buffer is not None and not buffer.is_deleted():
            try:
                buffer.block_until_ready()
            except JaxRuntimeError:  # it is the error of its own result's reader
                continue


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of the first devices there are, or of `devices`, in their order.

    `axis_types` is for programs that name `AxisType.Auto`, which each axis is.

    Raises ShardingError for another, for what is no size, and where there are fewer devices than
    the sizes multiply to.

    >>> make_mesh((2, 4), ("data", "model"))
    Mesh(axis_sizes=(2, 4), axis_names=('data', 'model'), axis_types=(Auto, Auto))
    """
    sizes = checked_sizes("make_mesh", axis_shapes)
    count = math.prod(sizes)
    told = None if devices is None else as_tuple(devices, "the devices of make_mesh")
    there = devices_of(asked=count) if told is None else told
    if count > len(there):
        raise ShardingError(
            f"a mesh of {' x '.join(map(str, sizes))} needs {count} devices, and there "
            f"{'is' if len(there) == 1 else 'are'} {len(there)}",
            hint=more_devices(count),
        )
    return Mesh(np.array(there[:count], dtype=object).reshape(sizes), axis_names, axis_types)
