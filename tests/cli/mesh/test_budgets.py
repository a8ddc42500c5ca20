"""Budgets of the data that the devices of a mesh send."""

from __future__ import annotations

import json

from tests.cli.conftest import Invoke
from tests.cli.mesh.project import MESH, written


def test_budgets_of_collectives(folder, invoke: Invoke) -> None:
    limits = '[target.layer.budget]\ncollective-bytes = 16\ncollectives = "0"\n'
    written(folder, MESH + limits)
    result = invoke("check")
    assert result.exit_code == 1
    broken = [line for line in result.stderr.splitlines() if not line.startswith("  ")]
    assert [line.partition(" on cpu: ")[2].partition(" is ")[0] for line in broken] == [
        "collective-bytes",
        "collectives",
    ]
    named = [line for line in result.stderr.splitlines() if line.startswith("  ")]
    assert [line.split()[0] for line in named] == ["layers.py:5", "layers.py:5"]
    written(folder, MESH + limits.replace("16", "1_000").replace('"0"', '"1"'))
    result = invoke("check", "--json")
    assert result.exit_code == 0, result.stderr
    verdicts = json.loads(result.stdout)["targets"][0]["verdicts"]
    assert [verdict["value"] > 0 for verdict in verdicts] == [True, True]


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
    lines = [(line["place"], line["amount"]) for line in verdict["lines"]]
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


def test_a_budget_of_data_sent_in_a_loop_of_unknown_trips_is_broken(folder, invoke: Invoke) -> None:
    (folder / "searches.py").write_text(SEARCH)
    (folder / "olympus.toml").write_text(SEARCHING)
    result = invoke("check", "--json")
    assert result.exit_code == 1
    verdicts = json.loads(result.stdout)["targets"][0]["verdicts"]
    assert {verdict["figure"] for verdict in verdicts} == {"unknown"}
    assert all(
        "loop at searches.py:6 runs depends on data" in verdict["why"] for verdict in verdicts
    )
    assert [verdict["lines"][0]["place"] for verdict in verdicts[:2]] == ["searches.py:6"] * 2
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
