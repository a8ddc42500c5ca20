"""Targets are checked by name, and the status of backends is told without starting them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from olympus_core import xla
from olympus_core.errors import BackendError, UsageError


def test_targets():
    assert xla.target("cpu") == xla.Target("cpu", None)
    assert xla.target("gpu") == xla.Target("gpu", "h200")
    assert xla.target("gpu", "a100-80").device == "a100-80"
    assert str(xla.target("gpu")) == "Target(backend='gpu', device='h200')"
    backends = ("cpu", "gpu", "tpu")
    assert [xla.platform_of(xla.target(b)) for b in backends] == ["cpu", "cuda", "tpu"]


@pytest.mark.parametrize(
    ("backend", "device", "message", "hint"),
    [
        ("gpu", "a100", "no device 'a100'", "did you mean 'a100-40' or 'a100-80' or"),
        ("gpuu", None, "no backend 'gpuu'; there are cpu, gpu and tpu", "did you mean 'gpu'"),
        ("gpu", "h20", "no device 'h20' for backend 'gpu'; olympus devices lists", "'h200'"),
        ("gpu", "xyzzy", "no device 'xyzzy'", None),
        ("cpu", "h200", "no device 'h200' for backend 'cpu'; it takes no device name", None),
    ],
)
def test_names_that_are_not_known(backend, device, message, hint):
    with pytest.raises(UsageError, match=message) as caught:
        xla.target(backend, device)
    assert (hint is None) == (caught.value.hint is None)
    assert hint is None or hint in caught.value.hint


def test_known_devices():
    assert {"h200", "h100-sxm", "a100-80"} <= set(xla.known_devices("gpu"))
    assert xla.known_devices("cpu") == ()


def test_backends():
    cpu, gpu, tpu = xla.backends()
    assert (cpu.name, cpu.available, cpu.devices) == (
        "cpu",
        True,
        tuple(f"cpu:{i}" for i in range(8)),
    )
    assert (gpu.name, gpu.devices) == ("gpu", xla.known_devices("gpu"))
    assert gpu.available == (gpu.install is None)
    assert (tpu.available, tpu.install) == (False, None)


def test_versions():
    from importlib import metadata

    assert xla.versions()["jaxlib"] == metadata.version("jaxlib")


def test_devices_that_are_not_here():
    with pytest.raises(BackendError, match="compiles for cpu and gpu"):
        xla.devices("tpu")
    with pytest.raises(BackendError, match="compiles for cpu and gpu"):
        xla.compile(b"module {}", xla.target("tpu"))
    with pytest.raises(UsageError, match="no backend 'npu'"):
        xla.devices("npu")


def test_an_import_starts_nothing():
    source = (
        "import sys, olympus_core.xla as x; from olympus_core.xla import client;"
        "late = ('jax', 'scipy', 'jaxlib.mlir', 'jaxlib.lapack', 'importlib.metadata');"
        "print(client._cpu, [m for m in late if m in sys.modules])"
    )
    got = subprocess.run([sys.executable, "-c", source], capture_output=True, encoding="utf-8")
    assert got.stdout == "None []\n", got.stderr
