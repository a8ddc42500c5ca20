"""Devices for compilation only: accelerators that need not be attached to this machine."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from olympus_core.xla.bindings import Device, _jax
from olympus_core.xla.runtime import gpu, tpu
from olympus_core.xla.runtime.plugins import Plugin, as_backend_error
from olympus_core.xla.targets.targets import Target

#: The plugins by backend.
PLUGINS: Mapping[str, Plugin] = {plugin.backend: plugin for plugin in (gpu.PLUGIN, tpu.PLUGIN)}


@functools.cache
def compile_only_devices(target: Target) -> tuple[Device, ...]:
    """Return the devices of a target's topology, for compilation only.

    Raises:
      BackendError: the plugin's package is missing; the hint is the line that installs it.
    """
    plugin = PLUGINS[target.backend]
    plugin.ensure()
    name, options = plugin.topology(target)
    refused = f"the {plugin.backend.upper()} compiler does not take the device {target.device!r}"
    with as_backend_error(refused), plugin.environment():
        topology = _jax.get_default_c_api_topology(plugin.platform, name, options)
        devices = tuple(topology._make_compile_only_devices())
    _targets.update(dict.fromkeys(devices, target))
    return devices


#: the target of each device that is not here
_targets: dict[Device, Target] = {}


def target_of(device: Device) -> Target | None:
    """Return the target of a compile-only device, or None for an attached device."""
    return _targets.get(device)
