"""What each device of a compiled program does in a call, and what all of them do together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from olympus_core.analysis.kernels import Kernel, Kernels, LoopCounts
from olympus_core.xla.hlo_module import HloModule

__all__ = ["DeviceCost", "device_cost"]


@dataclass(frozen=True)
class DeviceCost:
    """What one device does in a call of a compiled program, counted from its optimized HLO.

    Every device runs the same program on its own parts of the arrays, so the figures are those of
    each; those of `total`, which `is_total`, are of all `devices` together.  Unlike a `Cost`, they
    are of what the compiler made: it fuses operations, leaves some out, computes some twice, and
    decides what each device does of the whole.

    - `flops`, `matmul_flops` by the operands' dtype, `transcendentals`: as `Cost` counts them.
    - `bytes`: what kernels read and write; what stays within a fusion is not moved.
    - `collective_bytes`: what goes into collectives or comes out of them, whichever is more.
    - `sent`: the bytes that go to other devices, by the formulas of `Collective.sent`; in a
      permutation of some of the devices, those of one that sends.
    - `sent_by_all`: the bytes that all devices send together; in a permutation of some of them,
      those of the ones that send.
    - `written_flops`: those of the program as written, of all devices; None where they are not
      known.
    - `unknown`: sentences about what is not in the figures, or is only in part.

    Example:
      >>> each = compiled.cost_per_device()
      >>> each.devices, each.flops, each.total.flops, each.repeated
      (8, 65536, 524288, 1.0)
    """

    devices: int
    flops: int
    matmul_flops: Mapping[str, int]
    transcendentals: int
    bytes: int
    collective_bytes: int
    sent: int
    sent_by_all: int
    written_flops: int | None
    unknown: tuple[str, ...]
    is_total: bool = False

    @property
    def total(self) -> DeviceCost:
        """The figures of all devices together; its `total` is itself."""
        if self.is_total:
            return self
        n = self.devices
        return replace(
            self,
            is_total=True,
            flops=n * self.flops,
            matmul_flops=MappingProxyType({k: n * v for k, v in self.matmul_flops.items()}),
            transcendentals=n * self.transcendentals,
            bytes=n * self.bytes,
            collective_bytes=n * self.collective_bytes,
            sent=self.sent_by_all,
        )

    @property
    def repeated(self) -> float | None:
        """The flops of all devices in parts of those of the program as written.

        1 where the work is divided without rest, and the number of devices where each does all of
        it.  What the compiler computes twice or leaves out is in it too.  None where the flops of
        the program as written are not known, or 0.
        """
        return self.total.flops / self.written_flops if self.written_flops else None


def device_cost(
    module: HloModule, devices: int, loops: LoopCounts = dict, written_flops: int | None = None
) -> DeviceCost:
    """What each of `devices` devices does in a call of an optimized program.

    `loops` gives how often the program's loops run, by line, where XLA does not know; a loop whose
    count nobody knows counts as run once.  Of the branches of a conditional the dearest counts, by
    flops and then by bytes.
    """
    kernels = Kernels(module, loops)
    matmul: dict[str, int] = {}
    flops = transcendentals = moved = collective_bytes = sent = sent_by_all = 0
    for kernel, calls, _ in kernels.runs(_dearness):
        flops += calls * _flops(kernel)
        transcendentals += calls * kernel.transcendentals
        moved += calls * (kernel.read + kernel.written)
        for dtype, products in kernel.matmul.items():
            matmul[dtype] = matmul.get(dtype, 0) + calls * products
        if kernel.transfer is not None:
            collective_bytes += calls * kernel.transfer.bytes
            sent += calls * kernel.transfer.sent(devices)
            sent_by_all += calls * kernel.transfer.sent_by_all(devices)
    return DeviceCost(
        devices=devices,
        flops=flops,
        matmul_flops=MappingProxyType(dict(sorted(matmul.items()))),
        transcendentals=transcendentals,
        bytes=moved,
        collective_bytes=collective_bytes,
        sent=sent,
        sent_by_all=sent_by_all,
        written_flops=written_flops,
        unknown=tuple(kernels.unknown),
    )


def _flops(kernel: Kernel) -> int:
    """The flops of a kernel; operations on integers, which it counts among them, are none."""
    return kernel.flops - sum(n for dtype, n in kernel.matmul.items() if "int" in dtype)


def _dearness(kernel: Kernel) -> int:
    """What orders the branches of a conditional: flops first, and bytes where they are equal."""
    return (kernel.flops << 64) + kernel.read + kernel.written
