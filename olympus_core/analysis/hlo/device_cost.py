"""The cost of each device of a compiled program, and of all devices together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from olympus_core.analysis.hlo.kernels import Kernel, Kernels, LoopCounts
from olympus_core.analysis.records import DeviceWork
from olympus_core.xla.hlo.hlo_module import HloModule


@dataclass(frozen=True)
class DeviceCost(DeviceWork):
    """The cost of one device in a call of a compiled program, counted from its optimized HLO.

    Every device runs the same program on its own parts of the arrays, so the figures are those of
    each device. The figures of `total`, which `is_total`, cover all `devices` together. Unlike a
    `Cost`, they describe the compiler's result: it fuses operations, removes some, computes some
    twice, and partitions the work over the devices.

    - `flops`, `matmul_flops` by the operands' dtype, `transcendentals`: as `Cost` counts them.
    - `bytes`: the bytes that kernels read and write; values within a fusion are not moved.
    - `collective_bytes`: the bytes that go into collectives or come out, whichever is more.
    - `sent`: the bytes that go to other devices, by the formulas of `Collective.sent`; in a
      permutation of some of the devices, those of one sender.
    - `sent_by_all`: the bytes that all devices send together; in a permutation of some of the
      devices, those of the senders.
    - `written_flops`: the flops of the program as written, of all devices; None if they are not
      known.
    - `unknown`: sentences about costs that the figures omit or include only in part.

    Example:
      >>> each = compiled.cost_per_device()
      >>> each.devices, each.flops, each.total.flops, each.repeated
      (8, 65536, 524288, 1.0)
    """

    devices: int
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
        """The flops of all devices divided by the flops of the program as written.

        1 if the devices share the work exactly, and the number of devices if each does all of it.
        It includes work that the compiler repeats or removes. None if the flops of the program as
        written are not known, or 0.
        """
        return self.total.flops / self.written_flops if self.written_flops else None


def device_cost(
    module: HloModule, devices: int, loops: LoopCounts = dict, written_flops: int | None = None
) -> DeviceCost:
    """Return the cost of each of `devices` devices in a call of an optimized program.

    `loops` gives the iteration counts of the program's loops by line, for loops whose count XLA
    does not know. A loop of unknown count counts as run once. Of the branches of a conditional the
    most expensive counts, by flops and then by bytes.
    """
    kernels = Kernels(module, loops)
    matmul: dict[str, int] = {}
    flops = transcendentals = moved = collective_bytes = sent = sent_by_all = 0
    for run in kernels.runs(_branch_order):
        kernel, calls = run.kernel, run.calls
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
    """Return the flops of a kernel without the operations on integers that it counts among them."""
    return kernel.flops - sum(n for dtype, n in kernel.matmul.items() if "int" in dtype)


def _branch_order(kernel: Kernel) -> int:
    """Return the sort key of a conditional's branches: flops first, then bytes."""
    return (kernel.flops << 64) + kernel.read + kernel.written
