"""Targets whose functions close over large arrays: stored once, and compiled once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import olympus_runtime
from olympus import artifact

Invoke = Callable[..., Result]

MODEL = """\
import numpy
import olympus.numpy as np

TABLE = numpy.arange(2560 * 128, dtype="float32").reshape(2560, 128) / {divisor}


def forward(x, rows):
    return np.tanh(x + np.take(TABLE, rows, axis=0))
"""
TOML = """\
[target.forward]
entry = "model:forward"
args.x = "f32[{batch},128]"
args.rows = "i32[{batch}]"
buckets.batch = [1, 2, 4, 8]
"""
BUNDLE = "build/forward/forward.olympus"
BYTES = 2560 * 128 * 4


@pytest.fixture
def work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(folder / "cache"))
    (folder / "model.py").write_text(MODEL.format(divisor=65536))
    (folder / "olympus.toml").write_text(TOML)
    return folder


def check(divisor: int) -> None:
    x, rows = np.zeros((3, 128), "float32"), np.array([0, 5, 2559], "int32")
    table = np.arange(2560 * 128, dtype="float32").reshape(2560, 128) / divisor
    expected = np.tanh(table[rows])
    np.testing.assert_allclose(olympus_runtime.load(BUNDLE)(x, rows), expected, rtol=1e-6)


def test_a_table_is_stored_once_and_a_changed_one_compiles_nothing(
    work: Path, invoke: Invoke
) -> None:
    assert invoke("build").exit_code == 0
    check(65536)
    assert (work / BUNDLE).stat().st_size < 1.2 * BYTES
    text = (work / "build/forward@batch=8/program.stablehlo.mlir").read_text()
    assert len(text) < 10_000 and "olympus.constant" in text
    (work / "model.py").write_text(MODEL.format(divisor=32768))
    explained = invoke("explain", "forward@batch=8").stdout
    assert "constants[0]: SHA-256" in " ".join(explained.split())
    built = json.loads(invoke("build", "--json").stdout)
    assert {x["status"] for x in built["targets"]} == {"built"}
    report = json.loads((work / "build/forward@batch=8/report.json").read_text())
    assert report["backends"][0]["result"]["source"] == "local"
    check(32768)
    fresh = json.loads(invoke("build", "--json").stdout)
    assert {x["status"] for x in fresh["targets"]} == {"fresh"}


def test_exports_of_programs_are_self_contained(work: Path, invoke: Invoke) -> None:
    for name in ("stablehlo", "bytecode"):
        invoke("export", "forward@batch=8", "--format", name, "-o", name)
        assert (work / name).stat().st_size > BYTES
    lowered = invoke("lower", "forward@batch=8").stdout
    assert "olympus.constant" not in lowered and len(lowered) > BYTES


def test_figures_and_contents_count_it_as_a_constant(work: Path, invoke: Invoke) -> None:
    invoke("build", "forward")
    report = json.loads((work / "build/forward@batch=8/report.json").read_text())
    memory = report["backends"][0]["memory"]
    assert memory["constants"] >= BYTES and memory["arguments"] == 8 * 128 * 4 + 8 * 4
    contents = invoke("inspect", "build/forward@batch=8/forward@batch=8.olympus")
    assert "float32[2560,128]" in contents.stdout or "f32[2560,128]" in contents.stdout
    assert "in constants.safetensors, for all sizes" in invoke("inspect", BUNDLE).stdout
    part = artifact.load("build/forward@batch=8/forward@batch=8.olympus")
    assert [x.name for x in part.manifest.signature.arguments] == ["x", "rows"]
    assert part.constants().bytes == BYTES


def test_the_program_of_a_bundle_is_built_again(work: Path, invoke: Invoke) -> None:
    invoke("build", "forward")
    source = "build/forward@batch=8/forward@batch=8.olympus"
    assert invoke("compile", source, "--output", "again").exit_code == 0
    (again,) = (work / "again").glob("*.olympus")
    assert artifact.load(again).constants().bytes == BYTES
    same = invoke("diff", source, str(again))
    assert same.exit_code == 0, same.stdout + same.stderr
