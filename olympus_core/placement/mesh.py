"""Meshes: devices in an array whose axes have names.

Nothing here needs a runtime: a device is any object with an `id`.  The names and their meaning are
those of JAX's module `jax.sharding`.
"""

from __future__ import annotations

import abc
import enum
import functools
import math
import operator
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from olympus_core.base import source
from olympus_core.base.context import followers, state
from olympus_core.base.errors import ArgumentError, ShardingError

if TYPE_CHECKING:
    from olympus_core.placement.partition_spec import PartitionSpec


class AxisType(enum.Enum):
    """The mechanism that partitions arrays along an axis of a mesh.

    `Auto`: shardings, constraints and the compiler. `Explicit`: the types of the arrays, such as
    `float32[8@data]`. `Manual`: the function that a `shard_map` maps.

    >>> make_mesh((8,), ("data",))
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


def are_names(values: Sequence[Any]) -> bool:
    """Return True if each value may be the name of an axis: if it is hashable."""
    try:
        hash(tuple(values))
    except TypeError:
        return False
    return True


def as_tuple(values: Any, what: str) -> tuple[Any, ...]:
    """Return a sequence as a tuple; raise ArgumentError, naming `what`, for other values."""
    try:
        if not isinstance(values, str | bytes):
            return tuple(values)
    except TypeError:
        pass
    raise ArgumentError(f"{what} must be a sequence, and got {values!r:.80}")


def checked_sizes(caller: str, sizes: Any) -> tuple[int, ...]:
    """Return the axis sizes of a mesh; raise ShardingError unless they are 1 or more."""
    requested = as_tuple(sizes, f"the sizes of the axes of {caller}")
    try:
        checked = tuple([0 if isinstance(n, bool) else operator.index(n) for n in requested])
    except TypeError:
        checked = (0,)
    if any(n < 1 for n in checked):
        raise ShardingError(f"{caller} needs axes of 1 device or more, and got {requested!r:.80}")
    return checked


class _Shared(abc.ABCMeta):
    """The class of Mesh: equal meshes are one object."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        mesh = super().__call__(*args, **kwargs)
        key = cls, mesh.flat_devices, mesh.shape_tuple, mesh.axis_types
        return _meshes.setdefault(key, mesh)


_meshes: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()


class AnyMesh(abc.ABC):
    """The common interface of meshes and abstract meshes: ordered, named axes with sizes."""

    __slots__ = ("__weakref__", "axis_names", "axis_sizes", "axis_types", "has_explicit_axes")
    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    #: the type of each axis
    axis_types: tuple[AxisType, ...]
    #: True if an axis has the type `Explicit`
    has_explicit_axes: bool

    def _set_axes(self, sizes: Any, names: Any, types: Any) -> None:
        kind = type(self).__name__
        sizes = checked_sizes(kind, sizes)
        names = (names,) if isinstance(names, str) else as_tuple(names, f"the names of {kind}")
        if not are_names(names):
            raise ShardingError(f"{kind} needs names that can be hashed, and got {names!r:.80}")
        if len(names) != len(sizes):
            raise ShardingError(
                f"{kind} requires the ndim of its first argument (`devices`) to equal the length "
                "of its second argument (`axis_names`), but got devices.ndim == "
                f"{len(sizes)} and len(axis_names) == {len(names)}: the names are {names!r:.80}"
            )
        if None in names:
            raise ShardingError(f"{kind} axis names cannot be None. Got: {names!r:.80}")
        if len(set(names)) != len(names):
            raise ShardingError(f"{kind} needs axes of different names, and got {names!r:.80}")
        self.axis_names, self.axis_sizes = names, sizes
        self.axis_types = self._checked_types(types, len(names))
        self.has_explicit_axes = AxisType.Explicit in self.axis_types

    @classmethod
    def _checked_types(cls, types: Any, count: int) -> tuple[AxisType, ...]:
        """Return the type of each axis; one type is for all axes, and None is `Auto`."""
        if types is None:
            return (AxisType.Auto,) * count
        is_one = isinstance(types, AxisType | str)
        axis_types = (types,) * count if is_one else as_tuple(types, "axis_types")
        if any(not isinstance(t, AxisType) for t in axis_types):
            raise ArgumentError(
                f"axis_types passed to {cls.__name__} must be of type "
                f"`olympus.sharding.AxisType`. Got {axis_types!r:.80} of type "
                f"{tuple(map(type, axis_types))}",
                hint="leave axis_types out: each axis is olympus.sharding.AxisType.Auto",
            )
        if len(axis_types) != count:
            raise ArgumentError(
                "axis_types needs an AxisType for each axis: Number of axis names should match the "
                f"number of axis_types. Got {count} names and axis_types={axis_types}"
            )
        return axis_types

    def axes_of_type(self, axis_type: AxisType) -> tuple[Any, ...]:
        """Return the names of the axes of a type, in their order."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple([name for name, kind in pairs if kind is axis_type])

    def type_text(self) -> str:
        """Return the names of the axes by their types: `({Explicit: ('x', 'y')})`."""
        kinds = dict.fromkeys(self.axis_types)
        texts = [f"{kind.name}: {self.axes_of_type(kind)}" for kind in kinds]
        return f"({{{', '.join(texts)}}})"

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """The names of the axes of the type `Auto`."""
        return self.axes_of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The names of the axes of the type `Explicit`."""
        return self.axes_of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """The names of the axes of the type `Manual`."""
        return self.axes_of_type(AxisType.Manual)

    def _has_only(self, *types: AxisType) -> bool:
        return bool(self.axis_types) and all(t in types for t in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        """True if there are axes, and each has the type `Auto`."""
        return self._has_only(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        """True if there are axes, and each has the type `Explicit`."""
        return self._has_only(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        """True if there are axes, and each has the type `Manual`."""
        return self._has_only(AxisType.Manual)

    @property
    def _are_all_axes_auto_or_manual(self) -> bool:
        return self._has_only(AxisType.Auto, AxisType.Manual)

    @property
    def _are_all_axes_explicit_or_manual(self) -> bool:
        return self._has_only(AxisType.Explicit, AxisType.Manual)

    @property
    def _any_axis_auto(self) -> bool:
        return AxisType.Auto in self.axis_types

    @property
    def _any_axis_explicit(self) -> bool:
        return self.has_explicit_axes

    @property
    def _any_axis_manual(self) -> bool:
        return AxisType.Manual in self.axis_types

    @property
    def _any_axis_auto_or_manual(self) -> bool:
        return self._any_axis_auto or self._any_axis_manual

    @property
    def _name_to_type(self) -> dict[Any, AxisType]:
        return dict(zip(self.axis_names, self.axis_types, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes)

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The size of each axis by its name, in their order."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """The pairs of `shape`."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    @abc.abstractmethod
    def empty(self) -> bool:
        """True for the mesh of a context without one."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and hasattr(self, "_hash"):
            raise AttributeError(f"cannot assign to field {name!r} of a {type(self).__name__}")
        super().__setattr__(name, value)

    @property
    @abc.abstractmethod
    def abstract_mesh(self) -> AbstractMesh:
        """The axes without the devices."""

    @abc.abstractmethod
    def update(self, *, axis_types: AxisType | Sequence[AxisType] | None = None) -> AnyMesh:
        """Return the mesh with some fields replaced."""

    def __str__(self) -> str:
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple) or "()"
        return f"{type(self).__name__}({sizes}, axis_types={self.axis_types})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # its devices cannot be copied

    def check_spec(self, spec: PartitionSpec) -> None:
        """Raise ShardingError for a name that is no axis of the mesh, or that occurs twice."""
        names = [name for i in range(len(spec)) for name in spec.axes(i)]
        for name in names:
            if name not in self.axis_names:
                there = ", ".join(map(repr, self.axis_names))
                raise ShardingError(
                    f"{spec} names the axis {name!r}, and the mesh has {there or 'no axes'} "
                    f"(Resource axis: {name} of {spec} is not found in mesh: {self.axis_names})"
                    f"{source.current_location().place()}"
                )
        spec.check_distinct("NamedSharding spec")


#: the attributes of a Mesh that an AbstractMesh lacks
_OF_DEVICES = ("device_ids", "devices", "is_multi_process", "local_devices", "local_mesh")


class AbstractDevice(NamedTuple):
    """A description of devices, for the argument `abstract_device` of AbstractMesh.

    >>> AbstractDevice("TPU v4", 2, "tpu")
    AbstractDevice(device_kind=TPU v4, num_cores=2, platform=tpu)
    """

    device_kind: str
    num_cores: int | None
    platform: str

    def __repr__(self) -> str:
        return (
            f"AbstractDevice(device_kind={self.device_kind}, num_cores={self.num_cores}, "
            f"platform={self.platform})"
        )


def _described(devices: Sequence[Any]) -> AbstractDevice | None:
    """Return the description of devices; None for those without one, and for none."""
    kind = getattr(devices[0], "device_kind", None) if devices else None
    if kind is None:
        return None
    return AbstractDevice(kind, getattr(devices[0], "num_cores", None), devices[0].platform)


class AbstractMesh(AnyMesh):
    """The axes of a mesh without its devices: enough to lower a program, or to compile one.

    Each axis has the type `AxisType.Auto` unless `axis_types` has another.

    >>> AbstractMesh((2, 4), ("data", "model"))
    AbstractMesh('data': 2, 'model': 4, axis_types=(Auto, Auto))
    """

    __slots__ = ("_concrete", "_hash", "abstract_device")

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Any,
        axis_types: AxisType | Sequence[AxisType] | None = None,
        *,
        abstract_device: Any = None,
    ) -> None:
        self._set_axes(axis_sizes, axis_names, axis_types)
        #: a description of the devices, which programs may read
        self.abstract_device = abstract_device
        self._hash = hash((self.shape_tuple, self.axis_types, abstract_device))
        self._concrete: weakref.ref[Mesh] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        like = functools.partial(AbstractMesh, abstract_device=self.abstract_device)
        return like, (self.axis_sizes, self.axis_names, self.axis_types)

    def __str__(self) -> str:
        text, device = super().__str__(), self.abstract_device
        if not isinstance(device, AbstractDevice):
            return text
        return f"{text[:-1]}, {repr(device).removeprefix('AbstractDevice(')}"

    @property
    def concrete(self) -> Mesh | None:
        """The mesh of devices that it was made from, if that exists."""
        return None if self._concrete is None else self._concrete()

    @property
    def size(self) -> int:
        """The number of devices; 0 for a mesh without axes, which is empty."""
        return math.prod(self.axis_sizes) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        """True if the mesh has no axes."""
        return not self.axis_names

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name in _OF_DEVICES:
            raise ShardingError(f"{self} has no devices: AbstractMesh does not implement {name}")
        raise AttributeError(f"'AbstractMesh' object has no attribute {name!r}")

    def __enter__(self) -> Self:
        """Raise ShardingError: a mesh without devices is no context."""
        raise ShardingError(
            "AbstractMesh does not implement __enter__",
            hint="write `with olympus.sharding.use_abstract_mesh(mesh):`",
        )

    def __exit__(self, *exc: object) -> None:
        """Do nothing: the mesh is not entered."""

    def update(
        self,
        axis_sizes: Sequence[int] | None = None,
        axis_names: Sequence[Hashable] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> AbstractMesh:
        """Return the mesh with some fields replaced."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            abstract_device=self.abstract_device,
        )

    def update_axis_types(self, name_to_type: Mapping[Hashable, AxisType]) -> AbstractMesh:
        """Return the mesh with other types of the axes in `name_to_type`."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple([name_to_type.get(n, t) for n, t in pairs]))

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AbstractMesh):
            return NotImplemented
        if self is other:
            return True
        mine = self.shape_tuple, self.axis_types, self.abstract_device
        return mine == (other.shape_tuple, other.axis_types, other.abstract_device)

    def __hash__(self) -> int:
        return self._hash


class Mesh(AnyMesh, metaclass=_Shared):
    """Devices in an array with a name for each of its axes.

    Each axis has the type `AxisType.Auto` unless `axis_types` has another.  Raises ShardingError
    where the names do not fit the array. A device may occur twice, but no array can be put there.

    >>> Mesh(np.array(olympus.devices()).reshape(2, 4), ("data", "model"))
    Mesh(axis_sizes=(2, 4), axis_names=('data', 'model'), axis_types=(Auto, Auto))
    """

    __slots__ = ("_abstract", "_hash", "devices", "flat_devices")
    devices: np.ndarray[Any, Any]
    flat_devices: tuple[Any, ...]

    def __init__(
        self,
        devices: Any,
        axis_names: Any,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> None:
        self.devices = np.array(devices, dtype=object)
        self.devices.flags.writeable = False
        self._set_axes(self.devices.shape, axis_names, axis_types)
        is_empty = not self.devices.ndim and self.devices.item() is None
        self.flat_devices = () if is_empty else tuple(self.devices.flat)
        if invalid := [d for d in self.flat_devices if not hasattr(d, "id")]:
            raise ShardingError(
                f"Mesh needs devices, and got {invalid[0]!r:.80}",
                hint="pass those of olympus.devices(), or use olympus.make_mesh",
            )
        self._hash = hash((self.flat_devices, self.shape_tuple, self.axis_types))
        self._abstract = AbstractMesh(
            self.axis_sizes,
            self.axis_names,
            self.axis_types,
            abstract_device=_described(self.flat_devices),
        )
        self._abstract._concrete = weakref.ref(self)

    @property
    def size(self) -> int:
        """The number of devices; 0 for an empty mesh."""
        return len(self.flat_devices)

    @property
    def empty(self) -> bool:
        """True if the mesh has no devices, as that of a context without a mesh."""
        return not self.flat_devices

    @property
    def is_scalar(self) -> bool:
        """True if the mesh has a device and no axes."""
        return not self.axis_names and not self.empty

    @property
    def local_mesh(self) -> Mesh:
        """The mesh itself: all devices belong to this process."""
        return self

    @property
    def is_multi_process(self) -> bool:
        """False: all devices belong to this process."""
        return False

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The number of each device, in the shape of the mesh."""
        ids = np.array([d.id for d in self.flat_devices])
        return ids if self.empty else ids.reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Any]:
        """The devices: all belong to this process."""
        return list(self.flat_devices)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes without the devices."""
        return self._abstract

    def of_types(self, axis_types: tuple[AxisType, ...]) -> Mesh:
        """Return the mesh whose axes have these types."""
        if axis_types == self.axis_types:
            return self
        return Mesh(self.devices, self.axis_names, axis_types)

    def __enter__(self) -> Self:
        """Use this mesh for constraints to a PartitionSpec in the context.

        Unlike `set_mesh`, it may be used in a function that is traced, and has no other effect.
        JAX has deprecated it, and so it warns.
        """
        warnings.warn(
            "`with mesh:` context manager has been deprecated. Please use `with set_mesh(mesh):` "
            "instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        state.entered_meshes = (*state.entered_meshes, self)
        followers.thread()
        return self

    def __exit__(self, *exc: object) -> None:
        entered = state.entered_meshes
        last = next((i for i in reversed(range(len(entered))) if entered[i] is self), None)
        if last is not None:
            state.entered_meshes = (*entered[:last], *entered[last + 1 :])
            followers.thread()

    def update(
        self,
        devices: Sequence[object] | np.ndarray[tuple[int, ...], np.dtype[np.object_]] | None = None,
        axis_names: Sequence[Hashable] | None = None,
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> Mesh:
        """Return the mesh with some fields replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __str__(self) -> str:
        return "Mesh()" if self.empty else super().__str__()

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names!r}, "
            f"axis_types={self.axis_types})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mesh):
            return NotImplemented
        if self is other:
            return True
        mine = self.flat_devices, self.shape_tuple, self.axis_types
        return mine == (other.flat_devices, other.shape_tuple, other.axis_types)

    def __hash__(self) -> int:
        return self._hash
