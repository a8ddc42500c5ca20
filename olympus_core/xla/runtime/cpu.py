"""The client of the CPU, created at the first use, once per process, and its number of devices."""

from __future__ import annotations

import os
import re
from typing import Any

from olympus_core.base.errors import UsageError
from olympus_core.xla.bindings import Device
from olympus_core.xla.targets.topologies import MOST_DEVICES
from olympus_runtime import cpu as runtime_cpu

_FLAG = re.compile(r"--xla_force_host_platform_device_count=([0-9]+)")
_expected = 0  # number of CPU devices; 0 if it is not set
_started_alone = False  # with one device, and the first call did not request more


def cpu_client(requested: int = 1) -> Any:
    """Return the CPU runtime, with `OLYMPUS_NUM_CPU_DEVICES` devices (1 without it).

    If that is `auto`, the runtime has the number of devices that the first call, which starts it,
    passes as `requested`. If it is absent or `auto`, a number from `expect_devices` has
    precedence. Without these, the number is that of XLA's flag
    `--xla_force_host_platform_device_count` in `XLA_FLAGS`.

    Raises:
      UsageError: it is neither `auto` nor an integer from 1 to `MOST_DEVICES`.
    """

    def count() -> int:
        global _started_alone
        number, first_decides = _cpu_count(requested)
        _started_alone = first_decides and requested == 1
        return number

    return runtime_cpu.cpu_client(count)


def expect_devices(count: int) -> None:
    """Set the number of CPU devices of this process, if `OLYMPUS_NUM_CPU_DEVICES` is absent.

    If `count` is 1, the CPU has the number of devices that the first mesh or program needs, as if
    the variable were `auto`. The setting has an effect until the first array or mesh, which starts
    the runtime. The environment does not change, so child processes do not inherit the number.

    Raises:
      UsageError: `count` is not a number from 1 to `MOST_DEVICES`.

    Example:
      >>> expect_devices(8)
      >>> len(devices())
      8
    """
    global _expected
    if not isinstance(count, int) or not 1 <= count <= MOST_DEVICES:
        raise UsageError(
            f"the CPU has from 1 to {MOST_DEVICES} devices, and {count!r:.60} are expected"
        )
    _expected = count


def _cpu_count(requested: int) -> tuple[int, bool]:
    """Return the number of CPU devices, and True if the call that starts the CPU decides it."""
    text = os.environ.get("OLYMPUS_NUM_CPU_DEVICES") or ("auto" if _expected else _flagged())
    if text == "auto":
        if _expected > 1:
            return _expected, False
        return (requested if requested <= MOST_DEVICES else 1), True
    digits = text.lstrip("0")
    is_integer = digits.isascii() and digits.isdigit()
    # Python refuses to convert thousands of digits
    if not is_integer or len(digits) > len(str(MOST_DEVICES)) or int(digits) > MOST_DEVICES:
        raise UsageError(
            f"OLYMPUS_NUM_CPU_DEVICES needs an integer from 1 to {MOST_DEVICES}, or auto, "
            f"got {text!r:.60}"
        )
    return int(digits), False


def _flagged() -> str:
    """Return the number of CPU devices in XLA_FLAGS, as programs for JAX set it, or "1"."""
    numbers = _FLAG.findall(os.environ.get("XLA_FLAGS", ""))
    number = numbers[-1].lstrip("0") if numbers else ""
    is_valid = number and len(number) <= len(str(MOST_DEVICES)) and int(number) <= MOST_DEVICES
    return number if is_valid else "1"


def more_devices(count: int) -> str:
    """Return the hint of an error for a program that needs `count` CPU devices.

    >>> more_devices(8)
    'put OLYMPUS_NUM_CPU_DEVICES=8 before the command, and the CPU has as many devices'
    """
    if count > MOST_DEVICES:
        return f"the CPU has {MOST_DEVICES} devices at most"
    put = f"put OLYMPUS_NUM_CPU_DEVICES={count} before the command, and the CPU has as many devices"
    if _started_alone:
        return (
            "an array, or a call of olympus.devices(), came before and fixed the CPU to one "
            f"device: let it come after this, or {put}"
        )
    return put


def default_device() -> Device:
    """Return the default device of new arrays: the first CPU device."""
    return cpu_client().local_devices()[0]
