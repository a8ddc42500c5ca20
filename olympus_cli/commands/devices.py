"""`olympus devices`: the devices that programs are compiled for and estimated on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olympus.errors import UsageError
from olympus_cli.options.shared import (
    Command,
    common_options,
    device_config_option,
    project_option,
)
from olympus_cli.reports.devices import (
    COLUMNS,
    TPU_COLUMNS,
    cpu_data,
    cpu_rows,
    device_data,
    device_row,
    device_rows,
    tpu_row,
)
from olympus_cli.spec.devices import Devices, read_devices
from olympus_cli.spec.resolve import project_of
from olympus_cli.terminal import console
from olympus_cli.text.paths import display_path

if TYPE_CHECKING:
    from olympus.analysis import CpuPeaks

_RATES = ("product_float32", "product_float64", "vector", "transcendentals", "read", "copy")
_MUCH_WORSE = 0.8  # of the rates that are kept


@click.command("devices", cls=Command)
@click.argument("name", metavar="[NAME]", required=False)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure the peak rates of this machine's CPU, and save them for estimates.",
)
@click.option(
    "--force",
    is_flag=True,
    help="With --calibrate, replace the saved rates even if they are better.",
)
@device_config_option
@project_option
@common_options
def command(
    name: str | None,
    calibrate: bool,
    force: bool,
    device_config: Path | None,
    project: str | None,
    as_json: bool,
) -> None:
    """With NAME, show one device and the sources of its figures. The name cpu is the CPU of this
    machine.

    \b
    Examples:
      olympus devices
      olympus devices h100-sxm --json
      olympus devices --calibrate
    """
    if calibrate:
        if name not in (None, "cpu"):
            raise UsageError(f"--calibrate measures this machine's CPU; got the device {name!r}")
        _calibrate(force, as_json)
        return
    if force:
        raise UsageError("--force needs --calibrate", hint="olympus devices --calibrate --force")
    own = _own(device_config, project)
    if name is None:
        _list(own, as_json)
    elif name == "cpu":
        _cpu(as_json)
    else:
        _one(name, own, as_json)


def _own(device_config: Path | None, project: str | None) -> Devices:
    """The user's own devices: of the project here, if there is one, and of the file."""
    of_file = read_devices(device_config)
    opened = project_of(project, Path.cwd(), of_file)
    return opened.devices if opened else of_file


def _list(own: Devices, as_json: bool) -> None:
    from olympus import DeviceModel, TpuModel
    from olympus.stages import shipped_devices, shipped_tpus

    own_tpus = {name: model for name, model in own.items() if isinstance(model, TpuModel)}
    own_gpus = {name: model for name, model in own.items() if isinstance(model, DeviceModel)}
    devices, tpus = {**own_gpus, **shipped_devices()}, {**own_tpus, **shipped_tpus()}
    if as_json:
        listed = [device_data(device, own) for device in devices.values()]
        data = {"devices": listed, "tpus": [device_data(tpu, own) for tpu in tpus.values()]}
        console.print_json({**data, "cpu": _cpu_data()})
    else:
        console.table(COLUMNS, [device_row(device) for device in devices.values()])
        console.data("")
        console.table(TPU_COLUMNS, [tpu_row(tpu) for tpu in tpus.values()])


def _one(name: str, own: Devices, as_json: bool) -> None:
    import olympus

    target = olympus.target(olympus.backend_of(name, own), name, own)
    device = olympus.stages.device_model(target)
    assert device is not None  # a target with a device has one
    if as_json:
        console.print_json(device_data(device, own))
    else:
        console.table(("figure", "value"), device_rows(device))


def _cpu_data() -> dict[str, Any]:
    from olympus import analysis

    return cpu_data(analysis.this_cpu(), analysis.kept_peaks())


def _cpu(as_json: bool) -> None:
    from olympus import analysis

    cpu, saved = analysis.this_cpu(), analysis.kept_peaks()
    if as_json:
        console.print_json(cpu_data(cpu, saved))
        return
    console.table(("figure", "value"), cpu_rows(cpu, saved))
    if saved.trouble:
        console.message(f"warning: {saved.trouble}")
    if saved.peaks is None:
        console.message("this CPU is not measured: olympus devices --calibrate measures it")


def _calibrate(force: bool, as_json: bool) -> None:
    """Measure, keep the figures unless better ones are saved, and show what is saved."""
    from olympus import analysis
    from olympus_cli.bench.measure import conditions

    earlier = analysis.kept_peaks()
    if earlier.trouble:
        console.message(f"warning: {earlier.trouble}; it is replaced")
    before, now = conditions.conditions(), analysis.Calibrated.now()
    with console.progress("measuring this machine's CPU") as bar:
        peaks = analysis.calibrate(lambda what: bar.describe(f"measuring: {what}"))
    busy = conditions.trouble(before, conditions.conditions())
    for sentence in busy:
        console.message(f"warning: {sentence}")
    calibrated = analysis.Kept(peaks, None, now)
    is_replaced = force or not busy or not _is_much_worse(peaks, earlier.peaks)
    if is_replaced:
        path = analysis.keep_peaks(peaks, now)
    else:
        file = analysis.cache_file()
        assert file is not None  # the earlier calibration was read from it
        calibrated, path = earlier, file
        console.message(
            f"warning: the saved calibration is better and is not replaced: {earlier.origin}; "
            "--force replaces it"
        )
    cpu = analysis.this_cpu()
    if as_json:
        document = {
            **cpu_data(cpu, calibrated),
            "file": display_path(path),
            "is_replaced": is_replaced,
        }
        console.print_json({**document, "warnings": busy})
    else:
        console.table(("figure", "value"), cpu_rows(cpu, calibrated))
        console.data(f"saved in {display_path(path)}")


def _is_much_worse(new: CpuPeaks, saved: CpuPeaks | None) -> bool:
    """Return True if the geometric mean of the rates is far below that of the saved ones."""
    if saved is None:
        return False
    ratios: list[float] = [getattr(new, name) / getattr(saved, name) for name in _RATES]
    return math.prod(ratios) ** (1 / len(ratios)) < _MUCH_WORSE
