"""Targets of a mesh are run, measured, compared and reported like other targets."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import olympus
from olympus_cli.reports.shardings import spoken_name, spoken_value
from tests.artifact.bundles import change_manifest
from tests.cli.conftest import Invoke
from tests.cli.mesh.project import BUNDLE, MESH, written
from tests.marks import needs_gpu_compiler


def test_a_target_runs_on_the_devices_of_its_mesh(folder, invoke: Invoke, monkeypatch) -> None:
    written(folder)
    monkeypatch.delenv(
        "OLYMPUS_NUM_CPU_DEVICES", raising=False
    )  # the number of devices of the mesh
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
    assert result.exit_code == 6
    assert "'layer' is a program of 8 devices, and there are 2" in result.stderr


SHARDED = """
import olympus
from olympus import P
from olympus.sharding import AbstractMesh, NamedSharding


def weights(model):
    mesh = AbstractMesh((8 // model, model), ("data", "model"))
    columns = NamedSharding(mesh, P(None, "model"))
    up = olympus.ShapeDtypeStruct((16, 32), "float32", sharding=columns)
    return {"up": up, "down": olympus.ShapeDtypeStruct((32, 16), "float32")}
"""
FROM = """
[target.layer]
entry = "layers:layer"
mesh = { data = 2, model = 4 }
args.x = "f32[8,16]"
args.w = { from = "layers:weights", with = { model = 4 } }
"""


def test_types_from_a_function_keep_their_shardings(folder, invoke: Invoke) -> None:
    written(folder, FROM)
    with (folder / "layers.py").open("a") as file:
        file.write(SHARDED)
    lowered = invoke("lower", "layer")
    assert lowered.exit_code == 0, lowered.stderr
    (main,) = [line for line in lowered.stdout.splitlines() if "@main" in line]
    assert main.count("{sdy.sharding") == 1
    assert '[{}, {"model"}]' in main


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
    collectives = backend["collectives"]
    assert {"layers.py:5"} == {output["line"] for output in collectives}
    assert {axis for output in collectives for axis in output["axes"]} == {"model"}
    assert report["warnings"] == []
    assert "layer.olympus" in {output["path"] for output in report["outputs"]}
    summary = (folder / "build" / "layer" / "summary.txt").read_text()
    assert "cpu (8 devices)" in summary
    assert "collective" in summary
    assert "built" not in invoke("build").stdout  # the existing outputs are fresh


def test_the_cost_of_each_device_and_of_all(folder, invoke: Invoke) -> None:
    written(folder)
    result = invoke("compile", "layer", "--json", "--html")
    assert result.exit_code == 0, result.stderr
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    per_device, total = backend["each_device"], backend["total"]
    for name in ("flops", "bytes", "sent", "collective_bytes"):
        assert total[name] == 8 * per_device[name] > 0
    assert total["peak"] == 8 * backend["memory"]["peak"] > 0
    assert per_device["repeated"] == total["flops"] / backend["cost"]["flops"]
    assert sum(row["bytes"] for row in backend["axes"]) == per_device["collective_bytes"]
    assert {tuple(row["axes"]) for row in backend["axes"]} == {("model",)}
    summary = (folder / "build" / "layer" / "summary.txt").read_text()
    figures, _, program = summary.partition(
        "\nprogram\n"
    )  # the figures of the program come after it
    rows = {line[2:17].strip(): line[18:] for line in figures.splitlines() if line[:2] == "  "}
    assert rows["devices"].startswith("8; the lines above count all")
    assert rows["each does"].startswith("flops ") and "sent" in rows["each does"]
    assert rows["all do"].endswith("times the flops as written")
    assert "on each device" in rows["peak memory"] and rows["peak memory"].endswith("on all")
    sums, _, parts = rows["allocated"].partition(": ")
    assert "on each device" in sums and sums.endswith("on all")
    assert parts.startswith("arguments") and parts.endswith("on each device")
    assert ["axes", "calls", "bytes", "sent", "time"] in [
        line.split() for line in program.splitlines()
    ]
    page = (folder / "build" / "layer" / "report.html").read_text()
    assert "Collectives by axis" in page
    result = invoke("cost", "layer")
    assert "devices         8; the figures count all, as written" in result.stdout
    result = invoke("cost", "layer", "--compile", "--json")
    document = json.loads(result.stdout)
    assert (document["devices"], document["compiled"]["total"]) == (8, total)


def test_two_meshes_are_compared_in_text(folder, invoke: Invoke) -> None:
    written(folder)
    mesh = MESH.replace("{more}", "")
    second = mesh.replace("target.layer", "target.other").replace('["data"]', '["model"]')
    text = mesh + second
    (folder / "olympus.toml").write_text(text)
    assert invoke("build").exit_code == 0
    result = invoke("diff", "build/layer", "build/other")
    assert result.exit_code == 1
    assert "    sharding: dimension 0 along data -> dimension 0 along model" in result.stdout
    figures = result.stdout.partition("\nfigures\n")[2]
    names = {line.split("  ")[1] for line in figures.splitlines() if line.startswith("  ")}
    assert names & {"collectives along data", "collectives along model", "bytes along model"}
    wider = second.replace("data = 2, model = 4", "data = 4, model = 2")
    (folder / "olympus.toml").write_text(text.replace(second, wider))
    result = invoke("diff", "build/other", "other", "--html", "page.html")
    assert "    mesh: data=2, model=4 -> data=4, model=2" in result.stdout
    assert "data=4, model=2" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("sharding", "text", "spoken"),
    [
        ("sdy.sharding", '#sdy.sharding<@mesh, [{"x", "y"}, {?}, {}]>',
         "dimension 0 along x and y; dimension 1 as the compiler chooses"),
        ("sdy.sharding", "#sdy.sharding<@mesh_1, []>", "whole on each device"),
        ("sdy.sharding", '#sdy.sharding<@mesh, [{"x":(1)2, ?}], replicated={"y"}>',
         'dimension 0 along x, replicated={"y"}'),
        ("in_shardings", '#sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, []>]>',
         "dimension 0 along x | whole on each device"),
        ("out_shardings", "#sdy.sharding_per_value<[]>", "none"),
        ("manual_axes", '#sdy<manual_axes{"x", "y"}>', "x, y"),
        ("sdy.mesh @mesh_0", '#sdy.mesh<["x"=2], device_ids=[1, 0]>',
         "x=2, devices in the order 1, 0"),
        ("sdy.mesh @mesh", None, "none"),
        ("sharding", "#sdy.something_new<1>", "#sdy.something_new<1>"),
        ("dimensions", "array<i64: 0>", "array<i64: 0>"),
    ],
)  # fmt: skip
def test_shardings_as_text(sharding: str, text: str | None, spoken: str) -> None:
    assert spoken_value(sharding, text) == spoken


def test_names_of_shardings_as_text() -> None:
    names = ["sdy.mesh @mesh", "sdy.mesh @mesh_0", "sdy.mesh @grid", "sdy.sharding", "type"]
    assert [*map(spoken_name, names)] == ["mesh", "mesh 0", "mesh grid", "sharding", "type"]


def test_a_bundle_runs_on_the_number_of_devices_that_it_needs(
    built, invoke: Invoke, monkeypatch
) -> None:
    outs = [invoke("run", program, "--json") for program in ("layer", BUNDLE)]
    assert [program.exit_code for program in outs] == [0, 0], outs[1].stderr
    assert outs[0].stdout == outs[1].stdout
    monkeypatch.setenv("OLYMPUS_NUM_CPU_DEVICES", "2")
    result = invoke("run", BUNDLE)
    assert result.exit_code == 6
    assert f"{BUNDLE} needs 8 devices, and there are 2 of the cpu" in result.stderr
    assert "OLYMPUS_NUM_CPU_DEVICES=8" in result.stderr


def test_a_target_is_compared_with_its_bundle(built, invoke: Invoke) -> None:
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
    assert "sharding: dimension 0 along data -> dimension 0 along model" in result.stdout


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


def test_bench_places_inputs_by_their_shardings(folder, invoke: Invoke) -> None:
    (folder / "layers.py").write_text("def step(state, x):\n    return state + x, x.sum()\n")
    (folder / "olympus.toml").write_text(STEP)
    assert invoke("build").exit_code == 0
    bundle = "build/step/step.olympus"
    options = ("--rounds", "1", "--time-limit", "0.1", "--json")
    result = invoke("bench", "step", "--baseline", bundle, *options)
    assert result.exit_code in (0, 1), result.stderr  # the times are not tested
    document = json.loads(result.stdout)
    assert len(document["comparisons"]) == 1
    (measurement,) = document["targets"]
    assert (measurement["facts"]["donated"], measurement["facts"]["input_sets"]) == ("fed back", 2)
    result = invoke("profile", bundle, "--runs", "1", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["kernels"]


@needs_gpu_compiler
def test_a_mesh_of_missing_gpus(folder, invoke: Invoke) -> None:
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
