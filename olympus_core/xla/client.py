"""The runtime's clients and devices: made when first needed, once a process.

Nothing here starts an accelerator that was not asked for by name.
"""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

from olympus_core.errors import BackendError, OlympusWarning, UsageError
from olympus_core.xla.door import Device, _jax
from olympus_core.xla.targets import MOST_DEVICES, Target, Topology, target

__all__ = [
    "NO_TPU",
    "absent_target",
    "cpu_client",
    "default_device",
    "devices",
    "ensure_lapack",
    "more_devices",
    "topology_devices",
]

NO_TPU = "this version of OLYMPUS compiles for cpu and gpu"

_lock = threading.Lock()
_cpu: Any = None
_lapack_ready = False


def cpu_client(asked: int = 1) -> Any:
    """The CPU runtime, with as many devices as `OLYMPUS_NUM_CPU_DEVICES` says (1 without it).

    Where that is `auto`, it has as many as are `asked` for by the first call, which starts it.

    Raises:
      UsageError: when it is neither `auto` nor an integer from 1 to `MOST_DEVICES`.
    """
    global _cpu
    if _cpu is None:
        with _lock:
            if _cpu is None:
                count = _cpu_count(asked)
                _cpu = _jax.get_tfrt_cpu_client(asynchronous=True, num_devices=count)
                if hasattr(os, "register_at_fork"):  # Unix has it
                    os.register_at_fork(before=_tell_of_threads)
    return _cpu


def _tell_of_threads() -> None:
    """Warn before a fork: a program that the child runs waits for threads that it does not have."""
    warnings.warn(
        "os.fork() was called, and the threads of OLYMPUS's runtime do not survive it: a child "
        'that runs programs hangs. Use multiprocessing.set_start_method("spawn")',
        OlympusWarning,
        stacklevel=2,
    )


def _cpu_count(asked: int) -> int:
    text = os.environ.get("OLYMPUS_NUM_CPU_DEVICES") or "1"
    if text == "auto":
        return asked if asked <= MOST_DEVICES else 1
    digits = text.lstrip("0")
    whole = digits.isascii() and digits.isdigit()
    # Python refuses to convert thousands of digits
    if not whole or len(digits) > len(str(MOST_DEVICES)) or int(digits) > MOST_DEVICES:
        raise UsageError(
            f"OLYMPUS_NUM_CPU_DEVICES needs an integer from 1 to {MOST_DEVICES}, or auto, "
            f"got {text!r:.60}"
        )
    return int(digits)


def more_devices(count: int) -> str:
    """The hint of an error for a program that needs `count` CPU devices.

    >>> more_devices(8)
    'put OLYMPUS_NUM_CPU_DEVICES=8 before the command, and the CPU has as many devices'
    """
    return (
        f"put OLYMPUS_NUM_CPU_DEVICES={count} before the command, and the CPU has as many devices"
    )


def devices(backend: str | None = None, asked: int = 1) -> list[Device]:
    """The devices of a backend that programs can run on here ("cpu" unless given).

    `asked` is how many the caller needs, for a CPU that is not started yet: see `cpu_client`.

    Raises:
      BackendError: when the backend is not present; the message has the install line.
      UsageError: when there is no backend of that name.
    """
    if backend in (None, "cpu"):
        return list(cpu_client(asked).local_devices())
    target(str(backend))
    if backend == "gpu":
        from olympus_core.xla.gpu import gpu_client

        return list(gpu_client().local_devices())
    raise BackendError(
        f"the tpu backend is not available: {NO_TPU}",
        hint="a program for tpu can be traced and lowered to StableHLO, but not compiled",
    )


def default_device() -> Device:
    """The device that arrays are put on when none is named: the first CPU device."""
    return cpu_client().local_devices()[0]


def topology_devices(target: Target) -> tuple[Device, ...]:
    """The devices of a target that need not be here: programs are compiled for them, not run.

    They are in the order of the hosts, and the same for equal targets.  Without a topology there
    is one.

    Raises:
      BackendError: when the wheel is missing; the hint is the line that installs it.
      UsageError: when the target names no GPU.

    Example:
      >>> Mesh(topology_devices(target("gpu", "8xh200")), ("data",)).size
      8
    """
    if target.backend != "gpu" or target.device is None:
        raise UsageError(
            f"{target} has no devices that programs can be compiled for without having them",
            hint='name a GPU, as in olympus.target("gpu", "8xh200")',
        )
    from olympus_core.xla.gpu import compile_only_devices

    return compile_only_devices(target._replace(topology=target.topology or Topology()))


def absent_target(device: Device) -> Target | None:
    """The target that `topology_devices` made a device for; None for one that is here."""
    if device.platform != "gpu":
        return None
    from olympus_core.xla.gpu import target_of

    return target_of(device)


def ensure_lapack() -> None:
    """Make LAPACK's routines known to the CPU runtime: once, before a program that calls them.

    It costs about 0.2 s, for SciPy is imported to find the routines; so it is done on demand.
    Without it a program that is loaded from bytes and calls LAPACK ends the process.
    """
    global _lapack_ready
    with _lock:
        if _lapack_ready:
            return
        from jaxlib import lapack

        for platform, entries in lapack.registrations().items():
            for name, function, api_version in entries:
                _jax.register_custom_call_target(name, function, platform, api_version)
        lapack._lapack.initialize()
        _lapack_ready = True
