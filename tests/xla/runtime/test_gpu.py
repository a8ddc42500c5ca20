"""Programs are compiled for GPUs that are not attached; errors name a missing package."""

from __future__ import annotations

from importlib import metadata

import pytest

from olympus_core import xla
from olympus_core.base.errors import BackendError, CompileError, UsageError
from olympus_core.xla.runtime import absent_devices, gpu
from tests.day import diagonals
from tests.marks import needs_gpu_compiler

NAMES = ["matmul", "sort", "conv", "reduce"]
DEVICES = ["h200", "h100-pcie", "a100-80", "b200", "rtx5090", "t4"]
INSTALL = f'pip install "jax-cuda13-pjrt=={metadata.version("jaxlib")}"'


@pytest.fixture
def no_wheel(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(gpu._jax, "pjrt_plugin_loaded", lambda name: False)
    absent_devices.compile_only_devices.cache_clear()
    yield
    absent_devices.compile_only_devices.cache_clear()


def test_without_the_wheel_the_error_has_the_install_command(no_wheel, programs):
    with pytest.raises(BackendError) as caught:
        xla.compile(programs["muladd"], xla.target("gpu"))
    assert INSTALL in str(caught.value)
    assert caught.value.hint == INSTALL
    assert caught.value.exit_code == 6
    with pytest.raises(BackendError, match="which is not installed"):
        xla.devices("gpu")


def test_without_the_wheel_the_backend_is_not_available(no_wheel):
    status = xla.backends()[1]
    assert (status.available, status.install) == (False, INSTALL)
    assert "jax-cuda13-pjrt" not in xla.versions()


def test_a_wheel_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
    with pytest.raises(BackendError, match=r"0\.0\.1 does not match jaxlib") as caught:
        gpu.gpu_library()
    assert caught.value.hint == INSTALL


def test_a_wheel_without_its_library_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: gpu.JAXLIB_VERSION)
    monkeypatch.setattr(metadata, "files", lambda name: [])
    with pytest.raises(BackendError, match="is damaged"):
        gpu.gpu_library()


@needs_gpu_compiler
@pytest.mark.parametrize(("device", "name"), diagonals(DEVICES, NAMES, 3))
def test_a_program_compiles_for_a_device(device, name, programs):
    program = xla.compile(programs[name], xla.target("gpu", device))
    assert f"HloModule jit_{name}" in program.hlo_text()
    assert len(program.serialize()) > 1000
    stats = program.memory()
    assert (
        stats.peak_memory_in_bytes >= stats.argument_size_in_bytes + stats.output_size_in_bytes > 0
    )
    with pytest.raises(BackendError, match=f"compiled for {device} and cannot run here"):
        program.execute([])


@needs_gpu_compiler
def test_the_code_depends_on_the_device(programs):
    code = {
        device: xla.compile(programs["matmul"], xla.target("gpu", device)).serialize()
        for device in ("h200", "a100-80")
    }
    assert b"sm_90a" in code["h200"]
    assert b"sm_80" in code["a100-80"]


@needs_gpu_compiler
def test_the_cost_omits_flops_that_xla_cannot_count(programs):
    triton = {"xla_gpu_enable_triton_gemm": True}
    cost = xla.compile(programs["matmul"], xla.target("gpu"), triton).cost_analysis()
    assert cost["flops"] == pytest.approx(2 * 512**3, rel=0.01)
    # XLA cannot count a call of cuDNN or cuBLAS, and returns -1.
    for name in ("conv", "matmul"):
        figures = xla.compile(programs[name], xla.target("gpu")).cost_analysis()
        assert figures.get("flops", 0) < 2**20


@needs_gpu_compiler
def test_two_compilations_have_the_same_bytes(programs):
    target = xla.target("gpu", "h100-sxm")
    first, second = (xla.compile(programs["reduce"], target) for _ in range(2))
    assert first.serialize() == second.serialize()


@needs_gpu_compiler
def test_errors_of_the_gpu_compiler_are_raised_and_not_printed(programs, capfd):
    with pytest.raises(UsageError, match="'xla_gpu_nothing' is not a compiler option"):
        xla.compile(programs["muladd"], xla.target("gpu"), {"xla_gpu_nothing": 1})
    with pytest.raises(CompileError, match="expected valid '@'-identifier"):
        xla.compile(b"module { func.func", xla.target("gpu"))
    assert capfd.readouterr().err == ""


@needs_gpu_compiler
def test_a_portable_artifact_is_compiled(programs):
    from jaxlib.mlir.dialects import stablehlo

    version = stablehlo.get_minimum_version()
    portable = stablehlo.serialize_portable_artifact_str(programs["muladd"].decode(), version)
    program = xla.compile(portable, xla.target("gpu"))
    assert "HloModule jit_f" in program.hlo_text()


@needs_gpu_compiler
def test_a_process_without_jax_compiles_silently(programs, python):
    source = (
        "import sys; from olympus_core import xla\n"
        f"program = xla.compile({programs['matmul']!r}, xla.target('gpu'))\n"
        "print(program.target.device, 'jax' in sys.modules)"
    )
    process = python(source)
    assert (process.stdout, process.stderr) == ("h200 False\n", "")


def test_a_library_that_cannot_be_loaded_is_an_error(python, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_text("no library")
    process = python(
        "from olympus_core.xla.runtime import gpu\n"
        f"gpu.gpu_library = lambda: {str(broken)!r}\n"
        "try:\n    gpu.gpu_client()\n"
        "except gpu.BackendError as e:\n    print(e, '|', e.hint)"
    )
    assert process.stdout.startswith("the GPU compiler's library cannot be loaded: ")
    assert process.stdout.endswith(f"| {INSTALL}\n")


@needs_gpu_compiler
def test_a_device_that_the_compiler_refuses_is_an_error(python):
    process = python(
        "from olympus_core.xla.runtime import absent_devices, gpu\n"
        "from olympus_core.xla import Target\n"
        "gpu.device_config = lambda target: 'nonsense'\n"
        "try:\n    absent_devices.compile_only_devices(Target('gpu', 'h200'))\n"
        "except gpu.BackendError as e:\n    print(e)"
    )
    assert process.stdout.startswith("the GPU compiler does not take the device 'h200': ")
