"""The model of a TPU for estimates: a chip's units, its memory, and the links of its torus.

The times of collectives along each axis of the torus follow J. Austin et al., "How to Scale Your
Model", part 3 (2025): a ring sends in both directions, and a line without wrap-around links sends
each byte over one link of its ends.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from olympus_core.analysis.hlo.kernels import Kernel, Transfer
from olympus_core.analysis.hlo.machines import Limits
from olympus_core.analysis.hlo.torus_routes import Link, hops, route, short_axes
from olympus_core.xla.hlo.replica_groups import Groups
from olympus_core.xla.targets.topologies import Torus
from olympus_core.xla.targets.tpu_models import TpuModel

#: The position of a device: its chip along each axis, and its core in the chip.
Place = tuple[int, ...]


class TpuMachine:
    """A TPU in a topology, with the figures of its generation.

    `places` are the positions of the program's devices, by default in the order of the chips.
    """

    #: The fractions of the peak rates that large products and memory accesses reach.
    PRODUCTS, BANDWIDTH, LINKS = 0.85, 0.9, 0.9
    #: Seconds from the start of a kernel to that of the next one, and of a message on a link.
    LAUNCH, HOP = 0.5e-6, 1e-6
    #: The vector operations in the time of a function such as exp.
    SPECIAL = 4
    #: The passes of a product in float32 by its precision: DEFAULT, HIGH and HIGHEST.
    PASSES = (1, 3, 6)
    #: The memory space of HLO that is a core's vector memory.
    on_chip_space = 1

    def __init__(
        self,
        model: TpuModel,
        torus: Torus,
        count: int = 1,
        places: Sequence[Place] | None = None,
    ) -> None:
        self._model, self._torus, self._count = model, torus, count
        self._places = tuple(places) if places is not None else _in_order(torus)
        self._routes: dict[Groups, tuple[int, int]] = {}
        self.name = model.name

    def overheads(self, new: int) -> dict[str, float]:
        """Return none: a call starts while the device works, and its memory is reused."""
        return {}

    def limits(self, kernel: Kernel) -> Limits:
        """Return the bounds of a call of a kernel."""
        moved = (kernel.read + kernel.written) / (self.BANDWIDTH * self._model.bandwidth)
        passes = 1
        if kernel.sort is not None:  # a bitonic sort passes over its rows for each of its stages
            stages = max(1, kernel.sort.length - 1).bit_length()
            passes = max(1, stages * (stages + 1) // 2)
        compute = passes * self._compute(kernel)
        network = 0.0 if kernel.transfer is None else self.seconds_of(kernel.transfer)
        return Limits(compute, moved, self.LAUNCH, network)

    def first_call(self, kernel: Kernel) -> float:
        """Return zero: the program of a TPU is loaded as a whole."""
        return 0.0

    def _compute(self, kernel: Kernel) -> float:
        products = sum(
            flops / (self.PRODUCTS * self._rate(dtype, kernel.precision)[0])
            for dtype, flops in kernel.matmul.items()
        )
        rest = kernel.flops - sum(kernel.matmul.values()) + self.SPECIAL * kernel.transcendentals
        return products + rest / self._model.float32_rate

    def _rate(self, dtype: str, precision: int) -> tuple[float, str | None]:
        """Return the operations a second of products, and `dtype` if its own rate is unknown."""
        rates = self._model.tensor_tflops
        assert rates.bfloat16 is not None  # every generation has it
        plain = rates.bfloat16 * 1e12
        match dtype:
            case "bfloat16":
                return plain, None
            case "float32" | "float16":
                return plain / self.PASSES[precision if dtype == "float32" else 0], None
            case "int8" | "uint8" if rates.int8 is not None:
                return rates.int8 * 1e12, None
            case _ if dtype.startswith("float8") and rates.float8 is not None:
                return rates.float8 * 1e12, None
        return plain, dtype

    def product_rate(self, dtype: str) -> float:
        """Return the peak operations a second of products in `dtype` with the default precision."""
        return self._rate(dtype, 0)[0]

    def missing(self, kernel: Kernel) -> str | None:
        """Return a sentence about a product with an unknown rate, or None."""
        for dtype in kernel.matmul:
            if self._rate(dtype, 0)[1] is not None:
                return (
                    f"the rate of products in {dtype} is not known of {self.name}: that of "
                    "bfloat16 is taken"
                )
        return None

    def seconds_of(self, transfer: Transfer) -> float:
        """Return the seconds of a collective on the links of the torus."""
        if transfer.pairs:
            return self._permute(transfer)
        groups = transfer.groups or (tuple(range(self._count)),)
        return max(self._group(transfer, group) for group in groups)

    def _group(self, transfer: Transfer, group: Sequence[int]) -> float:
        """Return the seconds of a collective in one group."""
        axes = self._axes(group)
        n = math.prod(size for size, _ in axes)
        if n == 1:
            return 0.0
        ici = self.LINKS * self._model.ici * self._share(group)
        far = sum(size // 2 if links >= 2 else size - 1 for size, links in axes)
        is_whole_twist = self._torus.is_twisted and n == self._torus.num_chips
        if is_whole_twist:
            mean, far = hops(self._torus)
        if transfer.kind in ("all-to-all", "ragged-all-to-all"):
            whole = transfer.bytes * len(group)
            slowest = max(whole * size / (4 * n * links) for size, links in axes if size > 1)
            if is_whole_twist:  # the routes use all links alike
                slowest = whole * mean / (2 * len(axes) * n)
            return slowest / ici + far * self.HOP
        turns = 2 if transfer.kind == "all-reduce" else 1
        links = sum(links for size, links in axes if size > 1)
        part = 1.0 if transfer.kind == "collective-broadcast" else (n - 1) / n
        return turns * (transfer.bytes * part / (links * ici) + far * self.HOP)

    def _axes(self, group: Sequence[int]) -> list[tuple[int, float]]:
        """Return the number of chips of a group along each axis, and its number of links.

        The number of links is 2 in a ring and 1 in a line. It is lower if the chips are not
        neighbours, because other groups use the same links. The wrap-around links of the short
        axes of a twisted torus lead to chips of the group if it spans the long axes.
        """
        axes, short = [], short_axes(self._torus)
        spans_long = all(
            len({self._places[device][axis] for device in group}) == size
            for axis, size in enumerate(self._torus.sizes)
            if short and axis not in short
        )
        for axis, size in enumerate(self._torus.sizes):
            places = sorted({self._places[device][axis] for device in group})
            count = len(places)
            is_ring = self._torus.wraps[axis] and (axis not in short or spans_long)
            if count == size and is_ring and size > 2:
                axes.append((count, 2.0))
            elif count > 1:
                axes.append((count, (count - 1) / (places[-1] - places[0])))
            else:
                axes.append((1, 0.0))
        return axes

    def _share(self, group: Sequence[int]) -> float:
        """Return the fraction of a link that a group has: the cores of a chip share its links."""
        cores = {self._places[device][-1] for device in group}
        return len(cores) / self._torus.devices_per_chip

    def _permute(self, transfer: Transfer) -> float:
        """Return the seconds of a permutation: the time of the link with the most messages.

        A message travels along the axes in turn, in the shorter direction around a ring.
        """
        if transfer.pairs not in self._routes:
            self._routes[transfer.pairs] = self._route(transfer.pairs)
        messages, hops = self._routes[transfer.pairs]
        return messages * transfer.bytes / (self.LINKS * self._model.ici) + hops * self.HOP

    def _route(self, pairs: Groups) -> tuple[int, int]:
        """Return the maximum number of messages on a link, and of links that a message uses."""
        messages, most_hops = Counter[Link](), 0
        for source, target in pairs:
            links = list(route(self._torus, self._places[source], self._places[target]))
            messages.update(links)
            most_hops = max(most_hops, len(links))
        return max(messages.values(), default=0), most_hops

    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions about the device, as sentences."""
        per_chip = self._torus.devices_per_chip
        device = "a chip" if per_chip == 1 else f"a core, of which a chip has {per_chip}"
        return (
            f"A device is {device}. Large products reach {self.PRODUCTS:.0%} of the peak of "
            f"{self.name} in their dtype; a product in float32 takes one pass in bfloat16, three "
            "with the precision HIGH and six with HIGHEST.",
            f"Memory is read and written at {self.BANDWIDTH:.0%} of its bandwidth. Arrays in a "
            "core's vector memory take no time, and copies into it none besides their reads.",
            f"A kernel takes at least {self.LAUNCH * 1e6:g} us, and a function such as exp "
            f"{self.SPECIAL} operations of the vector units.",
            "Kernels run one after another, on all devices alike. An asynchronous collective takes "
            "only the time that the kernels between its start and its end do not take.",
            *self._link_assumptions(),
        )

    def _link_assumptions(self) -> tuple[str, ...]:
        if self._count == 1:
            return ()
        torus, model = self._torus, self._model
        rings = [str(size) for size, wraps in zip(torus.sizes, torus.wraps, strict=True) if wraps]
        shape = (
            f"a torus with rings of {', '.join(rings)}"
            if rings
            else "a mesh without wrap-around links"
        )
        dcn = f", {model.dcn / 1e9:g} GB/s a chip," if model.dcn else ""
        sentences = [
            f"The chips are {shape}. A collective uses the links of all axes that its group spans, "
            f"at {self.LINKS:.0%} of the {model.ici / 1e9:g} GB/s of a link each way, and "
            f"{self.HOP * 1e6:g} us for each chip that it passes.",
            f"All chips are in one slice: the data center's network{dcn} is not used.",
        ]
        if torus.is_twisted:
            sentences.append(
                "The torus is twisted: an all-to-all of all chips uses all links equally, on the "
                "shortest routes, and a short axis is a ring only together with the long axes."
            )
        if torus.num_devices > self._count:
            sentences.append(
                f"The program uses {self._count} of the {torus.num_devices} devices of {torus}."
            )
        return tuple(sentences)


def _in_order(torus: Torus) -> tuple[Place, ...]:
    """Return the position of each device, in row-major order.

    A chip has three coordinates, also in a topology with two axes.
    """
    sizes = (*[*torus.sizes, 1][:3], torus.devices_per_chip)
    places: list[Place] = [()]
    for size in sizes:
        places = [(*place, i) for place in places for i in range(size)]
    return tuple(places)
