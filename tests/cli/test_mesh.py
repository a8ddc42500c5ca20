"""Targets with a mesh: built, run and reported on several devices, and their mistakes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

import olympus
from olympus.errors import SpecError
from olympus_cli.main import cli
from olympus_cli.spec.backends import backend_text, parse_backend
from olympus_cli.spec.mesh import sharding_text
from olympus_cli.spec.project import load_project
from tests.artifact.bundles import change_manifest
from tests.cli.conftest import Invoke
from tests.marks import needs_gpu_compiler

LAYER = """\
import olympus.numpy as np


def layer(x, w):
    return np.tanh(x @ w["up"]) @ w["down"]


def both(x):
    return {"a": x + 1, "b": x.sum()}


def init():
    return {"up": np.zeros((16, 32)), "down": np.zeros((32, 16))}
"""

MESH = """\
[target.layer]
entry = "layers:layer"
mesh = { data = 2, model = 4 }
out-sharding = ["data"]
{more}
[target.layer.args]
x = { shape = "f32[8,16]", sharding = ["data"] }
w = { up = { shape = "f32[16,32]", sharding = ["", "model"] }, down = "f32[32,16]" }
"""


def written(folder: Path, text: str = MESH, more: str = "") -> None:
    (folder / "layers.py").write_text(LAYER)
    (folder / "olympus.toml").write_text(text.replace("{more}", more))


def test_a_target_runs_on_the_devices_of_its_mesh(folder, invoke: Invoke, monkeypatch) -> None:
    written(folder)
    monkeypatch.delenv("OLYMPUS_NUM_CPU_DEVICES", raising=False)  # as many as the mesh asks for
    result = invoke("run", "layer", "--json")
    assert result.exit_code == 0, result.stderr
    (output,) = json.loads(result.stdout)["outputs"]
    assert output["shape"] == [8, 16]
    result = invoke("verify", "layer")
    assert result.exit_code == 0, result.stderr
    lowered = invoke("lower", "layer").stdout
    assert '<["data"=2, "model"=4]>' in lowered
    assert '[{}, {"model"}]' in lowered
    monkeypatch.setenv("OLYMPUS_NUM_CPU_DEVICES", "2")
    result = invoke("run", "layer")
    assert result.exit_code == 3
    assert "'layer' is a program of 8 devices, and there are 2" in result.stderr


def test_the_report_has_devices_and_collectives(folder, invoke: Invoke) -> None:
    written(folder)
    result = invoke("compile", "layer", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)["report"]
    schema = Path(olympus.__file__).parents[1] / "olympus_cli/reports/report.schema.json"
    jsonschema.validate(report, json.loads(schema.read_text()))
    (backend,) = report["backends"]
    assert backend["devices"] == 8
    assert backend["memory"]["arguments"] < sum(leaf["bytes"] for leaf in report["arguments"])
    found = backend["collectives"]
    assert {"layers.py:5"} == {each["line"] for each in found}
    assert {axis for each in found for axis in each["axes"]} == {"model"}
    assert report["warnings"] == []
    assert "layer.olympus" in {each["path"] for each in report["outputs"]}
    summary = (folder / "build" / "layer" / "summary.txt").read_text()
    assert "cpu (8 devices)" in summary
    assert "collective" in summary
    assert "built" not in invoke("build").stdout  # what is there is fresh


BUNDLE = "build/layer/layer.olympus"


@pytest.fixture(scope="module")
def bundle_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a build writes for a program of eight devices, of which the user says none."""
    folder = tmp_path_factory.mktemp("built")
    written(folder)
    with contextlib.chdir(folder):
        assert CliRunner().invoke(cli, ["build"]).exit_code == 0
    return (folder / BUNDLE).read_bytes()


@pytest.fixture
def built(folder, bundle_bytes: bytes) -> Path:
    """A folder with the target and its bundle."""
    written(folder, more='budget = { bundle-size = "1 MiB" }')
    (folder / BUNDLE).parent.mkdir(parents=True)
    (folder / BUNDLE).write_bytes(bundle_bytes)
    return folder


def test_a_bundle_runs_on_as_many_devices_as_it_needs(built, invoke: Invoke, monkeypatch) -> None:
    outs = [invoke("run", each, "--json") for each in ("layer", BUNDLE)]
    assert [each.exit_code for each in outs] == [0, 0], outs[1].stderr
    assert outs[0].stdout == outs[1].stdout
    monkeypatch.setenv("OLYMPUS_NUM_CPU_DEVICES", "2")
    result = invoke("run", BUNDLE)
    assert result.exit_code == 6
    assert f"{BUNDLE} needs 8 devices, and there are 2 of the cpu" in result.stderr
    assert "OLYMPUS_NUM_CPU_DEVICES=8" in result.stderr


def test_a_target_is_held_against_its_bundle(built, invoke: Invoke) -> None:
    result = invoke("check")
    assert result.exit_code == 0, result.stderr
    assert "bundle-size" in result.stdout
    result = invoke("verify", "layer", "--against", BUNDLE)
    assert result.exit_code == 0, result.stderr
    assert f"{BUNDLE}" in result.stdout
    result = invoke("diff", "layer", BUNDLE)
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    text = MESH.replace('"f32[8,16]", sharding = ["data"]', '"f32[8,16]", sharding = ["model"]')
    written(built, text)
    result = invoke("diff", BUNDLE, "layer")
    assert result.exit_code == 1
    assert "sdy.sharding" in result.stdout


def test_a_damaged_bundle_of_several_devices(built, invoke: Invoke) -> None:
    change_manifest(built / BUNDLE, lambda data: data["placement"].update(num_devices=10**9))
    result = invoke("run", BUNDLE)
    assert result.exit_code == 5
    assert "placement.num_devices must be an integer from 2 to 1024" in result.stderr


STEP = """\
[target.step]
entry = "layers:step"
mesh = { i = 2 }
donate = ["state"]
[target.step.args]
state = { shape = "f32[8,8]", sharding = ["i"] }
x = { shape = "f32[8,8]", sharding = ["", "i"] }
"""


def test_bench_puts_inputs_where_they_lie(folder, invoke: Invoke) -> None:
    (folder / "layers.py").write_text("def step(state, x):\n    return state + x, x.sum()\n")
    (folder / "olympus.toml").write_text(STEP)
    assert invoke("build").exit_code == 0
    bundle = "build/step/step.olympus"
    options = ("--rounds", "1", "--time-limit", "0.1", "--json")
    result = invoke("bench", "step", "--baseline", bundle, *options)
    assert result.exit_code in (0, 1), result.stderr  # it is not the times that are tested
    document = json.loads(result.stdout)
    assert len(document["comparisons"]) == 1
    (found,) = document["targets"]
    assert (found["facts"]["donated"], found["facts"]["input_sets"]) == ("fed back", 2)
    result = invoke("profile", bundle, "--runs", "1", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["kernels"]


@needs_gpu_compiler
def test_for_gpus_that_are_not_there(folder, invoke: Invoke) -> None:
    written(folder, more='backends = ["cpu", "gpu:8xh200"]')
    result = invoke("cost", "layer", "--device", "h200", "--topology", "2x8", "--compile", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["backend"], document["roofline"]) == ("gpu:2x8xh200", None)
    assert document["compiled"]["fits"] is True
    assert document["compiled"]["devices"] == 8
    result = invoke("build", "--backend", "gpu")
    assert result.exit_code == 0, result.stderr
    assert sorted(p.name for p in (folder / "build" / "layer").iterdir() if p.is_dir()) == ["gpu"]
    result = invoke("compile", "layer", "--device", "4xh200")
    assert result.exit_code == 2
    assert "the mesh of layer needs 8 devices, and gpu:4xh200 has 4" in result.stderr


ARGS = '[target.f]\nentry = "layers:both"\nmesh = { data = 2, model = 4 }\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x = { shape = "f32[7,16]", sharding = ["data"] }', "dimension 0, which has 7 elements, "
         "along the axis 'data' of 2: they do not divide into 2 equal parts"),
        ('x = { shape = "f32[8]", sharding = [["data", "model"], ""] }', "has 2 entries, one for"),
        ('x = { shape = "f32[]", sharding = ["data"] }', "has 1 entries, one for each dimension"),
        ('x = { shape = "f32[8]", sharding = ["modle"] }', "names the axis 'modle', which the"),
        ('x = { shape = "f32[8,8]", sharding = ["data", "data"] }', "names the axis 'data' twice"),
        ('x = { shape = "f32[8,8]", sharding = [["data", "data"]] }', "'data' twice"),
        ('x = { shape = "f32[8]", sharding = [1] }', "must be the name of an axis, an array"),
        ('x = { shape = "f32[8]", sharding = [[""]] }', "must be the name of an axis, an array"),
        ('x = { shape = "{ a = f32[8] }", sharding = ["data"] }', "is of one array, and the shape"),
        ('x = { from = "layers:init", sharding = "data" }', "must be an array with an entry"),
        ('x = { from = "layers:init", sharding = ["dat"] }', "names the axis 'dat', which the"),
    ],
)  # fmt: skip
def test_mistakes_in_shardings_have_their_place(folder, text, message) -> None:
    (folder / "olympus.toml").write_text(f"{ARGS}[target.f.args]\n{text}\n")
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert message in str(caught.value)
    assert "olympus.toml:5: target.f.args.x" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mesh = 8", "mesh must be a table"),
        ("mesh = { data = 0 }", "mesh.data must be a whole number of devices from 1 to 1024"),
        ("mesh = { data = true }", "mesh.data must be a whole number"),
        (
            "mesh = { data = 1024, model = 2 }",
            "mesh has 2048 devices, and 1024 at most are allowed",
        ),
        ('mesh = { "a b" = 2 }', "mesh has the axis 'a b'"),
        (
            'mesh = { data = 16 }\nbackends = ["gpu:8xh200"]',
            "backends has 1x8 of h200, 8 devices, and",
        ),
        ('backends = ["gpu:0xh200"]', "from 1 to 1024 devices, and 0 has 0"),
        ('out-sharding = ["data"]', "names the axis 'data', and the target has no mesh"),
        ('mesh = { data = 2 }\nout-sharding = { a = ["x"] }', "out-sharding.a names the axis 'x'"),
    ],
)
def test_mistakes_in_meshes(folder, text, message) -> None:
    (folder / "olympus.toml").write_text(f'[target.f]\nentry = "layers:both"\n{text}\n')
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x = "f32[8]"', "has a mesh of 8 devices, and no argument or result has a sharding"),
        (
            'x = { from = "layers:init", sharding = ["", "", "data"] }',
            "has 3 entries, one for each",
        ),
    ],
)
def test_what_only_the_program_tells(folder, invoke: Invoke, text, message) -> None:
    written(folder, f"{ARGS}[target.f.args]\n{text}\n")
    result = invoke("lower", "f")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_results_of_a_dict_have_their_own_shardings(folder, invoke: Invoke) -> None:
    text = f'{ARGS}out-sharding = {{ a = ["model"], b = [] }}\n[target.f.args]\nx = "f32[8]"\n'
    written(folder, text)
    result = invoke("lower", "f")
    assert result.exit_code == 0, result.stderr
    assert '<@mesh, [{"model"}]>' in result.stdout


def test_a_pytree_with_such_names_stays_one(folder) -> None:
    text = '[target.f]\nentry = "layers:both"\nargs = [{ shape = "f32[2]", sharding = ["f32[3]"] }]'
    (folder / "olympus.toml").write_text(text)
    (given,) = load_project(folder).targets["f"].args
    assert isinstance(given, dict)
    assert sorted(given) == ["shape", "sharding"]


@pytest.mark.parametrize("text", ["cpu", "gpu:h200", "gpu:8xh200", "gpu:2x8xa100-80"])
def test_backends_are_read_as_they_are_written(text) -> None:
    assert backend_text(parse_backend(text)) == text


def test_the_text_of_a_sharding() -> None:
    assert sharding_text(()) == "[]"
    assert sharding_text(((), ("a",), ("a", "b"))) == '["", "a", ["a", "b"]]'
