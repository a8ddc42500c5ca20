"""The target of a compilation: a backend and, for accelerators, a kind of device.

This module starts no runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from olympus_core.base.errors import UnknownNameError, UsageError
from olympus_core.xla.messages import nearest
from olympus_core.xla.targets.device_models import DeviceModel, shipped_devices
from olympus_core.xla.targets.gpu_targets import config_text, default_gpu
from olympus_core.xla.targets.topologies import MOST_DEVICES, AnyTopology, Topology
from olympus_core.xla.targets.tpu_models import TpuModel, shipped_tpus
from olympus_core.xla.targets.tpu_topologies import (
    is_tpu_name,
    parse_torus,
    read_torus,
    split_name,
    torus,
    tpu_and_topology,
)

_TOPOLOGY = re.compile(r"(?:([0-9]{1,9})x)?([0-9]{1,9})", re.ASCII)
_PER_HOST = re.compile(r"([0-9]+)x(.+)", re.ASCII)
_HOSTS = re.compile(r"([0-9]+x[0-9]+)x(.+)", re.ASCII)
_PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}
#: The names of the backends.
BACKENDS = tuple(_PLATFORMS)


#: The figures of a device of any backend.
AnyModel = DeviceModel | TpuModel


class Target(NamedTuple):
    """A backend ("cpu", "gpu" or "tpu") and the name of a device kind, such as "h200" or "v6e".

    `model` has the figures of a user's own device; it is None for built-in devices. `topology` is
    the number of hosts and devices of GPUs, or the torus of TPUs; None for one host with the number
    of GPUs that a program needs, or for one TPU chip.
    """

    backend: str = "cpu"
    device: str | None = None
    model: AnyModel | None = None
    topology: AnyTopology | None = None

    @property
    def name(self) -> str | None:
        """The name of the device with its topology, which `target` parses; None without a device.

        >>> target("gpu", "2x8xh200").name, target("tpu", "16xv6e").name
        ('2x8xh200', 'v6e:4x4')
        """
        if self.topology is None or self.device is None:
            return self.device
        return self.topology.of(self.device)

    @property
    def most_devices(self) -> int | None:
        """The devices of the topology, or of one TPU chip; None if a program may have any number.

        >>> target("gpu", "2x8xh200").most_devices, target("tpu", "v6e").most_devices
        (16, 1)
        """
        if self.topology is None and (self.backend != "tpu" or self.device is None):
            return None
        return full_topology(self).num_devices

    def __repr__(self) -> str:
        own = ", model=..." if self.model is not None else ""
        many = f", topology={str(self.topology)!r}" if self.topology is not None else ""
        return f"Target(backend={self.backend!r}, device={self.device!r}{own}{many})"


def known_devices(backend: str) -> tuple[str, ...]:
    """Return the device kinds that can be compiled for without a device, in a fixed order.

    >>> known_devices("cpu"), "h200" in known_devices("gpu")
    ((), True)
    """
    if backend == "tpu":
        return tuple(shipped_tpus())
    return tuple(shipped_devices()) if backend == "gpu" else ()


def backend_of(device: str, own: Mapping[str, AnyModel] | None = None) -> str:
    """Return the backend of a device's name: "tpu" for a TPU, with or without topology, or "gpu".

    `own` are the user's own devices, by name.

    >>> backend_of("v6e:4x4"), backend_of("8xh200")
    ('tpu', 'gpu')
    """
    own = own or {}
    model = own.get(device) or own.get(split_name(device).generation)
    if model is not None:
        return "tpu" if isinstance(model, TpuModel) else "gpu"
    return "tpu" if is_tpu_name(device) else "gpu"


def is_device_name(backend: str, device: str | None) -> bool:
    """Return True if a GPU or TPU, built-in or a user's own, may have this name."""
    from olympus_core.xla.targets.device_tables import is_name  # few programs name a device

    return backend != "cpu" and device is not None and is_name(device)


def device_model(target: Target) -> AnyModel | None:
    """Return the figures of a target's device; None for a target without a device.

    Raises:
      UsageError: the device is not built in, and the target does not have its figures.

    >>> device_model(Target("gpu", "h200")).name, device_model(Target("cpu"))
    ('h200', None)
    """
    if target.model is not None or target.device is None:
        return target.model
    _check_device(target.backend, target.device, ())
    return (shipped_tpus() if target.backend == "tpu" else shipped_devices())[target.device]


def device_config(target: Target) -> str | None:
    """Return the compiler's input about a target's device, as text; None without a device.

    Targets with equal texts give equal programs, whatever the names of the devices.

    Raises:
      UsageError: as `device_model` does.

    >>> device_config(Target("gpu", "h200")).splitlines()[:2]
    ['gpu_device_info {', '  threads_per_block_limit: 1024']
    """
    model = device_model(target)
    if isinstance(model, TpuModel):
        return str(full_topology(target).of(model.generation))
    return None if model is None else config_text(model)


def full_topology(target: Target, count: int = 1) -> AnyTopology:
    """Return the topology of a target with a device; by default one TPU chip, or `count` GPUs.

    Raises:
      UsageError: the device is not built in.
    """
    if target.topology is not None:
        return target.topology
    if target.backend == "tpu":
        model = device_model(target)
        assert isinstance(model, TpuModel)  # its backend has no others
        return torus(model, model.slices[0])
    return Topology(1, count)


def topology_of(backend: str, device: str | None, text: str) -> AnyTopology:
    """Return the topology that `str` of it gives, for a device of a backend.

    Raises:
      UsageError: the device has no such topology.
    """
    if backend == "tpu" and device is not None:
        if device not in shipped_tpus():  # a user's own
            return read_torus(text)
        return parse_torus(shipped_tpus()[device], text)
    return parse_topology(text)


def parse_topology(text: str, written: str | None = None) -> Topology:
    """Parse a topology: "8" and "1x8" are one host with 8 devices.

    `written` is the whole text for messages if `text` is a part of it, such as "8xh200".

    Raises:
      UsageError: the text is not a topology, or it has no device or more than `MOST_DEVICES`.

    Example:
      >>> parse_topology("2x8")
      Topology(hosts=2, per_host=8)
    """
    match = _TOPOLOGY.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text!r:.80} is not a topology",
            hint="write 8 for one host with 8 devices, or 2x8 for 2 hosts with 8 each",
        )
    topology = Topology(int(match.group(1) or 1), int(match.group(2)))
    if not 1 <= topology.num_devices <= MOST_DEVICES:
        raise UsageError(
            f"a topology has from 1 to {MOST_DEVICES} devices, and {written or text!r:.80} has "
            f"{topology.num_devices}"
        )
    return topology


def target(
    backend: str,
    device: str | None = None,
    own: Mapping[str, AnyModel] | None = None,
    topology: str | None = None,
) -> Target:
    """Return the `Target` of two names; for "gpu" the device is this machine's or "h200".

    `own` has the user's devices by name, in addition to the built-in ones. `topology`, such as "8"
    or "2x8", is the number of hosts and of GPUs of each host, or, such as "4x4" or "2x2x4", the TPU
    chips along each axis; the device's name may have it too.

    Raises:
      UsageError: the backend or the device is unknown (the hint has the nearest names); the
        topology is not valid, is given twice, or the backend takes none.

    Example:
      >>> target("gpu", "a100-80")
      Target(backend='gpu', device='a100-80')
      >>> target("gpu", "2x8xh200")
      Target(backend='gpu', device='h200', topology='2x8')
      >>> target("tpu", "16xv6e")
      Target(backend='tpu', device='v6e', topology='4x4')
    """
    if backend not in _PLATFORMS:
        raise UnknownNameError(
            f"Unknown backend {backend}: no backend is named {backend!r}; the backends are "
            "cpu, gpu and tpu",
            hint=nearest(backend, _PLATFORMS),
        )
    if backend == "tpu":
        return _tpu_target(device, topology, own or {})
    own = {name: model for name, model in (own or {}).items() if isinstance(model, DeviceModel)}
    device, many = _counted(device, own)
    if many is not None and topology is not None and parse_topology(topology) != many:
        raise UsageError(
            f"the device is {many}x{device}, and the topology {topology}",
            hint=f"write the device as {device}, or leave the topology out",
        )
    if topology is not None:
        many = parse_topology(topology)
    if many is not None and backend != "gpu":
        raise UsageError(
            f"the backend {backend!r} takes no topology, and got {many}",
            hint="a program for the cpu has as many devices as its mesh",
        )
    if device is None:
        return Target(backend, default_gpu() if backend == "gpu" else None, None, many)
    if device in own and backend == "gpu":
        return Target(backend, device, own[device], many)
    _check_device(backend, device, own)
    return Target(backend, device, None, many)


def _tpu_target(device: str | None, topology: str | None, own: Mapping[str, AnyModel]) -> Target:
    """Return the target of a TPU's name; of one chip, or without a device, it has no topology."""
    if device is None:
        if topology is None:
            return Target("tpu")
        raise UsageError(
            f"the topology {topology} has no generation of TPUs",
            hint=f"name it, such as --device {[*shipped_tpus()][-2]}",
        )
    tpus = {name: model for name, model in own.items() if isinstance(model, TpuModel)}
    model, sizes = tpu_and_topology(device, topology, tpus)
    own_model = model if model.name in tpus else None
    return Target("tpu", model.name, own_model, sizes if sizes.num_chips > 1 else None)


def _counted(device: str | None, own: Iterable[str]) -> tuple[str | None, Topology | None]:
    """Split the name of a device such as "8xh200" into the name and the topology.

    A device of the user's own may have a name that begins in this way.
    """
    if device is None or device in own:
        return device, None
    for counted in (_PER_HOST, _HOSTS):
        match = counted.fullmatch(device)
        if match and (counted is _HOSTS or match.group(2) in own or _is_plain(match.group(2))):
            return match.group(2), parse_topology(match.group(1), device)
    return device, None


def _is_plain(name: str) -> bool:
    return _PER_HOST.fullmatch(name) is None


def _check_device(backend: str, device: str, own: Iterable[str]) -> None:
    kinds = known_devices(backend)
    if device not in kinds:
        if not kinds:
            raise UsageError(f"the backend {backend!r} takes no device name, and got {device!r}")
        names = (*own, *kinds)
        raise UsageError(
            f"no device of the backend {backend!r} is named {device!r}; `olympus devices` lists "
            "them",
            hint=nearest(device, names) or nearest(device.lower(), names),
        )


def named_target(device: str) -> Target:
    """Return the target of a built-in device's name, with its backend.

    >>> named_target("v6e:4x4").backend
    'tpu'
    """
    return target(backend_of(device), device)


def target_on(platform: str) -> Target:
    """Return the target of a platform: "cpu", "cuda" (also "gpu") or "tpu".

    Raises UsageError for another.
    """
    for backend, name in _PLATFORMS.items():
        if platform in (backend, name):
            return target(backend)
    raise UsageError(
        f"no platform is named {platform!r}; the platforms are cpu, cuda and tpu",
        hint=nearest(platform, _PLATFORMS.values()),
    )


def platform_of(target: Target) -> str:
    """Return the platform name of a backend in lowering rules: "cpu", "cuda" or "tpu"."""
    return _PLATFORMS[target.backend]
