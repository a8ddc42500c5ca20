"""Backends as text, such as "cpu", "gpu" or "gpu:h200": reading and writing it, and labels.

A backend is an `olympus.Target`, what a program is built for: a target is one of olympus.toml here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import olympus
from olympus.errors import UsageError
from olympus_cli.spec.devices import Devices
from olympus_cli.text.nearest import did_you_mean

__all__ = [
    "BACKENDS",
    "backend_labels",
    "backend_text",
    "device_text",
    "named_backend",
    "parse_backend",
]

BACKENDS = ("cpu", "gpu", "tpu")


def parse_backend(
    text: str,
    device: str | None = None,
    own: Devices | None = None,
    topology: str | None = None,
) -> olympus.Target:
    """The backend that `text` names; `device` says the model apart from it, as `--device` does.

    The model may have the number of devices before it, as "gpu:8xh200" and "gpu:2x8xh200" have,
    or `topology` says it, as `--topology 2x8` does.

    A device that is not said is the backend's usual one, so that equal backends have one form.
    `own` are devices of the user's, besides those that ship.

    Raises:
        UsageError: no such backend or device, two devices, or not a topology.

    Example: `parse_backend("gpu:h200") == parse_backend("gpu", "h200")`.
    """
    name, _, inline = text.partition(":")
    if name not in BACKENDS:
        hint = did_you_mean(name, BACKENDS, "backends are")
        raise UsageError(f"there is no backend {name!r}", hint=hint)
    if inline and device and inline != device:
        raise UsageError(f"backend {text!r} names device {inline!r}, and --device says {device!r}")
    try:
        return olympus.target(name, inline or device or None, own, topology)
    except UsageError as error:
        option = f"--topology {topology}" if topology else f"--device {device}" if device else ""
        hint = error.hint
        if (inline or device) in BACKENDS:
            form = f"write {inline} instead of {text}" if inline else f"--backend {device}"
            hint = f"{inline or device} is a backend: {form}"
        prefix = f"{option}: " if option and not inline else ""
        raise UsageError(f"{prefix}{error}", hint=hint) from error


def named_backend(text: str, own: Devices | None = None) -> olympus.Target:
    """The backend that `text` names, to choose by: without a device it stands for all devices.

    Raises:
        UsageError: no such backend or device.

    Example: `named_backend("gpu") == olympus.Target("gpu", None)`.
    """
    backend = parse_backend(text, own=own)
    return backend if ":" in text else backend._replace(device=None)


def backend_text(backend: olympus.Target) -> str:
    """The text that `parse_backend` reads as this backend.

    >>> backend_text(olympus.Target("gpu", "h200"))
    'gpu:h200'
    """
    kind = backend.backend
    return kind if backend.device is None else f"{kind}:{device_text(backend)}"


def device_text(backend: olympus.Target) -> str | None:
    """The device of a backend, with the number of devices that it says.

    >>> device_text(olympus.Target("gpu", "h200", topology=olympus.Topology(2, 8)))
    '2x8xh200'
    """
    if backend.topology is None:
        return backend.device
    hosts, per_host = backend.topology
    return f"{per_host}x{backend.device}" if hosts == 1 else f"{hosts}x{per_host}x{backend.device}"


def backend_labels(backends: Sequence[olympus.Target]) -> dict[str, olympus.Target]:
    """A short name for each backend: "gpu", or "gpu-h200" when there are several of its kind.

    >>> list(backend_labels([olympus.Target("cpu"), olympus.Target("gpu", "h200")]))
    ['cpu', 'gpu']
    """
    kinds = Counter(each.backend for each in backends)
    return {
        each.backend if kinds[each.backend] == 1 else f"{each.backend}-{device_text(each)}": each
        for each in backends
    }
