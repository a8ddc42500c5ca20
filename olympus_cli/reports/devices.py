"""Devices as tables and as JSON: their figures, in the units that data sheets have."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from olympus import DeviceModel, TpuModel
from olympus.analysis import Cpu, Kept
from olympus.stages import topologies
from olympus_cli.spec.devices import AnyModel, Devices

#: The columns of the list of devices; rates are in TFLOP/s.
COLUMNS = ("device", "capability", "memory", "bandwidth", "float32", "tf32", "bf16", "float8")
#: The columns of the list of TPUs; figures are those of a device, rates in TFLOP/s.
TPU_COLUMNS = ("TPU", "memory", "bandwidth", "bf16", "int8", "float8", "link", "topologies")
_UNKNOWN = "-"
_MANY = 10  # topologies in the list


def device_row(device: DeviceModel) -> tuple[str, ...]:
    """Return a row of the list; rates of tf32, bfloat16 and float8 are those of tensor cores."""
    tensor = device.tensor_tflops
    rates = (device.float32_rate / 1e12, tensor.tf32, tensor.bfloat16, tensor.float8)
    return (
        device.name,
        device.capability.name,
        _gib(device.memory),
        _speed(device.bandwidth),
        *(_UNKNOWN if rate is None else f"{rate:.4g}" for rate in rates),
    )


def tpu_row(device: TpuModel) -> tuple[str, ...]:
    """Return a row of the list of TPUs."""
    rates = device.tensor_tflops
    names = [str(torus) for torus in topologies(device)]
    shown = names if len(names) <= _MANY else [*names[: _MANY - 1], "...", names[-1]]
    return (
        device.name,
        _gib(device.memory),
        _speed(device.bandwidth),
        *(
            _UNKNOWN if rate is None else f"{rate:.4g}"
            for rate in (rates.bfloat16, rates.int8, rates.float8)
        ),
        _speed(device.ici),
        " ".join(shown),
    )


def device_rows(device: AnyModel) -> list[tuple[str, str]]:
    """Return all figures of a device, and their sources."""
    rows = _tpu_rows(device) if isinstance(device, TpuModel) else _gpu_rows(device)
    units = "matrix units" if isinstance(device, TpuModel) else "tensor cores"
    for what, rates in (("", device.tflops), (f" of {units}", device.tensor_tflops)):
        for dtype, rate in asdict(rates).items():
            if rate is not None:
                rows.append((f"{dtype}{what}", f"{rate:g} TFLOP/s".replace("TFLOP", _unit(dtype))))
    rows += [(f"source: {group}", title) for group, titles in device.sources for title in titles]
    return rows


def _tpu_rows(device: TpuModel) -> list[tuple[str, str]]:
    per_chip = device.devices_per_chip
    rings = f"at sizes that are multiples of {device.wraps_at}"
    if device.cube:
        rings += ", if that holds for all axes"
    return [
        ("device", device.name),
        ("product", device.product),
        ("devices of a chip", str(per_chip)),
        ("memory of a device", _gib(device.memory)),
        ("memory bandwidth of a device", _speed(device.bandwidth)),
        ("link to a neighbour, each direction", _speed(device.ici)),
        ("data centre's network of a chip", _speed(device.dcn)),
        ("wrap-around links", rings),
        ("topologies", " ".join(str(torus) for torus in topologies(device))),
    ]


def _gpu_rows(device: DeviceModel) -> list[tuple[str, str]]:
    return [
        ("device", device.name),
        ("product", device.product),
        ("compute capability", device.capability.name),
        ("cores", str(device.cores)),
        ("clock", f"{device.clock_ghz:g} GHz"),
        ("L2 cache", f"{device.l2_cache / 2**20:.4g} MiB"),
        ("memory", _gib(device.memory)),
        ("memory bandwidth", _speed(device.bandwidth)),
        ("memory bus", _known(device.bus_bits, "bits")),
        ("rate of a pin", _known(device.pin_gbit, "Gbit/s")),
        ("NVLink, each direction", _speed(device.nvlink)),
        ("PCIe, each direction", _speed(device.pcie)),
        ("power", _known(device.watts, "W")),
    ]


def device_data(device: AnyModel, own: Devices) -> dict[str, Any]:
    """Return a device as JSON; `is_own` is True for the user's devices, and null is unknown."""
    data = asdict(device)
    if isinstance(device, TpuModel):
        data["topologies"] = [str(torus) for torus in topologies(device)]
        del data["slices"], data["options"]
    else:
        data["capability"] = device.capability.name
    data["sources"] = {group: list(titles) for group, titles in device.sources}
    return {**data, "is_own": device.name in own}


def cpu_rows(cpu: Cpu, saved: Kept) -> list[tuple[str, str]]:
    """Return the rows of this machine's CPU, and its peaks with their origin if measured."""
    rows, peaks = [("CPU", cpu.model), ("threads", str(cpu.threads))], saved.peaks
    if peaks is None:
        return rows
    giga = 1e9
    return [
        *rows,
        ("calibrated", saved.origin or _UNKNOWN),
        ("products in float32", f"{peaks.product_float32 / giga:.4g} GFLOP/s"),
        ("products in float64", f"{peaks.product_float64 / giga:.4g} GFLOP/s"),
        ("arithmetic in float32", f"{peaks.vector / giga:.4g} GFLOP/s"),
        ("functions such as tanh", f"{peaks.transcendentals / giga:.4g} G/s"),
        ("reading", _speed(peaks.read)),
        ("reading and writing in place", _speed(peaks.copy)),
        ("writing new memory", _speed(peaks.fresh)),
        ("a call", f"{peaks.call * 1e6:.3g} us"),
        ("a kernel", f"{peaks.launch * 1e6:.3g} us"),
    ]


def cpu_data(cpu: Cpu, saved: Kept) -> dict[str, Any]:
    """Return the data of this machine's CPU as JSON; `peaks` is null without a measurement.

    `calibrated` has the time and the load of the measurement, and is null if they are unknown.
    """
    peaks = asdict(saved.peaks) if saved.peaks else None
    calibrated = saved.calibrated._asdict() if saved.calibrated else None
    return {**cpu._asdict(), "peaks": peaks, "calibrated": calibrated, "trouble": saved.trouble}


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _speed(rate: float | None) -> str:
    return _known(rate and rate / 1e9, "GB/s")


def _known(value: float | None, unit: str) -> str:
    return _UNKNOWN if value is None else f"{value:.4g} {unit}"


def _unit(dtype: str) -> str:
    return "TOP" if dtype.startswith("int") else "TFLOP"
