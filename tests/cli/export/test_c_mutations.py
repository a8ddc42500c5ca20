"""Mutated bundles read in C under the sanitizers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import olympus
from olympus import artifact
from tests.cli.export.c_programs import SANITIZERS, build, export, run, save_bundle


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mutations")
    struct = olympus.ShapeDtypeStruct((2,), "float32")
    bundle = save_bundle(folder / "f.olympus", lambda x: x + x, struct)
    exported = export(bundle, folder / "c")
    shutil.copy(Path(__file__).with_name("mutations.c"), exported)
    return build(exported, *SANITIZERS, main="mutations.c")


@pytest.mark.parametrize(
    ("count", "seed"), [(800, 1), pytest.param(10_000, 2, marks=pytest.mark.night)]
)
def test_mutated_bundles(harness: Path, tmp_path: Path, count: int, seed: int) -> None:
    path = harness.parent / "f.olympus"
    bundle, content = artifact.load(path), path.read_bytes()
    ranges: list[str] = []
    for member in (bundle.manifest_bytes, bundle.members["executables/cpu.bin"]):
        begin = content.index(member)
        ranges += [str(begin), str(begin + len(member))]
    output = run(harness, path, tmp_path / "copy.olympus", str(count), str(seed), *ranges)
    refused, accepted = map(int, output.split())
    assert refused + accepted == count
    assert refused > accepted > 0
