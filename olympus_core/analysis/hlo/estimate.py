"""An estimate of a compiled program's time on a device, kernel by kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from olympus_core.analysis.hlo.cpu_peaks import GENERIC, CpuPeaks, kept_peaks, this_cpu
from olympus_core.analysis.hlo.kernels import Kernel, Kernels, LoopCounts, Run
from olympus_core.analysis.hlo.machines import CpuMachine, GpuMachine, Machine
from olympus_core.analysis.hlo.tpu_machine import Place, TpuMachine
from olympus_core.analysis.records import Bound, Estimate, KernelEstimate
from olympus_core.base.errors import UsageError
from olympus_core.xla.hlo.hlo_module import HloModule
from olympus_core.xla.targets.device_models import DeviceModel
from olympus_core.xla.targets.targets import (
    AnyModel,
    Target,
    backend_of,
    device_model,
    full_topology,
    named_target,
)
from olympus_core.xla.targets.topologies import Topology, Torus
from olympus_core.xla.targets.tpu_models import TpuModel
from olympus_core.xla.targets.tpu_topologies import most_compact, torus

if TYPE_CHECKING:
    from olympus_core.analysis.cost.cost import Cost

# bytes: the C library reuses freed memory for smaller blocks and maps new memory for larger ones
_LARGE = 2**17


class Fit(NamedTuple):
    """The comparison of `needed` bytes with the `available` memory of a device."""

    device: str
    needed: int
    available: int

    @property
    def is_enough(self) -> bool:
        """True if `needed` bytes fit."""
        return self.needed <= self.available

    def __str__(self) -> str:
        verb = "fits" if self.is_enough else "does not fit"
        gib = 2**30
        return (
            f"a peak of {self.needed / gib:.2f} GiB {verb} the {self.available / gib:.2f} GiB of "
            f"{self.device}"
        )


class Roofline(NamedTuple):
    """The time of a call at the peaks of a device, and its bound: operations or bytes."""

    device: str
    seconds: float
    bound: Literal["compute", "memory"]


def roofline(cost: Cost, device: AnyModel | CpuPeaks) -> Roofline:
    """Return the time at the peaks of a device if arguments, results and constants move once.

    Products run at the peak rate of their dtype, and other flops at the rate of float32. Nothing
    between arguments and results passes through the memory. It is an estimate from the lowered
    program: a program that reads little of an argument takes less time, and others take longer.
    Unknown parts of the cost count as in `at_least`. For a CPU, the peak of float32 is that of its
    products.

    Source: Williams, Waterman, Patterson, Roofline, Communications of the ACM 52 (4), 2009.

    Example:
      >>> cost = jit(lambda x: 2 * x).lower(numpy.ones(1000)).cost()
      >>> roofline(cost, device_model(Target("gpu", "h200"))).bound
      'memory'
    """
    if isinstance(device, CpuPeaks):
        cpu = CpuMachine(device, this_cpu().threads, origin=None)
        name, rate, bandwidth, product = (
            cpu.name,
            device.product_float32,
            device.read,
            cpu.product_rate,
        )
    else:
        name, rate, bandwidth = device.name, device.float32_rate, device.bandwidth
        product = one_device(device).product_rate
    least = cost.at_least
    products = dict(least.matmul_flops or {})
    floats = sum(n for dtype, n in products.items() if "int" not in dtype)
    rest = max(0, (least.flops or 0) - floats)
    compute = rest / rate + sum(flops / product(dtype) for dtype, flops in products.items())
    memory = least.io_bytes / bandwidth
    if compute > memory:
        return Roofline(name, compute, "compute")
    return Roofline(name, memory, "memory")


def product_seconds(cost: Cost, device: AnyModel) -> float:
    """Return the seconds of the products of a program at the peak rates of one device.

    0 for a program without products, or with unknown ones.

    Example:
      >>> product_seconds(jit(lambda x: x @ x).lower(x).cost(), device_model(Target("tpu", "v6e")))
      2.3e-06
    """
    rate = one_device(device).product_rate
    return sum(n / rate(dtype) for dtype, n in (cost.matmul_flops or {}).items())


def one_device(model: AnyModel) -> GpuMachine | TpuMachine:
    """Return the device model of one device by its figures."""
    if isinstance(model, TpuModel):
        return TpuMachine(model, torus(model, model.slices[0]))
    return GpuMachine(model)


def fits(peak: int, device: AnyModel) -> Fit:
    """Compare `peak` bytes, the peak memory of a program, with the memory of a device.

    The memory is the amount that a GPU's driver, or a TPU's compiler, reports. The runtime of a GPU
    takes a part of it for itself, so a program that only just fits may fail.

    Example:
      >>> str(fits(298 * 2**30, device_model(Target("gpu", "a100-80"))))
      'a peak of 298.00 GiB does not fit the 79.26 GiB of a100-80'
    """
    return Fit(device.name, peak, device.memory)


def estimate(
    module: HloModule,
    target: Target,
    device: str | DeviceModel | None = None,
    loops: LoopCounts = dict,
    network: float | None = None,
    count: int = 1,
    places: Sequence[Place] | None = None,
) -> Estimate:
    """Return the estimate of a program's time, from its optimized HLO.

    `device` is the name of a device in the tables, "cpu" for this machine's CPU, or a user's own
    model; the target's by default. `loops` gives the iteration counts of the program's loops by
    line, for loops whose count XLA does not know. `count` is the number of devices of the program.
    `network` is the bytes a second that each GPU can send to other hosts; 50e9 by default.
    `places` are the positions of the program's devices on the torus of a TPU target.

    Raises:
      UsageError: no such device, no device for the program's target, or `network` is not a rate.
    """
    machine = machine_of(target, device, network, count, places)
    kernels, runs, times = timed(module, machine, loops)
    overheads = machine.overheads(_new_memory(module))
    estimates = [
        _estimated(run, seconds, machine) for run, seconds in zip(runs, times, strict=True)
    ]
    estimates += [
        KernelEstimate(f"({name})", name, None, 0, 0, None, 1, "launch", seconds)
        for name, seconds in overheads.items()
    ]
    missing = dict.fromkeys(filter(None, (machine.missing(run.kernel) for run in runs)))
    return Estimate(
        machine.name,
        sum(kernel.seconds for kernel in estimates),
        tuple(estimates),
        (*machine.assumptions(), *missing, *_of_another(target, machine.name)),
        tuple(kernels.unknown),
    )


def timed(
    module: HloModule, machine: Machine, loops: LoopCounts
) -> tuple[Kernels, list[Run], list[float]]:
    """Return the kernels of a program, their runs, and the seconds of all calls of each run."""
    kernels = Kernels(module, loops, machine.on_chip_space)
    runs = kernels.runs(lambda kernel: max(machine.limits(kernel)))
    return kernels, runs, [_seconds(run, machine) for run in runs]


def _seconds(run: Run, machine: Machine) -> float:
    """Return the time of all calls of a kernel."""
    limits = machine.limits(run.kernel)
    exposed = max(*limits[:3], limits.network - run.hidden)
    return exposed * run.calls + machine.first_call(run.kernel)


def _new_memory(module: HloModule) -> int:
    """Return the bytes of the large results that do not alias an argument."""
    aliased = {alias.output_index for alias in module.input_output_alias}
    results = module.entry.root.shape.leaves()
    return sum(leaf.bytes for at, leaf in results if leaf.bytes >= _LARGE and at not in aliased)


def _estimated(run: Run, seconds: float, machine: Machine) -> KernelEstimate:
    kernel = run.kernel
    return KernelEstimate(
        name=kernel.name,
        operation=kernel.operation,
        line=kernel.line,
        flops=kernel.flops,
        bytes=kernel.read + kernel.written,
        dtype=kernel.dtype,
        calls=run.calls,
        bound=_bound(kernel, machine),
        seconds=seconds,
    )


def _bound(kernel: Kernel, machine: Machine) -> Bound:
    limits = machine.limits(kernel)
    most = max(limits)
    if limits.launch == most:
        return "launch"
    if limits.network == most:
        return "network"
    return "compute" if limits.compute == most else "memory"


def machine_of(
    target: Target,
    device: str | DeviceModel | None = None,
    network: float | None = None,
    count: int = 1,
    places: Sequence[Place] | None = None,
) -> Machine:
    """Return the device model for an estimate; arguments and errors are those of `estimate`."""
    if network is not None and not (_is_number(network) and 0 < network < math.inf):
        raise UsageError(
            f"the network's rate is bytes a second, above 0, and got {network!r:.80}",
            hint="such as network=50e9, for 400 Gbit/s a device",
        )
    if isinstance(device, DeviceModel):
        return GpuMachine(device, _hosts(target), count, network)
    if not isinstance(device, str | None):
        raise UsageError(f"a device is a name or a DeviceModel, and got {device!r:.80}")
    if device == "cpu" or (device is None and target.backend == "cpu"):
        saved = kept_peaks()
        note = saved.trouble and f"The peaks that were kept cannot be used: {saved.trouble}."
        threads = this_cpu().threads
        return CpuMachine(saved.peaks or GENERIC, threads, saved.origin, note, count)
    chosen = target
    if device not in (None, target.device, target.name):
        chosen = _named(str(device), count)
    model = device_model(chosen)
    if isinstance(model, TpuModel):
        chips = full_topology(chosen)
        assert isinstance(chips, Torus)  # the topology of TPUs
        return TpuMachine(model, chips, count, places if chosen == target else None)
    if model is None:
        raise UsageError(
            f"no time can be estimated for the backend {target.backend!r} without a device",
            hint="estimate(device=...) takes a name that olympus devices lists, or a DeviceModel",
        )
    return GpuMachine(model, _hosts(target), count, network)


def _named(device: str, count: int) -> Target:
    """Return the target of a device's name, of TPUs with as many chips as `count` needs."""
    if backend_of(device) == "gpu":
        return Target("gpu", device)
    one = named_target(device)
    model = device_model(one)
    assert isinstance(model, TpuModel)
    chips = -(-count // model.devices_per_chip)
    return one if chips == 1 or one.topology else one._replace(topology=most_compact(model, chips))


def _hosts(target: Target) -> Topology | None:
    return target.topology if isinstance(target.topology, Topology) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_another(target: Target, device: str) -> tuple[str, ...]:
    """Return a sentence if the program was compiled for another device than the estimate's."""
    compiled_for = target.device or target.backend
    if device == compiled_for:
        return ()
    return (
        f"The kernels are those of the program as compiled for {compiled_for}; for {device} it "
        "would be compiled otherwise.",
    )
