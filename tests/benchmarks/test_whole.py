"""The benchmarks that compile programs whole: their programs, limits, tables and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from benchmarks import __main__ as cli
from benchmarks import building, deep, measure, plot, programs, report, whole, whole_report
from benchmarks.measure import Results, Side, Worker, WorkerFailed
from olympus_cli.spec.project import load_project
from tests.day import by_day

SIDES = Side("olympus"), Side("jax")
SMALLEST = "example/mlp:mlp@batch=1"


def outcome(task: str, ox: Any, side: str) -> list[np.ndarray]:
    """Return the results of the program of a side for its arguments."""
    trace, arguments = deep.of_task(task).prepare(ox, side)
    compiled = trace().lower().compile()
    args, kwargs = arguments(compiled)
    return [np.asarray(leaf) for leaf in ox.tree.leaves(compiled(*args, **kwargs))]


def test_both_ways_of_writing_layers_give_the_same_numbers() -> None:
    looped, scanned, ours = (
        outcome("forward/16/3", ox, side)
        for ox, side in ((jax, "jax"), (jax, "scan"), (olympus, "olympus"))
    )
    np.testing.assert_allclose(looped, scanned, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(looped, ours, rtol=2e-5, atol=2e-5)


def test_a_layer_under_jit_is_the_same_layer() -> None:
    nested, looped = (outcome(task, olympus, "off") for task in ("nested/16/2", "step/16/2"))
    for a, b in zip(nested, looped, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", by_day(deep.MODELS, ["lstm"]))
def test_both_train_the_models_on_the_same_values(name: str) -> None:
    ours, theirs = (outcome(f"model/{name}/tiny", ox, ox.__name__) for ox in (olympus, jax))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_every_example_for_the_processor_is_measured() -> None:
    tasks = deep.repeats_tasks(short=False)
    for folder in (path.parent for path in programs.EXAMPLES.glob("*/olympus.toml")):
        for name, spec in load_project(folder).targets.items():
            assert (f"example/{folder.name}:{name}" in tasks) == (spec.backends[0][0] == "cpu")
    titles = [deep.of_task(task).title for task in (*tasks, *deep.model_tasks(short=False))]
    assert len(set(titles)) == len(titles)


def test_the_options_choose_the_depths() -> None:
    argv = ["--only", "import,depth,build", "--layers", "24,2", "--widths", "768"]
    assert cli.chosen_tasks(cli.parser().parse_args(argv)) == [
        "import", "forward/768/2", "forward/768/24", "step/768/2", "step/768/24",
        "build/mlp", "build/gpt/2", "build/gpt/12", "build/gpt/12/off",
    ]  # fmt: skip
    tasks = cli.chosen_tasks(cli.parser().parse_args(["--short"]))
    assert "forward/32/4" in tasks and "build/mlp" in tasks and "run_gpt" not in tasks


def test_sides_take_turns_and_warm_up_where_they_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[str, str]] = []

    def run_task(worker: Worker, side: str) -> dict[str, Any]:
        ran.append((worker.task, side))
        return {"samples": {"compile": [1.0]}, "versions": {}}

    monkeypatch.setattr(measure, "run_task", run_task)
    sides = ["olympus", "off", "jax", "scan"]
    measure.measure(SIDES, ["step/32/4"], 2, 1, lambda message: None)
    assert ran == [("step/32/4", side) for side in (*sides[::-1], *sides, *sides[::-1])]
    ran.clear()
    measure.measure(SIDES, ["mlp", SMALLEST], 5, 1, lambda message: None)
    assert [task for task, _ in ran].count(SMALLEST) == 2 * measure.MAX_WHOLE


def test_a_side_that_passes_the_limit_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    with pytest.raises(WorkerFailed) as failed:
        alarm = "import signal, time; signal.alarm(1); time.sleep(600)"
        measure.spawn([sys.executable, "-c", alarm])
    assert [whole.ended_by(code) for code in (failed.value.code, -9, 1)] == ["time", "memory", None]

    def run_task(worker: Worker, side: str) -> dict[str, Any]:
        ran.append(side)
        if side == "jax":
            raise failed.value
        return {"samples": {"compile": [1.5]}, "versions": {}}

    monkeypatch.setattr(measure, "run_task", run_task)
    results = measure.measure(SIDES, ["step/32/4"], 3, 1, lambda message: None, limit=30)
    assert ran.count("jax") == 1 and ran.count("scan") == 4
    assert results.ended == {"step/32/4": {"jax": "time"}}
    (line,) = (line for line in whole_report.comparisons(results) if line.measure == "compile")
    assert whole_report.side_cell(line, "jax") == "> 30 s"
    assert whole_report.ratio_cell(line, "jax") == "**< 0.050**"


def test_what_ran_out_of_memory_has_no_number() -> None:
    results = deeper()
    results.ended["step/32/12"]["jax"] = "memory"
    text = report.markdown(results, "python -m benchmarks", 1)
    row = "GPT training step, 12 layers of width 32"
    assert f"| {row} | 2.00 s | 16 s | - | 2.00 s | - | **1.00** |" in text


def test_an_error_is_not_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_task(worker: Worker, side: str) -> dict[str, Any]:
        raise WorkerFailed(["command"], 1, "what it wrote")

    monkeypatch.setattr(measure, "run_task", run_task)
    with pytest.raises(WorkerFailed, match="what it wrote"):
        measure.measure(SIDES, ["step/32/4"], 1, 1, lambda message: None)


def deeper() -> Results:
    """A program at two depths, the deeper of which jax does not finish, and one without blocks."""
    results = Results(limit=60)
    every = {"lower": [0.1], "memory": [2e8], "temp": [1e6], "size": [1e5]}
    for layers, our, off, their in ((4, 1.0, 2.0, 3.0), (12, 2.0, 16.0, None)):
        task = f"step/32/{layers}"
        blocks = {"blocks": [2.0], "calls": [2.0 * layers]}
        for side, seconds in (("olympus", our), ("off", off), ("jax", their), ("scan", our)):
            if seconds is None:
                results.ended[task] = {side: "time"}
                continue
            found = {**every, "compile": [seconds], "run": [seconds / 100], "cpu": [0.1]}
            results.add(task, side, found | (blocks if side == "olympus" else {}))
    for side, seconds in (("olympus", 1.0), ("off", 0.5)):
        results.add(SMALLEST, side, {**every, "compile": [seconds], "run": [seconds], "cpu": [0.1]})
    results.samples[SMALLEST] |= {"blocks": {"olympus": [0.0]}, "calls": {"olympus": [0.0]}}
    return results


def test_each_measure_has_a_table() -> None:
    text = report.markdown(deeper(), "python -m benchmarks", 5)
    assert "over 5 pairs of processes (programs compiled whole, and builds: 3)," in text
    assert "A compilation was ended after 60 s" in text
    head = "olympus | olympus, repeats off | jax | jax, layers by scan | ratio to jax |"
    for title, _ in whole_report.MEASURES.values():
        assert f"| {title} | {head}" in text
    row = "GPT training step, 12 layers of width 32"
    assert f"| {row} | 2.00 s | 16 s | > 60 s | 2.00 s | **< 0.033** | **1.00** |" in text
    assert f"| {row} | 20 ms | 160 ms | - | 20 ms | - | **1.00** |" in text


def test_the_table_of_blocks_ends_with_means() -> None:
    text = report.markdown(deeper(), "python -m benchmarks", 1)
    row = "GPT training step, 12 layers of width 32"
    assert f"| {row} | 2 x 12 | 2.00 s | 16 s | **0.125** | 20 ms | 160 ms | **0.125** |" in text
    assert "| examples/mlp, mlp@batch=1 | none | 1.00 s | 0.500 s | **2.00** |" in text
    # the cube root of 1/2 * 1/8 * 2, and the square root without the program that has no block
    assert "| geometric mean of all programs (3) |  |  |  | **0.500** |  |  | **0.500** |" in text
    assert "| geometric mean of those with blocks (2) |  |  |  | **0.250** |" in text


def test_what_is_measured_can_be_saved_as_json() -> None:
    saved = json.loads(json.dumps(report.data(deeper(), "python -m benchmarks", 1)))
    assert saved["limit"] == 60 and saved["ended"] == {"step/32/12": {"jax": "time"}}
    lines = {(line["task"], line["measure"]): line for line in saved["comparisons"]}
    assert lines["step/32/12", "compile"]["ended"] == {"jax": 60.0}
    assert lines["step/32/4", "compile"]["ratios"]["jax"]["median"] == pytest.approx(1 / 3)


def test_a_curve_ends_at_the_limit() -> None:
    results = deeper()
    assert plot.depth_curve(results, "step/32", "compile", "jax") == [
        (4, 3.0, False),
        (12, 60, True),
    ]
    assert plot.depth_curve(results, "step/32", "run", "jax") == [(4, 30.0, False)]
    assert plot.depth_curve(results, "step/32", "run", "olympus") == [
        (4, 10.0, False), (12, 20.0, False),
    ]  # fmt: skip


def test_the_picture_of_depth_names_its_lines(tmp_path: Path) -> None:
    charts = list(plot.charts_of(deeper()))
    assert len(charts) == 2
    if not plot.is_available():  # it is an extra
        return
    plot.draw(deeper(), tmp_path / "depth.svg")
    text = (tmp_path / "depth.svg").read_text(encoding="utf-8")
    for line in (">olympus<", ">jax<", ">jax, layers by scan<", "width 32: compile", "&gt; 60 s"):
        assert line in text


def test_blocks_and_memory_are_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cli, "repeats_tasks", lambda short: [SMALLEST])
    path = tmp_path / "result.json"
    assert cli.main(["--short", "--only", "repeats", "--json", str(path)]) == 0
    assert "| examples/mlp, mlp@batch=1 | none |" in capsys.readouterr().out
    samples = json.loads(path.read_text(encoding="utf-8"))["samples"][SMALLEST]
    assert samples["blocks"] == {"olympus": [0.0]}
    assert all(
        samples[measure]["off"][0] > 0 for measure in ("compile", "run", "cpu", "memory", "size")
    )


def test_a_build_is_of_a_project_where_nothing_is_built(tmp_path: Path) -> None:
    commands = [building.build_command("build/mlp", "python", tmp_path) for _ in range(2)]
    folders = [Path(command[-1]) for command in commands]
    assert folders[0] != folders[1]
    assert all([path.name for path in folder.iterdir()] == ["olympus.toml"] for folder in folders)
    (spec,) = load_project(folders[0]).select()
    assert spec.entry.endswith("mlp.py:forward")


def test_bare_xla_compiles_what_was_built(tmp_path: Path) -> None:
    built: list[str] = []

    def run(command: list[str]) -> str:
        built.append(command[-1])
        path = Path(command[-1]) / building.MODULE
        path.parent.mkdir(parents=True)
        path.write_text(str(olympus.jit(lambda x: x + 1).lower(1.0).as_text()))
        return ""

    for _ in range(2):
        command = building.bare_command("build/mlp", sys.executable, tmp_path, run)
    assert len(built) == 1 and command[-1] == str(Path(built[0]) / building.MODULE)
    outcome = building.bare_outcome(command, measure.spawn)
    assert all(value > 0 for values in outcome["samples"].values() for value in values)
    assert Path(built[0], building.MODULE).with_name("bare.bin").stat().st_size


def test_a_build_has_the_same_measures_as_bare_xla(tmp_path: Path) -> None:
    command = building.build_command("build/mlp", sys.executable, tmp_path)
    outcome = building.build_outcome(command, measure.spawn)
    assert outcome["samples"].keys() == building.BUILD_MEASURES.keys()
    assert outcome["versions"]["olympus"]
    whole, after, bare, xla = (
        outcome["samples"][name][0] for name in ("wall", "after", "bare", "xla")
    )
    assert whole > after > bare > xla > 0
