"""Two builds of one project in two folders have the same bundle, byte for byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import Result

from olympus_bundle.buckets import BucketManifest
from olympus_bundle.bundle_file import program_manifest, read_bundle, read_member
from olympus_bundle.manifest import StoredExecutable
from tests.day import by_day

Invoke = Callable[..., Result]

ROOT = Path(__file__).parents[3]
#: Entries that need a package of their own are built by the tests of their frontends.
OTHERS = {"jax_flax", "torch"}
EXAMPLES = sorted(
    path.parent.name
    for path in (ROOT / "examples").glob("*/olympus.toml")
    if path.parent.name not in OTHERS
)


def bundles(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("build/*/*.olympus")}


def executables(path: Path) -> list[Sequence[StoredExecutable]]:
    """Return the executables of each program in a bundle."""
    file = read_bundle(path)
    manifest, parts = file.manifest, [file]
    if isinstance(manifest, BucketManifest):
        parts = [read_member(file, manifest.part(size)) for size in manifest.sizes]
    return [program_manifest(part).executables for part in parts]


def copy_of(example: str, folder: Path) -> Path:
    ignored = shutil.ignore_patterns("build", "__pycache__", "goldens")
    shutil.copytree(ROOT / "examples" / example, folder, ignore=ignored)
    return folder


@pytest.mark.parametrize("example", by_day(EXAMPLES, ["lstm", "mlp"]))
def test_an_example_in_two_folders(example: str, folder: Path, invoke: Invoke) -> None:
    one = copy_of(example, folder / "a")
    two = copy_of(example, folder / "another" / "longer" / "name")
    for place in (one, two):
        result = invoke("build", "--project", str(place), "--no-cache")
        assert result.exit_code == 0, result.stderr
    first, second = bundles(one), bundles(two)
    assert first
    assert first == second
    for name in first:
        assert str(folder).encode() not in first[name]
        assert all(executables(next(one.glob(f"build/*/{name}"))))


@pytest.mark.parametrize("backend", [("gpu", "h200"), ("tpu", "v5e")], ids=" ".join)
def test_a_program_for_an_accelerator(
    backend: tuple[str, str], project: Path, invoke: Invoke
) -> None:
    contents = []
    for place in (project / "a", project / "another"):
        place.mkdir()
        shutil.copy(project / "model.py", place)
        entry = ("model:add", "--shapes", "f32[64], f32[64]", "--project", str(place))
        options = ("--backend", backend[0], "--device", backend[1], "--no-cache")
        result = invoke("compile", *entry, *options, "-o", str(place / "out"))
        assert result.exit_code == 0, result.stderr
        contents += [path.read_bytes() for path in (place / "out").glob("*.olympus")]
    assert contents[0] == contents[1]
    assert len(contents) == 2
