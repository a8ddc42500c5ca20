"""The devices of arrays: transfers, the keyword `device`, lists of devices, and caches."""

from __future__ import annotations

import contextlib
import gc
import platform as host
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, array_to_numpy, put_array
from olympus_core.arrays.mesh_context import current_mesh, named
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.context import state, switched
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import ArgumentError, MissingMeshError, UnknownNameError
from olympus_core.execution import eager
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.jit import calling
from olympus_core.placement.layout import as_sharding
from olympus_core.placement.mesh import Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    MemorySpace,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from olympus_core.primitives.sharding import (
    ArrayCopySemantics,
    device_put_p,
    reshard_p,
    transferred,
)
from olympus_core.transforms import staging
from olympus_core.transforms.data import is_float0
from olympus_runtime.version import __version__

_T = TypeVar("_T")


def check_device(device: Any) -> Sharding | None:
    """Return the argument `device`, a device or a sharding, as a sharding; None for None.

    Raises ArgumentError for other values, and as a `Format` does.
    """
    device = as_sharding(device, "the argument device", is_concrete=True)
    if isinstance(device, PartitionSpec) and current_mesh() is None:
        raise MissingMeshError(
            "Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to device_put: it "
            f"got {device}",
            hint="pass NamedSharding(mesh, spec), or write `with olympus.set_mesh(mesh):`",
        )
    device = named("the argument device", device)
    if device is None or isinstance(device, Sharding):
        return device
    if isinstance(device, xla.Device):
        return SingleDeviceSharding(device)
    raise ArgumentError(
        "`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, `Format`, "
        "`jax.memory.Space` or a pytree of these values. Received invalid value: "
        f"{device!s:.80}. The argument `device` of other functions takes the same",
        hint="pass one of olympus.devices()",
    )


def placed(x: Array, device: Any) -> Array:
    """Return the array `x` on a device; a traced array is unchanged.

    None is the mesh of the context, if one is set, for an array that is free to move.

    Raises ArgumentError for a value that is not a device.
    """
    if device is None:
        return on_context_mesh(x)
    sharding = check_device(device)
    if isinstance(x, DeviceArray):
        return x if sharding is None else put_on(x, sharding)
    if isinstance(sharding, NamedSharding) and sharding.mesh.has_explicit_axes:
        return reshard_p.bind(x, sharding=sharding.with_layout(None))
    return x


def on_context_mesh(x: Array, entries: tuple[None, ...] = ()) -> Array:
    """Return an array on the mesh of the context, if one is set and the array is free to move.

    Its spec has the `entries` if all axes are explicit, which do not split it.
    """
    mesh = state.mesh
    if mesh is None and state.default_device is not None:
        return on_default_device(x)
    if mesh.__class__ is not Mesh or not isinstance(x, DeviceArray) or x.committed:
        return x
    spec = PartitionSpec(*entries) if mesh.are_all_axes_explicit else PartitionSpec()
    return put_on(x, NamedSharding(mesh, spec))


def on_default_device(x: Array) -> Array:
    """Return an array on the device of `default_device`, if it is free to move."""
    device = state.default_device
    if device is None or not isinstance(x, DeviceArray) or x.committed or x.device == device:
        return x
    return put_on(x, SingleDeviceSharding(device)).release()


def like(x: Array, prototype: Any, device: Any) -> Array:
    """Return the array `x` on `device`, by default on the device of `prototype`, if it has one."""
    is_put = isinstance(prototype, DeviceArray) and prototype.committed
    if device is None and (is_put or isinstance(prototype, ShapeDtypeStruct)):
        device = prototype.sharding
    return placed(x, device)


def devices(backend: str | None = None) -> list[xla.Device]:
    """Return the devices of a backend (default "cpu"); raise BackendError if it is absent.

    >>> devices("cpu")[0].platform
    'cpu'
    """
    return list(xla.devices(backend))


def local_devices(
    process_index: int | None = None,
    backend: str | None = None,
    host_id: int | None = None,
) -> list[xla.Device]:
    """Return the devices of a process, by default of this one; see `devices`.

    host_id: the old name of `process_index`.  Raises ArgumentError for a process that does not
    exist: there is one, with the number 0.

    >>> local_devices() == devices()
    True
    """
    process = host_id if process_index is None else process_index
    if process not in (None, 0):
        raise ArgumentError(f"there is one process, with the process_index 0, and not {process!r}")
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Return the number of devices of a backend.

    >>> device_count("cpu") == len(devices("cpu"))
    True
    """
    return len(devices(backend))


local_device_count = device_count


def process_count(backend: str | None = None) -> int:
    """Return the number of processes that run the program: 1.

    >>> process_count()
    1
    """
    devices(backend)
    return 1


def process_index(backend: str | None = None) -> int:
    """Return the number of this process: 0.

    >>> process_index()
    0
    """
    devices(backend)
    return 0


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of the processes that run the program: 0 alone.

    >>> process_indices()
    [0]
    """
    devices(backend)
    return [0]


#: the names that `default_device` takes
_PLATFORMS = ("cpu", "gpu", "cuda", "rocm", "tpu")


def default_device_of(value: xla.Device | str | None) -> xla.Device | None:
    """Return the device of an argument of `default_device`; None for the first one of the CPU.

    Raises the errors of `default_device`.
    """
    if isinstance(value, str) and value not in _PLATFORMS:
        raise ArgumentError(
            "default_device must be passed either a Device object (e.g. "
            "`olympus.devices('cpu')[0]`) or a platform name string like 'cpu' or 'gpu', got: "
            f"{value!r:.60}"
        )
    device = devices(value)[0] if isinstance(value, str) else value
    if device is not None and not hasattr(device, "platform"):
        raise ArgumentError(
            "default_device must be passed either a Device object (e.g. "
            f"`olympus.devices('cpu')[0]`) or a platform name string, got: {device!r:.60}"
        )
    return None if device == xla.default_device() else device


@contextlib.contextmanager
def default_device(new_val: xla.Device | str | None) -> Iterator[None]:
    """Within the context, run programs on a device, unless an argument was put on another one.

    The arrays that they create are there, and programs may move them. `new_val` is a device, or the
    name of a platform for its first device, or None for the first device of the CPU.

    Raises BackendError for an absent platform, ArgumentError for another value.

    >>> with default_device(devices("cpu")[0]):
    ...     x = numpy.arange(3)
    """
    with switched("default_device", default_device_of(new_val)):
        yield


host_count, host_id, host_ids = process_count, process_index, process_indices


def default_backend() -> str:
    """Return the backend of the default device: "cpu".

    >>> default_backend() == devices()[0].platform
    True
    """
    return "cpu"


Destination = xla.Device | Sharding


@overload
def device_put(
    x: ArrayLike,
    device: Destination | None = None,
    *,
    src: Destination | None = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> Array: ...
@overload
def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any: ...
def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """Put a tree of arrays and scalars on a device, or give it a sharding; default: first device.

    `device` is a device or a sharding, or a tree prefix of `x` of these.  A `memory.Space` leaves
    an array on its devices, and puts it in the memory of these or of their host.  An array that is
    put on a device explicitly stays there: programs run on its devices.  In a traced function a
    device has no effect, and neither has a sharding on a mesh of Auto axes: write
    `with_sharding_constraint` there.  `src` is the place of the cotangents of traced arrays.  With
    `may_alias=False` the result has memory of its own.  `donate` has no effect: `x` stays valid.

    Raises DTypeError for a leaf that is not an array, ArgumentError for a value that is neither a
    device nor a sharding, and for both `donate` and `may_alias`, ShardingError for a sharding that
    cannot split an array.

    >>> mesh = make_mesh((2,), ("data",))
    >>> device_put(numpy.arange(8.0), NamedSharding(mesh, P("data")))
    Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """

    leaves, treedef = tree.flatten(x)
    full = treedef.unflatten(range(len(leaves)))
    if any(tree.leaves(donate)) and any(tree.leaves(may_alias)):
        raise ArgumentError("may_alias and donate cannot be True at the same time.")
    where, sources, donations, aliases = (
        tree.prefix_leaves("device_put", name, prefix, full)
        for name, prefix in (
            ("device", device),
            ("src", src),
            ("donate", donate),
            ("may_alias", may_alias),
        )
    )
    check_keys("device_put", "device", x, device)
    where = [d if isinstance(d, MemorySpace | xla.Device) else check_device(d) for d in where]
    semantics = [
        ArrayCopySemantics.DONATE_INPUT
        if donation
        else ArrayCopySemantics.ALWAYS_COPY
        if alias is False
        else ArrayCopySemantics.REUSE_INPUT
        for donation, alias in zip(donations, aliases, strict=True)
    ]
    with switched("is_explicit_transfer", True):
        if any(isinstance(value, Tracer) for value in leaves):
            return treedef.unflatten(_traced(leaves, where, sources, semantics))
        return treedef.unflatten(map(_put, leaves, where, semantics))


def check_keys(caller: str, what: str, x: Any, shardings: Any) -> None:
    """Raise ShardingError for a sharding of more dimensions than an array of random keys has.

    `shardings` is a tree prefix of `x`, the argument `what` of `caller`.
    """
    keys, treedef = tree.flatten(x, is_leaf=lambda v: v.__class__ is tree.key_class)
    if not any(v.__class__ is tree.key_class for v in keys):
        return
    where = tree.prefix_leaves(caller, what, shardings, treedef.unflatten(range(len(keys))))
    key: Any
    for key, sharding in zip(keys, where, strict=True):
        is_placed = isinstance(sharding, Sharding) and key.__class__ is tree.key_class
        if is_placed:
            sharding.tiling_of(key.shape, f"an array {key.aval.long_name()}")


def _put(value: Any, where: Any, semantics: ArrayCopySemantics) -> Any:
    """Return an array at a place, for None on its own devices or the default one."""
    if is_float0(value):  # the tangent of an integer has no data
        return value
    x = value
    if where is None or isinstance(where, MemorySpace):
        x = value if isinstance(value, DeviceArray) else on_default_device(put_array(value))
    result: DeviceArray = transferred(x, where)
    is_copied = semantics is ArrayCopySemantics.ALWAYS_COPY and result is value
    if not is_copied:
        return result
    return put_on(np.array(result.numpy()), result.sharding, get_aval(result))


def _origin(x: Any) -> Sharding | None:
    """Return the sharding of the value of a traced array, if it has one."""
    while isinstance(x, Tracer):
        x = getattr(x, "primal", None)
    return x.sharding if isinstance(x, DeviceArray) else None


def _traced(
    leaves: Sequence[Any],
    where: Sequence[Any],
    sources: Sequence[Any],
    semantics: Sequence[ArrayCopySemantics],
) -> list[Any]:
    """Return traced arrays at their places, and the others beside them."""
    results = list(leaves)
    where = [d.with_layout(None) if isinstance(d, Sharding) else d for d in where]
    typed = [isinstance(d, NamedSharding) and d.mesh.has_explicit_axes for d in where]
    for i, is_typed in enumerate(typed):
        if is_typed:
            results[i] = reshard_p.bind(leaves[i], sharding=where[i])
    rest = [i for i, is_typed in enumerate(typed) if not is_typed]
    origins = [_origin(x) if src is None else src for x, src in zip(leaves, sources, strict=True)]
    columns = [tuple([column[i] for i in rest]) for column in (where, origins, semantics)]
    names = ("devices", "srcs", "copy_semantics")
    arrays = [x if isinstance(x, Array) else put_array(x) for x in (leaves[i] for i in rest)]
    outs = device_put_p.bind(*arrays, **dict(zip(names, columns, strict=True))) if rest else []
    for i, x in zip(rest, outs, strict=True):
        results[i] = x
    return results


@overload
def device_get(x: Array) -> np.ndarray[Any, Any]: ...
@overload
def device_get(x: Any) -> Any: ...
def device_get(x: Any) -> Any:
    """Return a tree with its arrays as NumPy arrays; other leaves are unchanged.

    >>> device_get(array([1, 2]))
    array([1, 2], dtype=int32)
    """

    def leaf(value: Any) -> Any:
        if isinstance(value, DeviceArray):
            return array_to_numpy(value)
        return np.asarray(value) if hasattr(value, "__array__") else value

    return tree.map(leaf, x)


def copy_to_host_async(x: _T) -> _T:
    """Begin to copy the arrays of a tree to the host's memory, and return the tree.

    >>> copy_to_host_async(array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    for leaf in tree.leaves(x):
        if isinstance(leaf, DeviceArray):
            leaf.copy_to_host_async()
    return x


def block_until_ready(x: _T) -> _T:
    """Wait until every array of a tree is computed, and return the tree.

    >>> block_until_ready(array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    for leaf in tree.leaves(x):
        if isinstance(leaf, DeviceArray):
            leaf.block_until_ready()
    return x


#: the caches of users, with their purposes
registered_caches: dict[Any, str] = {}


def clear_caches() -> None:
    """Discard every traced program and compiled operation of the process.

    It also clears the caches that `extend.backend.register_backend_cache` registered.

    >>> clear_caches()
    """
    eager.clear_cache()
    calling.clear_programs()
    staging.clear_staged()
    for cache in registered_caches:
        cache.cache_clear()


def live_arrays(platform: str | None = None) -> list[DeviceArray]:
    """Return the process's arrays that are not deleted, on `platform` ("cpu", "gpu") if given.

    The function inspects all objects of the process, which is slow.  Raises UnknownNameError for
    the name of no platform.

    >>> x = array([1, 2])
    >>> any(x is y for y in live_arrays())
    True
    """
    if platform not in (None, "cpu", "gpu", "cuda", "rocm", "tpu"):
        raise UnknownNameError(f"Unknown backend {platform}: the backends are cpu, gpu and tpu")
    arrays = [x for x in gc.get_objects() if isinstance(x, DeviceArray) and not x.is_deleted()]
    return [x for x in arrays if platform in (None, next(iter(x.devices())).platform)]


def print_environment_info(return_string: bool = False) -> str | None:
    """Print, or return as a text, the versions and devices that a bug report needs.

    >>> print_environment_info(return_string=True).startswith("olympus:")
    True
    """
    versions = {"olympus": __version__, **xla.versions(), "numpy": np.__version__}
    lines = [f"{name + ':':<10} {version}" for name, version in versions.items()]
    lines.append(f"python:    {sys.version}")
    lines.append(f"devices:   {', '.join(map(str, devices()))}")
    lines.append(f"platform:  {host.platform()}")
    text = "\n".join(lines)
    if return_string:
        return text
    sys.stdout.write(text + "\n")
    return None
