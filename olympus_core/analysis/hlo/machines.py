"""Lower bounds of a kernel's time on a device: computation, memory traffic, launch and network.

The formulas are a roofline's: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful
visual performance model for multicore architectures", Comm. ACM 52 (2009).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from olympus_core.analysis.hlo.cpu_peaks import CpuPeaks, peaks_assumption
from olympus_core.analysis.hlo.kernels import Kernel, SortedRows, Transfer
from olympus_core.xla.targets.device_models import DeviceModel
from olympus_core.xla.targets.topologies import Topology


class Limits(NamedTuple):
    """The lower bounds of the seconds of a kernel's call, for four reasons."""

    compute: float
    memory: float
    launch: float
    network: float = 0.0


class Machine(Protocol):
    """A device model for the estimates."""

    @property
    def name(self) -> str:
        """The device's name."""

    @property
    def on_chip_space(self) -> int | None:
        """The memory space of HLO whose arrays are not in the device's memory; None for none."""

    def overheads(self, new: int) -> dict[str, float]:
        """Return the seconds of a call besides those of the kernels, by cause.

        `new` is the size in bytes of the large results in memory that was not used before.
        """

    def limits(self, kernel: Kernel) -> Limits:
        """Return the bounds of a call of a kernel."""

    def first_call(self, kernel: Kernel) -> float:
        """Return the extra seconds of a kernel's first call."""

    def missing(self, kernel: Kernel) -> str | None:
        """Return a sentence about a rate that the kernel needs and that is not known, or None."""

    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions about the device, as sentences."""


class GpuMachine:
    """A GPU, by the figures of its kind."""

    on_chip_space = None
    #: The fractions of the peak rates that large products, convolutions and memory accesses reach.
    PRODUCTS, CONVOLUTIONS, BANDWIDTH = 0.7, 0.5, 0.9
    #: Seconds from the start of a kernel to the start of the next kernel that waits for it.
    LAUNCH = 2e-6
    #: The elements of a product's result that a core computes at a time.
    TILE = 64 * 64
    #: The results of a special function that a core gives in a clock cycle, since capability 7.5.
    SPECIAL = 16
    #: The base-2 logarithm of the elements that one pass of a bitonic sort sorts in a core.
    SORT_TILE = 10
    #: The fraction of the rate of the links within a host that a collective reaches: NCCL plans
    #: with 20.0 of the 25 GB/s of a link of an A100, 20.6 of 25 of an H100 and 40.1 of 50 of a
    #: B200, and with 12.0 of 15.75 GB/s of PCIe 3.0 (NVIDIA, nccl, src/graph/topo.h, *_NVLINK_BW,
    #: PCI_BW).
    LINKS = 0.8
    #: The fraction of the network's rate: 46 to 48 of 50 GB/s (NVIDIA in nccl-tests, issue 290);
    #: NCCL plans with 12.0 of 12.5 (topo.h, NET_BW).
    NETWORK_PART = 0.92
    #: The bytes a second that a device sends to other hosts, in each direction: 400 Gbit/s, the
    #: rate of each of the 8 GPUs of DGX H100, H200 and B200 (NVIDIA, "DGX BasePOD reference
    #: architecture", "Core components").
    NETWORK = 50e9
    #: The largest number of devices that links join: 8 in a host of HGX and DGX, 72 in a rack of
    #: NVL72 (NVIDIA, "HGX Platform" and "GB200 NVL72", the numbers of GPUs).
    TOGETHER, TOGETHER_BY_DEVICE = 8, {"gb200": 72, "gb300": 72}

    def __init__(
        self,
        device: DeviceModel,
        topology: Topology | None = None,
        count: int = 1,
        network: float | None = None,
    ) -> None:
        self._device = device
        self._count = count
        self._topology = topology
        self._per_host = count if topology is None else topology.per_host
        self._network = self.NETWORK if network is None else network
        self.name = device.name

    def overheads(self, new: int) -> dict[str, float]:
        """Return none: a call starts while the device works, and its memory is reused."""
        return {}

    def limits(self, kernel: Kernel) -> Limits:
        """Return the bounds of a call of a kernel.

        XLA's own cost model is not used: docs/reference/devices.md compares it with this one.
        """
        moved = (kernel.read + kernel.written) / (self.BANDWIDTH * self._device.bandwidth)
        if kernel.transfer is not None:
            sent = self._sent(kernel.transfer)
            return Limits(self._arithmetic(kernel), moved, self.LAUNCH, sent)
        if kernel.matmul:
            return Limits(self._product(kernel), moved, self.LAUNCH)
        if kernel.sort is not None:
            passes = self._passes(kernel.sort)
            return Limits(self._arithmetic(kernel), passes * moved, passes * self.LAUNCH)
        return Limits(self._arithmetic(kernel), moved, self.LAUNCH)

    def first_call(self, kernel: Kernel) -> float:
        """Return zero: kernels start before the kernels ahead of them end, in loops too."""
        return 0.0

    def _sent(self, transfer: Transfer) -> float:
        """Return the seconds of a collective's bytes on the links of a host or between hosts."""
        outside = transfer.sent_outside(self._per_host, self._count)
        within = transfer.sent(self._count) / (self.LINKS * self._link)
        return max(within, outside / (self.NETWORK_PART * self._network))

    @property
    def _link(self) -> float:
        """The bytes a second that a device sends to others of its host, in each direction."""
        return self._device.nvlink or self._device.pcie or self.NETWORK

    def _passes(self, sort: SortedRows) -> int:
        """Return the number of passes of a sort over its memory.

        A radix sort makes one pass for each byte of a key (D. Merrill and A. Grimshaw, "High
        performance and scalable radix sorting", Parallel Processing Letters 21, 2011). A bitonic
        sort of 2^k elements has k stages, and stage s has s steps; the steps within a tile are one
        pass.
        """
        if sort.selected < sort.length:
            return 1
        beyond = max(0, max(0, sort.length - 1).bit_length() - self.SORT_TILE)
        return sort.radix or 1 + beyond * (beyond + 3) // 2

    def _product(self, kernel: Kernel) -> float:
        part = self.CONVOLUTIONS if kernel.is_convolution else self.PRODUCTS
        busy = min(1.0, max(1.0, kernel.outputs / self.TILE) / self._device.cores)
        seconds = sum(
            flops / (part * busy * self._rate(dtype, kernel.precision > 0)[0])
            for dtype, flops in kernel.matmul.items()
        )
        rest = kernel._replace(flops=kernel.flops - sum(kernel.matmul.values()))
        return seconds + self._arithmetic(rest)

    def _arithmetic(self, kernel: Kernel) -> float:
        device = self._device
        rate = device.float32_rate
        if kernel.dtype in ("float64", "complex128"):
            rate = (device.tflops.float64 or rate / 2e12) * 1e12
        special = self.SPECIAL * device.cores * device.clock_ghz * 1e9 * rate / device.float32_rate
        return kernel.flops / rate + kernel.transcendentals / special

    def _rate(self, dtype: str, highest: bool) -> tuple[float, str | None]:
        """Return the operations a second of products; and the dtype if its rate is not known."""
        tensor, plain = self._device.tensor_tflops, self._device.tflops
        rates: tuple[float | None, ...]
        match dtype:
            case "float64" | "complex128":
                rates = tensor.float64, plain.float64
            case "float32" | "complex64":
                rates = None if highest else tensor.tf32, self._device.float32_rate / 1e12
            case "bfloat16":
                rates = tensor.bfloat16, plain.bfloat16, self._device.float32_rate / 1e12
            case "float16":
                rates = tensor.float16, plain.float16, self._device.float32_rate / 1e12
            case "int8" | "uint8":
                rates = tensor.int8, plain.int8
            case _ if dtype.startswith("float8"):
                rates = tensor.float8, tensor.bfloat16, plain.float8
            case _:
                rates = ()
        known_rate = next((rate for rate in rates if rate is not None), None)
        if known_rate is None:
            return self._device.float32_rate, dtype
        return known_rate * 1e12, None

    def product_rate(self, dtype: str) -> float:
        """Return the peak operations a second of products in a dtype, with tensor cores."""
        return self._rate(dtype, highest=False)[0]

    def missing(self, kernel: Kernel) -> str | None:
        """Return a sentence about a product in a dtype of unknown rate, or None."""
        for dtype in kernel.matmul:
            if self._rate(dtype, kernel.precision > 0)[1] is not None:
                return (
                    f"the rate of products in {dtype} is not known of {self.name}: "
                    "that of float32 without tensor cores is taken"
                )
        return None

    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions about the device, as sentences."""
        return (
            f"Large matrix products reach {self.PRODUCTS:.0%} of the peak of {self.name} in their "
            f"dtype, convolutions {self.CONVOLUTIONS:.0%}; a product with a result of less than "
            f"{self.TILE:,} elements for each core uses as many cores as it has of those.",
            "Products in float32 use tensor cores (tf32), unless the program requests a higher "
            "precision.",
            f"Memory is read and written at {self.BANDWIDTH:.0%} of its bandwidth, and nothing is "
            "found in a cache from kernel to kernel.",
            f"A kernel takes at least {self.LAUNCH * 1e6:g} us, the time that starting it takes.",
            "A sort passes over its memory once for each byte of a key where a library sorts, and "
            "as a bitonic sort elsewhere.",
            *self._device_assumptions(),
        )

    def _device_assumptions(self) -> tuple[str, ...]:
        if self._count == 1:
            return ("Kernels run one after another, and only on one device.",)
        device = self._device
        link = "NVLink" if device.nvlink else "PCIe" if device.pcie else "a network"
        sentences = [
            "Kernels run one after another, on all devices alike; no collective runs beside them.",
            f"Collectives go around rings of their devices, at {self.LINKS:.0%} of the "
            f"{self._link / 1e9:g} GB/s that {link} has each way.",
        ]
        linked = self.TOGETHER_BY_DEVICE.get(device.name, self.TOGETHER)
        if min(self._per_host, self._count) > linked:
            sentences.append(
                f"The host has {self._per_host} of {device.name}, and {linked} at most are sold "
                "with links among all: between more, a collective takes longer."
            )
        if self._topology is not None and self._topology.num_devices > self._count:
            sentences.append(
                f"The program uses the first {self._count} of the {self._topology.num_devices} "
                f"devices of {self._topology}."
            )
        if self._per_host < self._count:
            sentences.append(
                f"Between hosts each device sends at {self.NETWORK_PART:.0%} of the "
                f"{self._network / 1e9:g} GB/s of its network, and the devices that a group has on "
                "a host share what it sends."
            )
        return tuple(sentences)


class CpuMachine:
    """This machine's CPU, by measured peaks or, if nothing was measured, by usual ones.

    With several devices it is one of them. They share the peaks. If there are more devices than
    threads, single-threaded work of a device waits for its turn.
    """

    name = "cpu"
    on_chip_space = None
    #: The fraction of a large product's rate that convolutions reach.
    CONVOLUTIONS = 0.5
    #: The work, in XLA's unit, that makes another thread worth it.
    LEAST_WORK = 100_000
    #: Comparisons of a sort a second in one thread: with a function that orders the elements and is
    #: called for each; and with a single inlined comparison. Both were measured, on an AMD EPYC
    #: of 2 threads with sorts of 2^10 to 2^20 elements.
    COMPARISONS, PLAIN_COMPARISONS = 60e6, 450e6
    #: The seconds of a repeated call of a compiled kernel in a loop; of a kernel in a loop that is
    #: compiled to one function; and the latency of a product or a function such as tanh in such a
    #: loop. All were measured, on an Intel Xeon of 2 threads with scans of 1,000 and 10,000 steps.
    REPEATED, INLINED, LATENCY = 25e-9, 1.2e-9, 20e-9
    #: The largest number of bytes that an iteration of a loop moves within a cache, and the rate of
    #: the cache as a multiple of the rate of large arrays: for the first level and for the others.
    #: Measured as above, with carried values of 256 bytes to 2 MiB that are read and written.
    CACHES = ((2**16, 16), (2**22, 4))

    def __init__(
        self,
        peaks: CpuPeaks,
        threads: int,
        origin: str | None,
        note: str | None = None,
        count: int = 1,
    ) -> None:
        self._peaks = peaks.of_each(count)
        self._count = count
        self._threads = max(1.0, threads / count)  # of one device
        self._turns = max(1.0, count / threads)
        self._origin = origin
        self._note = note

    def overheads(self, new: int) -> dict[str, float]:
        """Return the seconds of the call, and of the allocation of new memory for large results."""
        overheads = {"call": self._peaks.call}
        return overheads | {"new memory": new / self._peaks.fresh} if new else overheads

    def limits(self, kernel: Kernel) -> Limits:
        """Return the bounds of a call of a kernel."""
        peaks = self._peaks
        product = sum(flops / self.product_rate(dtype) for dtype, flops in kernel.matmul.items())
        if kernel.is_convolution:
            product /= self.CONVOLUTIONS
        vector = peaks.vector / (2 if kernel.dtype in ("float64", "complex128") else 1)
        rest = kernel.flops - sum(kernel.matmul.values())
        arithmetic = rest / vector + kernel.transcendentals / peaks.transcendentals
        compute = product + arithmetic * (1 if self._is_parallel(kernel) else self._threads)
        if (sort := kernel.sort) is not None:
            rate = self.PLAIN_COMPARISONS if sort.is_plain else self.COMPARISONS
            compute += sort.comparisons / rate * self._turns
        memory = kernel.read / peaks.read + kernel.written / peaks.copy
        if kernel.resident:
            memory /= next((rate for size, rate in self.CACHES if kernel.resident <= size), 1)
        return Limits(compute, memory, self._start(kernel) * self._turns)

    def _start(self, kernel: Kernel) -> float:
        """Return the seconds of a call's start, or the least seconds of an inlined kernel."""
        if kernel.place == "inlined":
            is_deep = kernel.transcendentals or kernel.matmul
            return self.LATENCY if is_deep else self.INLINED
        is_queued = kernel.is_queued or kernel.is_library or kernel.partitions > 1
        if kernel.place == "loop" and not is_queued:
            return min(self.REPEATED, self._peaks.launch)
        return self._peaks.launch

    def first_call(self, kernel: Kernel) -> float:
        """Return the launch of a kernel in a loop: its first call misses the caches."""
        if kernel.place != "loop":
            return 0.0
        return (self._peaks.launch - self._start(kernel)) * self._turns

    def _is_parallel(self, kernel: Kernel) -> bool:
        """Return True if XLA gives a kernel to several threads.

        In a loop, where small kernels matter, the program determines this, and a library has
        threads of its own. Elsewhere XLA's weights of the work decide.

        Source: xla/service/cpu/parallel_task_assignment.cc, DefaultCostModel.
        """
        if kernel.place != "program":
            return kernel.partitions > 1 or kernel.is_library
        moved = kernel.read + kernel.written
        return kernel.flops + 2 * kernel.transcendentals + 10 * moved >= 2 * self.LEAST_WORK

    def product_rate(self, dtype: str) -> float:
        """Return the peak rate of products in a dtype, in operations a second."""
        peaks = self._peaks
        is_double = dtype in ("float64", "complex128", "int64", "uint64")
        return peaks.product_float64 if is_double else peaks.product_float32

    def missing(self, kernel: Kernel) -> str | None:
        """Return a sentence about a product in a dtype whose rate was not measured, or None."""
        for dtype in kernel.matmul:
            if dtype not in ("float32", "float64", "complex64", "complex128"):
                return f"the rate of products in {dtype} was not measured: float32's is taken"
        return None

    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions about the device, as sentences."""
        return (
            peaks_assumption(self._origin),
            *([self._note] if self._note else []),
            f"Convolutions reach {self.CONVOLUTIONS:.0%} of the rate of a large matrix product.",
            "A sort of n elements takes n log2 n comparisons in one thread, "
            f"{self.COMPARISONS / 1e6:g} million a second where a function orders the elements, as "
            "for complex numbers, float64, small arrays of floats and several keys, "
            f"{self.PLAIN_COMPARISONS / 1e6:g} million elsewhere; "
            "top_k takes one for each element.",
            "LAPACK's work on matrices goes as fast as elementwise arithmetic, and cumulative "
            "operations as fast as their bytes; both may take several times as long.",
            "Memory is read and written as fast as large arrays are, and nothing is found in a "
            "cache from kernel to kernel, except in a loop: "
            + " and ".join(
                f"{rate} times as fast is assumed for iterations that move at most "
                f"{size // 2**10:,} KiB"
                for size, rate in self.CACHES
            )
            + ".",
            f"A repeated call of a compiled kernel in a loop is assumed to take "
            f"{self.REPEATED * 1e9:g} ns; in a small loop that is compiled to one function, a "
            f"kernel {self.INLINED * 1e9:g} ns, and {self.LATENCY * 1e9:g} ns if it has a product "
            "or a function such as tanh. Libraries, kernels for several threads, and kernels that "
            "the runtime queues because they can run beside others take a launch.",
            "Results of 128 KiB and more are in memory that was not used before; temporaries are "
            "in memory that was.",
            self._concurrency_assumption(),
        )

    def _concurrency_assumption(self) -> str:
        if self._count == 1:
            return "Kernels run one after another, and nothing else runs."
        return (
            f"The {self._count} devices are this one CPU: each has 1/{self._count} of its "
            "arithmetic and memory rates, a collective is a copy in its memory, and nothing else "
            "runs."
        )
