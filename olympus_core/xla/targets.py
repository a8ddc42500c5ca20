"""What a program is compiled for: a backend and, for accelerators, a kind of device.

No runtime is started here.
"""

from __future__ import annotations

from typing import NamedTuple

from olympus_core.errors import UsageError
from olympus_core.xla.gpu_targets import DEFAULT_GPU, GPUS
from olympus_core.xla.messages import nearest

__all__ = ["Target", "known_devices", "platform_of", "target", "target_on"]

_PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}


class Target(NamedTuple):
    """A backend ("cpu", "gpu" or "tpu") and the name of a device kind, such as "h200"."""

    backend: str = "cpu"
    device: str | None = None


def known_devices(backend: str) -> tuple[str, ...]:
    """The device kinds that can be compiled for without having one, in a fixed order."""
    return tuple(GPUS) if backend == "gpu" else ()


def target(backend: str, device: str | None = None) -> Target:
    """Return the `Target` of two names; for "gpu" the device is "h200" unless given.

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
    known = known_devices(backend)
    if device is None:
        return Target(backend, DEFAULT_GPU if backend == "gpu" else None)
    if device not in known:
        there = f"; there are {', '.join(known)}" if known else ", which takes no device name"
        raise UsageError(
            f"there is no device {device!r} for backend {backend!r}{there}",
            hint=nearest(device, known),
        )
    return Target(backend, device)


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
