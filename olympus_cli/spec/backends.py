"""The text of backends, such as "cpu", "gpu:h200" or "tpu:v6e:4x4": parsing, formatting and labels.

A backend is an `olympus.Target`, for which a program is built.  In this package, "target" means a
target of olympus.toml.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import olympus
from olympus.errors import UsageError
from olympus_cli.spec.devices import Devices
from olympus_cli.text.nearest import did_you_mean

BACKENDS = ("cpu", "gpu", "tpu")


def parse_backend(
    text: str,
    device: str | None = None,
    own: Devices | None = None,
    topology: str | None = None,
) -> olympus.Target:
    """Return the backend that `text` names.

    `device` is the device model if it is separate from `text`, as in `--device`.  The number of
    devices is a prefix of the model, as in "gpu:8xh200", "gpu:2x8xh200" and "tpu:16xv6e", or is
    given by `topology`, as in `--topology 2x8`.  The chips of a TPU along each axis are a suffix,
    as in "tpu:v6e:4x4".

    Without a device, the result has the backend's default device, so that equal backends have one
    form.  `own` are the user's own devices, in addition to the built-in ones.

    Raises:
        UsageError: no such backend or device, two devices, or not a topology.

    Example: `parse_backend("gpu:h200") == parse_backend("gpu", "h200")`.
    """
    name, _, inline = text.partition(":")
    if name not in BACKENDS:
        hint = did_you_mean(name, BACKENDS, "backends are")
        raise UsageError(f"no backend is named {name!r}", hint=hint)
    if inline and device and inline != device:
        raise UsageError(
            f"backend {text!r} names the device {inline!r}, and --device is {device!r}"
        )
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
    """Return the backend that `text` names, as a filter: without a device it matches all devices.

    Raises:
        UsageError: no such backend or device.

    Example: `named_backend("gpu") == olympus.Target("gpu", None)`.
    """
    backend = parse_backend(text, own=own)
    return backend if ":" in text else backend._replace(device=None)


def backend_text(backend: olympus.Target) -> str:
    """Return the text that `parse_backend` parses to this backend.

    >>> backend_text(olympus.Target("gpu", "h200"))
    'gpu:h200'
    """
    kind = backend.backend
    return kind if backend.device is None else f"{kind}:{device_text(backend)}"


def device_text(backend: olympus.Target) -> str | None:
    """Return the device of a backend, with the number of devices if the backend has a topology.

    >>> device_text(olympus.Target("gpu", "h200", topology=olympus.Topology(2, 8)))
    '2x8xh200'
    """
    return backend.name


def backend_labels(backends: Sequence[olympus.Target]) -> dict[str, olympus.Target]:
    """Return the backends by a short name: "gpu", or "gpu-h200" if there are several of its kind.

    >>> list(backend_labels([olympus.Target("cpu"), olympus.Target("gpu", "h200")]))
    ['cpu', 'gpu']
    """
    kinds = Counter(backend.backend for backend in backends)
    return {
        backend.backend
        if kinds[backend.backend] == 1
        else f"{backend.backend}-{device_text(backend)}".replace(":", "-"): backend
        for backend in backends
    }
