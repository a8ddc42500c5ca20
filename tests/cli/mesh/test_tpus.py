"""Targets for TPUs that are not attached: builds, budgets, costs and searches for shardings."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Invoke
from tests.cli.mesh.project import LAYER, written
from tests.marks import needs_tpu_compiler

SORTED = """
import olympus.numpy as jnp

def sorted_rows(x):
    return jnp.sort(x * 2.0, axis=0)

def columns(x):
    return x.reshape(3, 100000).T * 2.0
"""
TARGETS = """
[target.large]
entry = "rows:sorted_rows"
backends = ["tpu:v6e"]
args = ["f32[60000,600000]"]

[target.columns]
entry = "rows:columns"
backends = ["tpu:v5e"]
args = ["f32[300000]"]
"""


@needs_tpu_compiler
def test_a_target_is_built_for_cpu_and_several_tpus(folder, invoke: Invoke) -> None:
    before = dict(os.environ)
    written(folder, more='backends = ["cpu", "tpu:v5e:2x4", "tpu:8xv6e"]')
    result = invoke("build")
    assert result.exit_code == 0, result.stderr
    outputs = folder / "build" / "layer"
    assert sorted(path.name for path in outputs.iterdir() if path.is_dir()) == [
        *("cpu", "tpu-v5e-2x4", "tpu-v6e-2x4"),
    ]
    report = json.loads((outputs / "report.json").read_text())
    devices = [(each["device"], each["devices"]) for each in report["backends"]]
    assert devices == [(None, 8), ("v5e", 8), ("v6e", 8)]
    assert report["backends"][1]["fits"] is True
    torus = report["backends"][1]["torus"]
    assert (torus["name"], torus["sizes"], torus["wraps"]) == ("v5e:2x4", [2, 4], [False, False])
    assert torus["axes"] == {"data": {"x": 2}, "model": {"y": 4}}
    assert report["backends"][0]["torus"] is None
    assert 0 < report["backends"][1]["utilization"] < 1
    assert report["backends"][1]["xla"]["cost"]["optimal_seconds"] > 0
    summary = (outputs / "summary.txt").read_text()
    assert "mesh axis       model along y (4)" in summary and "optimal seconds" in summary
    assert invoke("build").stdout.startswith("fresh ")
    assert dict(os.environ) == before  # the library's variables are set in the worker


@needs_tpu_compiler
def test_a_bundle_has_the_topology_and_the_version_of_the_library(folder, invoke: Invoke) -> None:
    written(folder, more='backends = ["cpu", "tpu:v5e:2x4"]')
    assert invoke("build").exit_code == 0
    bundle = str(folder / "build" / "layer" / "layer.olympus")
    document = json.loads(invoke("inspect", bundle, "--json").stdout)
    manifest = document["manifest"]
    (stored,) = [each for each in manifest["executables"] if each["backend"] == "tpu"]
    assert (stored["device"], stored["topology"]) == ("v5e", "2x4")
    assert manifest["versions"]["libtpu"]
    misfits = {x["member"]: x["misfit"] for x in document["executables"]}
    assert misfits[stored["member"]] == "this machine has no TPU"
    assert [reason for member, reason in misfits.items() if "cpu" in member] == [None]
    result = invoke("run", bundle, "--device", "v5e:2x4")
    assert result.exit_code == 6
    assert "this machine has no TPU" in result.stderr
    result = invoke("run", bundle, "--device", "v5e:4x4")
    assert result.exit_code == 6, result.stderr


@needs_tpu_compiler
def test_a_program_that_does_not_fit_fails_a_budget_or_the_compilation(
    folder: Path, invoke: Invoke
) -> None:
    (folder / "rows.py").write_text(SORTED)
    (folder / "olympus.toml").write_text(TARGETS)
    result = invoke("compile", "large")
    assert result.exit_code == 4
    assert "does not fit the memory of its device: it needs 402.37 GiB" in result.stderr
    assert "E1000" not in result.stderr
    (folder / "olympus.toml").write_text(TARGETS + '[target.large.budget]\nfits = "v6e"\n')
    result = invoke("check", "large")
    assert result.exit_code == 1
    assert "371.13 GiB more than the 31.24 GiB" in result.stderr


@needs_tpu_compiler
def test_the_report_shows_the_padding_with_the_line(folder: Path, invoke: Invoke) -> None:
    (folder / "rows.py").write_text(SORTED)
    (folder / "olympus.toml").write_text(TARGETS)
    result = invoke("compile", "columns", "--json")
    assert result.exit_code == 0, result.stderr
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    padded = [each for each in backend["memory"]["largest"] if each["unpadded"] is not None]
    assert (1_200_000, "rows.py:8") in {(each["unpadded"], each["line"]) for each in padded}
    summary = invoke("compile", "columns", "--device", "v2", "-o", "other").stdout
    assert "padded to tiles of" in summary


@needs_tpu_compiler
def test_the_cost_and_the_difference_of_programs_for_tpus(folder, invoke: Invoke) -> None:
    written(folder)
    result = invoke("cost", "layer", "--device", "v5p:2x2x2", "--compile", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["backend"] == "tpu:v5p:2x2x2"
    assert document["compiled"]["estimate"]["device"] == "v5p"
    assert document["compiled"]["devices"] == 8


@needs_tpu_compiler
@pytest.mark.night
def test_a_search_for_shardings_on_a_torus(folder, invoke: Invoke) -> None:
    written(folder)
    result = invoke("shard", "layer", "--device", "v5e:2x4", "--by", "time", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["backend"] == "tpu:v5e:2x4"
    assert all(each["seconds"] > 0 and each["fits"] for each in document["candidates"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--device", "v5e:0x1"), "--device v5e:0x1: v5e has no topology 0x1"),
        (("--device", "4xv6e"), "the mesh of layer needs 8 devices, and tpu:v6e:2x2 has 4"),
        (("--device", "v6e"), "the mesh of layer needs 8 devices, and tpu:v6e has 1"),
        (("--device", "v6e", "--topology", "3x3"), "v6e has no topology 3x3"),
        (("--backend", "gpu", "--device", "v6e"), "no device of the backend 'gpu' is named 'v6e'"),
        (("--backend", "tpu", "--device", "h200"), "no device of the backend 'tpu' is named 'h2"),
    ],
)
def test_wrong_names_are_refused_before_the_library_is_called(
    folder, invoke: Invoke, options, message
) -> None:
    written(folder)
    result = invoke("compile", "layer", *options)
    assert result.exit_code == 2
    assert message in result.stderr


@needs_tpu_compiler
def test_two_builds_for_a_slice_are_compared_and_shown(folder: Path, invoke: Invoke) -> None:
    written(folder, more='backends = ["tpu:v5e:2x4"]')
    assert invoke("build").exit_code == 0
    shutil.copytree(folder / "build" / "layer", folder / "build" / "before")
    assert invoke("diff", "build/before", "build/layer").exit_code == 0
    program = folder / "layers.py"
    program.write_text(program.read_text().replace("np.tanh(x @", "np.exp(x @"))
    assert invoke("build").exit_code == 0
    result = invoke("diff", "build/before", "build/layer")
    assert result.exit_code == 1
    assert "tanh" in result.stdout and "exponential" in result.stdout
    result = invoke("report", "layer", "--output", "page.html")
    assert result.exit_code == 0, result.stderr
    page = (folder / "page.html").read_text()
    assert "v5e:2x4" in page and "no wrap-around links" in page
    assert "All chips are in one slice" in page  # the assumption about the data center's network


@needs_tpu_compiler
def test_a_build_for_a_tpu_gets_new_lines_without_compiling(folder: Path, invoke: Invoke) -> None:
    program, outputs = folder / "rows.py", folder / "build" / "columns"
    program.write_text(SORTED)
    (folder / "olympus.toml").write_text(TARGETS)

    def lines() -> set[str]:
        (backend,) = json.loads((outputs / "report.json").read_text())["backends"]
        figures = [*backend["memory"]["largest"], *backend["estimate"]["kernels"]]
        return {each["line"] for each in figures if each["line"]}

    assert invoke("build", "columns").exit_code == 0
    assert lines() == {"rows.py:8"}
    executable = (outputs / "tpu" / "executable.bin").read_bytes()
    program.write_text("# a comment\n\n" + SORTED)
    assert "its source lines were renewed" in invoke("build", "columns").stdout
    assert lines() == {"rows.py:10"}
    assert (outputs / "tpu" / "executable.bin").read_bytes() == executable
    program.write_text(SORTED)  # the lines of the text count, not those of the executable
    assert "its source lines were renewed" in invoke("build", "columns").stdout
    assert lines() == {"rows.py:8"}


@needs_tpu_compiler
@pytest.mark.night
def test_a_search_for_shardings_on_256_chips(folder: Path, invoke: Invoke) -> None:
    (folder / "layers.py").write_text(LAYER)
    target = '[target.layer]\nentry = "layers:layer"\n[target.layer.args]\n'
    shapes = 'x = "f32[256,64]"\nw = { up = "f32[64,256]", down = "f32[256,64]" }\n'
    (folder / "olympus.toml").write_text(target + shapes)
    mesh = ("--mesh", "data=16,model=16", "--device", "v6e:16x16")
    result = invoke("shard", "layer", *mesh, "--by", "collectives", "--json")
    assert result.exit_code == 0, result.stderr
    candidates = json.loads(result.stdout)["candidates"]
    assert len(candidates) > 10
    figures = [each["collective_bytes"] for each in candidates if each["error"] is None]
    assert figures == sorted(figures) and figures[-1] > 0
    assert all(each["peak"] > 0 and each["seconds"] > 0 for each in candidates)
