"""Shardings are tried and ranked, and what is printed is a target that builds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olympus_cli.spec.candidates import Candidate, combined, named, singles, toml_text, whole
from olympus_cli.spec.project import load_project
from tests.cli.conftest import Invoke
from tests.marks import needs_gpu_compiler

MODEL = """\
import olympus.numpy as np


def forward(params, x):
    return np.tanh(x @ params["w"])


def init():
    return {"w": np.zeros((16, 64))}


def odd(x):
    return x + 1
"""

TOML = """\
[target.forward]
entry = "dense:forward"

[target.forward.args]
params = { from = "dense:init" }
x = "f32[8,16]"
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "dense.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(TOML)
    return folder


def test_candidates_are_ranked_and_the_best_can_be_pasted(work: Path, invoke: Invoke) -> None:
    result = invoke("shard", "forward", "--mesh", "data=2", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    rows = document["candidates"]
    assert document["mesh"] == {"data": 2}
    keys = [(row["peak"], row["collective_bytes"], row["seconds"]) for row in rows]
    assert keys == sorted(keys)
    splits = {row["split"] for row in rows}
    assert {'x ["data"]', 'params.w ["", "data"]', "nothing split"} <= splits
    replicated = next(row for row in rows if row["split"] == "nothing split")
    assert rows[0]["peak"] < replicated["peak"]
    (work / "olympus.toml").write_text(
        f'[target.forward]\nentry = "dense:forward"\n{rows[0]["toml"]}'
    )
    assert load_project(work).targets["forward"].mesh == {"data": 2}
    result = invoke("compile", "forward", "--json")
    assert result.exit_code == 0, result.stderr
    (backend,) = json.loads(result.stdout)["report"]["backends"]
    assert (backend["devices"], backend["memory"]["peak"]) == (2, rows[0]["peak"])


@needs_gpu_compiler
def test_for_gpus_that_are_not_there(work: Path, invoke: Invoke) -> None:
    options = ("--shapes", "f32[64]", "--mesh", "data=4", "--device", "4xh200", "--by", "time")
    result = invoke("shard", "dense:odd", *options)
    assert result.exit_code == 0, result.stderr
    assert (
        "# for each of 4 devices; the best, for olympus.toml:\nmesh = { data = 4 }" in result.stdout
    )
    assert 'argument 1 ["data"]' in result.stdout
    assert "yes" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "has no mesh of several devices"),
        (("--mesh", "data=1"), "has no mesh of several devices"),
        (("--mesh", "data=3"), "no axis of the mesh divides a dimension"),
        (("--mesh", "data"), "must be axes with sizes"),
        (("--mesh", "data=0"), "must be axes with sizes"),
        (("--mesh", "data=2,data=2"), "must be axes with sizes"),
        (("--mesh", ""), "must be axes with sizes"),
        (("--mesh", "a=1024,b=2"), "more than 1024 devices"),
        (("--mesh", "data=8", "--device", "4xh200"), "needs 8 devices, and gpu:4xh200 has 4"),
    ],
)
def test_mistakes(work: Path, invoke: Invoke, options, message) -> None:
    result = invoke("shard", "dense:odd", "--shapes", "f32[8]", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


SPEC = """\
[target.f]
entry = "dense:forward"
mesh = { data = 2, model = 4 }
args = ["f32[8,12]", { "a b" = "bf16[6,64]", w = { from = "dense:init", with = { n = 3 } } }]
"""


def test_which_candidates_there_are(work: Path) -> None:
    (work / "olympus.toml").write_text(SPEC)
    spec = load_project(work).targets["f"]
    found = singles(spec)
    a, b = (0,), (1, "a b")
    assert [dict(each.shardings) for each in found] == [
        {b: (("data",),)},
        {b: ((), ("data",))},
        {a: (("data",),)},
        {a: ((), ("data",))},
        {b: ((), ("model",))},
        {a: (("model",),)},
        {a: ((), ("model",))},
    ]
    assert whole(spec).shardings == {a: (), b: ()}
    assert Candidate({a: (("data",),), b: ((), ("model",))}) in combined(found, spec)
    assert all(each not in found for each in combined(found, spec))
    assert found[3].merged(found[6], spec) is None  # 12 elements are not divided by 8
    assert found[2].merged(found[3], spec) is None  # one axis twice
    assert found[2].merged(found[5], spec) == Candidate({a: (("data", "model"),)})
    assert named(b) == "argument 2.a b"


def test_toml_says_what_it_was_read_from(work: Path) -> None:
    (work / "olympus.toml").write_text(SPEC)
    spec = load_project(work).targets["f"]
    (work / "olympus.toml").write_text(f'[target.f]\nentry = "dense:forward"\n{toml_text(spec)}')
    again = load_project(work).targets["f"]
    assert (again.mesh, again.args) == (spec.mesh, spec.args)
