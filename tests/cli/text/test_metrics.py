"""The names of metrics: one spelling, and earlier spellings in files that are read."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import fields, replace
from pathlib import Path

import pytest

from olympus.errors import ArtifactError
from olympus_cli.bench.baselines import baseline_path, read_baseline, write_baseline
from olympus_cli.bench.measurement import Measured
from olympus_cli.history import schema
from olympus_cli.history.exchange.table import write_table
from olympus_cli.history.points import Point
from olympus_cli.history.store import append, read_points
from olympus_cli.reports.build_report import Seconds
from olympus_cli.spec.bench import GATED, JUDGED
from olympus_cli.spec.limits import LIMITED
from olympus_cli.text.metrics import BENCH, BUILD, OLD_NAMES, PROGRAM, UNITS
from tests.cli.bench.measurements import measured
from tests.cli.conftest import Invoke
from tests.cli.history.runs import document, flops, history, run, steady
from tests.documents.documents import ROOT, read

UNIT_OF = {"flops": "FLOP", "bytes": "B", "count": "count", "seconds": "s"}
DOCUMENTS = [
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.toml"),
    ROOT / "README.md",
    ROOT / "olympus.toml.example",
]
PACKAGES = [path for name in ("olympus", "olympus_cli") for path in (ROOT / name).rglob("*.py")]


def test_a_name_is_words_with_hyphens_and_in_one_table() -> None:
    assert len(UNITS) == len(PROGRAM) + len(BUILD) + len(BENCH)
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", name) for name in UNITS)
    assert set(OLD_NAMES.values()) <= set(BENCH) and not set(OLD_NAMES) & set(UNITS)


def test_budgets_gates_and_builds_use_the_names_and_units_of_the_table() -> None:
    assert {name: UNIT_OF[limit.quantity.name] for name, limit in LIMITED.items()} == {
        name: PROGRAM[name] for name in LIMITED
    }
    assert set(GATED) <= set(JUDGED) <= set(BENCH)
    stages = {f"build-{stage.name}" for stage in fields(Seconds)}
    assert set(BUILD) == {*stages, "build-time", "build-memory"}


def test_no_code_writes_an_earlier_name() -> None:
    metrics_module = ROOT / "olympus_cli" / "text" / "metrics.py"
    unambiguous = [name for name in OLD_NAMES if name != "peak_memory"]
    pattern = re.compile("|".join(f"[\"']{name}[\"']" for name in unambiguous))
    assert not [path for path in PACKAGES if path != metrics_module and pattern.search(read(path))]


def test_documents_have_an_earlier_name_only_in_the_list() -> None:
    pattern = re.compile("|".join(rf"(?<!\w){name}\b" for name in set(OLD_NAMES) - {"peak_memory"}))
    names = {(path.name, name) for path in DOCUMENTS for name in pattern.findall(read(path))}
    assert {name for name, _ in names} == {"history.md"}
    listed = read(ROOT / "docs" / "how-to" / "history.md")
    table = dict(re.findall(r"^\| `(\w+)`.* \| `([\w-]+)` \|$", listed, re.MULTILINE))
    assert {old: new for old, new in table.items() if old in OLD_NAMES} == OLD_NAMES


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        *((old, new) for old, new in OLD_NAMES.items() if new in JUDGED),
        *((name, name) for name in JUDGED),
        ("process_memory", "process-memory"),
        ("peak-memory", "process-memory"),  # a spelling that earlier versions accepted
    ],
)
def test_a_gate_may_have_its_earlier_name(
    folder: Path, invoke: Invoke, spelling: str, name: str
) -> None:
    entry = '[target.f]\nentry = "m:f"\nargs = ["f32[4]"]\n'
    (folder / "olympus.toml").write_text(f'{entry}bench.metrics = ["{spelling}"]\n')
    (folder / "m.py").write_text("def f(x):\n    return x\n")
    stored = measured(**{"nothing-else": 1.0})
    write_baseline(baseline_path(folder, "main"), {"f": [lacking(stored, name)]})
    result = invoke("bench", "f", "--baseline", "main")
    assert result.exit_code == 2
    assert f"cannot judge target 'f': it needs {name}, and has " in result.stderr


def lacking(stored: Measured, name: str) -> Measured:
    metrics = {key: value for key, value in stored.metrics.items() if key != name}
    return replace(stored, metrics=metrics)


def earlier(path: Path) -> dict:
    """Rewrite the baseline of `path` with the names of version 1."""
    data = json.loads(path.read_text())
    assert data["schema_version"] == 2
    earlier_names = {new: name for name, new in OLD_NAMES.items()}
    for rounds in data["targets"].values():
        for metrics_of_round in rounds:
            metrics_of_round["metrics"] = {
                earlier_names.get(k, k): v for k, v in metrics_of_round["metrics"].items()
            }
    return {**data, "schema_version": 1}


def test_a_baseline_of_version_1_is_read_and_written_with_the_current_names(
    tmp_path: Path,
) -> None:
    path = baseline_path(tmp_path, "main")
    rounds = measured(**{name: 1.0 for name in BENCH if name != "steady-call"})
    write_baseline(path, {"f": [rounds]})
    data = earlier(path)
    assert set(OLD_NAMES) <= set(data["targets"]["f"][0]["metrics"])
    path.write_text(json.dumps(data))
    assert read_baseline(path).of("f") == (rounds,)
    write_baseline(path, {"g": [measured("g")]})
    text = path.read_text()
    assert json.loads(text)["schema_version"] == 2
    assert not [name for name in OLD_NAMES if f'"{name}"' in text]
    assert read_baseline(path).of("f") == (rounds,)


def test_a_baseline_with_two_names_of_a_metric_is_damaged(tmp_path: Path) -> None:
    path = baseline_path(tmp_path, "main")
    write_baseline(path, {"f": [measured()]})
    data = json.loads(path.read_text())
    metrics = data["targets"]["f"][0]["metrics"]
    metrics["steady_call"] = metrics["steady-call"]
    path.write_text(json.dumps(data))
    message = "metrics has steady-call twice, as steady-call and as steady_call"
    with pytest.raises(ArtifactError, match=message):
        read_baseline(path)


def version_1(path: Path, days: range) -> None:
    """A history of version 1: on each day all metrics under their earlier names, and flops."""
    path.parent.mkdir(exist_ok=True)
    append(path, [(run(day), [flops(100.0 + day)]) for day in days])
    with sqlite3.connect(path) as connection:
        for value, name in enumerate(OLD_NAMES, 1):
            connection.execute(
                "INSERT INTO figure SELECT run, target, backend, ?, 's', ?, NULL, NULL, 20, "
                "program, fingerprint, spread FROM figure WHERE metric = 'flops'",
                (name, value),
            )
        connection.execute("PRAGMA user_version = 1")
    connection.close()


def names(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    metrics = {name for (name,) in connection.execute("SELECT DISTINCT metric FROM figure")}
    connection.close()
    return metrics


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "olympus.toml").write_text('[target.f]\nentry = "m:f"\nargs = ["f32[4]"]\n')
    return folder


def test_a_history_of_version_1_is_shown_with_the_current_names(
    project: Path, invoke: Invoke
) -> None:
    version_1(history(project), range(1, 4))
    shown = {figure["metric"] for figure in document(invoke)["figures"]}
    assert shown == {"flops", *OLD_NAMES.values()}
    for name in ("steady_call", "steady-call"):
        (line,) = document(invoke, "--metric", name)["series"]
        assert (line["metric"], len(line["points"])) == ("steady-call", 3)
    (line,) = document(invoke, "--metric", "steady-call", "--limit", "2")["series"]
    assert len(line["points"]) == 2
    assert set(OLD_NAMES) < names(history(project)), "reading does not write"


def test_figures_with_old_and_new_names_are_one_series(project: Path, invoke: Invoke) -> None:
    path = history(project)
    version_1(path, range(1, 4))
    append(path, [(run(day), [steady(4.0)]) for day in range(3, 6)])  # one of them is repeated
    assert not set(OLD_NAMES) & names(path)
    (line,) = document(invoke, "--metric", "steady_call", "--metric", "steady-call")["series"]
    assert [point["value"] for point in line["points"]] == [3.0, 3.0, 3.0, 4.0, 4.0]
    text = invoke("history").stdout + invoke("history", "--metric", "steady_call").stdout
    assert "steady-call" in text and "steady_call" not in text


def test_a_run_with_both_names_keeps_the_new_one(project: Path) -> None:
    path = history(project)
    version_1(path, range(1, 2))
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO figure SELECT run, target, backend, 'steady-call', unit, 9.0, low, high, "
            "count, program, fingerprint, spread FROM figure WHERE metric = 'steady_call'"
        )
    connection.close()
    append(path, [(run(2), [flops(1)])])
    values = [point.figure.value for point in read_points(path, metrics=["steady-call"])]
    assert values == [9.0]


def test_an_export_of_an_earlier_version_adds_nothing(project: Path, invoke: Invoke) -> None:
    path = history(project)
    version_1(path, range(1, 4))
    points = read_points(path)
    earlier_names = {"flops": "flops"} | {new: name for name, new in OLD_NAMES.items()}
    table = write_table(
        Point(point.run, replace(point.figure, metric=earlier_names[point.figure.metric]))
        for point in points
    )
    assert "steady_call" in table
    (project / "old.csv").write_text(table)
    assert f"{len(points)} figures, 0 new" in invoke("history", "--import", "old.csv").stderr
    assert not set(OLD_NAMES) & names(path)
    invoke("history", "--export", "new.csv")
    assert not [name for name in OLD_NAMES if name in (project / "new.csv").read_text()]


def test_the_memory_of_a_process_and_of_a_program_are_two_metrics(
    project: Path, invoke: Invoke
) -> None:
    path = history(project)
    append(path, [(run(1), [flops(7, metric="peak-memory", unit="B")])])
    (line,) = document(invoke, "--metric", "peak_memory")["series"]
    assert line["metric"] == "peak-memory"
    append(path, [(run(2), [flops(8, metric="process-memory", unit="B", count=1)])])
    metrics = {
        name: document(invoke, "--metric", name)["series"][0]["metric"]
        for name in ("peak_memory", "peak-memory", "process_memory")
    }
    assert metrics == {
        "peak_memory": "process-memory",
        "peak-memory": "peak-memory",
        "process_memory": "process-memory",
    }


def test_a_version_of_the_file_is_written_once(project: Path) -> None:
    path = history(project)
    version_1(path, range(1, 2))
    append(path, [(run(2), [flops(1)])])
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),) == (2,)
    connection.close()
