"""The figures of TPUs: topologies for the compiler, and peak rates for estimates.

`tpus.toml` beside this module has them for each chip, with the source of every figure.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olympus_core.xla.targets.device_models import Rates, read_table, with_titles


@dataclass(frozen=True)
class TpuModel:
    """One generation of TPUs.

    `memory`, in bytes, `bandwidth`, in bytes a second, and the rates are those of a device: a chip,
    or one core of it if `devices_per_chip` is 2.  `ici` is the bytes a second that a chip sends on
    one link, and `dcn` on the data centre's network.  `vector_tflops` is the rate of the vector
    units in float32, and `tensor_tflops` are those of the matrix units.  A product in float32 takes
    one pass in bfloat16 by default, three with the precision HIGH and six with HIGHEST.

    `slices` are the topologies of less than a cube, or all of them if `cube` is 0; larger ones have
    sizes that are multiples of `cube` and at most `most`.  An axis has wrap-around links if its
    size is a multiple of `wraps_at`, in three dimensions if that holds for all axes.
    """

    name: str
    product: str
    kind: str
    devices_per_chip: int
    slices: tuple[tuple[int, ...], ...]
    wraps_at: int
    memory: int
    bandwidth: float
    ici: float
    vector_tflops: float
    tensor_tflops: Rates
    dcn: float | None = None
    cube: int = 0
    most: tuple[int, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def dimensions(self) -> int:
        """The number of physical axes: 2 or 3."""
        return len(self.slices[0])

    @property
    def tflops(self) -> Rates:
        """The peak rates of the vector units, which compute in float32."""
        return Rates(float32=self.vector_tflops)

    @property
    def float32_rate(self) -> float:
        """The operations a second of the vector units in float32."""
        return self.vector_tflops * 1e12


@functools.cache
def shipped_tpus() -> dict[str, TpuModel]:
    """Return the generations of TPUs by name, the oldest first.

    >>> list(shipped_tpus())
    ['v2', 'v3', 'v4', 'v5e', 'v5p', 'v6e', 'tpu7x']
    """
    data = read_table("tpus.toml")
    return {
        name: _model(name, table)
        for name, table in with_titles(data["tpu"], data["source"]).items()
    }


def _model(name: str, table: Mapping[str, Any]) -> TpuModel:
    """Return the model of a table, whose rates and bandwidth are those of a chip."""
    from olympus_core.xla.targets.device_tables import sources_of

    devices = table["devices_per_chip"]
    figures = {
        **table,
        "slices": tuple(tuple(map(int, text.split("x"))) for text in table["slices"]),
        "most": tuple(table.get("most", ())),
        "options": tuple(table.get("options", {}).items()),
        "bandwidth": table["bandwidth"] / devices,
        "vector_tflops": table["vector_tflops"] / devices,
        "tensor_tflops": Rates(
            **{dtype: rate / devices for dtype, rate in table["tensor_tflops"].items()}
        ),
        "sources": sources_of(table),
    }
    return TpuModel(name, **figures)
