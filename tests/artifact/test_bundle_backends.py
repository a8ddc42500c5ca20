"""One bundle for several backends, of which one is here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import change_manifest, members_of, struct

import olympus
import olympus.numpy as jnp
from olympus import artifact
from olympus.errors import ArtifactError, BackendError

H200 = olympus.target("gpu", "h200")
BACKENDS = {status.name: status.available for status in olympus.backends()}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A bundle of a program compiled for the CPU and for a GPU."""
    assert BACKENDS["gpu"], "the tests need the GPU compiler's wheel"
    path = tmp_path_factory.mktemp("both") / "f.olympus"
    traced = olympus.jit(lambda x: jnp.tanh(x) + 1).trace(struct(4))
    stages = [traced.lower(), traced.lower(H200)]
    artifact.save(
        path,
        [stage.compile() for stage in stages],
        lowered=stages,
        olympuspr_text=str(traced.olympuspr),
        name="f",
        entry="m:f",
    )
    return path.read_bytes()


@pytest.fixture
def bundle(tmp_path: Path, both: bytes) -> Path:
    path = tmp_path / "f.olympus"
    path.write_bytes(both)
    return path


def test_both_are_listed(bundle: Path) -> None:
    loaded = artifact.load(bundle)
    assert {e.member: e.target for e in loaded.executables} == {
        "executables/cpu.bin": olympus.target("cpu"),
        "executables/gpu-h200.bin": H200,
    }
    assert all(loaded.members[e.member] for e in loaded.executables)
    # The two programs are equal, and so are one member.
    assert set(loaded.manifest.programs.values()) == {"program.stablehlo.bc"}
    assert loaded.stablehlo("gpu") == loaded.stablehlo() == loaded.stablehlo("tpu")


def test_the_one_for_this_machine_is_called(bundle: Path) -> None:
    found = artifact.load(bundle).compiled(recompile=False)(np.zeros(4, "float32"))
    np.testing.assert_array_equal(found, np.ones(4))


def test_the_other_needs_its_device(bundle: Path) -> None:
    x = np.zeros(4, "float32")
    with pytest.raises(BackendError, match="there is no GPU to run on here"):
        artifact.load(bundle).compiled(H200)(x)


def test_the_other_can_be_compiled_again_and_not_called(bundle: Path) -> None:
    def older(data: dict[str, Any]) -> None:
        data["versions"]["jax-cuda13-pjrt"] = "0.1.0"

    loaded = artifact.load(change_manifest(bundle, older))
    with pytest.raises(ArtifactError, match="built by jax-cuda13-pjrt 0.1.0, and this is"):
        loaded.compiled(H200, recompile=False)
    compiled = loaded.compiled(H200)
    assert compiled.target == H200 and "tanh" in compiled.as_text()
    with pytest.raises(BackendError, match="compiled for h200 and cannot run here"):
        compiled(np.zeros(4, "float32"))
    loaded.compiled(recompile=False)  # what the GPU's compiler was does not matter to the CPU


def test_a_device_that_it_was_not_compiled_for(bundle: Path) -> None:
    with pytest.raises(ArtifactError, match="has no executable for gpu a100-80"):
        artifact.load(bundle).compiled(olympus.target("gpu", "a100-80"), recompile=False)


def test_a_bundle_for_the_gpu_alone_runs_here_when_compiled_again(tmp_path: Path) -> None:
    path = tmp_path / "f.olympus"
    traced = olympus.jit(lambda x: x + 1).trace(struct(4))
    lowered = traced.lower(H200)
    text = str(traced.olympuspr)
    artifact.save(
        path, lowered.compile(), lowered=lowered, olympuspr_text=text, name="f", entry="m:f"
    )
    assert json.loads(members_of(path)["manifest.json"])["programs"] == {
        "gpu": "program.stablehlo.bc"
    }
    with pytest.raises(ArtifactError, match="has no executable for cpu"):
        artifact.load(path).compiled(recompile=False)
    found = artifact.load(path).compiled()(np.zeros(4, "float32"))
    np.testing.assert_array_equal(found, np.ones(4))
