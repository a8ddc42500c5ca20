"""Arrays of the runtime: from NumPy to a device and back.

A Buffer is opaque: it is passed to executables and to the functions here, and is never printed or
patched, because jax patches the same class when it is in the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.errors import (
    BackendError,
    CompileError,
    DTypeError,
    OlympusError,
    RangeError,
)
from olympus_core.xla.bindings import Buffer, Device, JaxRuntimeError, _jax
from olympus_core.xla.messages import execution_error
from olympus_core.xla.runtime.cpu import default_device
from olympus_core.xla.runtime.devices import absent_target
from olympus_core.xla.runtime.readback import read_buffer
from olympus_runtime import buffers
from olympus_runtime.buffers import ArrayType, OneDevice
from olympus_runtime.messages import clean, is_out_of_memory

# The runtime copies during the call, so that the caller may change its array right after it.
_COPY = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
# The runtime reads the array's own memory, if its address is a multiple of 64 bytes.
_SHARE = _jax.HostBufferSemantics.ZERO_COPY
_HOST = 1  # DLPack's number of the CPU
_device_put = _jax.batched_device_put


_places: dict[Device | None, tuple[OneDevice, list[Device]]] = {}


def _place(device: Device | None) -> tuple[OneDevice, list[Device]]:
    where = default_device() if device is None else device
    _places[device] = OneDevice(where), [where]
    return _places[device]


def put(x: Any, device: Device | None = None) -> Buffer:
    """Copy a NumPy array or scalar to a device (the first CPU device unless given).

    Any shape, any strides and every dtype that XLA has, `bfloat16`, the float8 and 4-bit types
    included; the dtype stays as it is.  The caller may change `x` afterwards.

    Raises:
      DTypeError: when XLA has no such dtype.
      BackendError: when the device cannot take the array.
      CompileError: when the device runs out of memory.

    Example:
      >>> to_numpy(put(np.float32(2)))
      array(2., dtype=float32)
    """
    try:
        sharding, where = _places[device]
    except KeyError:
        sharding, where = _place(device)
    dtype = x.dtype
    if not dtype.isnative:  # the runtime would read the bytes in native order
        x, dtype = x.astype(dtype.newbyteorder("=")), dtype.newbyteorder("=")
    try:
        return _device_put(
            ArrayType(x.shape, dtype), sharding, [x], where, True, False, _COPY, True
        )
    except JaxRuntimeError as exc:
        raise _put_error(dtype, exc, where[0]) from None


def share(x: np.ndarray[Any, Any], device: Device | None = None) -> Buffer:
    """Put a NumPy array on a device; a CPU device uses its memory if that is aligned to 64 bytes.

    The caller may not change `x` afterwards.

    Raises as `put`.

    >>> to_numpy(share(np.ones(2, np.float32)))
    array([1., 1.], dtype=float32)
    """
    sharding, where = _places.get(device) or _place(device)
    try:
        return _device_put(
            ArrayType(x.shape, x.dtype), sharding, [x], where, True, False, _SHARE, True
        )
    except JaxRuntimeError as exc:
        raise _put_error(x.dtype, exc, where[0]) from None


def put_scalar(x: bool | int | float, aval: Any) -> Buffer:
    """Copy a Python scalar to the first CPU device; `aval` is a scalar bool, int32 or float32.

    Raises:
      RangeError: when the integer does not fit.
    """
    sharding, where = _places.get(None) or _place(None)
    try:
        return _device_put(aval, sharding, [x], where, True, False, _COPY, False)
    except JaxRuntimeError:
        raise RangeError(f"{x} does not fit {aval.dtype}") from None


def _put_error(dtype: np.dtype[Any], exc: RuntimeError, device: Device) -> OlympusError:
    if (absent := absent_target(device)) is not None:
        return BackendError(
            f"an array cannot be put on {absent.device}: the device is not here",
            hint="programs can be compiled for it: jit(f).lower(...).compile()",
        )
    if "Unknown NumPy dtype" in str(exc):
        return DTypeError(
            f"an array of dtype {dtype} cannot be put on a device: XLA has no such type"
        )
    refused = f"an array cannot be put on the device: {clean(exc)}"
    return CompileError(refused) if is_out_of_memory(exc) else BackendError(refused)


def sharding_on(device: Device) -> OneDevice:
    """Return the sharding of arrays on a device."""
    return (_places.get(device) or _place(device))[0]


def result_handler(device: Device) -> Any:
    """Return a function that turns one output of an execution on `device` into a Buffer."""
    return buffers.result_handler(sharding_on(device))


def to_numpy(buf: Buffer) -> np.ndarray[Any, Any]:
    """Return the value of a Buffer as a read-only NumPy array; wait until it is computed.

    Raises:
      UsageError: the Buffer was deleted or donated.
      CompileError: the program that computes it ran out of memory.
    """
    try:
        return read_buffer(buf)
    except JaxRuntimeError as exc:
        raise execution_error(exc) from None


def block_until_ready(buf: Buffer) -> None:
    """Wait until a Buffer's value is computed; raise what its computation raised."""
    try:
        buf.block_until_ready()
    except JaxRuntimeError as exc:
        raise execution_error(exc) from None


def delete(buf: Buffer) -> None:
    """Free a Buffer's memory; it cannot be used afterwards."""
    buf.delete()


def is_deleted(buf: Buffer) -> bool:
    """Return True if a Buffer was deleted, or donated to an execution."""
    return bool(buf.is_deleted())


def device_of(buf: Buffer) -> Device:
    """Return the device that holds a Buffer."""
    return buf._sharding._device


def to_dlpack(buf: Buffer) -> Any:
    """Return a DLPack capsule of a Buffer, which shares its memory."""
    return _jax.buffer_to_dlpack_managed_tensor(buf, stream=None)


def host_value(x: Any) -> np.ndarray[Any, Any]:
    """Return an object with `__dlpack__` as a NumPy array, which may share its memory.

    Raises BufferError, or the error that `x` raises, if it cannot be exported.
    """
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError):  # a dtype that NumPy does not have, such as bfloat16
        if x.__dlpack_device__()[0] != _HOST:
            raise
    return read_buffer(_jax.dlpack_managed_tensor_to_buffer(x.__dlpack__(), default_device(), None))


def from_dlpack(x: Any) -> Buffer:
    """Return a Buffer of an object on the host with `__dlpack__`; the memory is copied."""
    return put(host_value(x))
