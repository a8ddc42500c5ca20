"""What a program is compiled for: a backend and, for accelerators, a kind of device.

No runtime is started here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from olympus_core.errors import UsageError
from olympus_core.xla.device_models import DeviceModel, shipped_devices
from olympus_core.xla.gpu_targets import DEFAULT_GPU, config_text
from olympus_core.xla.messages import nearest

__all__ = [
    "Target",
    "device_config",
    "device_model",
    "is_gpu_name",
    "known_devices",
    "platform_of",
    "target",
    "target_on",
]

_PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}


class Target(NamedTuple):
    """A backend ("cpu", "gpu" or "tpu") and the name of a device kind, such as "h200".

    `model` has the figures of a user's own device; it is None for those that ship.
    """

    backend: str = "cpu"
    device: str | None = None
    model: DeviceModel | None = None

    def __repr__(self) -> str:
        own = ", model=..." if self.model is not None else ""
        return f"Target(backend={self.backend!r}, device={self.device!r}{own})"


def known_devices(backend: str) -> tuple[str, ...]:
    """The device kinds that can be compiled for without having one, in a fixed order."""
    return tuple(shipped_devices()) if backend == "gpu" else ()


def is_gpu_name(backend: str, device: str | None) -> bool:
    """Whether a GPU may be called so, be it one that ships or a user's own."""
    from olympus_core.xla.device_tables import is_name  # few programs name a device

    return backend == "gpu" and device is not None and is_name(device)


def device_model(target: Target) -> DeviceModel | None:
    """The figures of a target's device; None for a target without a device.

    Raises:
      UsageError: when the device does not ship, and the target does not have its figures.
    """
    if target.model is not None or target.device is None:
        return target.model
    _check_device(target.backend, target.device, ())
    return shipped_devices()[target.device]


def device_config(target: Target) -> str | None:
    """All that the compiler is told of a target's device, as text; None for none.

    Targets with equal texts are compiled for alike, whatever the names of the devices.

    Raises:
      UsageError: as `device_model` does.
    """
    model = device_model(target)
    return None if model is None else config_text(model)


def target(
    backend: str, device: str | None = None, own: Mapping[str, DeviceModel] | None = None
) -> Target:
    """Return the `Target` of two names; for "gpu" the device is "h200" unless given.

    `own` are devices of the user's by name, besides those that ship.

    Raises:
      UsageError: when the backend or the device is not known; the hint has the nearest names.

    Example:
      >>> target("gpu", "a100-80")
      Target(backend='gpu', device='a100-80')
    """
    if backend not in _PLATFORMS:
        raise UsageError(
            f"there is no backend {backend!r}; there are cpu, gpu and tpu",
            hint=nearest(backend, _PLATFORMS),
        )
    if device is None:
        return Target(backend, DEFAULT_GPU if backend == "gpu" else None)
    if own and device in own and backend == "gpu":
        return Target(backend, device, own[device])
    _check_device(backend, device, own or ())
    return Target(backend, device)


def _check_device(backend: str, device: str, own: Iterable[str]) -> None:
    known = known_devices(backend)
    if device not in known:
        there = "olympus devices lists those there are" if known else "it takes no device name"
        names = (*own, *known) if known else ()
        near = nearest(device, names) or nearest(device.lower(), names)
        raise UsageError(
            f"there is no device {device!r} for backend {backend!r}; {there}", hint=near
        )


def target_on(platform: str) -> Target:
    """The target of a platform: "cpu", "cuda" (which "gpu" means too) or "tpu".

    Raises UsageError for another.
    """
    for backend, name in _PLATFORMS.items():
        if platform in (backend, name):
            return target(backend)
    raise UsageError(
        f"there is no platform {platform!r}; there are cpu, cuda and tpu",
        hint=nearest(platform, _PLATFORMS.values()),
    )


def platform_of(target: Target) -> str:
    """The name by which lowering rules know the backend: "cpu", "cuda" or "tpu"."""
    return _PLATFORMS[target.backend]
