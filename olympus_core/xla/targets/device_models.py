"""The figures of devices: sizes and features for the compiler, and peak rates for estimates.

`devices.toml` beside this module has the built-in devices, which OLYMPUS ships, with the source of
every figure and the meaning of each key. A user's own devices have the same form; the key `like`
copies the figures of another device.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olympus_core.xla.targets.device_tables import Fail


@dataclass(frozen=True)
class Capability:
    """The common properties of a compute capability.

    Sizes are in bytes. A core is a streaming multiprocessor (SM).
    """

    name: str
    fpus_per_core: int
    threads_per_core: int
    shared_memory_per_core: int
    shared_memory_per_block: int
    features: str = "NONE"  # "ACCELERATED_FEATURES" if some exist for this capability alone


@dataclass(frozen=True)
class Rates:
    """Peak rates by dtype, in 10^12 operations a second; None where that is not known."""

    float64: float | None = None
    float32: float | None = None
    tf32: float | None = None
    bfloat16: float | None = None
    float16: float | None = None
    float8: float | None = None
    int8: float | None = None


RATE_DTYPES = tuple(Rates.__dataclass_fields__)


@dataclass(frozen=True)
class DeviceModel:
    """One kind of device.

    `memory` and `l2_cache` are in bytes. `bandwidth`, of the memory, is in bytes per second, as are
    `nvlink` and `pcie`, in each direction. `tflops` are the peak rates without tensor cores and
    `tensor_tflops` those of tensor cores, dense, with sums in float32. `sources` are the documents
    of its figures, by the group: "chip", "memory", "links" and "rates".
    """

    name: str
    product: str
    capability: Capability
    cores: int
    clock_ghz: float
    l2_cache: int
    memory: int
    bandwidth: float
    bus_bits: int | None = None
    pin_gbit: float | None = None
    nvlink: float | None = None
    pcie: float | None = None
    watts: float | None = None
    tflops: Rates = field(default_factory=Rates)
    tensor_tflops: Rates = field(default_factory=Rates)
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def float32_rate(self) -> float:
        """The operations a second in float32 without tensor cores.

        It is the data sheet's rate, or else that of the cores: a multiply-add each clock in each
        unit.
        """
        if self.tflops.float32 is not None:
            return self.tflops.float32 * 1e12
        return 2e9 * self.cores * self.capability.fpus_per_core * self.clock_ghz


def device_models(
    tables: Mapping[str, Any],
    known: Mapping[str, DeviceModel] | None = None,
    fail: Fail | None = None,
) -> dict[str, DeviceModel]:
    """Return the devices of `tables`, which has a table for each name, as in `[device.NAME]`.

    `known` are devices that exist already, by default the built-in ones. The key `like` names
    another device of `tables` or of `known`, which has the figures that the table lacks. If the
    table changes a figure, the source of the group of that figure is not copied.
    `fail(keys, message, hint)`, if given, raises the error of a mistake at the key path `keys`.

    Raises:
      SpecError: a figure is missing, of a wrong type or out of range; a key or the device of
        `like` is not known; devices are like each other in a circle; or a name is already in
        `known`.

    Example:
      >>> device_models({"mine": {"like": "h200", "memory": 2**36}})["mine"].memory
      68719476736
    """
    from olympus_core.xla.targets.device_tables import (  # few programs name a device
        plain_fail,
        resolved,
    )

    if known is None:
        known = shipped_devices()
    fail = fail or plain_fail
    models: dict[str, DeviceModel] = {}
    capabilities = _capabilities()
    for name, table in resolved(tables, {k: _table(v) for k, v in known.items()}, fail).items():
        models[name] = _model(name, table, capabilities, fail)
    return models


@functools.cache
def shipped_devices() -> dict[str, DeviceModel]:
    """Return the built-in devices by name, in the order of `devices.toml`.

    >>> shipped_devices()["h200"].name
    'h200'
    """
    data = read_table("devices.toml")
    return device_models(with_titles(data["device"], data["source"]), {})


@functools.cache
def read_table(name: str) -> dict[str, Any]:
    """Return the content of a TOML file beside this module."""
    import importlib.resources  # this and the next are for programs that name a device
    import tomllib

    folder = importlib.resources.files("olympus_core.xla.targets")
    return tomllib.loads(folder.joinpath(name).read_text("utf-8"))


@functools.cache
def _capabilities() -> dict[str, Capability]:
    return {
        name: Capability(name, **{k: v for k, v in table.items() if k != "sources"})
        for name, table in read_table("devices.toml")["capability"].items()
    }


def with_titles(devices: Mapping[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of devices with the titles of sources in place of their short names."""
    return {
        name: table
        | {
            "sources": {
                group: [titles[short] for short in shorts]
                for group, shorts in table.get("sources", {}).items()
            }
        }
        for name, table in devices.items()
    }


def _model(
    name: str, table: Mapping[str, Any], capabilities: Mapping[str, Capability], fail: Fail
) -> DeviceModel:
    from olympus_core.xla.targets.device_tables import sources_of

    capability = table["capability"]
    if capability not in capabilities:
        there = ", ".join(capabilities)
        fail(
            ("device", name, "capability"),
            f"device.{name}.capability is {capability!r}, and the compiler takes {there}",
            None,
        )
    figures = {k: v for k, v in table.items() if k not in ("tflops", "tensor_tflops", "sources")}
    figures |= {"product": table.get("product", name), "capability": capabilities[capability]}
    return DeviceModel(
        name,
        **figures,
        tflops=Rates(**table.get("tflops", {})),
        tensor_tflops=Rates(**table.get("tensor_tflops", {})),
        sources=sources_of(table),
    )


def _table(model: DeviceModel) -> dict[str, Any]:
    """Return the table of a device, the inverse of `device_models`."""
    figures = {k: v for k, v in vars(model).items() if v is not None and k != "name"}
    rates = {
        k: {dtype: rate for dtype, rate in vars(figures[k]).items() if rate is not None}
        for k in ("tflops", "tensor_tflops")
    }
    sources = {group: list(titles) for group, titles in model.sources}
    return {**figures, **rates, "capability": model.capability.name, "sources": sources}
