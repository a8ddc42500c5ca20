"""Mutated bundles read in C under the sanitizers."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

import olympus
from olympus import artifact
from tests.cli.export.c_programs import (
    COMPILERS,
    SANITIZERS,
    build,
    export,
    require_sanitizers,
    run,
    save_bundle,
)


class Harness(NamedTuple):
    """The program that mutates a bundle, the bundle, and the bundles of its executables."""

    executable: Path
    bundle: Path
    parts: list[Path]


def twice(path: Path, rows: int) -> Path:
    return save_bundle(path, lambda x: x + x, olympus.ShapeDtypeStruct((rows,), "float32"))


PROGRAMS = "one program", "several numbers of rows"


@pytest.fixture(scope="module", params=itertools.product(PROGRAMS, COMPILERS), ids=" by ".join)
def harness(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Harness:
    program, compiler = request.param
    require_sanitizers(compiler)
    folder = tmp_path_factory.mktemp("mutations")
    bundle = folder / "f.olympus"
    if program == "one program":
        parts = [twice(bundle, 2)]
    else:
        by_rows = {rows: twice(folder / f"{rows}.olympus", rows) for rows in (1, 4)}
        options = {"arguments": [({0: 1}, "zeros")], "results": [{0: 1}]}
        artifact.join_buckets(bundle, by_rows, name="f", symbol="b", **options)
        parts = [*by_rows.values()]
    exported = export(bundle, folder / "c")
    shutil.copy(Path(__file__).with_name("mutations.c"), exported)
    executable = build(exported, *SANITIZERS, compiler=compiler, main="mutations.c")
    return Harness(executable, bundle, parts)


@pytest.mark.parametrize(
    ("count", "seed"), [(500, 1), pytest.param(10_000, 2, marks=pytest.mark.night)]
)
def test_mutated_bundles(harness: Harness, tmp_path: Path, count: int, seed: int) -> None:
    content = harness.bundle.read_bytes()
    ranges: list[str] = []
    for part in map(artifact.load, harness.parts):
        for member in (part.manifest_bytes, part.members["executables/cpu.bin"]):
            begin = content.index(member)
            ranges += [str(begin), str(begin + len(member))]
    arguments = (harness.bundle, tmp_path / "copy.olympus", str(count), str(seed), *ranges)
    refused, accepted = map(int, run(harness.executable, *arguments).split())
    assert refused + accepted == count
    assert refused > accepted > 0
