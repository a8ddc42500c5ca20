"""Programs for one GPU, run where the GPU is: here the second CPU device is in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
from olympus.errors import BackendError
from olympus_core import xla
from olympus_core.mlir import bindings as mlir
from olympus_core.stages.absent_compiled import AbsentCompiled
from olympus_core.xla.runtime import compiler, devices
from olympus_core.xla.runtime.host_calls import HostCalls
from olympus_core.xla.targets import gpu_targets
from tests.marks import needs_gpu_compiler

pytestmark = needs_gpu_compiler
X = np.arange(9, dtype="float32").reshape(3, 3)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The device in the place of this machine's GPU; programs for the GPU are loaded on it."""
    device = xla.devices("cpu", 2)[1]
    query = xla.devices

    def attached(backend: str | None = None, count: int = 1) -> list[Any]:
        return [device] if backend == "gpu" else query(backend, count)

    monkeypatch.setattr(xla, "devices", attached)
    monkeypatch.setattr(xla, "runs_here", lambda _target: True)
    return device


def compiled_for_gpu(monkeypatch: pytest.MonkeyPatch, gpu: Any, fun: Any, **options: Any) -> Any:
    """Return a function of X compiled for a GPU; the CPU's executable is loaded in its place."""
    target = olympus.target("gpu", "h200")
    lowered = olympus.jit(fun, **options).trace(X).lower(target)
    content = mlir.bytecode(olympus.jit(fun, **options).trace(X).lower().module)
    executable = compiler._compile_and_load(content, target, {}, [gpu], None, HostCalls())
    monkeypatch.setattr(xla, "load_executable", lambda *_args: executable)
    return lowered.compile()


def test_a_program_runs_on_the_device_of_its_kind(
    monkeypatch: pytest.MonkeyPatch, gpu: Any
) -> None:
    program = compiled_for_gpu(monkeypatch, gpu, lambda x: (x @ x, x.sum()))
    assert isinstance(program, AbsentCompiled)
    for argument in (X, olympus.numpy.asarray(X), olympus.device_put(X, gpu)):
        product, total = program(argument)
        np.testing.assert_allclose(product, X @ X)
        assert float(total) == X.sum()
        assert product.devices() == {gpu}
    program.prepared((olympus.device_put(X, gpu),), {})()()


def test_a_donated_argument_is_deleted(monkeypatch: pytest.MonkeyPatch, gpu: Any) -> None:
    program = compiled_for_gpu(monkeypatch, gpu, lambda x: x + 1, donate_argnums=0)
    argument = olympus.device_put(X, gpu)
    np.testing.assert_array_equal(program(argument), X + 1)
    assert argument.is_deleted()


def test_a_bundle_runs_on_the_device_of_its_kind(
    monkeypatch: pytest.MonkeyPatch, gpu: Any, tmp_path: Path
) -> None:
    program = compiled_for_gpu(monkeypatch, gpu, lambda x: x * 2)
    path = tmp_path / "f.olympus"
    lowered = olympus.jit(lambda x: x * 2).trace(X).lower(program.target)
    olympus.artifact.save(path, program, lowered=lowered, olympuspr_text="", name="f", entry="m:f")
    loaded = olympus.artifact.load(path)
    for recompile in (False, True):
        result = loaded.compiled(program.target, recompile=recompile)(X)
        np.testing.assert_array_equal(result, 2 * X)
        assert result.devices() == {gpu}


def test_another_kind_of_device_is_refused() -> None:
    program = olympus.jit(lambda x: x).trace(X).lower(olympus.target("gpu", "h200")).compile()
    with pytest.raises(BackendError, match="compiled for h200 and cannot run here"):
        program(X)


@pytest.mark.parametrize(
    ("kind", "runs"), [("NVIDIA H200", True), ("NVIDIA H100 80GB HBM3", False)]
)
def test_the_kind_of_the_attached_device_decides(
    monkeypatch: pytest.MonkeyPatch, kind: str, runs: bool
) -> None:
    class Attached:
        device_kind = kind

    monkeypatch.setattr(devices, "is_attached", lambda _backend: True)
    monkeypatch.setattr(devices, "devices", lambda _backend: [Attached()])
    assert devices.runs_here(olympus.target("gpu", "h200")) is runs


def test_the_gpu_of_this_machine_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(gpu_targets, "_DRIVER", tmp_path)
    for products, expected in (
        ([], "h200"),
        (["NVIDIA Unheard 9000"], "h200"),
        (["NVIDIA Unheard 9000", "NVIDIA H100 80GB HBM3"], "h100-sxm"),
    ):
        for number, product in enumerate(products):
            folder = tmp_path / f"0000:0{number}:00.0"
            folder.mkdir(exist_ok=True)
            (folder / "information").write_text(f"Model: \t\t {product}\nIRQ:   \t\t 41\n")
        gpu_targets.default_gpu.cache_clear()
        assert olympus.target("gpu").device == expected
    gpu_targets.default_gpu.cache_clear()
