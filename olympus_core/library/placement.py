"""The keyword `device` of functions that make arrays."""

from __future__ import annotations

from typing import Any

from olympus_core import xla
from olympus_core.array import DeviceArray
from olympus_core.errors import ArgumentError
from olympus_core.mesh_context import named
from olympus_core.sharded import put_on
from olympus_core.sharding import Sharding, SingleDeviceSharding
from olympus_core.tracer import Array

__all__ = ["check_device", "like", "placed"]


def check_device(device: Any) -> Sharding | None:
    """The sharding that the argument `device` is, a device or a sharding; None for None.

    Raises ArgumentError for anything else.
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
    """The array `x` on a device, or where it is for None; a traced array stays as it is.

    Raises ArgumentError for what is not a device.
    """
    sharding = check_device(device)
    if sharding is None or not isinstance(x, DeviceArray):
        return x
    return put_on(x, sharding)


def like(x: Array, prototype: Any, device: Any) -> Array:
    """The array `x` on `device`, or for None on the device of `prototype`, where it has one."""
    if device is None and isinstance(prototype, DeviceArray) and prototype.committed:
        device = prototype.sharding
    return placed(x, device)
