"""What there is to compile for and to run on, for `olympus doctor`.

No accelerator is started, and nothing here fails because something is missing.
"""

from __future__ import annotations

from typing import NamedTuple

from olympus_core.errors import BackendError
from olympus_core.xla.client import NO_TPU, cpu_client
from olympus_core.xla.door import JAXLIB_VERSION
from olympus_core.xla.targets import known_devices

__all__ = ["BackendStatus", "backends", "versions"]


class BackendStatus(NamedTuple):
    """One backend: `available` to compile for; `install` is the line that would make it so."""

    name: str
    available: bool
    devices: tuple[str, ...]
    note: str
    install: str | None


def backends() -> tuple[BackendStatus, ...]:
    """The state of every backend, in the order cpu, gpu, tpu."""
    return (_cpu(), _gpu(), _tpu())


def _cpu() -> BackendStatus:
    found = tuple(f"cpu:{device.id}" for device in cpu_client().local_devices())
    return BackendStatus("cpu", True, found, "compiles and runs here", None)


def _gpu() -> BackendStatus:
    from olympus_core.xla.gpu import INSTALL, plugin_path

    known = known_devices("gpu")
    try:
        plugin_path()
    except BackendError as exc:
        return BackendStatus("gpu", False, known, str(exc), INSTALL)
    return BackendStatus("gpu", True, known, "compiles for these devices without having one", None)


def _tpu() -> BackendStatus:
    return BackendStatus("tpu", False, (), NO_TPU, None)


def versions() -> dict[str, str]:
    """The versions of jaxlib and, where it is installed, of the GPU compiler's wheel."""
    from olympus_core.xla.gpu import WHEEL, plugin_version

    found = {"jaxlib": JAXLIB_VERSION}
    if (plugin := plugin_version()) is not None:
        found[WHEEL] = plugin
    return found
