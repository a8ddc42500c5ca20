"""Shardings: the part of an array that each device of a mesh holds.

Nothing here needs a runtime: a device is any object with an `id`. The names and their meaning are
those of JAX's module `jax.sharding`.
"""

from __future__ import annotations

import abc
import copy
import enum
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np

from olympus_core.base import source
from olympus_core.base.avals import (
    ShapedArray,
    canonical_shape,
)
from olympus_core.base.errors import ArgumentError, ShardingError, UnsupportedError
from olympus_core.placement.mesh import AbstractMesh, AnyMesh, AxisType, Mesh
from olympus_core.placement.partition_spec import PartitionSpec

Index = tuple[slice, ...]


class Tiling(NamedTuple):
    """The tiling of an array: the parts of each dimension, and the part of each device."""

    counts: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]


DEVICE, PINNED_HOST = "device", "pinned_host"
_MEMORIES = (DEVICE, PINNED_HOST, "unpinned_host")


class MemorySpace(enum.Enum):
    """A memory of a machine: that of a device, or of its host, or either."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


ShapedArray.spaces = (MemorySpace.Device, MemorySpace.Host)


def checked_memory_kind(kind: str | None, devices: Sequence[Any] = ()) -> str:
    """Return a kind of memory, by default "device"; raise ShardingError for an unknown one."""
    if kind is None or kind in _MEMORIES:
        return kind or "device"
    platform = getattr(devices[0], "platform", "cpu") if len(devices) else "cpu"
    raise ShardingError(
        f"Could not find memory addressable by device {platform}. Device {platform} can address "
        f"the following memory kinds: {', '.join(_MEMORIES)}. Got memory kind: {kind!s:.60}"
    )


def is_on_host(sharding: Sharding | None) -> bool:
    """Return True for a sharding of arrays in the pinned memory of the host."""
    return sharding is not None and sharding.memory_kind == PINNED_HOST


def check_memory(sharding: Sharding) -> None:
    """Raise UnsupportedError for arrays in the memory of the host of accelerators.

    The memory of the CPU is that of its host.
    """
    if sharding.memory_kind == DEVICE or sharding.devices[0].platform == "cpu":
        return
    raise UnsupportedError(
        f"arrays of {sharding.devices[0].platform} devices are in the memory 'device', and "
        f"memory_kind is {sharding.memory_kind!r}",
        hint="leave memory_kind out",
    )


class Sharding(abc.ABC):
    """The part of an array that each device holds, for arrays of any shape.

    The subclasses are `NamedSharding`, for a mesh, and `SingleDeviceSharding`.
    """

    __slots__ = ("__weakref__", "_layout")
    #: the function that returns the compiler's form of a sharding, for a number of dimensions
    hlo_sharding: ClassVar[Callable[[Sharding, int], Any]]
    _layout: Any

    @property
    @abc.abstractmethod
    def devices(self) -> tuple[Any, ...]:
        """The devices, in the order in which programs number them."""

    @abc.abstractmethod
    def tiling(self, ndim: int) -> Tiling:
        """Return the tiling of an array of `ndim` dimensions; raise ShardingError if too few."""

    @property
    def device_set(self) -> set[Any]:
        """The devices."""
        return set(self.devices)

    @property
    def addressable_devices(self) -> set[Any]:
        """The devices of this process: all of them."""
        return self.device_set

    # The names of these are those of JAX's shardings, which programs read.

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        return self.devices

    _addressable_device_assignment = _internal_device_list = _device_assignment

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return Sharding.hlo_sharding(self, num_dimensions)

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self.devices)

    @property
    def is_fully_addressable(self) -> bool:
        """True: all devices belong to this process."""
        return True

    @property
    @abc.abstractmethod
    def is_fully_replicated(self) -> bool:
        """True if each device holds the whole array."""

    @property
    def memory_kind(self) -> str:
        """The kind of memory that holds the arrays: "device", or that of a host."""
        return "device"

    def with_memory_kind(self, kind: str) -> Sharding:
        """Return the sharding of arrays in another memory; raise as its constructor does.

        Raises UnsupportedError for a sharding that the compiler chose.
        """
        if checked_memory_kind(kind) == self.memory_kind:
            return self
        raise UnsupportedError(f"{self} has no other memory, and got the kind {kind!r}")

    @property
    def layout(self) -> Any:
        """The requested `Layout` of the arrays in memory, or `Layout.AUTO`; None for row-major."""
        return getattr(self, "_layout", None)

    def with_layout(self, layout: object) -> Self:
        """Return the sharding of arrays that have a layout in memory; None for none requested."""
        if layout is self.layout:
            return self
        other = copy.copy(self)
        other._layout = layout
        return other

    @property
    def has_addressable_devices(self) -> bool:
        """True: all devices belong to this process."""
        return True

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raise ShardingError if the sharding has more dimensions than an array of `aval_shape`."""
        self.tiling_of(aval_shape)

    def check_shape(self, shape: Sequence[int], what: str = "an array") -> None:
        """Raise ShardingError unless the sharding can split an array of `shape`, called `what`.

        Also raises it for a layout of another number of dimensions.
        """
        if self.layout is not None:
            self.layout.check_compatible_aval(shape, _annotated(what, "jit"))
        counts = self.tiling_of(shape, what).counts
        for i, (n, count) in enumerate(zip(shape, counts, strict=True)):
            if n % count:
                raise ShardingError(
                    f"{what} of shape {tuple(shape)} cannot have {self.spoken()}: its dimension "
                    f"{i} has {n} elements, which {self._cutting(i)} cannot cut into {count} "
                    f"equal parts: {self.uneven_text(i, tuple(shape))}"
                    f"{source.current_location().place()}"
                )

    def tiling_of(self, shape: Sequence[int], what: str = "an array") -> Tiling:
        """Return `tiling` for the rank of a shape; an error for too small a rank names `what`."""
        return self.tiling(len(shape))

    def spoken(self) -> str:
        """Return the sharding's name in messages."""
        return repr(self)

    def uneven_text(self, axis: int, shape: tuple[int, ...]) -> str:
        """Return JAX's text of an axis of a shape that is not cut into equal parts."""
        counts = self.tiling(len(shape)).counts
        return (
            f"Sharding {self} implies that array axis {axis} is partitioned {counts[axis]} times, "
            f"but the dimension size is {shape[axis]} (full shape: {shape}, per-dimension tiling "
            f"factors: {list(counts)} should evenly divide the shape)"
        )

    def _cutting(self, dimension: int) -> str:
        return "the sharding"

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of each device's part; raise ShardingError if there is none."""
        global_shape = canonical_shape(global_shape)
        self.check_shape(global_shape)
        counts = self.tiling(len(global_shape)).counts
        return tuple(n // count for n, count in zip(global_shape, counts, strict=True))

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Any, Index]:
        """Return the slices of each device; raise ShardingError as `shard_shape` does."""
        return dict(zip(self.devices, self.indices(global_shape), strict=True))

    addressable_devices_indices_map = devices_indices_map

    def indices(self, global_shape: Sequence[int]) -> list[Index]:
        """Return the slices that each device holds, in the order of `devices`."""
        part_shape = self.shard_shape(global_shape)
        counts, places = self.tiling(len(part_shape))
        return [
            tuple(
                slice(None) if count == 1 else slice(i * n, (i + 1) * n)
                for i, n, count in zip(place, part_shape, counts, strict=True)
            )
            for place in places
        ]

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Return True if both give each device the same part of any array of `ndim` dimensions.

        Raises ArgumentError for an invalid sharding or rank.
        """
        if self is other:
            return True
        if not isinstance(other, Sharding):
            raise ArgumentError(f"a sharding is compared with another, and got {other!r:.80}")
        if isinstance(ndim, bool) or not isinstance(ndim, int) or ndim < 0:
            raise ArgumentError(f"a rank must be an int of 0 or more, and got {ndim!r:.80}")
        if self.memory_kind != other.memory_kind:
            return False
        return self.devices == other.devices and self.tiling(ndim) == other.tiling(ndim)


class SingleDeviceSharding(Sharding):
    """The whole of an array on one device.

    >>> SingleDeviceSharding(olympus.devices()[0])
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    __slots__ = ("_memory_kind", "device")

    def __init__(self, device: Any, *, memory_kind: str | None = None) -> None:
        if not hasattr(device, "id"):
            raise ArgumentError(
                f"SingleDeviceSharding needs a device, and got {device!r:.80}",
                hint="pass one of olympus.devices()",
            )
        self.device = device
        self._memory_kind = checked_memory_kind(memory_kind, [device])

    @property
    def memory_kind(self) -> str:
        return self._memory_kind

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self.device, memory_kind=kind)

    @property
    def devices(self) -> tuple[Any, ...]:
        return (self.device,)

    @property
    def _device(self) -> Any:
        return self.device

    def tiling(self, ndim: int) -> Tiling:
        return Tiling((1,) * ndim, ((0,) * ndim,))

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SingleDeviceSharding):
            return NotImplemented
        same = bool(self.device == other.device) and self.layout == other.layout
        return same and self._memory_kind == other._memory_kind

    def __hash__(self) -> int:
        return hash((self.device, self._memory_kind))


def make_single_device_sharding(
    device: Any, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Return the sharding of arrays that are whole on one device: a SingleDeviceSharding.

    >>> make_single_device_sharding(olympus.devices()[0])
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


class NamedSharding(Sharding):
    """The dimensions of an array split along the axes of a mesh, by a PartitionSpec.

    `memory_kind` is the kind of memory that holds the arrays: "device", or the host's "pinned_host"
    and "unpinned_host", which the CPU has.

    Raises ShardingError for a spec that names an axis twice, or one that the mesh does not have,
    and for an unknown kind of memory.

    >>> NamedSharding(mesh, P("data", None)).shard_shape((8, 3))
    (4, 3)
    """

    __slots__ = ("_hash", "_memory_kind", "mesh", "spec")
    mesh: AnyMesh
    spec: PartitionSpec

    def __init__(
        self, mesh: AnyMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ) -> None:
        if not isinstance(mesh, AnyMesh):
            raise ArgumentError(f"NamedSharding needs a Mesh, and got {mesh!r:.80}")
        if not isinstance(spec, PartitionSpec):
            raise ArgumentError(
                f"NamedSharding needs a PartitionSpec, and got {spec!r:.80}",
                hint="write P('axis', None), with an entry for each dimension of the array",
            )
        mesh.check_spec(spec)
        if spec.has_sets:
            self._check_sets(mesh, spec)
        self.mesh, self.spec = mesh, spec
        self._memory_kind = "device" if memory_kind is None else _memory_kind(memory_kind, mesh)
        self._hash = hash((mesh, spec, self._memory_kind))

    @property
    def memory_kind(self) -> str:
        return self._memory_kind

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    @property
    def num_devices(self) -> int:
        """The number of devices of the mesh."""
        return self.mesh.size

    @staticmethod
    def _check_sets(mesh: AnyMesh, spec: PartitionSpec) -> None:
        types = mesh._name_to_type
        for what, names in (("Unreduced", spec.unreduced), ("Reduced", spec.reduced)):
            for name in names:
                if name not in types:
                    raise ShardingError(
                        f"{what} axes {name} is not found in mesh.axis_names={mesh.axis_names}. "
                        f"Got pspec={spec}"
                    )
                is_typed = types[name] is AxisType.Manual and isinstance(mesh, AbstractMesh)
                if types[name] is not AxisType.Explicit and not is_typed:  # of a type in a body
                    raise ShardingError(
                        f"{what} axes can only refer to mesh axes that is of type `Explicit`. "
                        f"Got {what.lower()} axes: {set(names)} and mesh: {mesh}"
                    )

    @property
    def devices(self) -> tuple[Any, ...]:
        if isinstance(self.mesh, Mesh):
            return self.mesh.flat_devices
        raise ShardingError(
            f"{self.mesh} has no devices: the devices of a sharding, such as `device_set` and "
            "`_device_assignment`, are not implemented for `jax.sharding.AbstractMesh`",
            hint="make a Mesh of devices",
        )

    @property
    def is_fully_addressable(self) -> bool:
        """True: all devices belong to this process. Raises ShardingError without devices."""
        if not isinstance(self.mesh, Mesh):
            raise ShardingError(
                "is_fully_addressable is not implemented for `jax.sharding.AbstractMesh`"
            )
        return True

    def tiling(self, ndim: int) -> Tiling:
        return _named_tiling(self.mesh.shape_tuple, self._for_rank(ndim), ndim)

    def tiling_of(self, shape: Sequence[int], what: str = "an array") -> Tiling:
        self._for_rank(len(shape), f"{what} of shape {tuple(shape)}")
        return self.tiling(len(shape))

    def _for_rank(self, ndim: int, what: str = "") -> PartitionSpec:
        if len(self.spec) > ndim:
            what = what or f"an array of rank {ndim}"
            entries = "1 entry" if len(self.spec) == 1 else f"{len(self.spec)} entries"
            raise ShardingError(
                f"{_annotated(what)} is incompatible with its sharding annotation {self}: Sharding "
                f"{self} is only valid for values of rank at least {len(self.spec)}, but was "
                f"applied to a value of rank {ndim}: {self.spec} has {entries}, one for each "
                f"dimension, and {what} has {ndim}"
                f"{source.current_location().place()}",
                hint="write P() for a scalar" if ndim == 0 else None,
            )
        return self.spec

    @property
    def unreduced(self) -> frozenset[Any]:
        """The axes of more than one device along which the devices hold terms of a sum."""
        if not self.spec.unreduced:
            return frozenset()
        sizes = self.mesh.shape
        return frozenset([n for n in self.spec.unreduced if sizes[n] > 1])

    def indices(self, global_shape: Sequence[int]) -> list[Index]:
        if self.spec.unreduced:
            raise UnsupportedError(
                f"device_indices_map doesn't work with unreduced axes, and the spec is {self.spec}",
                hint="sum first, by olympus.sharding.reshard(x, P(...))",
            )
        return super().indices(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        theirs = other.unreduced if isinstance(other, NamedSharding) else frozenset()
        return self.unreduced == theirs and super().is_equivalent_to(other, ndim)

    @property
    def has_first_terms(self) -> tuple[bool, ...]:
        """True for each device that is the first one along all unreduced axes."""
        places = np.indices(self.mesh.axis_sizes).reshape(len(self.mesh.axis_sizes), -1)
        rows = [places[self.mesh.axis_names.index(n)] for n in self.unreduced]
        return tuple([all(row[i] == 0 for row in rows) for i in range(self.mesh.size)])

    @property
    def is_fully_replicated(self) -> bool:
        if self.unreduced:
            return False
        sizes = self.mesh.shape
        return all(sizes[n] == 1 for i in range(len(self.spec)) for n in self.spec.axes(i))

    def update(
        self,
        *,
        mesh: AnyMesh | None = None,
        spec: PartitionSpec | Sequence[object] | None = None,
        memory_kind: str | None = None,
    ) -> NamedSharding:
        """Return the sharding with another mesh or spec, which may be a sequence of entries.

        `memory_kind` is that of the constructor.
        """
        if spec is not None and not isinstance(spec, PartitionSpec):
            spec = PartitionSpec(*spec)
        return NamedSharding(
            self.mesh if mesh is None else mesh,
            self.spec if spec is None else spec,
            memory_kind=self._memory_kind if memory_kind is None else memory_kind,
        )

    def with_partitions(self, partitions: Sequence[object]) -> NamedSharding:
        """Return the sharding with other partitions, and the same unreduced and reduced axes."""
        return self.update(spec=self.spec.update(partitions=partitions))

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes of the mesh that split no dimension, and are not unreduced or reduced."""
        spec = self.spec
        named = [name for i in range(len(spec)) for name in spec.axes(i)]
        return frozenset(self.mesh.axis_names) - {*named, *spec.unreduced, *spec.reduced}

    def spoken(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.mesh.shape_tuple)
        return f"the sharding {self.spec} on the mesh ({sizes})"

    def uneven_text(self, axis: int, shape: tuple[int, ...]) -> str:
        if isinstance(self.mesh, Mesh):
            return super().uneven_text(axis, shape)
        counts = self.tiling(len(shape)).counts
        return (
            f"Sharding spec {self.spec.axes(axis)} implies that array axis {axis} is partitioned "
            f"{counts[axis]} times, but does not evenly divide the dimension size {shape[axis]}. "
            f"Got shape: {shape} and sharding {self}"
        )

    def _cutting(self, dimension: int) -> str:
        names = self.spec.axes(dimension)
        return f"the ax{'i' if len(names) == 1 else 'e'}s {', '.join(map(repr, names))}"

    def __repr__(self) -> str:
        is_shown = isinstance(self.mesh, Mesh) or self.memory_kind != "device"
        kind = f", memory_kind={self.memory_kind}" if is_shown else ""
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedSharding):
            return NotImplemented
        same = self.spec == other.spec and self.mesh == other.mesh and self.layout == other.layout
        return same and self._memory_kind == other._memory_kind

    def __hash__(self) -> int:
        return self._hash


def _memory_kind(kind: str, mesh: AnyMesh) -> str:
    return checked_memory_kind(kind, mesh.flat_devices if isinstance(mesh, Mesh) else ())


def _annotated(what: str, function: str = "pjit") -> str:
    """Return the words that name an array as JAX's messages do."""
    if what.startswith("the argument "):
        path = what.removeprefix("the argument ").split(" of ")[0].strip("'\"")
        return f"One of {function} arguments with pytree key path {path}"
    if what.startswith("result"):
        return f"One of {function} outputs with pytree key path {what.split(' of ')[0]}"
    is_put = what.startswith("the array ")
    return f"One of {'device_put args' if is_put else 'with_sharding_constraint arguments'}"


@overload
def in_auto_axes(sharding: NamedSharding) -> NamedSharding: ...
@overload
def in_auto_axes(sharding: Sharding) -> Sharding: ...
def in_auto_axes(sharding: Sharding) -> Sharding:
    """Return the same sharding on a mesh without explicit axes."""
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.has_explicit_axes:
        return sharding
    kinds = [AxisType.Auto if t is AxisType.Explicit else t for t in sharding.mesh.axis_types]
    spec = PartitionSpec(*sharding.spec.partitions)
    return NamedSharding(sharding.mesh.update(axis_types=kinds), spec)


@functools.lru_cache(maxsize=4096)
def _named_tiling(axes: tuple[tuple[Any, int], ...], spec: PartitionSpec, ndim: int) -> Tiling:
    sizes = [size for _, size in axes]
    number = {name: i for i, (name, _) in enumerate(axes)}
    along = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
    counts, places = [], []
    for d in range(ndim):
        count, place = 1, np.zeros(math.prod(sizes), np.int64)
        for name in spec.axes(d):
            i = number[name]
            count, place = count * sizes[i], place * sizes[i] + along[i]
        counts.append(count)
        places.append(place.tolist())
    rows = zip(*places, strict=True) if ndim else [()] * math.prod(sizes)
    return Tiling(tuple(counts), tuple(rows))
