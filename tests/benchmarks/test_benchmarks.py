"""The side-by-side harness: its statistics and tables, and that it runs."""

from __future__ import annotations

import doctest
import json
import os
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from benchmarks import __main__ as cli
from benchmarks import (
    cells,
    estimates,
    measure,
    pairs,
    plot,
    programs,
    report,
    scaling,
    whole_report,
    worker,
)
from benchmarks.estimates import Row
from benchmarks.measure import Results, Side, Worker
from olympus import analysis
from olympus_cli.bench import statistics
from olympus_core.analysis.hlo.cpu_peaks import GENERIC
from olympus_core.api import calibration


@pytest.mark.parametrize("module", [cells, pairs, statistics, whole_report, worker])
def test_docstring_examples(module: object) -> None:
    outcome = doctest.testmod(module)  # type: ignore[arg-type]
    assert outcome.attempted > 0 and outcome.failed == 0


@pytest.mark.parametrize("count", [2, 3, 4, 7, 10])
def test_quartiles_are_numpys(count: int) -> None:
    samples = np.random.default_rng(count).exponential(size=count).tolist()
    found = statistics.summarize(samples)
    want = np.percentile(samples, [25, 50, 75])
    np.testing.assert_allclose([found.q1, found.median, found.q3], want)
    assert found.count == count


def test_one_sample_is_its_own_quartiles() -> None:
    found = statistics.summarize([3.0])
    assert (found.q1, found.median, found.q3, found.count) == (3.0, 3.0, 3.0, 1)


def test_pairs_need_as_many_samples_of_each() -> None:
    with pytest.raises(ValueError, match="shorter"):
        pairs.paired_ratio([1.0, 2.0], [1.0])


def test_pairs_cancel_a_drift_that_medians_do_not() -> None:
    drift = np.array([1.0, 2.0, 4.0, 8.0])
    ratio = pairs.paired_ratio((0.5 * drift).tolist(), drift.tolist())
    assert (ratio.q1, ratio.median, ratio.q3) == (0.5, 0.5, 0.5)


def test_operations_are_counted_and_returns_are_not() -> None:
    text = """
    func.func public @main(%arg0: tensor<4xf32>) -> tensor<f32> {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %0:2 = "stablehlo.custom"(%arg0) ({
        stablehlo.return %cst : tensor<f32>
      }) {d = #stablehlo.dims<a = 1>} : (tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
      %1 = call @f(%0#0) : (tensor<f32>) -> tensor<f32>
      %2 = chlo.erf %1 : tensor<f32> -> tensor<f32>
      return %2 : tensor<f32>
    }"""
    assert worker.count_ops(text) == 4


def test_rounds_interleave_and_the_first_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, str]] = []

    def run_task(worker: Worker, side: str) -> dict[str, object]:
        ran.append((side, worker.task))
        return {"samples": {"both": [len(ran), len(ran) + 2.0]}, "versions": {}}

    monkeypatch.setattr(measure, "run_task", run_task)
    sides = Side("olympus"), Side("jax")
    results = measure.measure(sides, ("mlp", "lstm"), 2, 5, lambda message: None)
    pairs = [(ran[i][0], ran[i + 1][0], ran[i][1], ran[i + 1][1]) for i in range(0, 12, 2)]
    ours, theirs = ("olympus", "jax"), ("jax", "olympus")
    assert [pair[:2] for pair in pairs] == [theirs, theirs, ours, ours, theirs, theirs]
    assert [pair[2:] for pair in pairs] == [("mlp", "mlp"), ("lstm", "lstm")] * 3
    assert results.samples["mlp"]["both"] == {"olympus": [6.0, 11.0], "jax": [7.0, 10.0]}


def pair(ours: list[float], theirs: list[float]) -> dict[str, list[float]]:
    return {"olympus": ours, "jax": theirs}


def test_the_table_shows_medians_quartiles_and_ratio() -> None:
    calls = dict.fromkeys(report.CALL, pair([1e-5], [1e-5]))
    calls["device"] = pair([4e-6, 5e-6, 6e-6], [8e-6, 10e-6, 12e-6])
    results = Results({"call": calls}, {"jax": "1.2"}, load=0.25)
    text = report.markdown(results, "python -m benchmarks", 3)
    assert "load 0.2 before; jax 1.2." in text and "`python -m benchmarks`" in text
    ours, theirs = "5.00 µs (4.50 to 5.50)", "10 µs (9.00 to 11)"
    assert f"| call x + y, arrays on the device | {ours} | {theirs} | **0.500** |" in text
    assert "| call x + y, the same Python scalars | 10 µs | 10 µs | **1.00** |" in text


def test_the_import_line_is_rewritten_in_place(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text('"""A program."""\nimport olympus as ox\n\nname = ox.__name__\n')
    assert programs.load_source(path, "json").name == "json"
    path.write_text("import olympus\n")
    with pytest.raises(ValueError, match="must have the line 'import olympus as ox' once"):
        programs.load_source(path, "json")


def test_the_training_step_is_a_loss_and_parameters() -> None:
    fresh, (params, tokens) = programs.load(programs.PROGRAMS["gpt_train"], "jax")
    loss, stepped = jax.eval_shape(fresh(), params, tokens)
    assert loss.shape == ()
    assert jax.tree.map(lambda x: x.shape, stepped) == jax.tree.map(lambda x: x.shape, params)


def test_both_run_the_training_step_on_the_same_values() -> None:
    tiny, losses = programs.RUNS["run"], []
    for ox in (olympus, jax):
        fresh, _ = programs.load(tiny, ox.__name__)
        losses.append(float(ox.jit(fresh())(*programs.values(tiny, ox.__name__))[0]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] == pytest.approx(np.log(256), rel=0.02)


@pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
def test_a_chain_has_the_requested_number_of_equations(ox: Any) -> None:
    vector = ox.ShapeDtypeStruct((8,), "float32")
    traced = ox.jit(scaling.chain(ox, 40)).trace(vector, vector)
    assert len((traced.olympuspr if ox is olympus else traced.jaxpr).eqns) == 40


@pytest.mark.night
def test_scaling_measures_both_stages_at_each_size() -> None:
    sizes = scaling.Scaling("straight line", scaling.chain, (8, 16, 160))
    samples = scaling.costs(olympus, sizes, scaling.WHOLE)
    assert {measure: len(values) for measure, values in samples.items()} == {
        "trace/8": 2, "lower/8": 2, "trace/16": 1, "lower/16": 1, "trace/160": 1, "lower/160": 1,
        "growth": 1,
    }  # fmt: skip
    assert min(value for values in samples.values() for value in values) > 0


def test_scaling_measures_fewer_sizes() -> None:
    sizes = scaling.Scaling("straight line", scaling.chain, (8, 16, 160))
    fewer = scaling.costs(olympus, sizes, 1)
    assert fewer.keys() == {"trace/8", "lower/8", "trace/16", "lower/16", "growth"}


GROWTH = Results({"scaling": {
    "trace/1000": pair([4e-6], [1.6e-5]), "lower/1000": pair([5e-6], [1.5e-5]),
    "trace/3000": pair([5e-6], [1.6e-5]), "lower/3000": pair([7e-6], [1.5e-5]),
    "growth": pair([1.5], [1.25]),
}})  # fmt: skip


def test_the_cost_of_an_equation_has_a_table_of_its_own() -> None:
    text = report.markdown(GROWTH, "python -m benchmarks", 7)
    assert "7 pairs of processes (scaling: 2)," in text
    assert "| processor time of an equation | olympus | jax | ratio |" in text
    assert "| straight line, 3,000 equations: trace | 5.00 µs | 16 µs | **0.312** |" in text
    growth = "| straight line: trace + lower at 3,000 over at 1,000 | 1.50 | 1.25 | **1.20** |"
    assert growth in text


def test_curves_are_microseconds_by_size() -> None:
    assert plot.curve(GROWTH, "scaling", "trace", "olympus") == [(1000, 4.0), (3000, 5.0)]
    assert plot.curve(GROWTH, "scaling", "lower", "jax") == [(1000, 15.0), (3000, 15.0)]


def test_the_picture_names_its_lines(tmp_path: Path) -> None:
    if not plot.is_available():  # it is an extra
        with pytest.raises(ModuleNotFoundError, match="matplotlib"):
            plot.draw(GROWTH, tmp_path / "one.svg")
        return
    for name in ("one.svg", "two.svg"):
        plot.draw(GROWTH, tmp_path / name)
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    for line in ("olympus: trace", "olympus: lower", "jax: trace", "jax: lower"):
        assert line in text
    assert text == (tmp_path / "two.svg").read_text(encoding="utf-8")


def test_a_picture_without_its_library_ends_with_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "is_available", lambda: False)
    assert cli.main(["--plot", "cost.svg"]) == 2
    assert "needs matplotlib: pip install '.[bench]'" in capsys.readouterr().err


def test_a_picture_of_nothing_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--plot", "cost.svg", "--only", "mlp"]) == 2
    assert "--plot draws scaling, scaling_grad and depth" in capsys.readouterr().err


def test_a_missing_framework_ends_with_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Side, "is_installed", lambda side: side.framework != "jax")
    assert cli.main(["--short", "--jax-python", "some/python"]) == 2
    message = capsys.readouterr().err
    assert "some/python has no jax" in message and "pip install" in message


def test_installed_is_answered_by_the_interpreter() -> None:
    assert Side("json").is_installed()
    assert not Side("no_such_framework").is_installed()


@pytest.mark.parametrize("argv", [["--only", "forwards"], ["--repeat", "0"], ["--layers", "2,x"]])
def test_wrong_usage_ends_with_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    assert stop.value.code == 2


def test_a_failing_process_reports_the_reason(tmp_path: Path) -> None:
    worker = Worker((Side("no_such_framework"), Side("jax")), "import", 1, 60, tmp_path)
    with pytest.raises(measure.WorkerFailed, match="no_such_framework"):
        measure.run_task(worker, "olympus")


def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    argv = ["--short", "--only", "import,mlp,help", "--repeat", "1", "--json", str(path)]
    assert cli.main(argv) == 0
    text = capsys.readouterr().out
    assert re.search(r"^\| import \| [\d.]+ ms \| [\d.]+ ms \| \*\*[\d.]+\*\* \|$", text, re.M)
    assert "| MLP forward: trace + lower |" in text and "| whole process |" in text
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["rounds"] == 1 and {"Python", "olympus", "jax", "jaxlib"} <= set(saved["versions"])
    measured = {(row["task"], row["measure"]) for row in saved["rows"]}
    assert {("import", "import"), ("mlp", "both"), ("mlp", "ops"), ("help", "wall")} <= measured
    assert all(row["ratio"]["median"] > 0 for row in saved["rows"])


def test_the_report_has_the_cost_of_a_program_beside_its_lowering() -> None:
    found = measure.measure((Side("olympus"), Side("jax")), ["cost"], 1, 1, lambda _: None)
    assert found.samples["cost"].keys() == programs.PROGRAMS.keys()
    for sides in found.samples["cost"].values():
        assert sides.keys() == {"olympus", "jax"}
        assert all(seconds > 0 for samples in sides.values() for seconds in samples)
    text = report.markdown(found, "python -m benchmarks", 1)
    assert "|  | cost | lower | ratio |" in text
    assert "GPT-2 training step, 12 layers: cost" in text


def test_estimates_of_loops_take_the_examples_that_are_loops(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requested: list[tuple[str, ...] | None] = []
    measured: list[str] = []

    def recorded(folder: Path, _show: object) -> list[Row]:
        measured.append(folder.name)
        return [Row(folder.name, 1.0, 2.0, "launch")]

    def estimated(show: Any, short: bool, only: tuple[str, ...] | None = None) -> list[Row]:
        requested.append(only)
        return estimates.estimates(show, short, only)

    monkeypatch.setattr(analysis, "calibrate", lambda: GENERIC)
    monkeypatch.setattr(estimates, "loop_programs", lambda _short: {})
    monkeypatch.setattr(estimates, "_rows", recorded)
    monkeypatch.setattr(cli, "estimates", estimated)
    assert cli.main(["--only", "estimate-loops"]) == 0
    assert (requested, measured) == ([estimates.LOOPS], ["kalman", "lstm"])
    assert "| `kalman` | 1000 | 2000 | 0.500 | launch |" in capsys.readouterr().out


def test_the_report_has_estimates_beside_measured_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, value in {"_SECONDS": 0, "_PRODUCT": 64, "_MIDDLE": 2**12, "_LARGE": 2**16}.items():
        monkeypatch.setattr(calibration, name, value)
    assert cli.main(["--only", "estimate", "--short"]) == 0
    shown = capsys.readouterr()
    head, _, *rows = [line for line in shown.out.splitlines() if line.startswith("|")]
    assert head == "| target | estimate, ms | measured, ms | ratio | bound by |"
    assert [row.split(" | ")[0] for row in rows] == [
        "| `mlp: mlp@batch=1`",
        "| `mlp: mlp@batch=64`",
        "| `loops: scan add 1024`",
        "| `loops: scan tanh 1024`",
    ]
    for row in rows:
        _, estimated, measured, ratio, bound = row.strip("| ").split(" | ")
        assert float(ratio) == pytest.approx(float(estimated) / float(measured), rel=0.02)
        assert bound in ("compute", "memory", "launch")
    assert "calibrating this CPU" in shown.err
    assert not list(tmp_path.iterdir())  # the user's own calibration stays as it is
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path)
