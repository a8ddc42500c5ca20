"""ShardedArray: an array in parts on several devices, or on one explicitly chosen device.

A `DeviceArray` that is not a ShardedArray is on the first device and has no sharding of its own:
programs may move it. A ShardedArray stays on its devices, and programs run there, unless it is
released: such arrays are made in the context `default_device`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, Shard, put_array
from olympus_core.arrays.relaying import relaid
from olympus_core.arrays.types_on_meshes import typed_sharding, visible_type
from olympus_core.base import dtypes
from olympus_core.base.avals import (
    ShapedArray,
    canonical_shape,
    get_aval,
    register_aval,
    register_visible_type,
)
from olympus_core.base.errors import (
    ArgumentError,
    DTypeError,
    ExchangeError,
    OlympusError,
    ShardingError,
)
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.placement.layout import Layout, as_sharding, order_of
from olympus_core.placement.mesh import as_tuple
from olympus_core.placement.sharding import (
    Index,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    check_memory,
    is_on_host,
)


class ShardedArray(DeviceArray):
    """An array with an explicit sharding, or with a sharding from a program.

    >>> device_put(numpy.arange(8.0), NamedSharding(mesh, P("data")))
    Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """

    __slots__ = ("_layout", "_sharding", "plain_aval")
    #: the type without a mesh of `Auto` axes, as programs have it
    plain_aval: ShapedArray
    _sharding: Sharding
    #: the layout in memory; None for row-major
    _layout: Layout | None

    def __init__(self, aval: ShapedArray, buffer: xla.Buffer, sharding: Sharding) -> None:
        explicit = typed_sharding(sharding, aval.ndim)
        aval = aval.with_memory(is_on_host(sharding))
        self.plain_aval = aval if explicit is aval.explicit else aval.with_sharding(explicit)
        super().__init__(visible_type(self.plain_aval, sharding), buffer)
        layout = sharding.layout
        self._layout = None if layout is None or layout.is_row_major else layout
        self._sharding = sharding.with_layout(None)

    @property
    def sharding(self) -> Sharding:
        return self._sharding

    @property
    def laid_sharding(self) -> Sharding:
        return self._sharding.with_layout(self._layout)

    @property
    def committed(self) -> bool:
        return getattr(self, "_is_committed", True)

    @property
    def device(self) -> Any:
        """The device that holds the array, or its sharding if there are several."""
        sharding = self._sharding
        return sharding.device if isinstance(sharding, SingleDeviceSharding) else sharding

    def devices(self) -> set[Any]:
        """Return the devices that hold the array."""
        return self._sharding.device_set

    @property
    def is_fully_replicated(self) -> bool:
        return self._sharding.is_fully_replicated

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the elements as a read-only NumPy array, assembled from the shards once.

        Raises UsageError for an array that was deleted or donated, even if it was fetched before.
        """
        self._alive()
        value: np.ndarray[Any, Any] | None = getattr(self, "_numpy", None)
        if value is None:
            value = self._numpy = self._assembled()
        return value

    @property
    def _is_unreduced(self) -> bool:
        sharding = self._sharding
        return isinstance(sharding, NamedSharding) and bool(sharding.spec.unreduced)

    def __format__(self, spec: str) -> str:
        return repr(self) if self._is_unreduced else super().__format__(spec)

    def __str__(self) -> str:
        return repr(self) if self._is_unreduced else super().__str__()

    def __repr__(self) -> str:
        if not self._is_unreduced:
            return super().__repr__()
        weak = ", weak_type=True" if self.aval.weak_type else ""
        dtype = f"dtype={dtypes.long_name(self.aval.dtype)}{weak}"
        return f"Array(shape={self.aval.shape}, {dtype}, sharding={self._sharding})"

    def _assembled(self) -> np.ndarray[Any, Any]:
        shards = xla.shard_buffers(self.buffer)
        if self._sharding.is_fully_replicated:
            return xla.to_numpy(shards[0])
        elements = np.empty(self.aval.shape, self.aval.dtype)
        indices = self._sharding.indices(self.aval.shape)
        places = self._sharding.tiling(self.aval.ndim).places
        first = {place: i for i, place in reversed([*enumerate(places)])}
        for i in first.values():
            elements[indices[i]] = xla.to_numpy(shards[i])
        elements.flags.writeable = False
        return elements

    @property
    def addressable_shards(self) -> list[Shard]:
        self._alive()
        shape = self.aval.shape
        shard_aval = self.plain_aval.without_sharding().update(
            shape=self._sharding.shard_shape(shape)
        )
        places = self._sharding.tiling(self.aval.ndim).places
        tiled = self._sharding
        if isinstance(tiled, NamedSharding) and tiled.unreduced:
            tiled = tiled.update(spec=tiled.spec.partitions)
        indices, devices = tiled.indices(shape), tiled.devices
        return [
            Shard(
                device,
                index,
                places[:i].count(places[i]),
                on_device(shard_aval, buffer, device, tiled.memory_kind, self._layout).commit(),
            )
            for i, (device, index, buffer) in enumerate(
                zip(devices, indices, xla.shard_buffers(self.buffer), strict=True)
            )
        ]

    def __copy__(self) -> ShardedArray:
        return self

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return put_on(self.numpy(), self._sharding, self.plain_aval)

    def _rows(self) -> Iterator[Array]:
        sharding = self._sharding
        if trace.at_base() and isinstance(sharding, SingleDeviceSharding):
            return (put_on(value, sharding) for value in self.numpy())
        if not (trace.at_base() and isinstance(sharding, NamedSharding)):
            return super()._rows()
        if not sharding.is_fully_replicated:
            return super()._rows()
        whole = sharding.update(spec=())
        return (put_on(value, whole) for value in self.numpy())

    def _check_exchanged(self, refusal: str) -> None:
        if (count := self._sharding.num_devices) > 1:
            raise ExchangeError(refusal.format(count=count))

    def _exchanged(self) -> xla.Buffer:
        return put_array(self.numpy(), self.plain_aval.without_sharding()).buffer


def _aval(x: ShardedArray) -> ShapedArray:
    return x.plain_aval


register_aval(ShardedArray, _aval)
register_visible_type(ShardedArray)


def on_device(
    aval: ShapedArray,
    buffer: xla.Buffer,
    device: Any,
    memory_kind: str = "device",
    layout: Layout | None = None,
) -> DeviceArray:
    """Return the array of a Buffer on one device."""
    if device == xla.default_device() and memory_kind == "device" and layout is None:
        return DeviceArray(aval.with_memory(False), buffer)
    sharding = SingleDeviceSharding(device, memory_kind=memory_kind)
    return ShardedArray(aval, buffer, sharding.with_layout(layout))


def put_on(x: Any, sharding: Sharding, aval: ShapedArray | None = None) -> DeviceArray:
    """Put a NumPy value, a scalar or an array on the devices of a sharding, in its layout.

    Without a layout an array that stays on its devices, or moves from one to another, keeps its
    own.  Raises ShardingError if the sharding cannot split it, DTypeError for a value that is no
    array.
    """
    if sharding.layout is not None:
        return in_layout(_put_on(x, sharding.with_layout(None), aval), sharding.layout)
    placed = _put_on(x, sharding, aval)
    own = x.laid_sharding if isinstance(x, ShardedArray) else sharding
    is_moved = isinstance(own, SingleDeviceSharding) and isinstance(sharding, SingleDeviceSharding)
    return in_layout(placed, own.layout) if is_moved and own.layout is not None else placed


def in_layout(x: DeviceArray, layout: Layout) -> DeviceArray:
    """Return an array with its elements in another order in memory; raise as `put_on` does."""
    layout.check_compatible_aval(x.aval.shape, f"the array {x.aval.long_name()}")
    own, needed = x.laid_sharding, x.sharding.with_layout(layout)
    orders = order_of(x.aval.ndim, own), order_of(x.aval.ndim, needed)
    if orders[0] == orders[1]:
        return x
    aval = get_aval(x)
    buffer = relaid(aval, x.sharding, xla.shard_buffers(x.buffer), orders)
    return ShardedArray(aval, buffer, needed)


def _put_on(x: Any, sharding: Sharding, aval: ShapedArray | None) -> DeviceArray:
    aval = (aval or get_aval(x)).without_sharding().with_memory(False)
    sharding.check_shape(aval.shape, f"the array {aval.long_name()}")
    check_memory(sharding)
    if isinstance(x, ShardedArray) and x.sharding.is_equivalent_to(sharding, aval.ndim):
        if x.is_deleted():
            raise xla.deleted_error("an array was used", aval.long_name())
        is_same = x.committed and x.sharding == sharding
        own = sharding.with_layout(x.laid_sharding.layout)
        return x if is_same else ShardedArray(aval, x.buffer, own)
    value = x.numpy() if isinstance(x, DeviceArray) else put_array(x, aval).numpy()
    if sharding == SingleDeviceSharding(xla.default_device()):
        return put_array(value, aval).commit()
    return ShardedArray(aval, xla.put_shards(value, sharding), sharding)


def make_array_from_callback(
    shape: Any, sharding: Sharding, data_callback: Callable[[Index], Any], dtype: Any = None
) -> DeviceArray:
    """Return an array with the parts that `data_callback` returns for the slices of each device.

    It is called once for a part that several devices hold. By default `dtype` is that of the parts.
    Raises ShardingError for a part with another shape than its slices, or another dtype than the
    first part.

    >>> mesh, whole = make_mesh((2,), ("data",)), np.arange(4)
    >>> make_array_from_callback((4,), NamedSharding(mesh, P("data")), lambda i: whole[i])
    Array([0, 1, 2, 3], dtype=int32)
    """
    name = "make_array_from_callback"
    shape = canonical_shape(shape)
    sharding = _checked_sharding(name, sharding)
    if not callable(data_callback):
        raise ArgumentError(f"{name} needs a function of the slices, and got {data_callback!r:.80}")
    shard_shape = sharding.shard_shape(shape)
    parts: dict[tuple[int, ...], Any] = {}
    key_types: set[Any] = set()
    places = sharding.tiling(len(shape)).places
    for place, index in zip(places, sharding.indices(shape), strict=True):
        if place not in parts:
            value = data_callback(index)
            if _are_keys(value):
                key_types.add(value.dtype)
                _check_part(name, index, value, shard_shape, shape, sharding)
                parts[place] = value.data.numpy()
                continue
            parts[place] = _part(name, value, dtype)
            _check_part(name, index, parts[place], shard_shape, shape, sharding)
    if key_types:
        keys: DeviceArray = _array_of_keys(
            name, key_types, shape, sharding, [parts[p] for p in places]
        )
        return keys
    part_aval = get_aval(next(iter(parts.values())))
    _check_dtypes(name, parts.values(), part_aval.dtype)
    aval = part_aval.update(shape=shape)
    buffers = [
        xla.put(parts[place].astype(aval.dtype), device)
        for place, device in zip(places, sharding.devices, strict=True)
    ]
    return _array_of(aval, sharding, buffers)


def _are_keys(x: Any) -> bool:
    """Return True for an array of random keys."""
    return hasattr(x, "dtype") and dtypes.kind(x.dtype) == "k"


def _array_of_keys(
    caller: str, key_types: set[Any], shape: tuple[int, ...], sharding: Sharding, parts: Any
) -> Any:
    """Return the keys whose words are `parts`, one for each device; raise for keys and others."""
    if len(key_types) > 1 or any(x.ndim != len(shape) + 1 for x in parts):
        raise ShardingError(f"{caller} got parts of dtypes {_listed(key_types)}")
    key_type = next(iter(key_types))
    aval = get_aval(parts[0]).update(shape=(*shape, key_type.words))
    rows = zip(parts, sharding.devices, strict=True)
    buffers = [xla.put(np.asarray(x), device) for x, device in rows]
    return key_type.holding(_array_of(aval, sharding, buffers))


def _part(caller: str, value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return a user's part as an array; raise DTypeError if it is not an array of the dtype."""
    part_dtype = None if dtype is None else dtypes.dtype(dtype)
    if isinstance(value, list | tuple | str | bytes) or value is None:
        raise DTypeError(
            f"Argument '{value!s:.80}' of type {type(value)} is not a valid JAX type: {caller} "
            "needs an array for each part"
        )
    own = dtypes.canonicalize(value.dtype) if hasattr(value, "dtype") else part_dtype
    if part_dtype is not None and own != part_dtype:
        raise ShardingError(
            f"If `dtype` is provided to `{caller}`, it must match the dtype of the addressable "
            f"shards. Got dtype={part_dtype} and shard dtype={own}"
        )
    try:
        return np.asarray(value, part_dtype)
    except (TypeError, ValueError) as e:
        if isinstance(e, OlympusError):
            raise
        raise DTypeError(f"{caller} needs arrays as parts, and got {value!r:.80}: {e}") from None


def _array_of(aval: ShapedArray, sharding: Sharding, buffers: Sequence[xla.Buffer]) -> DeviceArray:
    layout, sharding = sharding.layout, sharding.with_layout(None)
    if isinstance(sharding, SingleDeviceSharding):
        x = on_device(aval, buffers[0], sharding.device, sharding.memory_kind).commit()
    else:
        buffer = xla.assembled(aval.shape, aval.dtype, sharding, buffers)
        x = ShardedArray(aval, buffer, sharding)
    return x if layout is None else in_layout(x, layout)


def make_array_from_single_device_arrays(
    shape: Any, sharding: Sharding, arrays: Sequence[DeviceArray], *, dtype: Any = None
) -> DeviceArray:
    """Return an array of existing arrays, one on each device of a sharding, without a copy.

    Raises ShardingError unless each device has one array, of the shape of its part, and all have
    one dtype.

    >>> make_array_from_single_device_arrays((2,), SingleDeviceSharding(devices()[0]),
    ...                                      [array([1, 2])])
    Array([1, 2], dtype=int32)
    """
    shape = canonical_shape(shape)
    name = "make_array_from_single_device_arrays"
    sharding = _checked_sharding(name, sharding)
    by_device: dict[Any, DeviceArray] = {}
    if not isinstance(arrays, list | tuple):
        raise ArgumentError(
            f"{name} `arrays` argument must be a list or tuple, but got {type(arrays)}"
        )
    arrays = as_tuple(arrays, f"the arrays of {name}")
    if arrays and all(map(_are_keys, arrays)):
        key_type, words = arrays[0].dtype, [x.data for x in arrays]
        whole = make_array_from_single_device_arrays((*shape, key_type.words), sharding, words)
        keys: DeviceArray = key_type.holding(whole)
        return keys
    for x in arrays:
        if not isinstance(x, DeviceArray) or len(x.devices()) != 1:
            if not isinstance(x, DeviceArray):
                raise ArgumentError(
                    f"Unsupported type for elements in `arrays`: {type(x)}: {name} needs arrays on "
                    f"devices, and got {x!r:.80}",
                    hint="put it on its device with device_put",
                )
            raise ShardingError(
                "When making an array from single-device arrays the input arrays must have one "
                f"shard each. An argument array had {len(x.addressable_shards)} shard(s): {name} "
                f"got {x!r:.80}"
            )
        by_device[next(iter(x.devices()))] = x
    if len(by_device) < len(arrays):
        raise ShardingError(
            "When making an array from single-device arrays, the input arrays must be from "
            "distinct devices, but got device IDs "
            f"{[d.id for x in arrays for d in x.devices()]}: {name} got two of one device"
        )
    if not arrays and dtype is None:
        raise ShardingError(
            "If the Array has no addressable shards, `dtype` must be provided via the `dtype` "
            f"argument to `{name}`: it got no arrays for {sharding!r}"
        )
    if len(arrays) == sharding.num_devices and set(by_device) != sharding.device_set:
        missing, other = sharding.device_set - set(by_device), set(by_device) - sharding.device_set
        raise ShardingError(
            "Addressable devices and per-device arrays devices do not match. Sharding contains "
            f"devices {_ids(missing)} that are not present in per-device arrays. Per-device arrays "
            f"contain devices {_ids(other)} that are not present in the sharding: {name} got "
            f"{sharding!r}"
        )
    if len(arrays) != sharding.num_devices:
        raise ShardingError(
            f"Expected {sharding.num_devices} per-device arrays (this is how many devices are "
            f"addressable by the sharding), but got {len(arrays)} on devices "
            f"{_listed(d.id for d in by_device)}: in {name} the input arrays must be from distinct "
            f"devices of {sharding!r}"
        )
    _check_dtypes(name, arrays, arrays[0].dtype if dtype is None else dtypes.dtype(dtype))
    shard_shape = sharding.shard_shape(shape)
    for index, device in zip(sharding.indices(shape), sharding.devices, strict=True):
        _check_part(name, index, by_device[device], shard_shape, shape, sharding)
        if by_device[device].is_deleted():
            raise xla.deleted_error(f"{name} got an array", by_device[device].aval.long_name())
    aval = arrays[0].aval.update(shape=shape, weak_type=False)
    return _array_of(
        aval, sharding, [xla.shard_buffers(by_device[d].buffer)[0] for d in sharding.devices]
    )


def _ids(devices: set[Any]) -> str:
    return f"{{{', '.join(map(str, sorted(d.id for d in devices)))}}}"


def _checked_sharding(caller: str, sharding: Any) -> Sharding:
    sharding = as_sharding(sharding, f"the sharding of {caller}", is_concrete=True)
    if not isinstance(sharding, Sharding):
        raise ArgumentError(
            f"{caller} needs a sharding: sharding should be an instance of `Sharding`. Got "
            f"{sharding!r:.80} of type {type(sharding)}",
            hint="pass NamedSharding(mesh, P(...)) or SingleDeviceSharding(device)",
        )
    return sharding


def _check_dtypes(caller: str, parts: Iterable[Any], expected: Any) -> None:
    """Raise ShardingError for a part of another dtype than `expected`."""
    for part in parts:
        if part.dtype != expected:
            raise ShardingError(
                f"Input buffers to `Array` must have matching dtypes. Got {part.dtype}, expected "
                f"{expected} for buffer: {np.asarray(part)!s:.80}: in {caller}"
            )


def _check_part(
    caller: str,
    index: Index,
    part: Any,
    expected_shape: tuple[int, ...],
    shape: tuple[int, ...],
    sharding: Sharding,
) -> None:
    if part.shape != expected_shape:
        whole = f"{part.dtype}[{','.join(map(str, shape))}]"  # any dtype of NumPy
        raise ShardingError(
            f"{caller}: the part {index} has another shape: Expected shard shape {expected_shape} "
            f"doesn't match the single device array shape {part.shape}. Shape of Array is {whole} "
            f"with sharding {sharding}"
        )


def _listed(values: Any) -> str:
    return ", ".join(sorted(map(str, values)))
