"""The PJRT plugin for GPUs: its wheel, its client, and devices that are not attached.

The wheel contains the compiler; NVIDIA's libraries are not needed to compile.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

from olympus_core.base.errors import BackendError
from olympus_core.xla.bindings import JAXLIB_VERSION, Device, JaxRuntimeError, _jax
from olympus_core.xla.messages import clean
from olympus_core.xla.targets.targets import Target, Topology, device_config

WHEEL = "jax-cuda13-pjrt"
INSTALL = f'pip install "{WHEEL}=={JAXLIB_VERSION}"'
_PLATFORM = "cuda"
_lock = threading.Lock()


def plugin_version() -> str | None:
    """Return the installed version of the compiler's wheel; None without the wheel."""
    from importlib import metadata

    try:
        return metadata.version(WHEEL)
    except metadata.PackageNotFoundError:
        return None


def plugin_path() -> str:
    """Return the path of the wheel's library; its package is not imported, because it imports jax.

    Raises:
      BackendError: the wheel is missing or does not match jaxlib's version; the hint is the line
        that installs it.
    """
    version = plugin_version()
    if version is None:
        raise BackendError(
            f"compiling for a GPU needs the wheel {WHEEL}, which is not installed: {INSTALL}",
            hint=INSTALL,
        )
    if version != JAXLIB_VERSION:
        raise BackendError(
            f"{WHEEL} {version} does not match jaxlib {JAXLIB_VERSION}: {INSTALL}", hint=INSTALL
        )
    from importlib import metadata

    for file in metadata.files(WHEEL) or ():
        if file.name == "xla_cuda_plugin.so" and os.path.exists(path := str(file.locate())):
            return path
    raise BackendError(f"the wheel {WHEEL} is damaged: it has no library: {INSTALL}", hint=INSTALL)


@contextlib.contextmanager
def _as_backend_error(what: str, hint: str | None = None) -> Iterator[None]:
    try:
        yield
    except JaxRuntimeError as exc:
        raise BackendError(f"{what}: {clean(exc)}", hint=hint) from None


def _ensure_plugin() -> None:
    """Load the compiler's library, unless jax or an earlier call has."""
    with _lock, _as_backend_error("the GPU compiler's library cannot be loaded", INSTALL):
        if not _jax.pjrt_plugin_loaded(_PLATFORM):
            _jax.load_pjrt_plugin(_PLATFORM, plugin_path(), None)
        if not _jax.pjrt_plugin_initialized(_PLATFORM):
            _jax.initialize_pjrt_plugin(_PLATFORM)


@functools.cache
def compile_only_devices(target: Target) -> tuple[Device, ...]:
    """Return the devices of a target's topology, for compilation only.

    Raises:
      BackendError: the wheel is missing; the hint is the line that installs it.
    """
    _ensure_plugin()
    hosts, per_host = target.topology or Topology()
    options = {"target_config": device_config(target), "topology": f"1x{hosts}x{per_host}"}
    with _as_backend_error(f"the GPU compiler does not take the device {target.device!r}"):
        topology = _jax.get_default_c_api_topology(_PLATFORM, "", options)
        devices = tuple(topology._make_compile_only_devices())
    _targets.update(dict.fromkeys(devices, target))
    return devices


#: the target of each device that is not here
_targets: dict[Device, Target] = {}


def target_of(device: Device) -> Target | None:
    """Return the target of a compile-only device; None for an attached device."""
    return _targets.get(device)


@functools.cache
def gpu_client() -> Any:
    """Return the runtime of the GPUs of this machine.

    Raises:
      BackendError: this machine has no GPU, or the wheel is missing.
    """
    _ensure_plugin()
    with _as_backend_error("this machine has no GPU to run on"):
        return _jax.get_c_api_client(_PLATFORM, {"platform_name": _PLATFORM}, None)
