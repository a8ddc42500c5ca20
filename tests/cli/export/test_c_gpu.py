"""Programs for a GPU in C: compiled and linked here, and refused or run by the plugin for CUDA."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import olympus
from olympus import artifact
from olympus.stages import is_attached
from tests.cli.export.c_programs import build, export, run, saved_arguments

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its compiler is for Linux")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The executable of a program for an H200, and the file of its argument."""
    folder = tmp_path_factory.mktemp("gpu")
    struct = olympus.ShapeDtypeStruct((8,), "float32")
    traced = olympus.jit(lambda x: x * 2 + 1).trace(struct)
    lowered = traced.lower(olympus.target("gpu", "h200"))
    path = folder / "f.olympus"
    text = str(traced.olympuspr)
    artifact.save(
        path, lowered.compile(), lowered=lowered, olympuspr_text=text, name="f", entry="m:f"
    )
    executable = build(export(path, folder / "c"))
    (file,) = saved_arguments(executable.parent, [np.ones(8, np.float32)])
    return executable, file


def test_a_program_for_a_gpu(gpu: tuple[Path, str], tmp_path: Path) -> None:
    import jax_plugins.xla_cuda13 as cuda

    executable, file = gpu
    plugin = Path(cuda.__file__).with_name("xla_cuda_plugin.so")
    if is_attached("gpu"):
        run(executable, "--plugin", plugin, "--output", tmp_path / "out", file)
        np.testing.assert_array_equal(np.load(tmp_path / "out/result.npy"), np.full(8, 3.0))
    else:
        output = run(executable, "--plugin", plugin, file, code=6)
        assert "error: the plugin has no device to run on: " in output


def test_the_executable_of_the_backend(tmp_path: Path, invoke: Callable[..., Result]) -> None:
    traced = olympus.jit(lambda x: x * 2).trace(olympus.ShapeDtypeStruct((8,), "float32"))
    lowered = [traced.lower(olympus.target(*x)) for x in (("cpu",), ("gpu", "h200"))]
    path, text = tmp_path / "both.olympus", str(traced.olympuspr)
    compiled = [stage.compile() for stage in lowered]
    artifact.save(path, compiled, lowered=lowered, olympuspr_text=text, name="both", entry="m:f")
    for options, platform in (([], "cpu"), (["--backend", "gpu"], "cuda")):
        output = tmp_path / platform
        result = invoke("export", str(path), "--format", "c", "-o", str(output), *options)
        assert result.exit_code == 0, result.stderr
        assert f'.platform = "{platform}"' in (output / "both.c").read_text()
    a100 = ("--backend", "gpu", "--device", "a100-80")
    refused = invoke("export", str(path), "--format", "c", "-o", str(tmp_path / "a100"), *a100)
    assert refused.exit_code == 5
    need = "an executable for gpu:a100-80, and the executables of both are for cpu, gpu:h200"
    assert f"error: --format c needs {need}" in refused.stderr


def test_the_plugin_for_the_cpu_is_refused(
    gpu: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = pytest.importorskip("lammps_jax_pjrt_cpu").PLUGIN_PATH
    executable, file = gpu
    assert "is known to fit 0.112 to 0.112" in run(executable, "--plugin", plugin, file, code=5)
    monkeypatch.setenv("OLYMPUS_ANY_PLUGIN", "1")
    assert "the plugin has no device to run on" in run(executable, "--plugin", plugin, file, code=6)
