"""`olympus devices`, `--device-config` and `[device.NAME]`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import olympus
from olympus import analysis, artifact
from olympus.analysis import kept_peaks
from olympus_cli.bench.measure import conditions
from olympus_cli.builder.key import content_key
from olympus_cli.spec.backends import parse_backend
from olympus_cli.spec.project import load_project
from olympus_cli.spec.resolve import Request
from olympus_core.analysis.hlo.cpu_peaks import GENERIC
from olympus_core.api import calibration
from tests.marks import needs_gpu_compiler, needs_tpu_compiler

Invoke = Callable[..., Result]

OWN = """\
[device.mine]
like = "h200"
memory = 75161927680
sources = { memory = ["our own slice"] }
"""
TARGET = """\
[target.add]
entry = "model.py:add"
args = ["f32[2]", "f32[2]"]
backends = ["gpu:mine"]
"""


def data(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def device_project(project: Path) -> Path:
    """The working directory, with a file that describes a device."""
    (project / "own.toml").write_text(OWN)
    return project


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache directory, and a calibration that finishes immediately."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    for name, value in {"_SECONDS": 0, "_PRODUCT": 64, "_MIDDLE": 2**12, "_LARGE": 2**16}.items():
        monkeypatch.setattr(calibration, name, value)
    return folder


def test_known_devices_are_listed(folder: Path, invoke: Invoke) -> None:
    table = invoke("devices")
    assert table.exit_code == 0, table.stderr
    lines = table.stdout.splitlines()
    assert lines[0].split() == [
        "device", "capability", "memory", "bandwidth", "float32", "tf32", "bf16", "float8",
    ]  # fmt: skip
    blank = lines.index("")
    names = [line.split()[0] for line in lines[1:blank]]
    assert names == list(olympus.known_devices("gpu"))
    assert lines[blank + 1].split()[:2] == ["TPU", "memory"]
    tpus = [line.split()[0] for line in lines[blank + 2 :]]
    assert tpus == list(olympus.known_devices("tpu"))
    document = data(invoke("devices", "--json"))
    assert [device["name"] for device in document["devices"]] == names
    assert [device["name"] for device in document["tpus"]] == tpus
    assert document["cpu"]["peaks"] is None
    t4 = next(device for device in document["devices"] if device["name"] == "t4")
    assert (t4["capability"], t4["cores"], t4["is_own"]) == ("7.5", 40, False)
    assert t4["tensor_tflops"]["bfloat16"] is None


def test_a_tpu_has_its_topologies_and_the_sources_of_its_figures(
    folder: Path, invoke: Invoke
) -> None:
    text = invoke("devices", "v6e").stdout
    assert "1x1 2x2 2x4 4x4 4x8 8x8 8x16 16x16" in text
    assert "918 TFLOP/s" in text and "source: links" in text
    device = data(invoke("devices", "v5p", "--json"))
    assert device["topologies"][-1] == "8x8x16"
    assert (device["ici"], device["is_own"]) == (100e9, False)


def test_a_device_has_the_sources_of_its_figures(folder: Path, invoke: Invoke) -> None:
    text = invoke("devices", "h100-sxm").stdout
    assert "NVIDIA H100 80GB HBM3" in text and "989.4 TFLOP/s" in text
    assert "NVIDIA, H100 Tensor Core GPU Architecture" in text
    assert "not known" not in text
    assert data(invoke("devices", "t4", "--json"))["nvlink"] is None
    wrong = invoke("devices", "h2000")
    assert wrong.exit_code == 2
    assert (
        "no device of the backend 'gpu' is named 'h2000'" in wrong.stderr
        and "'h200'" in wrong.stderr
    )


def test_the_users_devices_are_listed(device_project: Path, invoke: Invoke) -> None:
    assert invoke("devices", "--device-config", "own.toml").stdout.splitlines()[1][:4] == "mine"
    document = data(invoke("devices", "mine", "--device-config", "own.toml", "--json"))
    assert (document["memory"], document["is_own"]) == (75161927680, True)
    assert document["sources"]["memory"] == ["our own slice"]
    assert invoke("devices", "mine").exit_code == 2
    (device_project / "olympus.toml").write_text(OWN)
    assert data(invoke("devices", "mine", "--json"))["cores"] == 132
    (device_project / "elsewhere").mkdir()
    (device_project / "elsewhere" / "olympus.toml").write_text(OWN.replace("mine", "other"))
    assert data(invoke("devices", "other", "--project", "elsewhere", "--json"))["cores"] == 132


def test_a_calibration_is_saved_and_shown(folder: Path, cache: Path, invoke: Invoke) -> None:
    uncalibrated = invoke("devices", "cpu")
    assert "this CPU is not measured: olympus devices --calibrate" in uncalibrated.stderr
    done = invoke("devices", "--calibrate")
    assert done.exit_code == 0, done.stderr
    assert "products in float32" in done.stdout and str(cache) in done.stdout
    saved = data(invoke("devices", "cpu", "--json"))
    assert saved["peaks"] == data(invoke("devices", "--json"))["cpu"]["peaks"]
    assert saved["peaks"]["product_float32"] == kept_peaks().peaks.product_float32
    assert invoke("devices", "cpu").stderr == ""
    again = data(invoke("devices", "--calibrate", "--json"))
    assert again["peaks"].keys() == saved["peaks"].keys() and again["trouble"] is None
    assert Path(again["file"]).is_file()
    wrong = invoke("devices", "h200", "--calibrate")
    assert (
        wrong.exit_code == 2
        and "measures this machine's CPU; got the device 'h200'" in wrong.stderr
    )


def test_a_better_calibration_remains_if_the_machine_is_busy(
    folder: Path, cache: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, quiet = GENERIC, {"load": 0.0, "threads": 2.0}
    worse = replace(good, read=good.read / 3, product_float32=good.product_float32 / 3)
    busy, measured = {**quiet, "load": 9.0}, [good]
    monkeypatch.setattr(analysis, "calibrate", lambda _report: measured[-1])
    monkeypatch.setattr(conditions, "conditions", lambda: quiet)
    assert invoke("devices", "--calibrate").exit_code == 0
    origin = kept_peaks().origin
    measured.append(worse)
    monkeypatch.setattr(conditions, "conditions", lambda: busy)
    result = invoke("devices", "--calibrate")
    assert result.exit_code == 0
    assert "the machine is busy: a load of 9 with 2 processors" in result.stderr
    assert f"the saved calibration is better and is not replaced: {origin}" in result.stderr
    assert kept_peaks().peaks == good
    assert f"calibrated                    {origin}" in result.stdout
    assert data(invoke("devices", "--calibrate", "--json"))["is_replaced"] is False
    forced = data(invoke("devices", "--calibrate", "--force", "--json"))
    assert forced["is_replaced"] and kept_peaks().peaks == worse
    assert forced["calibrated"].keys() == {"time", "load"}
    measured.append(good)  # the best possible on a busy machine
    assert data(invoke("devices", "--calibrate", "--json"))["is_replaced"] is True
    alone = invoke("devices", "--force")
    assert alone.exit_code == 2 and "--force needs --calibrate" in alone.stderr


def test_a_damaged_calibration_is_reported_and_replaced(
    folder: Path, cache: Path, invoke: Invoke
) -> None:
    file = Path(data(invoke("devices", "--calibrate", "--json"))["file"])
    file.write_bytes(b"\0")
    result = invoke("devices", "cpu")
    assert result.exit_code == 0 and "is damaged" in result.stderr
    assert data(invoke("devices", "cpu", "--json"))["peaks"] is None
    again = invoke("devices", "--calibrate")
    assert again.exit_code == 0 and "is damaged" in again.stderr and "replaced" in again.stderr
    assert kept_peaks().trouble is None
    file.unlink()
    file.mkdir()
    refused = invoke("devices", "--calibrate")
    assert refused.exit_code == 2 and "cannot be written" in refused.stderr


def test_targets_use_the_figures_of_the_file(device_project: Path) -> None:
    file = device_project / "own.toml"
    spec = Request("model:add", shapes="f32[2], f32[2]", device="mine", device_config=file).spec()
    (backend,) = spec.backends
    assert (backend.backend, backend.device) == ("gpu", "mine")
    assert backend.model is not None and backend.model.memory == 75161927680
    (device_project / "olympus.toml").write_text(OWN + TARGET)
    (target,) = load_project(device_project).targets.values()
    assert target.backends == spec.backends
    assert Request("model:add", shapes="f32[2], f32[2]", device="mine").spec().backends == (
        target.backends
    )
    # the option has precedence over the project
    file.write_text(OWN.replace("75161927680", "17179869184"))
    (over,) = Request("add", device_config=file).spec().backends
    assert over.model is not None and over.model.memory == 17179869184


def test_the_key_has_the_figures_that_the_compiler_uses() -> None:
    def key(**figures: Any) -> str:
        models = olympus.device_models({"mine": {"like": "h200", **figures}})
        return content_key("module {}", [], parse_backend("gpu:mine", own=models))

    assert key() == key(product="mine", watts=1.0, tflops={"float32": 1.0})
    changes = [
        {"memory": 2**36}, {"cores": 66}, {"clock_ghz": 1.0}, {"bandwidth": 1e12},
        {"l2_cache": 2**20}, {"capability": "9.0"}, {"capability": "8.0"},
    ]  # fmt: skip
    keys = [key(**change) for change in changes]
    assert keys[5] == key()
    assert len({*keys}) == len(keys)


def test_lowering_for_a_device_of_the_user(device_project: Path, invoke: Invoke) -> None:
    shapes = ("--shapes", "f32[2], f32[2]")
    result = invoke(
        "lower", "model:add", *shapes, "--device", "mine", "--device-config", "own.toml"
    )
    assert result.exit_code == 0, result.stderr
    assert "stablehlo.add" in result.stdout
    unknown = invoke("lower", "model:add", *shapes, "--device", "mine")
    assert (
        unknown.exit_code == 2
        and "no device of the backend 'gpu' is named 'mine'" in unknown.stderr
    )


@needs_gpu_compiler
def test_a_build_for_a_device_of_the_user(device_project: Path, invoke: Invoke) -> None:
    (device_project / "olympus.toml").write_text(TARGET)
    refused = invoke("build")
    assert refused.exit_code == 2
    assert (
        "olympus.toml:4" in refused.stderr
        and "no device of the backend 'gpu' is named 'mine'" in refused.stderr
    )
    option = ("--device-config", "own.toml")
    built = data(invoke("build", *option, "--json"))["targets"][0]
    assert built["status"] == "built"
    assert data(invoke("build", *option, "--backend", "gpu:mine", "--json"))["targets"][0][
        "status"
    ] == "fresh"  # fmt: skip
    (device_project / "own.toml").write_text(OWN.replace("75161927680", "17179869184"))
    assert data(invoke("build", *option, "--json"))["targets"][0]["status"] == "built"
    report = json.loads((device_project / "build/add/report.json").read_text())
    assert report["backends"][0]["device"] == "mine"


@needs_gpu_compiler
def test_a_bundle_for_a_device_of_the_user(device_project: Path, invoke: Invoke) -> None:
    (device_project / "olympus.toml").write_text(
        OWN + TARGET.replace("gpu:mine", 'cpu", "gpu:mine')
    )
    compiled = invoke("compile", "add", "--output", "out")
    assert compiled.exit_code == 0, compiled.stderr
    assert "gpu (mine)" in compiled.stdout
    bundle = artifact.load(device_project / "out" / "add.olympus")
    assert [executable.device for executable in bundle.executables] == [None, "mine"]
    assert invoke("run", "out/add.olympus").exit_code == 0
    devices = load_project(device_project).devices
    target = olympus.target("gpu", "mine", devices)
    for known in (target, olympus.Target("gpu", "mine")):  # the bundle contains its executable
        with pytest.raises(olympus.errors.BackendError, match="this machine has no GPU to run on"):
            bundle.compiled(known)
    with pytest.raises(
        olympus.errors.UsageError, match="no device of the backend 'gpu' is named 'yours'"
    ):
        bundle.compiled(olympus.Target("gpu", "yours"))


OWN_TPU = '[device.ours]\nlike = "v5e"\nmemory = 17179869184\n'
WRONG = {
    "no file": (None, "own.toml cannot be read"),
    "no TOML": ("[device", "own.toml:1:8: not TOML"),
    "empty": ("", "own.toml:1: has no device"),
    "another table": ("[target.x]\n", "own.toml:1: own.toml has no key 'target'"),
    "no table": ("device = 3\n", "own.toml:1: device must be a table; got the value 3"),
    "missing": ('[device.x]\ncapability = "9.0"\n', "own.toml:1: device.x has no cores"),
    "negative": (OWN + "cores = -1\n", "own.toml:5: device.mine.cores must be a whole number"),
    "a type": (OWN + 'clock_ghz = "1"\n', "own.toml:5: device.mine.clock_ghz must be a number"),
    "a key": (OWN + "core = 1\n", "own.toml:5: [device.mine] has no key 'core'"),
    "like": ('[device.x]\nlike = "y"\n', "own.toml:2: device.x.like is 'y', and no device"),
    "a circle": (
        '[device.x]\nlike = "y"\n[device.y]\nlike = "x"\n',
        "device.y.like goes in a circle: x -> y -> x",
    ),
    "a name": (OWN.replace("mine", "h200"), "own.toml:1: a device is already named 'h200'"),
    "another name": (OWN.replace("mine", '"../x"'), "own.toml:1: '../x' is not a valid name"),
    "a key of a TPU": (OWN_TPU + "cores = 1\n", "own.toml:4: [device.ours], a TPU, has no key"),
    "a TPU's memory": (
        OWN_TPU.replace("17179869184", "16"),
        "own.toml:3: device.ours.memory must be a whole number of bytes",
    ),
    "a TPU's rate": (
        OWN_TPU + "tensor_tflops = { float64 = 1 }\n",
        "own.toml:4: device.ours.tensor_tflops has no dtype 'float64'",
    ),
    "a TPU's name": (OWN_TPU.replace("ours", "v5e"), "own.toml:1: a device is already named 'v5e'"),
    "a TPU's product": (OWN_TPU + "product = 3\n", "own.toml:4: device.ours.product must be a st"),
    "a TPU's source": (
        OWN_TPU + "sources = { chip = [] }\n",
        "own.toml:4: device.ours.sources has no group 'chip'",
    ),
    "a rate": (OWN + "tflops = { float32 = -1 }\n", "own.toml:5: device.mine.tflops.float32 must"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_errors(name: str, folder: Path, invoke: Invoke) -> None:
    text, message = WRONG[name]
    if text is not None:
        (folder / "own.toml").write_text(text)
    result = invoke("devices", "--device-config", "own.toml")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_mistakes_in_a_project_have_their_line(project: Path, invoke: Invoke) -> None:
    (project / "olympus.toml").write_text(OWN.replace("75161927680", "75") + TARGET)
    for command in (("devices",), ("build",), ("compile", "add"), ("bench", "add")):
        result = invoke(*command)
        assert result.exit_code == 2, command
        assert "olympus.toml:3: device.mine.memory must be a whole number of bytes" in result.stderr


@needs_tpu_compiler
def test_an_own_tpu_has_its_estimates_and_its_memory(project: Path, invoke: Invoke) -> None:
    table = OWN_TPU + 'bandwidth = 1e9\n[target.add]\nentry = "model:add"\nargs = ["f32[64]"]\n'
    toml = table + 'backends = ["tpu:ours"]\n[target.add.budget]\nfits = "ours"\n'
    (project / "olympus.toml").write_text(toml)
    (project / "model.py").write_text("def add(x):\n    return x + 1\n")

    def seconds() -> float:
        assert invoke("check", "add").exit_code == 0
        report = json.loads((project / "build" / "add" / "report.json").read_text())
        (backend,) = report["backends"]
        assert (backend["device"], backend["fits"]) == ("ours", True)
        result: float = backend["estimate"]["seconds"]
        return result

    first = seconds()
    (project / "olympus.toml").write_text(toml.replace("1e9", "1e8"))
    assert "figures of a device have changed" in invoke("build", "add").stdout
    assert seconds() > first
    document = json.loads(invoke("devices", "--json").stdout)
    assert (document["tpus"][0]["name"], document["tpus"][0]["is_own"]) == ("ours", True)
    assert document["tpus"][0]["generation"] == "v5e"
    inspected = invoke("inspect", "build/add/add.olympus", "--json")
    assert inspected.exit_code == 0, inspected.stderr
