"""Specifications of TPUs: topologies for the compiler, and peak rates for estimates.

The file `tpus.toml` beside this module has the figures of each generation, with their sources.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from olympus_core.xla.targets.device_models import Rates, read_table, with_titles

if TYPE_CHECKING:
    from olympus_core.xla.targets.device_tables import Fail


@dataclass(frozen=True)
class TpuModel:
    """A generation of TPUs.

    A device is a chip, or one of its cores if `devices_per_chip` is 2.  For each device, `memory`
    is in bytes, `bandwidth` in bytes a second, and the rates are in TFLOP/s: `vector_tflops` is the
    float32 rate of the vector units, and `tensor_tflops` has the rates of the matrix units by
    dtype.  A float32 product takes one bfloat16 pass by default, three passes with the precision
    HIGH and six with HIGHEST.  `generation` is its name for the compiler.

    For each chip, `ici` is the bytes a second that it sends on one link of the torus, and `dcn` on
    the data centre's network.

    `slices` are the sizes of the topologies that are smaller than a cube, or of all topologies if
    `cube` is 0.  The sizes of larger topologies are multiples of `cube` and at most `most`.  With
    two axes, an axis has wrap-around links if its size is a multiple of `wraps_at`; with three
    axes, all axes have them, or none.
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
    generation: str = ""
    dcn: float | None = None
    cube: int = 0
    most: tuple[int, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def dimensions(self) -> int:
        """The number of axes of the topologies: 2 or 3."""
        return len(self.slices[0])

    @property
    def tflops(self) -> Rates:
        """The peak rates of the vector units by dtype, in TFLOP/s: float32 alone is known."""
        return Rates(float32=self.vector_tflops)

    @property
    def float32_rate(self) -> float:
        """The peak float32 rate of the vector units, in operations a second."""
        return self.vector_tflops * 1e12


@functools.cache
def shipped_tpus() -> dict[str, TpuModel]:
    """Return the generations of TPUs by name, in order of age, the oldest first.

    >>> list(shipped_tpus())
    ['v2', 'v3', 'v4', 'v5e', 'v5p', 'v6e', 'tpu7x']
    """
    data = read_table("tpus.toml")
    return {
        name: _model(name, table)
        for name, table in with_titles(data["tpu"], data["source"]).items()
    }


def is_tpu_table(name: str, tables: Mapping[str, Any]) -> bool:
    """Return True if the `like` of a table is a TPU, or another table whose `like` is one.

    >>> is_tpu_table("ours", {"ours": {"like": "v6e"}})
    True
    """
    passed = set()
    while name in tables and name not in passed and isinstance(tables[name], Mapping):
        passed.add(name)
        name = str(tables[name].get("like", ""))
    return name in shipped_tpus()


def tpu_models(tables: Mapping[str, Any], fail: Fail | None = None) -> dict[str, TpuModel]:
    """Return the TPUs of `tables`, which has a table for each name, as in `[device.NAME]`.

    The key `like` names a generation or another of the tables, which has the figures that the table
    lacks. The units are those of `TpuModel`. The compiler knows the TPU as the generation.
    `fail(keys, message, hint)`, if given, raises the error of a mistake at the key path `keys`.

    Raises:
      SpecError: a figure has a wrong type or is out of range, or a key is not known.

    Example:
      >>> tpu_models({"ours": {"like": "v6e", "memory": 2**34}})["ours"].generation
      'v6e'
    """
    from olympus_core.xla.targets.device_tables import plain_fail  # few programs name a device
    from olympus_core.xla.targets.tpu_tables import check_tpus

    check_tpus(tables, shipped_tpus(), fail or plain_fail)
    return {name: _own_model(name, tables) for name in tables}


def _own_model(name: str, tables: Mapping[str, Any]) -> TpuModel:
    """Return the model of a table, whose chain of `like` ends at a generation."""
    from olympus_core.xla.targets.tpu_tables import NUMBERS, merged_sources

    table = tables[name]
    base = shipped_tpus().get(table["like"]) or _own_model(table["like"], tables)
    rates = {dtype: rate for dtype, rate in vars(base.tensor_tflops).items() if rate is not None}
    return replace(
        base,
        name=name,
        product=table.get("product", name),
        tensor_tflops=Rates(**{**rates, **table.get("tensor_tflops", {})}),
        sources=merged_sources(dict(base.sources), table),
        **{key: value for key, value in table.items() if key in NUMBERS},
    )


def _model(name: str, table: Mapping[str, Any]) -> TpuModel:
    """Return the model of a table of figures; the table's rates and bandwidth are for a chip."""
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
        "generation": name,
    }
    return TpuModel(name, **figures)
