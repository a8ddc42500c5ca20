"""Guards of copies of arrays between the host and devices: contexts that log or refuse them.

A level is "allow", "log" or "disallow", which concern copies that an operation makes of its
arguments, or "log_explicit" or "disallow_explicit", which concern those of `device_put` too.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import checked, state, switched
from olympus_core.base.errors import MachineError

_logger = logging.getLogger("olympus")
_NAMES = ("device_to_device", "device_to_host", "host_to_device")


def transfer_guard_host_to_device(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, treat copies of NumPy values and scalars to devices by a level.

    Raises ArgumentError (a ValueError) for another level. A refused copy raises MachineError.

    >>> with transfer_guard_host_to_device("disallow"):
    ...     jit(lambda x: 2 * x)(3)
    Traceback (most recent call last):
      ...
    olympus.errors.MachineError: Disallowed host-to-device transfer: aval=int32[]
    """
    name = "transfer_guard_host_to_device"
    return switched(name, checked(name, new_val))


def transfer_guard_device_to_host(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, set the level of copies to the host: a CPU makes none.

    Raises ArgumentError (a ValueError) for another level.

    >>> with transfer_guard_device_to_host("disallow"):
    ...     x = float(numpy.sqrt(4.0))
    """
    name = "transfer_guard_device_to_host"
    return switched(name, checked(name, new_val))


def transfer_guard_device_to_device(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, set the level of copies between devices, which only `device_put` makes.

    Raises ArgumentError (a ValueError) for another level.

    >>> with transfer_guard_device_to_device("disallow"):
    ...     x = device_put(numpy.arange(3), devices()[0])
    """
    name = "transfer_guard_device_to_device"
    return switched(name, checked(name, new_val))


@contextlib.contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """Within the context, treat copies of arrays in all directions by a level.

    Raises ArgumentError (a ValueError) for another level.

    >>> with transfer_guard("log"):
    ...     y = jit(lambda x: 2 * x)(3)  # logs the copy of 3
    """
    with contextlib.ExitStack() as stack:
        for name in _NAMES:
            level = checked(f"transfer_guard_{name}", new_val)
            stack.enter_context(switched(f"transfer_guard_{name}", level))
        yield


def guard_to_device(aval: ShapedArray) -> None:
    """Log or refuse a copy of a value to a device; raise MachineError if it is refused."""
    action, _, scope = state.transfer_guard_host_to_device.partition("_")
    if action == "allow" or (state.is_explicit_transfer and not scope):
        return
    what = f"host-to-device transfer: aval={aval.long_name()}"
    if action == "log":
        _logger.warning(what)
        return
    raise MachineError(f"Disallowed {what}")
