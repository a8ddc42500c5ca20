"""DeviceArray: an array on a device.

`put_array` creates one from a NumPy value or a Python scalar, and the constructor from the result
of an executable. `array_to_numpy` and Python's conversions read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from olympus_core import xla
from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval, register_aval
from olympus_core.base.context import state
from olympus_core.base.errors import DTypeError, ExchangeError, UnsupportedError, UsageError
from olympus_core.base.transfer_guards import guard_to_device
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.placement.layout import Format, array_format
from olympus_core.placement.sharding import (
    Index,
    Sharding,
    SingleDeviceSharding,
)

#: The dtypes that NumPy exports by DLPack, as its type characters.
_EXCHANGED = "?bBhHiIlLqQefdFD"


class Shard:
    """The part of an array on one device: its slices `index`, and their elements `data`.

    `replica_id` numbers the devices that hold the same slices.
    """

    __slots__ = ("data", "device", "index", "replica_id")

    def __init__(self, device: Any, index: Index, replica_id: int, data: Any) -> None:
        self.device, self.index, self.replica_id, self.data = device, index, replica_id, data

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


class DeviceArray(Array):
    """An array that a device holds, possibly still being computed."""

    __slots__ = ("_is_committed", "_numpy", "buffer")
    buffer: xla.Buffer

    def __init__(self, aval: ShapedArray, buffer: xla.Buffer) -> None:
        self.aval = aval
        self.buffer = buffer

    @property
    def device(self) -> xla.Device:
        """The device that holds the array."""
        return xla.device_of(self.buffer)

    def devices(self) -> set[xla.Device]:
        """Return the devices that hold the array: one."""
        return {self.device}

    @property
    def sharding(self) -> Sharding:
        """The sharding of the array: the whole array on one device."""
        return SingleDeviceSharding(self.device)

    @property
    def format(self) -> Format:
        """The layout of the array in memory, and its sharding."""
        return array_format(self.aval.ndim, self.laid_sharding)

    @property
    def laid_sharding(self) -> Sharding:
        """The sharding of the array, with its layout if it is not row-major."""
        return self.sharding

    @property
    def committed(self) -> bool:
        """True if the array was put on its device explicitly, so that programs may not move it."""
        return getattr(self, "_is_committed", False)

    def release(self) -> DeviceArray:
        """Mark the array as one that programs may move, and return it."""
        self._is_committed = False
        return self

    def commit(self) -> DeviceArray:
        """Mark the array as one that programs may not move, and return it."""
        self._is_committed = True
        return self

    @property
    def is_fully_addressable(self) -> bool:
        """True: this process has the whole array."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """True if each of its devices holds the whole array."""
        return True

    @property
    def addressable_shards(self) -> list[Shard]:
        """The part of each device, a `Shard` each, in the order of the sharding's devices."""
        return [Shard(self.device, (slice(None),) * self.aval.ndim, 0, self)]

    @property
    def global_shards(self) -> list[Shard]:
        """The shards of all processes; there is only one process."""
        return self.addressable_shards

    def addressable_data(self, index: int) -> DeviceArray:
        """Return the part of device number `index` of the sharding; of the first if all are equal.

        Raises IndexError for a number that is too large.
        """
        shards = self.addressable_shards
        part: DeviceArray = shards[0 if self.sharding.is_fully_replicated else index].data
        return part

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the elements as a read-only NumPy array, fetched once.

        Raises UsageError for an array that was deleted or donated, even if it was fetched before.
        """
        value: np.ndarray[Any, Any] | None = getattr(self, "_numpy", None)
        if value is not None:
            self._alive()
            return value
        try:
            value = self._numpy = xla.to_numpy(self.buffer)
        except UsageError:
            self._alive()  # its message has the type of the array
            raise
        return value

    def block_until_ready(self) -> DeviceArray:
        """Wait until the array is computed, and return it."""
        self._alive("BlockHostUntilReady() called on deleted or donated buffer: an array was used")
        xla.block_until_ready(self.buffer)
        return self

    def is_ready(self) -> bool:
        """Return True if the array is computed; raise UsageError for a deleted array."""
        self._alive()
        return bool(self.buffer.is_ready())

    def copy_to_host_async(self) -> None:
        """Begin to fetch the elements, which `numpy` and conversions then find there."""
        self._alive()
        for shard in self.addressable_shards:
            shard.data.buffer._copy_single_device_array_to_host_async()

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the elements in the memory of the only device.

        Raises UsageError for an array that was deleted or donated, and UnsupportedError for an
        array on several devices.
        """
        self._alive("UnsafeBufferPointer() called on deleted or donated buffer: an array was used")
        if len(self.devices()) > 1:
            raise UnsupportedError(
                "UnsafeBufferPointer() is supported only for unsharded arrays: this one is on "
                f"{len(self.devices())} devices",
                hint="take those of its addressable_shards",
            )
        return int(self.addressable_shards[0].data.buffer.unsafe_buffer_pointer())

    def on_device_size_in_bytes(self) -> int:
        """Return the bytes that the array takes on all devices of this process."""
        self._alive()
        sizes = [x.data.buffer.on_device_size_in_bytes() for x in self.addressable_shards]
        return int(sum(sizes))

    def _alive(self, use: str = "an array was used") -> None:
        """Raise UsageError for an array that was deleted or donated."""
        if xla.is_deleted(self.buffer):
            raise xla.deleted_error(use, self.aval.long_name())

    # The names of these are those of JAX's arrays, which programs read.

    @property
    def _committed(self) -> bool:
        return self.committed

    @property
    def _value(self) -> np.ndarray[Any, Any]:
        return self.numpy()

    @property
    def _npy_value(self) -> np.ndarray[Any, Any] | None:
        return None if self.is_deleted() else getattr(self, "_numpy", None)

    @property
    def _arrays(self) -> list[DeviceArray] | None:
        return None if self.is_deleted() else [s.data for s in self.addressable_shards]

    def _check_if_deleted(self) -> None:
        self._alive()

    def __buffer__(self, flags: int) -> memoryview:
        return self.numpy().data

    def platform(self) -> str:
        """Return the platform of the devices that hold the array, such as "cpu"."""
        return str(next(iter(self.devices())).platform)

    def delete(self) -> None:
        """Free the device's memory; the array cannot be used after."""
        xla.delete(self.buffer)

    def is_deleted(self) -> bool:
        """Return True if the array was deleted, or donated to a computation."""
        return xla.is_deleted(self.buffer)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        value = self.numpy()
        if dtype is not None and value.dtype != dtype:
            return value.astype(dtype)
        return value.copy() if copy else value

    def item(self, *args: int) -> Any:
        """Return the only element (or the one at the given index) as a Python scalar."""
        return self.numpy().item(*args)

    def byteswap(self) -> DeviceArray:
        """Return the array with the bytes of each element in reverse order."""
        return put_array(self.numpy().byteswap(), get_aval(self))

    def tobytes(self, order: Literal["K", "A", "C", "F"] | None = "C") -> bytes:
        """Return the bytes of the elements, in row-major order unless `order` is "F"."""
        return self.numpy().tobytes(order)

    def tolist(self) -> Any:
        """Return the elements as nested Python lists."""
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def _scalar(self) -> np.ndarray[Any, Any]:
        """Return the elements of a scalar array; raise TypeError for another array."""
        if self.aval.shape:
            raise TypeError(
                "Only scalar arrays can be converted to Python scalars; got "
                f"arr.ndim={self.aval.ndim}"
            )
        return self.numpy()

    def __index__(self) -> int:
        if dtypes.kind(self.aval.dtype) not in "iu" or self.aval.shape:
            raise TypeError("Only integer scalar arrays can be converted to a scalar index")
        return int(self.numpy())

    def _rows(self) -> Iterator[Array]:
        if not trace.at_base():  # a program takes the array as one constant
            return super()._rows()
        # each element is copied when it is needed: nothing is compiled, however long the array is
        row = self.aval.update(shape=self.aval.shape[1:])
        return (put_array(value, row) for value in self.numpy())

    def __format__(self, spec: str) -> str:
        if not self.aval.shape:
            return format(self.numpy()[()], spec)
        if spec:
            raise TypeError("unsupported format string passed to numpy.ndarray.__format__")
        return str(self)

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.aval.weak_type else ""
        dtype = f"dtype={dtypes.long_name(self.aval.dtype)}{weak}"
        if self.is_deleted():
            return f"Array(<deleted>, shape={self.aval.shape}, {dtype})"
        text = np.array2string(self.numpy(), prefix="Array(", separator=", ", suffix=")")
        last = len(text) - (text.rfind("\n") + 1) + (0 if "\n" in text else len("Array("))
        joint = ",\n      " if last + len(dtype) + 3 > 79 else ", "
        if self.aval.size == 0:
            joint = f", shape={self.aval.shape}, "
        return f"Array({text}{joint}{dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (np.array(self.numpy()), self.aval.weak_type)

    def __copy__(self) -> DeviceArray:
        return self

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return put_array(self.numpy(), get_aval(self))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule of the elements in host memory, which is read-only.

        For a consumer of DLPack 1.0 the capsule has the read-only flag; with `copy` True it is a
        writable copy. Raises ExchangeError (a BufferError) for a stream and for another device.
        """
        if stream is not None:
            raise ExchangeError(
                "an array is exported in host memory, which has no streams, and stream is "
                f"{stream!r:.80}"
            )
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise ExchangeError(
                f"an array is exported in host memory, {self.__dlpack_device__()}, and dl_device "
                f"is {tuple(dl_device)}"
            )
        self._check_exchanged(
            "to_dlpack can only pack a dlpack tensor from an array on a singular device, but an "
            "array with a Sharding over {count} devices was provided."
        )
        value = self.numpy()
        if max_version is not None and max_version[0] >= 1 and value.dtype.char in _EXCHANGED:
            return value.__dlpack__(max_version=max_version, copy=copy)
        return xla.to_dlpack(put_array(value, get_aval(self)).buffer if copy else self._exchanged())

    def _exchanged(self) -> xla.Buffer:
        """Return the Buffer of one device for the exchange."""
        return self.buffer

    def __dlpack_device__(self) -> tuple[int, int]:
        self._check_exchanged("__dlpack__ only supported for unsharded arrays.")
        return (1, 0)

    def _check_exchanged(self, refusal: str) -> None:
        """Raise ExchangeError for an array on several devices; `refusal` may have their number."""


def _rebuild(value: np.ndarray[Any, Any], weak_type: bool) -> DeviceArray:
    return put_array(value, get_aval(value).update(weak_type=weak_type))


def as_device_array(x: Any) -> Any:
    """Return a NumPy value or a Python scalar as an array on the device; other values unchanged.

    >>> as_device_array(1.0).dtype
    dtype('float32')
    """
    return put_array(x) if isinstance(x, np.ndarray | np.generic | int | float | complex) else x


def put_array(x: Any, aval: ShapedArray | None = None, device: Any = None) -> DeviceArray:
    """Copy a NumPy value or Python scalar to a device, as `aval` (by default its own).

    Raises DTypeError for a value that is not an array or has no elements, RangeError for a Python
    int that does not fit, and MachineError if a `transfer_guard` refuses the copy.
    """
    aval = (aval or get_aval(x)).without_sharding()
    if state.transfer_guard_host_to_device != "allow":
        guard_to_device(aval)
    if x.__class__ is DeviceArray:
        x = x.numpy()
    elif isinstance(x, int) and dtypes.kind(aval.dtype) in "iu":
        dtypes.check_python_int(x, aval.dtype)
    value = _elements(x, aval)
    if value.shape != aval.shape:
        raise DTypeError(f"a value of shape {value.shape} was put as {aval.long_name()}")
    return DeviceArray(aval, xla.put(value, device))


def _elements(x: Any, aval: ShapedArray) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(x, dtype=aval.dtype)
    except TypeError:  # it describes an array's type, as a ShapeDtypeStruct does
        raise DTypeError(
            f"computing needs the elements of an array {aval.long_name()}, and a "
            f"{type(x).__name__} has none: {x!r:.80}",
            hint="pass an array, or trace without data: jit(f).trace, make_olympuspr, eval_shape",
        ) from None


def array_to_numpy(x: Any) -> np.ndarray[Any, Any]:
    """Return the NumPy value of a device array, NumPy array or Python scalar, in its own dtype."""
    if x.__class__ is DeviceArray:
        value: np.ndarray[Any, Any] = x.numpy()
        return value
    return np.asarray(x, dtype=get_aval(x).dtype)


def _aval(x: DeviceArray) -> ShapedArray:
    return x.aval


register_aval(DeviceArray, _aval)
xla.register_array(DeviceArray)
