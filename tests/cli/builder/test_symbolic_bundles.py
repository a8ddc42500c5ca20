"""Targets with symbolic sizes: built with the program for all sizes, and for the sizes of `at`."""

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
import olympus.numpy as np


def forward(x, w):
    return np.tanh(x @ w).mean(0)
"""
TOML = """\
[target.forward]
entry = "model:forward"
args = { x = "f32[b,4]", w = "f32[4,2*d]" }
constraints = ["b % 4 == 0", "b <= 64"]
at = { b = 16 }
"""
FILE = "build/forward/forward.olympus"


@pytest.fixture
def work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(folder / "store"))
    (folder / "model.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def statuses(result: Result) -> dict[str, str]:
    return {x["target"]: x["status"] for x in json.loads(result.stdout)["targets"]}


def check(work: Path, b: int, d: int) -> None:
    x, w = np.full((b, 4), 0.25, "float32"), np.ones((4, 2 * d), "float32")
    got = olympus_runtime.load(work / FILE)(x, w)
    np.testing.assert_allclose(got, np.tanh(np.ones(2 * d)), rtol=1e-6)


def test_a_target_is_built_and_its_bundle_is_called(work: Path, invoke: Invoke) -> None:
    assert statuses(invoke("build", "--json")) == {"forward": "built"}
    assert statuses(invoke("build", "--json")) == {"forward": "fresh"}
    assert artifact.symbolic_of(work / FILE).sizes == ({"b": 16, "d": 1},)
    check(work, 16, 1)
    check(work, 8, 3)
    report = json.loads((work / "build/forward/report.json").read_text())
    assert [x["shape"] for x in report["arguments"]] == [[16, 4], [4, 2]]
    assert "fresh" in invoke("list").stdout
    assert "fresh   forward" in invoke("explain").stdout


def test_what_the_bundle_depends_on_makes_it_stale(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    for old, new in (("b <= 64", "b <= 32"), ("b = 16", "b = 8"), ("2*d", "3*d")):
        toml = (work / "olympus.toml").read_text()
        (work / "olympus.toml").write_text(toml.replace(old, new))
        assert statuses(invoke("build", "--json")) == {"forward": "built"}, new
    # the program at the sizes of `at` is the same, and that for all sizes is another one
    scaled = MODEL.replace("    return", "    x = x[: x.shape[0] // 2 + 8]\n    return")
    (work / "model.py").write_text(scaled)
    assert statuses(invoke("build", "--json")) == {"forward": "built"}


def test_commands_run_a_target_at_its_sizes(work: Path, invoke: Invoke) -> None:
    assert "[2]" in invoke("run", "forward").stdout
    assert "[6]" in invoke("run", "forward", "--at", "d=3").stdout
    assert invoke("verify", "forward", "--at", "b=4").exit_code == 0
    cost = json.loads(invoke("cost", "forward", "--at", "b=4", "--json").stdout)
    assert cost["cost"]["matmul_flops"] == {"float32": 4 * 4 * 2 * 2}
    assert cost["formulas"] is None


def test_commands_take_the_bundle(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert invoke("build").exit_code == 0
    shown = invoke("inspect", FILE).stdout
    for text in ("b, d", "b % 4 == 0, b <= 64", "[4, 2*d]", "b=16,d=1.olympus"):
        assert text in shown
    document = json.loads(invoke("inspect", FILE, "--json").stdout)
    assert document["variables"] == ["b", "d"]
    assert "[2]" in invoke("run", FILE).stdout
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(work / "results"))
    assert "[6]" in invoke("run", FILE, "--at", "d=3", "--at", "b=8").stdout
    assert len([*(work / "results").rglob("*.refined")]) == 1  # compiled once
    assert "[6]" in invoke("run", FILE, "--at", "d=3,b=8", "--no-native").stdout
    assert len([*(work / "results").rglob("*.refined")]) == 1
    assert invoke("verify", FILE, "--at", "b=8").exit_code == 0
    cost = json.loads(invoke("cost", FILE, "--at", "b=8", "--json").stdout)
    assert cost["cost"]["matmul_flops"] == {"float32": 8 * 4 * 2 * 2}
    assert invoke("clean", "forward").exit_code == 0
    assert not (work / FILE).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--size", "8"), f"{FILE} has the sizes b, d"),
        (("--at", "b=6"), "the constraint b % 4 == 0 does not hold for b = 6"),
        (("--at", "c=6"), "has the sizes b, d, and got c"),
        (("--at", "b=0"), "--at needs NAME=N with a number of 1 or more"),
        (("--constraint", "b > 1"), "it takes neither shapes nor statics nor constraints"),
    ],
)
def test_wrong_sizes_of_a_bundle_are_refused(
    work: Path, invoke: Invoke, arguments: tuple[str, ...], message: str
) -> None:
    assert invoke("build").exit_code == 0
    result = invoke("run", FILE, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_only_size_needs_no_name(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(TOML.replace("2*d", "3"))
    assert invoke("build").exit_code == 0
    assert invoke("run", FILE, "--size", "8").exit_code == 0
    assert invoke("run", FILE, "--size", "6").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--at", "c=3"), "no shape has the symbolic size 'c'"),
        (("--at", "b=7"), "the sizes b = 7 do not fulfill the constraints b % 4 == 0"),
        (("--constraint", "b >="), "--constraint b >=: it is not valid"),
        (("--constraint", "b >= 500"), "Unsatisfiable constraint"),
    ],
)
def test_wrong_sizes_of_a_target_are_refused(
    work: Path, invoke: Invoke, arguments: tuple[str, ...], message: str
) -> None:
    result = invoke("compile", "forward", *arguments)
    assert result.exit_code == 2, result.stderr
    assert message in result.stderr


def test_an_entry_is_compiled(work: Path, invoke: Invoke) -> None:
    shapes = "x=f32[b,4], w=f32[4,2]"
    result = invoke(
        "compile", "model:forward", "--shapes", shapes, "--constraint", "b >= 3", "-o", "out"
    )
    assert result.exit_code == 0, result.stderr
    (path,) = (work / "out").glob("*.olympus")
    manifest = artifact.symbolic_of(path)
    assert manifest.sizes == ({"b": 3},)
    assert [c.text for c in manifest.constraints] == ["b >= 3"]


@pytest.mark.parametrize("form", ["hlo", "hlo-proto", "jax-export", "c", "wheel"])
def test_formats_with_fixed_sizes_are_named(work: Path, invoke: Invoke, form: str) -> None:
    result = invoke("export", "forward", "--format", form)
    assert result.exit_code == 2
    assert f"--format {form} needs fixed sizes, and forward has the symbolic sizes b, 2*d" in (
        result.stderr
    )
    if form in ("hlo", "hlo-proto"):
        assert invoke("export", "forward", "--format", form, "--at", "b=8").exit_code == 0


def test_symbolic_stablehlo_is_exported(work: Path, invoke: Invoke) -> None:
    text = invoke("export", "forward", "--format", "stablehlo", "-o", "-").stdout
    assert "tensor<?x4xf32>" in text
    text = invoke("export", "forward", "--format", "stablehlo", "--at", "b=8", "-o", "-").stdout
    assert "tensor<8x4xf32>" in text


def test_a_wrong_at_names_its_line(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(TOML.replace("b = 16", 'b = "x"'))
    result = invoke("build")
    assert result.exit_code == 2
    assert "a number of 1 or more" in result.stderr
    (work / "olympus.toml").write_text(TOML.replace("b = 16", "e = 16"))
    result = invoke("build")
    assert result.exit_code != 0
    assert "no shape has the symbolic size 'e'" in result.stderr + result.stdout
