"""Targets with a mesh: built, run and reported on several devices, and their mistakes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

import olympus
from olympus.errors import SpecError, UsageError
from olympus_cli.comparison.shardings import spoken_name, spoken_value
from olympus_cli.frontends.python import load_target
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
    assert result.exit_code == 6
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


def test_what_each_device_does_and_all_of_them(folder, invoke: Invoke) -> None:
    written(folder)
    result = invoke("compile", "layer", "--json", "--html")
    assert result.exit_code == 0, result.stderr
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    each, total = backend["each_device"], backend["total"]
    for name in ("flops", "bytes", "sent", "collective_bytes"):
        assert total[name] == 8 * each[name] > 0
    assert total["peak"] == 8 * backend["memory"]["peak"] > 0
    assert each["repeated"] == total["flops"] / backend["cost"]["flops"]
    assert sum(row["bytes"] for row in backend["axes"]) == each["collective_bytes"]
    assert {tuple(row["axes"]) for row in backend["axes"]} == {("model",)}
    summary = (folder / "build" / "layer" / "summary.txt").read_text()
    told, _, rest = summary.partition("\nprogram\n")  # the build's own figures come after it
    rows = {line[2:17].strip(): line[18:] for line in told.splitlines() if line[:2] == "  "}
    assert rows["devices"].startswith("8; the lines above are of all")
    assert rows["each does"].startswith("flops ") and "sent" in rows["each does"]
    assert rows["all do"].endswith("times the flops as written")
    assert "on each device" in rows["peak memory"] and rows["peak memory"].endswith("on all")
    sums, _, parts = rows["allocated"].partition(": ")
    assert "on each device" in sums and sums.endswith("on all")
    assert parts.startswith("arguments") and parts.endswith("on each device")
    assert ["axes", "calls", "bytes", "sent", "time"] in [
        line.split() for line in rest.splitlines()
    ]
    page = (folder / "build" / "layer" / "report.html").read_text()
    assert "Collectives by axis" in page
    result = invoke("cost", "layer")
    assert "devices         8; the figures are of all, as written" in result.stdout
    result = invoke("cost", "layer", "--compile", "--json")
    found = json.loads(result.stdout)
    assert (found["devices"], found["compiled"]["total"]) == (8, total)


def test_budgets_of_collectives(folder, invoke: Invoke) -> None:
    limits = '[target.layer.budget]\ncollective-bytes = 16\ncollectives = "0"\n'
    written(folder, MESH + limits)
    result = invoke("check")
    assert result.exit_code == 1
    told = [line for line in result.stderr.splitlines() if not line.startswith("  ")]
    assert [line.partition(" on cpu: ")[2].partition(" is ")[0] for line in told] == [
        "collective-bytes",
        "collectives",
    ]
    named = [line for line in result.stderr.splitlines() if line.startswith("  ")]
    assert [line.split()[0] for line in named] == ["layers.py:5", "layers.py:5"]
    written(folder, MESH + limits.replace("16", "1_000").replace('"0"', '"1"'))
    result = invoke("check", "--json")
    assert result.exit_code == 0, result.stderr
    verdicts = json.loads(result.stdout)["targets"][0]["verdicts"]
    assert [each["value"] > 0 for each in verdicts] == [True, True]


MAPPED = """\
import olympus
import olympus.numpy as np
from olympus.sharding import PartitionSpec as P

{mesh}


def total(x):
    body = lambda x: olympus.lax.psum(x.sum(), "i")
    return olympus.shard_map(body, mesh=mesh(), in_specs=P("i"), out_specs=P())(x)
"""


def test_an_entry_has_the_devices_of_its_own_mesh(folder, invoke: Invoke, monkeypatch) -> None:
    monkeypatch.delenv("OLYMPUS_NUM_CPU_DEVICES", raising=False)
    (folder / "maps.py").write_text(
        MAPPED.format(mesh='mesh = lambda: olympus.sharding.AbstractMesh((4,), ("i",))')
    )
    result = invoke("run", "maps:total", "--shapes", "x=f32[8]", "--json")
    assert result.exit_code == 0, result.stderr


MAKES = """\
import olympus
from olympus import P, lax

{first}


def total(x):
    mesh = olympus.make_mesh((4,), ("i",))
    body = lambda x: lax.psum(x.sum(), "i")
    return olympus.shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=P())(x)


share = olympus.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
"""
FIRST = [
    "",
    'mesh = olympus.make_mesh((4,), ("i",))',
    'mesh = olympus.make_mesh((2, 4), ("i", "j"))',
]


@pytest.mark.parametrize("first", FIRST)
def test_an_entry_has_the_devices_of_the_first_mesh_it_makes(
    folder, invoke: Invoke, monkeypatch, first: str
) -> None:
    monkeypatch.delenv("OLYMPUS_NUM_CPU_DEVICES", raising=False)
    (folder / "makes.py").write_text(MAKES.format(first=first))
    entries = [("makes:total", "x=f32[8]"), ("makes:share", "x=f32[4]")]
    for entry, shapes in entries if first == FIRST[0] else entries[:1]:
        result = invoke("run", entry, "--shapes", shapes, "--json")
        assert result.exit_code == 0, result.stderr
    result = invoke("lower", entries[0][0], "--shapes", entries[0][1])
    assert result.exit_code == 0 and "sdy.manual_computation" in result.stdout


@needs_gpu_compiler
def test_an_entry_with_a_mesh_of_its_own_is_compiled_for_gpus(
    folder, invoke: Invoke, monkeypatch
) -> None:
    monkeypatch.delenv("OLYMPUS_NUM_CPU_DEVICES", raising=False)
    (folder / "makes.py").write_text(MAKES.format(first=FIRST[1]))
    result = invoke("compile", "makes:total", "--shapes", "x=f32[8]", "--device", "4xh200")
    assert result.exit_code == 0, result.stderr
    assert "gpu (4 h200)" in result.stdout


def test_a_number_that_is_said_and_an_array_that_came_first_win(
    folder, invoke: Invoke, monkeypatch
) -> None:
    run = "run", "makes:total", "--shapes", "x=f32[8]"
    for first, count in [("", "2"), ("x = olympus.numpy.ones(3)", None)]:
        monkeypatch.delenv("OLYMPUS_NUM_CPU_DEVICES", raising=False)
        if count is not None:
            monkeypatch.setenv("OLYMPUS_NUM_CPU_DEVICES", count)
        (folder / "makes.py").write_text(MAKES.format(first=first))
        result = invoke(*run)
        assert result.exit_code == 3
        there = "there are 2" if count else "there is 1"
        said = " ".join(result.stderr.split())
        assert f"needs 4 devices, and {there}" in said
        assert "put OLYMPUS_NUM_CPU_DEVICES=4 before the command" in said
        assert ("came before and fixed the CPU to one device" in said) == (count is None)


SAYS = """\
import os
import subprocess
import sys

import olympus.numpy as np

NAME = "OLYMPUS_NUM_CPU_DEVICES"
LOOK = f"import os; print(os.environ.get({NAME!r}))"


def says(x):
    child = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    print("here", os.environ.get(NAME), "child", child.stdout.strip())
    return x + 1
"""


@pytest.mark.parametrize("said", [None, "auto"])
def test_an_entry_and_its_child_have_the_environment_of_the_shell(
    folder, invoke: Invoke, monkeypatch, said: str | None
) -> None:
    monkeypatch.delenv("OLYMPUS_NUM_CPU_DEVICES", raising=False)
    if said is not None:
        monkeypatch.setenv("OLYMPUS_NUM_CPU_DEVICES", said)
    (folder / "says.py").write_text(SAYS)
    given = 'args.x = { shape = "f32[8]", sharding = ["a"] }'
    (folder / "olympus.toml").write_text(
        f'[target.one]\nentry = "says:says"\nargs.x = "f32[8]"\n'
        f'[target.two]\nentry = "says:says"\nmesh = {{ a = 2 }}\n{given}\n'
    )
    for target in ("one", "two"):
        result = invoke("run", target, "--json")
        assert result.exit_code == 0, result.stderr
        assert f"here {said} child {said}\n" in result.stderr


GRADIENTS = """\
import olympus
import olympus.numpy as np


def loss(w, x):
    h = np.tanh(x @ w["a"])
    return np.tanh(h @ w["b"]).sum()


def step(w, x):
    return olympus.grad(loss)(w, x)
"""

GRADIENTS_SPEC = """\
[target.step]
entry = "steps:step"
mesh = { data = 8 }
out-sharding = []
[target.step.args]
w = { a = { shape = "f32[16,64]", sharding = [] }, b = { shape = "f32[64,32]", sharding = [] } }
x = { shape = "f32[64,16]", sharding = ["data"] }
[target.step.budget]
collective-bytes = 0
"""


def test_a_budget_names_the_lines_of_combined_collectives(folder, invoke: Invoke) -> None:
    (folder / "steps.py").write_text(GRADIENTS)
    (folder / "olympus.toml").write_text(GRADIENTS_SPEC)
    result = invoke("check", "--json")
    assert result.exit_code == 1, result.stderr
    (verdict,) = json.loads(result.stdout)["targets"][0]["verdicts"]
    lines = [(each["place"], each["amount"]) for each in verdict["lines"]]
    assert lines == [("steps.py:7", 4 * 64 * 32), ("steps.py:6", 4 * 16 * 64)]
    assert sum(amount for _, amount in lines) == verdict["value"]
    result = invoke("compile", "step", "--html")
    assert result.exit_code == 0, result.stderr
    summary = (folder / "build" / "step" / "summary.txt").read_text()
    assert "steps.py:7, steps.py:6" in summary


SEARCH = """\
import olympus.numpy as np
from olympus import lax


def search(n, x, w):
    return lax.fori_loop(0, n, lambda _, h: np.tanh(h @ w), x)
"""

SEARCHING = """\
[target.search]
entry = "searches:search"
mesh = { data = 2, model = 4 }
[target.search.args]
n = "i32[]"
x = { shape = "f32[8,16]", sharding = ["data"] }
w = { shape = "f32[16,16]", sharding = ["model"] }
[target.search.budget]
collectives = 1_000
collective-bytes = "1 MB"
estimated-time = "10 s"
"""


def test_a_budget_of_what_a_loop_of_unknown_trips_sends_is_broken(folder, invoke: Invoke) -> None:
    (folder / "searches.py").write_text(SEARCH)
    (folder / "olympus.toml").write_text(SEARCHING)
    result = invoke("check", "--json")
    assert result.exit_code == 1
    verdicts = json.loads(result.stdout)["targets"][0]["verdicts"]
    assert {each["figure"] for each in verdicts} == {"unknown"}
    assert all("loop at searches.py:6 runs depends on data" in each["why"] for each in verdicts)
    assert [each["lines"][0]["place"] for each in verdicts[:2]] == ["searches.py:6"] * 2
    result = invoke("compile", "search", "--json")
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    assert backend["axes"][0]["loops"] == ["searches.py:6"]
    summary = (folder / "build" / "search" / "summary.txt").read_text()
    assert "each does       at least flops" in summary
    (row,) = [line for line in summary.splitlines() if line.startswith("  all-")][:1]
    assert row.count("at least") == 2
    (folder / "olympus.toml").write_text(
        SEARCHING.replace("[target.search.args]", 'trips = { "searches.py:6" = 3 }\n'
                          "[target.search.args]")
    )  # fmt: skip
    result = invoke("check")
    assert result.exit_code == 0, result.stderr


def test_two_meshes_are_compared_in_words(folder, invoke: Invoke) -> None:
    written(folder)
    mesh = MESH.replace("{more}", "")
    other = mesh.replace("target.layer", "target.other").replace('["data"]', '["model"]')
    text = mesh + other
    (folder / "olympus.toml").write_text(text)
    assert invoke("build").exit_code == 0
    result = invoke("diff", "build/layer", "build/other")
    assert result.exit_code == 1
    assert "    sharding: dimension 0 along data -> dimension 0 along model" in result.stdout
    figures = result.stdout.partition("\nfigures\n")[2]
    names = {line.split("  ")[1] for line in figures.splitlines() if line.startswith("  ")}
    assert names & {"collectives along data", "collectives along model", "bytes along model"}
    wider = other.replace("data = 2, model = 4", "data = 4, model = 2")
    (folder / "olympus.toml").write_text(text.replace(other, wider))
    result = invoke("diff", "build/other", "other", "--html", "page.html")
    assert "    mesh: data=2, model=4 -> data=4, model=2" in result.stdout
    assert "data=4, model=2" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("what", "text", "spoken"),
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
def test_shardings_in_words(what: str, text: str | None, spoken: str) -> None:
    assert spoken_value(what, text) == spoken


def test_names_of_shardings_in_words() -> None:
    names = ["sdy.mesh @mesh", "sdy.mesh @mesh_0", "sdy.mesh @grid", "sdy.sharding", "type"]
    assert [*map(spoken_name, names)] == ["mesh", "mesh 0", "mesh grid", "sharding", "type"]


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


OWN = """\
import olympus
from olympus import P, lax
from olympus.sharding import NamedSharding

mesh = olympus.make_mesh((2, 4), ("data", "model"))
rows, columns = NamedSharding(mesh, P("data")), NamedSharding(mesh, P(None, "model"))


def product(x, w):
    def body(x, w):
        return lax.psum(x @ w, "model")

    specs = P("data", "model"), P("model")
    return olympus.shard_map(body, mesh=mesh, in_specs=specs, out_specs=P("data"))(x, w)


turned = olympus.jit(product, in_shardings=(rows, None), out_shardings=columns)
"""

OWN_TARGET = """\
[target.turned]
entry = "own:turned"
mesh = { data = 2, model = 4 }
donate = ["x"]
args = { x = "f32[8,8]", w = "f32[8,8]" }
"""


def test_a_program_that_says_its_own_shardings_is_run_and_measured(folder, invoke: Invoke) -> None:
    """What is donated is split otherwise than the result, so that it cannot be fed back."""
    (folder / "own.py").write_text(OWN)
    (folder / "olympus.toml").write_text(OWN_TARGET)
    for command in (
        ("build",),
        ("verify", "turned", "--against", "build/turned/turned.olympus"),
        ("bench", "turned", "--rounds", "1", "--time-limit", "0.1"),
        ("profile", "turned", "--runs", "1"),
    ):
        result = invoke(*command)
        assert result.exit_code == 0, (command, result.stderr)


INSPECTING = """

from olympus import debug

def layer(x, w):
    y = np.tanh(x @ w["up"])
    debug.inspect_array_sharding(y, callback=lambda sharding: print("hidden:", sharding.spec))
    return y @ w["down"]

def refused(x, w):
    debug.inspect_array_sharding(x, callback=lambda sharding: {}["where"])
    return x + 1
"""


def test_inspections_are_told_where_a_target_is_compiled(folder, invoke: Invoke) -> None:
    second = MESH.replace("target.layer", "target.refused").replace(
        "layers:layer", "layers:refused"
    )
    written(folder, MESH + second)
    with (folder / "layers.py").open("a") as file:
        file.write(INSPECTING)
    result = invoke("build", "--json")
    assert result.exit_code == 3
    document = json.loads(result.stdout)
    assert [target["status"] for target in document["targets"]] == ["built", "failed"]
    error = document["targets"][1]["error"]
    assert error["message"] == "the program raised KeyError: 'where'"
    assert error["location"].endswith("layers.py:24")
    assert result.stderr.count("hidden: P('data', 'model')") == 1
    result = invoke("build", "layer", "--json")  # nothing is compiled
    assert json.loads(result.stdout)["targets"][0]["status"] == "fresh"
    assert "hidden" not in result.stderr


STEERED = """import olympus
from olympus import P, debug, lax
from olympus.sharding import AbstractMesh, NamedSharding

turned = NamedSharding(AbstractMesh((2, 4), ("x", "y")), P("y", "x"))

def f(v):
    y = v * 2
    debug.inspect_array_sharding(lax.with_sharding_constraint(y, turned), callback=print)
    return y
"""
STEERED_TARGET = """[target.f]
entry = "steered:f"
mesh = { x = 2, y = 4 }
args.v = { shape = "f32[8,32]", sharding = ["x", "y"] }
"""


def test_a_target_is_built_anew_without_its_inspections(folder, invoke: Invoke) -> None:
    """What is inspected leads the partitioner, though it is not in the StableHLO."""

    def built() -> tuple[str, str, str]:
        result = invoke("build", "--json")
        assert result.exit_code == 0, result.stderr
        (target,) = json.loads(result.stdout)["targets"]
        assert target["status"] == "built"
        out = folder / "build" / "f"
        (backend,) = json.loads((out / "report.json").read_text())["backends"]
        lowered = (out / "program.stablehlo.mlir").read_text()
        return lowered, backend["key"], (out / "cpu" / "optimized.hlo.txt").read_text()

    (folder / "olympus.toml").write_text(STEERED_TARGET)
    (folder / "steered.py").write_text(STEERED)
    steered = built()
    lines = STEERED.splitlines(keepends=True)
    (folder / "steered.py").write_text("".join(x for x in lines if "inspect" not in x))
    plain = built()
    assert plain[0] == steered[0]
    assert plain[1] != steered[1]
    assert ("collective-permute" in steered[2], "collective-permute" in plain[2]) == (True, False)


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
        ('x = { shape = "f32[]", sharding = ["data"] }', "has 1 entry, one for each dimension"),
        ('x = { shape = "f32[8]", sharding = ["modle"] }', "names the axis 'modle', which the"),
        ('x = { shape = "f32[8,8]", sharding = ["data", "data"] }', "names the axis 'data' twice"),
        ('x = { shape = "f32[8,8]", sharding = [["data", "data"]] }', "'data' twice"),
        ('x = { shape = "f32[8]", sharding = [1] }', "must be the name of an axis, an array"),
        ('x = { shape = "f32[8]", sharding = [[""]] }', "must be the name of an axis, an array"),
        ('x = { shape = "{ a = f32[8] }", sharding = ["data"] }', "is of one array, and the shape"),
        ('x = { from = "layers:init", sharding = "data" }', "must be an array with an entry"),
        ('x = { shape = "f32[8]", sharding = "data" }', "must be an array with an entry"),
        ('x = { from = "layers:init", sharding = ["dat"] }', "names the axis 'dat', which the"),
        ('x = { shape = "f32[8]", shardng = ["data"] }', "has no key 'shardng'"),
        ('x = { shape = "f32[8]", shards = [["data", "model"]] }', "has no key 'shards'"),
        ('x = { sharding = ["data"] }', "has a sharding and no shape"),
        ('x = { shap = "f32[8]", sharding = ["data"] }', "has a sharding and no shape"),
        ('x = { sharding = [] }', "has a sharding and no shape"),
        ('x = { sharding = "data" }', "has a sharding and no shape"),
        ('x = { sharding = { 0 = "data" } }', "has a sharding and no shape"),
        ('x = { shard = ["data"] }', "has 'shard', which no argument has, and no shape"),
        ('x = { shape = "f32[8]", sharding = { 0 = "data" } }', "must be an array with an entry"),
        ('x = { shape = "f32[8]", sharding = 3 }', "must be an array with an entry"),
        ('x = { shape = "f32[8]", shardings = "data" }', "has no key 'shardings'"),
        ('x = { from = "layers:init", shard = ["data"] }', "has no key 'shard'"),
        ('x = { from = "layers:init", shape = "f32[8]" }', "has no key 'shape'"),
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


@pytest.mark.parametrize(
    ("said", "hint"), [("data", 'write sharding = ["data"]'), ("", "write sharding = []")]
)
def test_forgotten_brackets_are_told(folder, said: str, hint: str) -> None:
    argument = f'x = {{ shape = "f32[8]", sharding = "{said}" }}'
    (folder / "olympus.toml").write_text(f"{ARGS}[target.f.args]\n{argument}\n")
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert f"got '{said}'" in str(caught.value)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('["", "data"]', "out-sharding of f has 2 entries, one for each dimension, and "
         "result['a'] (float32[7]) has 1"),
        ('{ b = ["data"] }', "out-sharding.b of f has 1 entry, one for each dimension, and "
         "result['b'] (float32[]) has 0 hint: write [] for a scalar"),
        ('{ a = ["data"] }', "out-sharding.a of f splits dimension 0 of result['a'] (float32[7]), "
         "which has 7 elements, along the axis 'data' of 2: they do not divide into 2 equal"),
        ('{ c = ["data"] }', "out-sharding of f has the key 'c', which the result does not have "
         "hint: its keys are a, b"),
        ('{ b = { x = [] } }', "out-sharding.b of f is a table, with a sharding for each key of a "
         "dict or position in a tuple, and result['b'] is an array hint: write b = [\"data\"]"),
    ],
)  # fmt: skip
def test_out_shardings_that_do_not_fit_are_told_by_their_key(
    folder, invoke: Invoke, said, message
) -> None:
    """In the words of the file: the function has no mistake, and no line of it is told."""
    written(folder, f'{ARGS}out-sharding = {said}\n[target.f.args]\nx = "f32[7]"\n')
    result = invoke("lower", "f")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "layers.py" not in result.stderr
    assert "PyTreeDef" not in result.stderr


SEVERAL = """\
from collections import OrderedDict
from typing import NamedTuple

import olympus


class Two(NamedTuple):
    a: object
    b: object


def pair(x):
    return x + 1, [x * 2, x.sum()]


def named(x):
    return Two(x + 1, (x * 2, x.sum()))


def ordered(x):
    return OrderedDict(b=x + 1, a=(x * 2, x.sum()))


def numbered(x):
    return {"0": x + 1, "1": [x * 2, x.sum()]}


class State(dict):
    pass


def rebuilt(keys, parts):
    return State(zip(keys, parts, strict=True))


olympus.tree_util.register_pytree_with_keys(
    State,
    lambda s: ([(olympus.tree_util.DictKey(k), v) for k, v in s.items()], tuple(s)),
    rebuilt,
)


def custom(x):
    return State(b=x + 1, a=[x * 2, x.sum(), None])
"""


@pytest.mark.parametrize(
    ("name", "key"), [("named", 1), ("ordered", "a"), ("numbered", 1), ("custom", "a")]
)
def test_parts_of_results_have_shardings_of_their_own(folder, name: str, key: Any) -> None:
    traced = traced_with(folder, name, f'{{ {key} = {{ 0 = ["data"] }} }}')
    first, second, third, *_ = olympus.tree.leaves(traced.output_shardings, lambda s: s is None)
    assert (first, second.spec, third) == (None, olympus.P("data"), None)


ENTRIES = "has 1 entry, one for each dimension, and result"


@pytest.mark.parametrize(
    ("name", "said", "message"),
    [
        ("pair", "{ 2 = [] }", "has the key '2', which the result does not have"),
        ("pair", "{ 1 = { 1 = ['data'] } }", f"{ENTRIES}[1][1]"),
        ("numbered", "{ 1 = { 1 = ['data'] } }", f"{ENTRIES}['1'][1]"),
        ("named", "{ 1 = { 1 = ['data'] } }", f"{ENTRIES}.b[1]"),
    ],
)
def test_parts_of_results_are_told_as_they_are_reached(
    folder, name: str, said: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        traced_with(folder, name, said)
    assert f"of f {message}" in str(caught.value)


def traced_with(folder: Path, name: str, said: str) -> Any:
    """A function of `several.py`, traced for a target with this `out-sharding`."""
    (folder / "several.py").write_text(SEVERAL)
    text = f'entry = "several:{name}"\nmesh = {{ data = 2 }}\nargs.x = "f32[8]"\n'
    (folder / "olympus.toml").write_text(f"[target.f]\n{text}out-sharding = {said}")
    return load_target(load_project(folder).targets["f"]).trace()


def test_a_table_of_results_that_says_nothing_leaves_them_to_the_program(
    folder, invoke: Invoke
) -> None:
    (folder / "own.py").write_text(OWN)
    (folder / "olympus.toml").write_text(f"{OWN_TARGET}out-sharding = {{}}\n")
    result = invoke("lower", "turned")
    assert result.exit_code == 0, result.stderr
    assert "sdy.sharding" in result.stdout


def test_results_that_are_left_out_are_the_compilers_choice(folder, invoke: Invoke) -> None:
    text = f'{ARGS}out-sharding = {{ a = ["model"] }}\n[target.f.args]\nx = "f32[8]"\n'
    written(folder, text)
    result = invoke("lower", "f")
    assert result.exit_code == 0, result.stderr
    assert '<@mesh, [{"model"}]>' in result.stdout
    (results,) = (line.partition("->")[2] for line in result.stdout.splitlines() if "@main" in line)
    assert results.count("#sdy.sharding<") == 1


@pytest.mark.parametrize("other", ['["f32[3]"]', '[["f32[3]"]]', "[]", '[{ a = "f32[]" }]'])
def test_a_pytree_with_a_shape_in_it_stays_one(folder, other: str) -> None:
    text = f'[target.f]\nentry = "layers:both"\nargs = [{{ shape = "f32[2]", b = {other} }}]'
    (folder / "olympus.toml").write_text(text)
    (given,) = load_project(folder).targets["f"].args
    assert isinstance(given, dict)


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
