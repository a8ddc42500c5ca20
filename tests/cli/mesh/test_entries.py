"""Entries whose code makes meshes, sets shardings or inspects them."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Invoke
from tests.cli.mesh.project import MESH, OWN, OWN_TARGET, written
from tests.marks import needs_gpu_compiler

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
    mesh = olympus.make_mesh((4,), ("i",), olympus.sharding.AxisType.Auto)
    body = lambda x: lax.psum(x.sum(), "i")
    return olympus.shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=P())(x)


share = olympus.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
"""


FIRST = [
    "",
    'mesh = olympus.make_mesh((4,), ("i",), olympus.sharding.AxisType.Auto)',
    'mesh = olympus.make_mesh((2, 4), ("i", "j"), olympus.sharding.AxisType.Auto)',
]


@pytest.mark.parametrize("first", FIRST)
def test_an_entry_has_the_devices_of_its_first_mesh(
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


def test_a_set_number_of_devices_and_an_earlier_array_have_precedence(
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
        available = "there are 2" if count else "there is 1"
        stderr = " ".join(result.stderr.split())
        assert f"needs 4 devices, and {available}" in stderr
        assert "put OLYMPUS_NUM_CPU_DEVICES=4 before the command" in stderr
        assert ("came before and fixed the CPU to one device" in stderr) == (count is None)


SHOWS = """\
import os
import subprocess
import sys

import olympus.numpy as np

NAME = "OLYMPUS_NUM_CPU_DEVICES"
LOOK = f"import os; print(os.environ.get({NAME!r}))"


def shows(x):
    child = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    print("here", os.environ.get(NAME), "child", child.stdout.strip())
    return x + 1
"""


@pytest.mark.parametrize("devices", [None, "auto"])
def test_an_entry_and_its_child_have_the_environment_of_the_shell(
    folder, invoke: Invoke, monkeypatch, devices: str | None
) -> None:
    monkeypatch.delenv("OLYMPUS_NUM_CPU_DEVICES", raising=False)
    if devices is not None:
        monkeypatch.setenv("OLYMPUS_NUM_CPU_DEVICES", devices)
    (folder / "shows.py").write_text(SHOWS)
    argument = 'args.x = { shape = "f32[8]", sharding = ["a"] }'
    (folder / "olympus.toml").write_text(
        f'[target.one]\nentry = "shows:shows"\nargs.x = "f32[8]"\n'
        f'[target.two]\nentry = "shows:shows"\nmesh = {{ a = 2 }}\n{argument}\n'
    )
    for target in ("one", "two"):
        result = invoke("run", target, "--json")
        assert result.exit_code == 0, result.stderr
        assert f"here {devices} child {devices}\n" in result.stderr


def test_a_program_that_sets_its_own_shardings_runs_and_is_measured(folder, invoke: Invoke) -> None:
    """The donated argument is split differently from the result, so it cannot be fed back."""
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


def test_inspections_are_shown_when_a_target_is_compiled(folder, invoke: Invoke) -> None:
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


def test_a_target_is_rebuilt_without_its_inspections(folder, invoke: Invoke) -> None:
    """An inspection affects the partitioner, though it is not in the StableHLO."""

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
