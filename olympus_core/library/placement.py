"""The keyword `device` of functions that make arrays."""

from __future__ import annotations

from typing import Any

from olympus_core import xla
from olympus_core.array import DeviceArray, put
from olympus_core.errors import ArgumentError
from olympus_core.tracer import Array

__all__ = ["check_device", "like", "placed"]


def check_device(device: Any) -> xla.Device | None:
    """The argument `device`; raises ArgumentError unless it is a device or None."""
    if device is None or isinstance(device, xla.Device):
        return device
    raise ArgumentError(
        f"device needs a device or None, and got {device!r:.80}",
        hint="pass one of olympus.devices()",
    )


def placed(x: Array, device: Any) -> Array:
    """The array `x` on a device, or where it is for None; a traced array stays as it is.

    Raises ArgumentError for what is not a device.
    """
    if check_device(device) is None or not isinstance(x, DeviceArray) or x.device == device:
        return x
    return put(x.numpy(), x.aval, device)


def like(x: Array, prototype: Any, device: Any) -> Array:
    """The array `x` on `device`, or for None on the device of `prototype`, where it has one."""
    if device is None and isinstance(prototype, DeviceArray):
        device = prototype.device
    return placed(x, device)
