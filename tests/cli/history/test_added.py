"""Runs that commands add to the history of a project."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from olympus_cli.bench.measure.work import BundleWork, Effort, SamplerWork
from olympus_cli.builder.outcome import Outcome
from olympus_cli.history import recording, repository
from olympus_cli.history.recording import record_bench
from olympus_cli.history.store import read_points
from olympus_cli.program.inputs import InputOptions
from olympus_cli.reports.json import read_report
from olympus_cli.spec.backends import parse_backend
from olympus_cli.spec.resolve import Request, open_project
from tests.cli.conftest import Invoke
from tests.cli.history.runs import MACHINE, MEASURED, TOML, git, history


def test_a_build_and_a_check_add_figures_and_a_fresh_build_none(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    points = read_points(history(work))
    figures = {point.figure.metric: point.figure for point in points}
    report = json.loads((work / "build/f/report.json").read_text())
    assert figures["flops"].value == report["backends"][0]["cost"]["flops"]
    assert figures["build-compile"].value == report["seconds"]["compile"]
    assert figures["build-compile"].count == 1
    assert figures["peak-memory"].value == report["backends"][0]["memory"]["peak"]
    assert figures["estimated-time"].value == report["backends"][0]["estimate"]["seconds"]
    assert figures["bundle-size"].value == (work / "build/f/f.olympus").stat().st_size
    (run,) = {point.run.key: point.run for point in points}.values()
    assert (run.command, run.branch, run.dirty) == ("build", "trunk", False)
    assert run.commit_time == "2026-01-01T12:00:00.000000Z"
    assert run.commit is not None
    assert len(run.commit) == 40
    content = history(work).read_bytes()
    assert invoke("build").stdout.startswith("fresh")
    assert history(work).read_bytes() == content
    assert invoke("check").exit_code == 0
    counted = [p.figure for p in read_points(history(work)) if p.figure.metric == "flops"]
    assert len(counted) == 2
    assert len({(figure.value, figure.program) for figure in counted}) == 1


@pytest.mark.parametrize(("program", "count"), [("f", 1), ("m.py:f", 0)])
def test_a_compile_of_a_target_adds_figures(
    program: str, count: int, work: Path, invoke: Invoke
) -> None:
    entry = program if count else f"{program} --shapes f32[3] -o there"
    assert invoke("compile", *entry.split()).exit_code == 0
    points = read_points(history(work)) if history(work).exists() else ()
    assert sum(point.figure.metric == "flops" for point in points) == count


def test_a_build_has_the_commit_at_its_start(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    project, built = open_project(None), Outcome("f", "built", report=read_report(work / "build/f"))
    history(work).unlink()
    recording.prepare(project)
    (work / "m.py").write_text("changed = 'while the compiler worked'")
    for _ in range(2):
        recording.record_build(project, [built])
    runs = {point.run.key: point.run for point in read_points(history(work))}
    assert sorted(str(run.dirty) for run in runs.values()) == ["False", "True"]


def test_a_bench_adds_a_summary_of_each_metric(work: Path) -> None:
    project = open_project(None)
    record_bench(project, [(usual(), MEASURED)])
    record_bench(None, [(usual(), MEASURED)])
    (point,) = read_points(history(work))
    assert (point.figure.value, point.figure.count, point.figure.unit) == (2.0, 3, "s")
    assert point.figure.fingerprint == "0" * 64
    assert point.run.host == recording.machine_digest(MACHINE)


def usual(text: str = "f", inputs: InputOptions | None = None, **options: Any) -> SamplerWork:
    """The requested program that bench measures for `text`, with options."""
    return SamplerWork.of_target(Request(text, **options).spec(), inputs)


def test_other_programs_are_not_in_the_series_of_a_target(work: Path) -> None:
    project = open_project(None)
    bundle = BundleWork(work / "f.olympus", parse_backend("cpu"))
    for program in (
        usual(shapes="f32[256]"),
        usual("m:f", shapes="f32[64]"),
        usual(statics=("n=3",)),
        usual(stages={"optimize": "fast-build"}),
        usual(stages={"repeats": "off"}),
        usual(inputs=InputOptions(seed=1)),
        usual(inputs=InputOptions(file=work / "x.npz")),
        usual(inputs=InputOptions(int_range=(0, 4))),
        SamplerWork.of_bundle("f.olympus", bundle, InputOptions(), Effort()),
    ):
        record_bench(project, [(program, MEASURED)])
    record_bench(project, [(usual(), replace(MEASURED, facts={"stopped_by": "interrupted"}))])
    assert not history(work).exists()
    record_bench(project, [(usual(backend="cpu", stages={"optimize": "default"}), MEASURED)])
    assert read_points(history(work))


def test_the_history_can_be_disabled_and_moved(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text("[project]\nhistory = false\n" + TOML)
    record_bench(open_project(None), [(usual(), MEASURED)])
    assert not (work / "build").exists()
    result = invoke("history")
    assert result.exit_code == 2
    assert "disables the history" in result.stderr
    (work / "olympus.toml").write_text('[project]\nhistory = "kept/h.db"\n' + TOML)
    record_bench(open_project(None), [(usual(), MEASURED)])
    assert read_points(work / "kept/h.db")


@pytest.mark.parametrize("value", ["3", '""', "[]"])
def test_other_values_of_the_key_are_an_error(work: Path, invoke: Invoke, value: str) -> None:
    (work / "olympus.toml").write_text(f"[project]\nhistory = {value}\n" + TOML)
    result = invoke("history")
    assert result.exit_code == 2
    assert "project.history must be true, false or the path of a file" in result.stderr


def test_without_git_the_commit_is_unknown(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = repository.RepositoryState()
    monkeypatch.setattr(repository, "_TIME_LIMIT", 1e-9)
    assert repository.repository_state(work) == nothing
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    assert repository.repository_state(work) == nothing
    monkeypatch.undo()
    shutil.rmtree(work / ".git")
    assert repository.repository_state(work) == nothing


def test_a_repository_without_a_commit_and_one_without_a_branch(work: Path) -> None:
    git(work, "checkout", "--quiet", "--detach")
    state = repository.repository_state(work)
    assert (state.branch, state.dirty) == (None, False)
    assert state.commit is not None
    shutil.rmtree(work / ".git")
    git(work, "init", "--quiet", "--initial-branch=trunk")
    assert repository.repository_state(work) == repository.RepositoryState(branch="trunk")
