"""Programs are compiled for GPUs that are not here; what is missing is named."""

from __future__ import annotations

from importlib import metadata

import pytest

from olympus_core import xla
from olympus_core.base.errors import BackendError, CompileError, UsageError
from olympus_core.xla.runtime import gpu
from tests.marks import needs_gpu_compiler

INSTALL = f'pip install "jax-cuda13-pjrt=={metadata.version("jaxlib")}"'


@pytest.fixture
def no_wheel(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(gpu._jax, "pjrt_plugin_loaded", lambda name: False)
    gpu.compile_only_devices.cache_clear()
    yield
    gpu.compile_only_devices.cache_clear()


def test_without_the_wheel(no_wheel, programs):
    with pytest.raises(BackendError) as caught:
        xla.compile(programs["muladd"], xla.target("gpu"))
    assert INSTALL in str(caught.value)
    assert caught.value.hint == INSTALL
    assert caught.value.exit_code == 6
    with pytest.raises(BackendError, match="which is not installed"):
        xla.devices("gpu")


def test_the_status_without_the_wheel(no_wheel):
    status = xla.backends()[1]
    assert (status.available, status.install) == (False, INSTALL)
    assert "jax-cuda13-pjrt" not in xla.versions()


def test_a_wheel_of_another_version(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
    with pytest.raises(BackendError, match=r"0\.0\.1 does not match jaxlib") as caught:
        gpu.plugin_path()
    assert caught.value.hint == INSTALL


def test_a_wheel_without_its_library(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: gpu.JAXLIB_VERSION)
    monkeypatch.setattr(metadata, "files", lambda name: [])
    with pytest.raises(BackendError, match="is damaged"):
        gpu.plugin_path()


@needs_gpu_compiler
@pytest.mark.parametrize("name", ["matmul", "sort", "conv", "reduce"])
@pytest.mark.parametrize("device", ["h200", "h100-pcie", "a100-80", "b200", "rtx5090", "t4"])
def test_compile(device, name, programs):
    made = xla.compile(programs[name], xla.target("gpu", device))
    assert f"HloModule jit_{name}" in made.hlo_text()
    assert len(made.serialize()) > 1000
    stats = made.memory()
    assert (
        stats.peak_memory_in_bytes >= stats.argument_size_in_bytes + stats.output_size_in_bytes > 0
    )
    with pytest.raises(BackendError, match=f"compiled for {device} and cannot run here"):
        made.execute([])


@needs_gpu_compiler
def test_the_device_makes_a_difference(programs):
    made = {
        device: xla.compile(programs["matmul"], xla.target("gpu", device)).serialize()
        for device in ("h200", "a100-80")
    }
    assert b"sm_90a" in made["h200"]
    assert b"sm_80" in made["a100-80"]


@needs_gpu_compiler
def test_cost(programs):
    cost = xla.compile(programs["matmul"], xla.target("gpu")).cost_analysis()
    assert cost["flops"] == pytest.approx(2 * 512**3, rel=0.01)
    # XLA cannot count a call of cuDNN, and says -1.
    assert "flops" not in xla.compile(programs["conv"], xla.target("gpu")).cost_analysis()


@needs_gpu_compiler
def test_the_same_bytes_again(programs):
    target = xla.target("gpu", "h100-sxm")
    first, second = (xla.compile(programs["reduce"], target) for _ in range(2))
    assert first.serialize() == second.serialize()


@needs_gpu_compiler
def test_errors(programs, capfd):
    with pytest.raises(UsageError, match="'xla_gpu_nothing' is not a compiler option"):
        xla.compile(programs["muladd"], xla.target("gpu"), {"xla_gpu_nothing": 1})
    with pytest.raises(CompileError, match="expected valid '@'-identifier"):
        xla.compile(b"module { func.func", xla.target("gpu"))
    assert capfd.readouterr().err == ""


@needs_gpu_compiler
def test_portable_bytes(programs):
    from jaxlib.mlir.dialects import stablehlo

    version = stablehlo.get_minimum_version()
    portable = stablehlo.serialize_portable_artifact_str(programs["muladd"].decode(), version)
    made = xla.compile(portable, xla.target("gpu"))
    assert "HloModule jit_f" in made.hlo_text()


@needs_gpu_compiler
def test_a_bare_process(programs, python):
    source = (
        "import sys; from olympus_core import xla\n"
        f"made = xla.compile({programs['matmul']!r}, xla.target('gpu'))\n"
        "print(made.target.device, 'jax' in sys.modules)"
    )
    got = python(source)
    assert (got.stdout, got.stderr) == ("h200 False\n", "")


def test_a_library_that_cannot_be_loaded(python, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    got = python(
        "from olympus_core.xla.runtime import gpu\n"
        f"gpu.plugin_path = lambda: {str(broken)!r}\n"
        "try:\n    gpu.gpu_client()\n"
        "except gpu.BackendError as e:\n    print(e, '|', e.hint)"
    )
    assert got.stdout.startswith("the GPU compiler's library cannot be loaded: ")
    assert got.stdout.endswith(f"| {INSTALL}\n")


@needs_gpu_compiler
def test_a_device_that_the_compiler_does_not_take(python):
    got = python(
        "from olympus_core.xla.runtime import gpu\n"
        "from olympus_core.xla import Target\n"
        "gpu.device_config = lambda target: 'nonsense'\n"
        "try:\n    gpu.compile_only_devices(Target('gpu', 'h200'))\n"
        "except gpu.BackendError as e:\n    print(e)"
    )
    assert got.stdout.startswith("the GPU compiler does not take the device 'h200': ")
