"""The order of a build, by the reports of the last builds."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from olympus.files import to_data
from olympus_cli.builder.driver import build
from olympus_cli.builder.outcome import Outcome
from olympus_cli.builder.plan import Options
from olympus_cli.builder.schedule import LastBuild, last_build, longest_first
from olympus_cli.spec.project import load_project
from olympus_cli.workers.call import Ended
from olympus_cli.workers.executor import Done, Limits, OnTargetStage, Work
from tests.cli.conftest import Invoke


class Recorder:
    """An executor that runs nothing, and records the works."""

    forks = False

    def __init__(self) -> None:
        self.works: Sequence[Work] = ()
        self.limits = Limits()

    def run(
        self, works: Sequence[Work], limits: Limits, on_stage: OnTargetStage
    ) -> Generator[Done, None, None]:
        """Record the works, and end none of them."""
        self.works, self.limits = works, limits
        for work in works:
            yield Done(work.name, Ended(to_data(Outcome(work.name, "fresh")), None, ""))


def test_the_longest_target_is_first_and_one_without_a_record_before_it() -> None:
    builds = {
        "short": LastBuild(1.0, 100),
        "long": LastBuild(9.0, 500),
        "unknown": LastBuild(None, 300),
    }
    names = ["short", "new", "long", "unknown", "newer"]
    assert longest_first(names, builds) == {
        "new": 300,
        "unknown": 300,
        "newer": 300,
        "long": 500,
        "short": 100,
    }
    assert longest_first(names, {}) == dict.fromkeys(names)
    assert longest_first(["long", "new"], builds, limit=200) == {"new": 200, "long": 200}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"seconds": 1, "peak_memory": 1}',
        '{"seconds": {"a": "x"}, "peak_memory": 1}',
        '{"seconds": {"a": null}, "peak_memory": 1}',
        "[" * 100_000,
    ],
)
def test_a_damaged_report_is_no_record(tmp_path: Path, content: str) -> None:
    assert last_build(tmp_path) is None
    (tmp_path / "report.json").write_text(content)
    assert last_build(tmp_path) is None


@pytest.mark.parametrize("amount", ["NaN", "-1", "1e999"])
def test_an_impossible_figure_is_unknown(tmp_path: Path, amount: str) -> None:
    report = f'{{"seconds": {{"a": {amount}}}, "peak_memory": {amount}}}'
    (tmp_path / "report.json").write_text(report)
    assert last_build(tmp_path) == LastBuild(None, None)


def test_a_build_uses_the_reports_and_the_past(project: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    opened = load_project(project)
    times = {"forward@batch=1": 3.0, "forward@batch=8": 5.0}
    for name, seconds in times.items():
        path = opened.build_dir / name / "report.json"
        report = json.loads(path.read_text())
        report["seconds"] = {**dict.fromkeys(report["seconds"], 0.0), "compile": seconds}
        report["peak_memory"] = int(100 * seconds)
        path.write_text(json.dumps(report))
    (opened.build_dir / "add" / "report.json").unlink()
    recorder = Recorder()
    options = Options(time_limit=7.0, memory_limit=400)
    past = {"add": LastBuild(4.0, 50), "forward@batch=1": LastBuild(99.0, 1)}
    build(dict(opened.targets), opened.build_dir, options, past=past, executor=recorder)
    assert [(work.name, work.memory) for work in recorder.works] == [
        ("forward@batch=8", 400),
        ("add", 50),
        ("forward@batch=1", 300),
    ]
    assert recorder.limits == Limits(7.0, 400)
