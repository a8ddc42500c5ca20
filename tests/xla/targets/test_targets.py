"""Targets are checked by name, and the status of a backend is known without starting it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from olympus_core import xla
from olympus_core.base.errors import UsageError


def test_a_target_has_a_backend_and_a_device():
    assert xla.target("cpu") == xla.Target("cpu", None)
    assert xla.target("gpu") == xla.Target("gpu", "h200")
    assert xla.target("gpu", "a100-80").device == "a100-80"
    assert str(xla.target("gpu")) == "Target(backend='gpu', device='h200')"
    backends = ("cpu", "gpu", "tpu")
    assert [xla.platform_of(xla.target(b)) for b in backends] == ["cpu", "cuda", "tpu"]


@pytest.mark.parametrize(
    ("backend", "device", "message", "hint"),
    [
        (
            "gpu",
            "a100",
            "no device of the backend 'gpu' is named 'a100'",
            "did you mean 'a100-40' or 'a100-80' or",
        ),
        (
            "gpuu",
            None,
            "Unknown backend gpuu: no backend is named 'gpuu'; the backends are cpu, gpu and tpu",
            "did you mean 'gpu'",
        ),
        (
            "gpu",
            "h20",
            "no device of the backend 'gpu' is named 'h20'; .olympus devices. lists",
            "'h200'",
        ),
        ("gpu", "xyzzy", "no device of the backend 'gpu' is named 'xyzzy'", None),
        ("cpu", "h200", "the backend 'cpu' takes no device name, and got 'h200'", None),
    ],
)
def test_unknown_names_are_refused(backend, device, message, hint):
    with pytest.raises(UsageError, match=message) as caught:
        xla.target(backend, device)
    assert (hint is None) == (caught.value.hint is None)
    assert hint is None or hint in caught.value.hint


def test_a_target_has_a_topology():
    eight = xla.target("gpu", "8xh200")
    assert eight == xla.target("gpu", "h200", topology="1x8") == xla.target("gpu", topology="8")
    assert (eight.device, eight.topology, eight.topology.num_devices) == ("h200", (1, 8), 8)
    assert repr(xla.target("gpu", "2x8xa100-80")) == (
        "Target(backend='gpu', device='a100-80', topology='2x8')"
    )
    mine = xla.device_models({"4xmine": {"like": "h200"}})
    assert xla.target("gpu", "4xmine", mine).topology is None  # the name of a device of the user
    assert xla.target("gpu", "2x4xmine", mine).device == "4xmine"


@pytest.mark.parametrize(
    ("backend", "device", "topology", "message"),
    [
        ("gpu", "8xh20", None, "no device of the backend 'gpu' is named 'h20'"),
        ("gpu", "0xh200", None, "from 1 to 1024 devices, and '0xh200' has 0"),
        ("gpu", "999999999x999999999xh200", None, "from 1 to 1024 devices"),
        ("gpu", "1x2x8xh200", None, "no device of the backend 'gpu' is named '8xh200'"),
        ("gpu", "8xh200", "2x8", "the device is 1x8xh200, and the topology 2x8"),
        ("gpu", None, "2*8", "is not a topology"),
        ("gpu", None, "\u0661x2", "is not a topology"),
        ("gpu", None, "", "is not a topology"),
        ("cpu", None, "8", "the backend 'cpu' takes no topology, and got 1x8"),
    ],
)
def test_invalid_topologies_are_refused(backend, device, topology, message):
    with pytest.raises(UsageError, match=message):
        xla.target(backend, device, topology=topology)


def test_accelerators_have_known_devices():
    assert {"h200", "h100-sxm", "a100-80"} <= set(xla.known_devices("gpu"))
    assert xla.known_devices("cpu") == ()


def test_the_backends_have_their_status_and_devices():
    cpu, gpu, tpu = xla.backends()
    assert (cpu.name, cpu.available, cpu.devices) == (
        "cpu",
        True,
        tuple(f"cpu:{i}" for i in range(8)),
    )
    assert (gpu.name, gpu.devices) == ("gpu", xla.known_devices("gpu"))
    assert gpu.available == (gpu.install is None)
    assert (tpu.name, tpu.devices) == ("tpu", xla.known_devices("tpu"))
    assert tpu.available == (tpu.install is None)


def test_the_version_of_jaxlib_is_listed():
    from importlib import metadata

    assert xla.versions()["jaxlib"] == metadata.version("jaxlib")


def test_devices_of_an_unknown_backend_are_refused():
    with pytest.raises(UsageError, match="no backend is named 'npu'"):
        xla.devices("npu")


def test_an_import_does_not_start_the_runtime():
    source = (
        "import sys, olympus_core.xla as x; from olympus_runtime import cpu;"
        "late = ('jax', 'scipy', 'jaxlib.mlir', 'jaxlib.lapack', 'importlib.metadata');"
        "print(cpu._client, [m for m in late if m in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", source], capture_output=True, encoding="utf-8")
    assert process.stdout == "None []\n", process.stderr
