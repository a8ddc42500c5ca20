"""One bundle for several backends, of which this machine has one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
from olympus import artifact, lax
from olympus.errors import ArtifactError, BackendError
from olympus_core import xla
from olympus_core.stages import stages
from tests.artifact.bundles import change_manifest, members_of, save, struct

H200 = olympus.target("gpu", "h200")
HAS_COMPILER = {status.name: status.available for status in olympus.backends()}["gpu"]


class Cubin:
    """A substitute for the GPU compiler's result if that compiler is not installed."""

    def serialize(self) -> bytes:
        return b"cubin"


def compiled_for_gpu(lowered: Any) -> Any:
    if HAS_COMPILER:
        return lowered.compile()
    executable = xla.CompileOnlyExecutable(Cubin(), H200)
    return stages.Compiled(lowered.signature, executable, H200)


@pytest.fixture(scope="module")
def two_backends_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A bundle of a program compiled for the CPU and for a GPU."""
    path = tmp_path_factory.mktemp("both") / "f.olympus"
    traced = olympus.jit(lambda x: lax.add(lax.tanh(x), x)).trace(struct(4))
    cpu, gpu = traced.lower(), traced.lower(H200)
    artifact.save(
        path,
        [cpu.compile(), compiled_for_gpu(gpu)],
        lowered=[cpu, gpu],
        olympuspr_text=str(traced.olympuspr),
        name="f",
        entry="m:f",
    )
    return path.read_bytes()


@pytest.fixture
def bundle(tmp_path: Path, two_backends_bytes: bytes) -> Path:
    path = tmp_path / "f.olympus"
    path.write_bytes(two_backends_bytes)
    return path


def test_the_executables_of_both_backends_are_listed(bundle: Path) -> None:
    loaded = artifact.load(bundle)
    assert {e.member: e.target for e in loaded.executables} == {
        "executables/cpu.bin": olympus.target("cpu"),
        "executables/gpu-h200.bin": H200,
    }
    assert all(loaded.members[e.member] for e in loaded.executables)
    # The two programs are equal, so one member contains them.
    assert set(loaded.manifest.programs.values()) == {"program.stablehlo.bc"}
    assert loaded.stablehlo("gpu") == loaded.stablehlo() == loaded.stablehlo("tpu")


def test_the_executable_for_this_machine_is_called(bundle: Path) -> None:
    result = artifact.load(bundle).compiled(recompile=False)(np.ones(4, "float32"))
    np.testing.assert_allclose(result, np.tanh(np.ones(4)) + 1, rtol=1e-6)


def test_the_executable_for_a_gpu_needs_its_device(bundle: Path) -> None:
    x = np.zeros(4, "float32")
    missing = "this machine has no GPU to run on" if HAS_COMPILER else "pip install"
    with pytest.raises(BackendError, match=missing):
        artifact.load(bundle).compiled(H200)(x)


def set_older_version(data: dict[str, Any]) -> None:
    data["versions"]["jax-cuda13-pjrt"] = "0.1.0"


def test_the_program_for_a_gpu_can_be_recompiled_but_not_called(bundle: Path) -> None:
    loaded = artifact.load(change_manifest(bundle, set_older_version))
    with pytest.raises(ArtifactError, match=r"with jax-cuda13-pjrt 0\.1\.0, and here"):
        loaded.compiled(H200, recompile=False)
    missing = "compiled for h200 and cannot run here" if HAS_COMPILER else "pip install"
    with pytest.raises(BackendError, match=missing):
        loaded.compiled(H200)(np.zeros(4, "float32"))
    loaded.compiled(recompile=False)  # the CPU does not need the version of the GPU compiler


def test_without_the_gpu_compiler_only_the_gpu_executable_is_refused(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = artifact.load(change_manifest(bundle, set_older_version))
    jaxlib = {"jaxlib": loaded.manifest.versions["jaxlib"]}
    monkeypatch.setattr("olympus_core.xla.versions", lambda: jaxlib)
    with pytest.raises(ArtifactError, match="and here jax-cuda13-pjrt is not installed"):
        loaded.compiled(H200, recompile=False)
    loaded.compiled(recompile=False)


def test_a_device_without_an_executable_is_refused(bundle: Path) -> None:
    with pytest.raises(ArtifactError, match="has no executable for gpu a100-80"):
        artifact.load(bundle).compiled(olympus.target("gpu", "a100-80"), recompile=False)


@pytest.mark.parametrize("recompile", [True, False])
def test_the_error_for_a_backend_without_a_program_lists_the_others(
    tmp_path: Path, recompile: bool
) -> None:
    program = olympus.jit(olympus.numpy.linalg.eigh).trace(struct(3, 3))
    loaded = artifact.load(save(tmp_path / "f.olympus", program))
    message = r"f.olympus has no program for gpu, only for cpu \(executables: cpu\)"
    with pytest.raises(ArtifactError, match=message):
        loaded.compiled(H200, recompile=recompile)


def test_a_bundle_only_for_a_gpu_is_recompiled_for_the_cpu(tmp_path: Path) -> None:
    path = tmp_path / "f.olympus"
    traced = olympus.jit(lax.exp).trace(struct(4))
    lowered = traced.lower(H200)
    text = str(traced.olympuspr)
    artifact.save(
        path, compiled_for_gpu(lowered), lowered=lowered, olympuspr_text=text, name="f", entry="m:f"
    )
    assert json.loads(members_of(path)["manifest.json"])["programs"] == {
        "gpu": "program.stablehlo.bc"
    }
    with pytest.raises(ArtifactError, match="has no executable for cpu"):
        artifact.load(path).compiled(recompile=False)
    result = artifact.load(path).compiled()(np.zeros(4, "float32"))
    np.testing.assert_array_equal(result, np.ones(4))
