"""The topologies of a target's devices: hosts with GPUs, and tori of TPU chips."""

from __future__ import annotations

import math
from typing import NamedTuple

#: The largest number of devices of a topology: for more, the compiler takes minutes.
MOST_DEVICES = 1024


class Topology(NamedTuple):
    """The number of hosts, and the number of devices on each host.

    NVLink or PCIe connects the devices of a host, and a network connects the hosts.

    >>> str(Topology(2, 8)), Topology(2, 8).num_devices
    ('2x8', 16)
    """

    hosts: int = 1
    per_host: int = 1

    @property
    def num_devices(self) -> int:
        """The number of devices of all hosts."""
        return self.hosts * self.per_host

    def __str__(self) -> str:
        return f"{self.hosts}x{self.per_host}"

    def of(self, device: str) -> str:
        """Return the name of a target with this topology and devices of the kind `device`.

        >>> Topology(1, 8).of("h200"), Topology(2, 8).of("h200")
        ('8xh200', '2x8xh200')
        """
        return f"{self.per_host}x{device}" if self.hosts == 1 else f"{self}x{device}"


class Torus(NamedTuple):
    """A topology of TPU chips, a mesh or a torus; `sizes` are the chips along each physical axis.

    `wraps` is True for each axis with wrap-around links, which make it a ring. A device is a chip,
    or one of its cores if `devices_per_chip` is 2. `is_twisted` is True for a twisted torus, whose
    wrap-around links also shift along another axis.

    >>> str(Torus((4, 4, 8), (True,) * 3)), Torus((2, 2), (False, False), 2).num_devices
    ('4x4x8', 8)
    """

    sizes: tuple[int, ...]
    wraps: tuple[bool, ...]
    devices_per_chip: int = 1
    is_twisted: bool = False

    @property
    def num_chips(self) -> int:
        """The number of chips."""
        return math.prod(self.sizes)

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return self.num_chips * self.devices_per_chip

    @property
    def physical_axes(self) -> tuple[int, ...]:
        """The number of devices along each axis: the axes of chips, then the cores of a chip."""
        return (*self.sizes, self.devices_per_chip)

    def __str__(self) -> str:
        return "x".join(map(str, self.sizes)) + ("_twisted" if self.is_twisted else "")

    def of(self, device: str) -> str:
        """Return the name of a target with this topology and TPUs of the kind `device`.

        >>> Torus((4, 4), (False, False)).of("v6e")
        'v6e:4x4'
        """
        return f"{device}:{self}"


#: The topology of a target of any backend.
AnyTopology = Topology | Torus
