"""The user's own devices: the tables `[device.NAME]` of an olympus.toml or of a separate file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from olympus import DeviceModel, TpuModel, device_models, is_tpu_table, tpu_models
from olympus_cli.spec.section import Section
from olympus_cli.spec.toml import load

#: The figures of a device of any backend.
AnyModel = DeviceModel | TpuModel
#: Devices by name.
Devices = Mapping[str, AnyModel]


def read_devices(path: Path | None) -> Devices:
    """Return the devices of a file for `--device-config`, which has no other tables; {} for None.

    Raises:
        SpecError: the file cannot be read, has no device, or has an invalid key or figure.
    """
    if path is None:
        return {}
    source = load(path)
    Section(source, (), source.data).only(("device",))
    devices = devices_of(Section(source, (), source.data))
    if not devices:
        source.fail((), "has no device", 'add one, such as [device.mine] with like = "h200"')
    return devices


def devices_of(top: Section) -> Devices:
    """Return the devices of a file, which may have other tables too.

    Raises:
        SpecError: a figure is missing or wrong; the message has its line.
    """
    tables = top.table("device").data
    if not tables:
        return {}
    tpus = {name: table for name, table in tables.items() if is_tpu_table(name, tables)}
    gpus = {name: table for name, table in tables.items() if name not in tpus}
    return {**device_models(gpus, fail=top.source.fail), **tpu_models(tpus, top.source.fail)}
