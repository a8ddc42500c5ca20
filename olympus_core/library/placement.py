"""The keyword `device` of functions that create arrays."""

from __future__ import annotations

from typing import Any

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray
from olympus_core.arrays.mesh_context import named
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.placement.sharding import Sharding, SingleDeviceSharding


def check_device(device: Any) -> Sharding | None:
    """Return the argument `device`, a device or a sharding, as a sharding; None for None.

    Raises ArgumentError for other values.
    """
    device = named("the argument device", device)
    if device is None or isinstance(device, Sharding):
        return device
    if isinstance(device, xla.Device):
        return SingleDeviceSharding(device)
    raise ArgumentError(
        f"device needs a device, a sharding or None, and got {device!r:.80}",
        hint="pass one of olympus.devices()",
    )


def placed(x: Array, device: Any) -> Array:
    """Return the array `x` on a device; None, and a traced array, change nothing.

    Raises ArgumentError for a value that is not a device.
    """
    sharding = check_device(device)
    if sharding is None or not isinstance(x, DeviceArray):
        return x
    return put_on(x, sharding)


def like(x: Array, prototype: Any, device: Any) -> Array:
    """Return the array `x` on `device`, by default on the device of `prototype`, if it has one."""
    if device is None and isinstance(prototype, DeviceArray) and prototype.committed:
        device = prototype.sharding
    return placed(x, device)
