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
    "expect_devices",
    "more_devices",
    "topology_devices",
]

NO_TPU = "this version of OLYMPUS compiles for cpu and gpu"

_lock = threading.Lock()
_cpu: Any = None
_expected = 0  # of the CPU; 0 where nobody has said it
_started_alone = False  # with one device, which the first call did not ask to be more
_lapack_ready = False


def cpu_client(asked: int = 1) -> Any:
    """The CPU runtime, with as many devices as `OLYMPUS_NUM_CPU_DEVICES` says (1 without it).

    Where that is `auto`, it has as many as are `asked` for by the first call, which starts it.
    Where it is absent or `auto`, what `expect_devices` was told goes before either.

    Raises:
      UsageError: when it is neither `auto` nor an integer from 1 to `MOST_DEVICES`.
    """
    global _cpu, _started_alone
    if _cpu is None:
        with _lock:
            if _cpu is None:
                count, first_decides = _cpu_count(asked)
                _cpu = _jax.get_tfrt_cpu_client(asynchronous=True, num_devices=count)
                _started_alone = first_decides and asked == 1
                if hasattr(os, "register_at_fork"):  # Unix has it
                    os.register_at_fork(before=_tell_of_threads)
    return _cpu


def expect_devices(count: int) -> None:
    """Let the CPU of this process have `count` devices, where `OLYMPUS_NUM_CPU_DEVICES` is absent.

    Where `count` is 1 it has as many as the first call that needs them asks for, a mesh or a
    program, as where the variable is `auto`.  It has an effect until the first array or mesh is
    made, which starts the runtime.  The environment stays as it is, so nothing that this process
    starts inherits the number.

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


def _tell_of_threads() -> None:
    """Warn before a fork: a program that the child runs waits for threads that it does not have."""
    warnings.warn(
        "os.fork() was called, and the threads of OLYMPUS's runtime do not survive it: a child "
        'that runs programs hangs. Use multiprocessing.set_start_method("spawn")',
        OlympusWarning,
        stacklevel=2,
    )


def _cpu_count(asked: int) -> tuple[int, bool]:
    """How many devices the CPU has, and whether the call that starts it decides that."""
    text = os.environ.get("OLYMPUS_NUM_CPU_DEVICES") or ("auto" if _expected else "1")
    if text == "auto":
        if _expected > 1:
            return _expected, False
        return (asked if asked <= MOST_DEVICES else 1), True
    digits = text.lstrip("0")
    whole = digits.isascii() and digits.isdigit()
    # Python refuses to convert thousands of digits
    if not whole or len(digits) > len(str(MOST_DEVICES)) or int(digits) > MOST_DEVICES:
        raise UsageError(
            f"OLYMPUS_NUM_CPU_DEVICES needs an integer from 1 to {MOST_DEVICES}, or auto, "
            f"got {text!r:.60}"
        )
    return int(digits), False


def more_devices(count: int) -> str:
    """The hint of an error for a program that needs `count` CPU devices.

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
