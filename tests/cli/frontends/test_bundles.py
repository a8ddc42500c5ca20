"""Targets whose entry is a bundle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.artifact.bundles import members_of, pack, replace_member

Invoke = Callable[..., Result]

SHAPES = "params={w=f32[3,4],b=f32[4]}, x=f32[8,3]"


@pytest.fixture
def work(project: Path, invoke: Invoke) -> Path:
    """The project with a bundle of `model:forward`, forward.olympus, and a target of it."""
    options = ("--shapes", SHAPES, "--static", "scale=2", "-o", "out")
    assert invoke("compile", "model:forward", *options).exit_code == 0
    (project / "out" / "forward.olympus").rename(project / "forward.olympus")
    (project / "olympus.toml").write_text(
        '[target.t]\nentry = "forward.olympus"\ndonate = ["x"]\nargs.x = "f32[8,3]"\n'
    )
    return project


def test_names_statics_and_lines_are_those_of_the_bundle(work: Path, invoke: Invoke) -> None:
    document = json.loads(invoke("trace", "forward.olympus", "--json").stdout)
    assert document["static"] == {"scale": 2}
    names = [argument["name"] for argument in document["arguments"]]
    assert names == ["params['b']", "params['w']", "x"]
    shown = invoke("cost", "forward.olympus").stdout
    assert "model.py:9 " in shown and 'params["w"]' in shown


def test_a_target_adds_donations_and_its_bundle_is_the_same_program(
    work: Path, invoke: Invoke
) -> None:
    assert invoke("build").exit_code == 0
    document = json.loads(invoke("inspect", "build/t/t.olympus", "--json").stdout)
    signature = document["manifest"]["signature"]
    assert [x["name"] for x in signature["arguments"] if x["donated"]] == ["x"]
    assert signature["static"] == {"scale": 2}
    assert invoke("compile", "forward.olympus", "-o", "again").exit_code == 0
    same = invoke("diff", "again/forward.olympus", "forward.olympus")
    assert same.exit_code == 0, same.stdout


def test_a_donation_of_another_name(work: Path, invoke: Invoke) -> None:
    text = (work / "olympus.toml").read_text().replace('["x"]', '["z"]')
    (work / "olympus.toml").write_text(text)
    result = invoke("trace", "t")
    assert result.exit_code == 2
    assert "olympus.toml:3: target.t.donate: donate names 'z'" in result.stderr
    assert "its arguments are params['b'], params['w'], x" in result.stderr


def test_a_shape_of_olympus_toml_has_its_line(work: Path, invoke: Invoke) -> None:
    text = (work / "olympus.toml").read_text().replace("f32[8,3]", "f32[9,3]")
    (work / "olympus.toml").write_text(text)
    result = invoke("trace", "t")
    assert result.exit_code == 2
    assert "olympus.toml:4: target.t.args" in result.stderr
    assert "has the type float32[8,3], and got float32[9,3]" in result.stderr


def test_trees_of_shapes_are_compared(work: Path, invoke: Invoke) -> None:
    for shapes in (SHAPES, "{w=f32[3,4],b=f32[4]}, f32[8,3]"):
        assert invoke("trace", "forward.olympus", "--shapes", shapes).exit_code == 0
    result = invoke("trace", "forward.olympus", "--shapes", "{w=f32[3,4],b=f32[5]}, f32[8,3]")
    assert result.exit_code == 2
    assert "argument \"params['b']\" of forward.olympus has the type float32[4]" in result.stderr


def test_calls_of_lapack_on_a_gpu(work: Path, invoke: Invoke) -> None:
    """A decomposition becomes a loop there, and other routines are refused."""
    (work / "solver.py").write_text(
        "import olympus.numpy as np\nfrom olympus import lax\n\n\n"
        "def solve(a, b):\n    return np.linalg.solve(a, b)\n\n\n"
        "def pivoted(a):\n    return lax.linalg.qr(a, pivoting=True)\n"
    )
    for name, shapes in (("solve", "f32[4,4], f32[4]"), ("pivoted", "f32[4,4]")):
        compiled = invoke("compile", f"solver:{name}", "--shapes", shapes, "-o", name)
        assert compiled.exit_code == 0, compiled.stderr
    assert "lapack" in invoke("lower", "solve/solve.olympus").stdout
    lowered = invoke("lower", "solve/solve.olympus", "--device", "h200")
    assert lowered.exit_code == 0, lowered.stderr
    assert "lapack" not in lowered.stdout
    result = invoke("lower", "pivoted/pivoted.olympus", "--device", "h200")
    assert result.exit_code == 5
    assert "pivoted.olympus was lowered for cpu and cannot be compiled for gpu" in result.stderr
    assert "it calls lapack_sgeqp3_ffi, which only cpu has" in result.stderr
    assert "hint: compile its source (solver:pivoted) for gpu" in result.stderr
    assert invoke("lower", "pivoted/pivoted.olympus").exit_code == 0
    assert invoke("lower", "forward.olympus", "--device", "h200").exit_code == 0


def test_a_damaged_bundle_is_refused_before_it_is_parsed(work: Path, invoke: Invoke) -> None:
    path = work / "forward.olympus"
    pack(path, {**members_of(path), "program.stablehlo.bc": b"changed"})
    for command in (("trace",), ("cost",), ("verify",), ("compile", "-o", "there")):
        result = invoke(command[0], "forward.olympus", *command[1:])
        assert result.exit_code == 5, result.output
        assert "its member 'program.stablehlo.bc' has 7 bytes" in result.stderr
    replace_member(path, "program.stablehlo.bc", b"changed")
    result = invoke("trace", "forward.olympus")
    assert result.exit_code == 5
    assert "forward.olympus cannot be used" in result.stderr


def test_only_a_trusted_bundle_is_an_entry(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("team", "other"):
        assert invoke("sign", "--new-key", name).exit_code == 0
    assert invoke("verify", "forward.olympus", "--trust", "team.pub").exit_code == 5
    assert invoke("verify", "t", "--trust", "team.pub").exit_code == 5
    assert invoke("sign", "forward.olympus", "--key", "team.key").exit_code == 0
    for target in ("forward.olympus", "t"):
        result = invoke("verify", target, "--trust", "team.pub")
        assert result.exit_code == 0, result.output
    settings = Path("config", "olympus", "config.toml")
    settings.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("config").absolute()))
    for key, code in (("team", 0), ("other", 5)):
        settings.write_text(f'[bundles]\ntrust = "../../{key}.pub"\n')
        assert invoke("trace", "forward.olympus").exit_code == code
        assert invoke("lower", "t").exit_code == code
