"""Builds on a Dask cluster: outputs, the index, and the comparison of machines and sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olympus_cli.builder.farm.inputs import States, differing, states_of
from olympus_cli.builder.farm.machine import difference, facts
from olympus_cli.builder.freshness.reads import Reads
from tests.cli.builder.farm.conftest import Farm
from tests.cli.conftest import Invoke

_TOML = """\
[target.add]
entry = "model:add"
args = ["f32[2]", "f32[2]"]

[target.fails]
entry = "model:fails"
args = ["f32[2]"]
"""


def _reads(*files: Path, variables: tuple[str, ...] = ()) -> Reads:
    paths = tuple(str(file) for file in files)
    return Reads(0, paths, (), {}, {}, {}, {}, variables, False, False, {})


def test_a_build_on_a_farm_equals_a_local_one(farm: Farm, project: Path, invoke: Invoke) -> None:
    (project / "olympus.toml").write_text(_TOML)
    farm.add(1)
    built = invoke("build", "--executor", farm.executor)
    assert built.exit_code == 3, built.output
    assert "target 'fails': fails raised ValueError" in built.output
    assert "the dashboard of the Dask cluster" in built.output
    on_farm = json.loads((project / "build" / "add" / "report.json").read_text())
    # the farm recorded the inputs of the trace: a local build does not trace the target again
    again = invoke("build", "add", "--output", "json")
    assert json.loads(again.stdout)["targets"][0]["status"] == "fresh"
    assert "unchanged:" in invoke("explain", "add").stdout
    assert invoke("build", "add", "--force", "--no-cache").exit_code == 0
    here = json.loads((project / "build" / "add" / "report.json").read_text())
    assert on_farm["backends"][0]["key"] == here["backends"][0]["key"]
    assert sorted(path.name for path in (project / "build").glob(".olympus-new*")) == []


def test_a_wrong_executor_is_refused(project: Path, invoke: Invoke) -> None:
    for text in ("dusk", "dask://", "dask://host", "tcp://host:8786"):
        refused = invoke("build", "--executor", text)
        assert refused.exit_code == 2
        assert "--executor takes local, dask or dask://HOST:PORT" in refused.output


def test_a_file_with_other_contents_on_a_worker_is_found(tmp_path: Path) -> None:
    model, data = tmp_path / "project" / "model.py", tmp_path / "data.npy"
    model.parent.mkdir()
    model.write_text("x = 1\n")
    data.write_bytes(b"1")
    theirs = states_of(_reads(model, data))
    assert differing(states_of(_reads(model, data)), theirs, [model.parent]) == []
    model.write_text("x = 2\n")
    data.write_bytes(b"2")
    ours = states_of(_reads(model, data))
    assert differing(ours, theirs, [model.parent]) == [str(model)]
    model.unlink()
    assert differing(states_of(_reads(model, data)), theirs, [model.parent]) == [str(model)]
    assert States(*ours) != theirs


def test_other_variables_are_other_states(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = _reads(variables=("WIDTH",))
    monkeypatch.setenv("WIDTH", "4")
    before = states_of(reads)
    assert states_of(reads) == before
    monkeypatch.setenv("WIDTH", "8")
    assert states_of(reads) != before


def test_the_first_difference_of_two_machines_is_named(tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    probe.write_text("1")
    ours = facts(["cpu"], str(probe))
    assert difference(ours, facts(["cpu"], str(probe))) is None
    other = f"jaxlib is 0.1.0 there, and {ours['jaxlib']} here"
    assert difference(ours, {**ours, "jaxlib": "0.1.0"}) == other
    apart = facts(["cpu"], str(tmp_path / "missing"))
    assert difference(ours, apart) == "the build folder is not shared with it"
    features = {**ours, "processor features": "fma"}
    theirs = {**ours, "processor features": "avx2"}
    expected = "its processor lacks fma and has avx2 in addition"
    assert difference(features, theirs) == expected
