"""Figures are exported to and imported from files of other tools; other files are an error."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from olympus.errors import ArtifactError, UsageError
from olympus_cli.history.exchange.files import exported, format_of, read_figures
from olympus_cli.history.points import Figure, Point, Run, Spread
from olympus_cli.history.store import append, read_points

RUN = Run(
    "2026-01-31T12:00:00.123456Z", "bench", "ab" * 20, "2026-01-31T11:00:00.000000Z", True, "main",
    "0123456789ab", {"olympus": "0.1.0", "python": "3.11.7"},
)  # fmt: skip
TIME = Figure(
    "f@batch=1,train=true", "cpu", "steady-call", "s", 0.1 + 0.2, 0.29, 0.31, 12,
    fingerprint="f" * 64, spread=Spread(0.301, 0.01, 0.28, 0.4, 0.295, 0.305),
)  # fmt: skip
ONCE = Figure("f", "gpu-h200", "build-trace", "s", 0.25, count=1, program="a" * 64)
FLOPS = Figure("f", "cpu", "flops", "FLOP", 4e9, program="a" * 64)
POINTS = [Point(RUN, TIME), Point(RUN, ONCE), Point(RUN, FLOPS)]

#: An excerpt of the output of pytest-benchmark 5.3.1, without flags of the CPU and options.
PYTEST = {
    "machine_info": {
        "node": "vm", "processor": "", "machine": "x86_64", "python_version": "3.11.7",
        "system": "Linux", "cpu": {"arch": "X86_64", "count": 2, "brand_raw": "AMD EPYC"},
    },
    "commit_info": {
        "id": "5b0f9c1d2e3f405162738495a6b7c8d9e0f1a2b3", "time": "2026-01-30T10:00:00+01:00",
        "author_time": "2026-01-30T10:00:00+01:00", "dirty": False, "project": "p",
        "branch": "main",
    },
    "benchmarks": [
        {
            "group": None, "name": "test_sum", "fullname": "test_a.py::test_sum", "params": None,
            "param": None, "extra_info": {}, "options": {"disable_gc": False, "warmup": False},
            "stats": {
                "min": 5.2e-07, "max": 0.0008, "mean": 1.1e-06, "stddev": 1.3e-05,
                "rounds": 84912, "median": 5.3e-07, "iqr": 2.1e-09, "q1": 5.28e-07,
                "q3": 5.31e-07, "iqr_outliers": 9518, "stddev_outliers": 324,
                "outliers": "324;9518", "ld15iqr": 5.2e-07, "hd15iqr": 5.3e-07,
                "ops": 878669.7, "total": 0.096, "data": [6.3e-07, 6.3e-07], "iterations": 10,
            },
        }
    ],
    "datetime": "2026-11-22T20:42:09.776912+00:00",
    "version": "5.3.1",
}  # fmt: skip
HYPERFINE = {
    "results": [
        {
            "command": "sleep 0.1", "mean": 0.102, "stddev": 0.001, "median": 0.102, "user": 0.001,
            "system": 0.001, "min": 0.101, "max": 0.103, "times": [0.101, 0.102, 0.103],
            "exit_codes": [0, 0, 0],
        },
        {
            "command": "true", "mean": 0.001, "stddev": None, "median": 0.001, "user": 0.0,
            "system": 0.0, "min": 0.001, "max": 0.001, "times": [0.001], "exit_codes": [0],
            "parameters": {"n": "1"},
        },
    ]
}  # fmt: skip
HYPERFINE_2 = {
    "schema_version": 2,
    "metadata": {"hyperfine_version": "2.0.0", "start_time": "2026-01-31T12:00:00Z"},
    "primary_metric": "time_wall_clock",
    "results": [
        {
            "command": "sleep 1", "name": "one second",
            "measurements": [
                {"time_wall_clock": {"value": v, "unit": "second"}, "exit_code": 0}
                for v in (1.01, 1.02)
            ],
        }
    ],
}  # fmt: skip


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "file"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_a_table_has_every_figure(tmp_path: Path) -> None:
    text, count = exported(POINTS, "csv")
    assert count == 3
    assert read_figures(written(tmp_path, text)) == POINTS


@pytest.mark.parametrize(
    "branch", ["=1+1", "+1", "-1", "@a", "\ta", "\ra", "\na", "'a", "'=1", "''", "'", "a=1"]
)
def test_no_text_of_a_table_is_a_formula(tmp_path: Path, branch: str) -> None:
    point = replace(POINTS[0], run=replace(RUN, branch=branch))
    text, _ = exported([point], "csv")
    (cells,) = csv.DictReader(io.StringIO(text, newline=""))
    assert not cells["branch"].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    path = tmp_path / "file.csv"
    path.write_bytes(text.encode())
    assert read_figures(path) == [point]


def test_an_export_to_pytest_benchmark_has_the_latest_times(tmp_path: Path) -> None:
    older = Point(Run("2026-01-01T00:00:00.000000Z", "bench"), TIME)
    text, count = exported([older, *POINTS], "pytest-benchmark")
    assert count == 2
    assert read_figures(written(tmp_path, text)) == POINTS[:2]


def test_pytest_benchmark_compares_an_export(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text(exported(POINTS, "pytest-benchmark")[0])
    compare = ["compare", "export.json", "--csv=table.csv"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", *compare],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "table.csv", newline="") as file:
        rows = {row["param:metric"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {TIME.metric, ONCE.metric}
    spread = TIME.spread
    assert spread is not None
    row = rows[TIME.metric]
    assert row["name"] == f"{TIME.target}[cpu-steady-call]"
    numbers = {name: float(row[name]) for name in ("min", "max", "mean", "stddev", "median")}
    assert numbers == {
        "min": spread.min, "max": spread.max, "mean": spread.mean, "stddev": spread.stddev,
        "median": TIME.value,
    }  # fmt: skip
    assert (row["rounds"], rows[ONCE.metric]["rounds"]) == ("12", "1")
    assert float(row["iqr"]) == pytest.approx(0.01)
    assert float(row["ops"]) == pytest.approx(1 / spread.mean)


def test_an_export_without_a_suitable_figure_is_an_error() -> None:
    with pytest.raises(UsageError, match="has measured times only"):
        exported([POINTS[2]], "pytest-benchmark")


def test_a_file_of_pytest_benchmark(tmp_path: Path) -> None:
    (point,) = read_figures(written(tmp_path, PYTEST))
    run, figure = point.run, point.figure
    assert (figure.target, figure.metric, figure.unit) == ("test_a.py::test_sum", "time", "s")
    assert (figure.value, figure.count) == (5.3e-07, 84912)
    assert figure.spread is not None
    assert figure.spread.mean == 1.1e-06
    assert run.time == "2026-11-22T20:42:09.776912Z"
    assert run.commit_time == "2026-01-30T09:00:00.000000Z"
    assert (run.branch, run.dirty, run.versions) == ("main", False, {"python": "3.11.7"})


def test_a_run_outside_of_a_repository(tmp_path: Path) -> None:
    nowhere = {"id": "unversioned", "time": None, "dirty": False, "branch": "(unknown)"}
    (point,) = read_figures(written(tmp_path, {**PYTEST, "commit_info": nowhere}))
    assert (point.run.commit, point.run.dirty, point.run.branch) == (None, None, None)


def test_a_file_of_hyperfine(tmp_path: Path) -> None:
    sleep, true = read_figures(written(tmp_path, HYPERFINE))
    assert (sleep.figure.target, sleep.figure.value, sleep.figure.count) == ("sleep 0.1", 0.102, 3)
    assert sleep.figure.spread is not None
    assert sleep.figure.spread.stddev == pytest.approx(0.001)
    assert (true.figure.count, true.run) == (1, sleep.run)


def test_a_file_that_an_earlier_version_wrote_for_hyperfine_is_restored(tmp_path: Path) -> None:
    extra = {"olympus": json.dumps(asdict(POINTS[0]))}
    result = {"command": "f", "mean": 0.3, "stddev": None, "median": 0.3, "parameters": extra}
    assert read_figures(written(tmp_path, {"results": [result]})) == POINTS[:1]


def test_a_file_of_the_second_hyperfine(tmp_path: Path) -> None:
    (point,) = read_figures(written(tmp_path, HYPERFINE_2))
    assert point.figure.target == "one second"
    assert point.figure.value == pytest.approx(1.015)
    assert point.run.time == "2026-01-31T12:00:00.000000Z"


@pytest.mark.parametrize("document", [PYTEST, HYPERFINE, HYPERFINE_2])
def test_a_repeated_import_adds_nothing(tmp_path: Path, document: Any) -> None:
    history = tmp_path / "history.sqlite"
    counts = []
    for touched in (1e9, 2e9):  # a copied file has another time
        path = written(tmp_path, document)
        os.utime(path, (touched, touched))
        points = read_figures(path)
        counts.append(append(history, [(points[0].run, [p.figure for p in points])])[1])
    assert counts == [len(points), 0]
    assert len(read_points(history)) == len(points)


def test_a_table_of_another_tool_needs_few_columns(tmp_path: Path) -> None:
    text = "time,target,metric,unit,value\n2026-01-31,f,latency,s,0.5\n"
    (point,) = read_figures(written(tmp_path, text))
    assert point.run == Run("2026-01-31T00:00:00.000000Z", "import")
    assert point.figure == Figure("f", "", "latency", "s", 0.5)


@pytest.mark.parametrize(("unit", "parts"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_times_in_other_units_are_converted_to_seconds(
    tmp_path: Path, unit: str, parts: float
) -> None:
    text = f"time,target,metric,unit,value,low,high\n2026-01-31,f,m,{unit},5,4,\n"
    (point,) = read_figures(written(tmp_path, text))
    assert point.figure == Figure("f", "", "m", "s", 5 / parts, low=4 / parts)


HEADER = "time,target,metric,unit,value"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it has no column 'time'"),
        ("a,b\n1,2\n", "it has no column 'time'"),
        (f"{HEADER},valu\n", "it has the column 'valu'.*did you mean value"),
        (f"{HEADER},value\n", "it has a column twice"),
        (f"{HEADER}\n2026-01-31,f,m,s\n", "line 2 does not have a cell for each column"),
        (f"{HEADER}\nyesterday,f,m,s,1\n", "line 2 has the time 'yesterday'"),
        (f"{HEADER}\n2026-01-31,f,m,s,fast\n", "line 2: value is 'fast'"),
        (f"{HEADER}\n2026-01-31,f,m,s,nan\n", "line 2: value is 'nan', which is not a number"),
        (f"{HEADER}\n2026-01-31,f,m,s,-1\n", "line 2: value is '-1', which is not a number"),
        (f"{HEADER}\n2026-01-31,f,m,ms,inf\n", "line 2: value is 'inf'"),
        (f"{HEADER}\n2026-01-31,f,m,s,\n", "line 2 has no value"),
        (f"{HEADER}\n2026-01-31,f,m,furlong,1\n", "line 2 has the unit 'furlong'"),
        (f"{HEADER}\n2026-01-31,,m,s,1\n", "line 2 has no target"),
        (f"{HEADER}\n2026-01-31,{'f' * 2000},m,s,1\n", "more than 1000 letters"),
        (f'{HEADER}\n2026-01-31,"f,m,s,1\n', "is not CSV"),
        (f"{HEADER},dirty\n2026-01-31,f,m,s,1,perhaps\n", "dirty is 'perhaps'"),
        (f"{HEADER},count\n2026-01-31,f,m,s,1,0\n", "has a count of 0"),
        ("{", "it is not JSON that can be read"),
        ("[" * 100_000, "cannot be imported"),
        ("[]", "neither the benchmarks of pytest-benchmark nor hyperfine's results"),
        ('{"results": 3}', "results is not an array"),
        ('{"results": [3]}', r"results\[0\] is not an object"),
        ('{"results": [{"command": "a", "times": ["x"]}]}', r"times\[0\] is not a number"),
        ('{"results": [{"command": "a"}]}', r"results\[0\].median is not a number"),
        ('{"results": [{"median": 1}]}', r"results\[0\].command is not a string"),
        ('{"results": [{"parameters": {"olympus": "{"}}]}', "parameters.olympus is not JSON"),
        ('{"schema_version": 2, "results": []}', "it has no metadata.start_time"),
        ('{"benchmarks": []}', "it has no datetime, the time of the run"),
        ('{"benchmarks": [], "datetime": "once"}', "the file has the time 'once'"),
        (
            json.dumps({**PYTEST, "benchmarks": [{"name": "a", "stats": {"median": -1.0}}]}),
            r"benchmarks\[0\].stats.median is out of range",
        ),
        ('{"benchmarks": [], "datetime": "2026-01-31", "commit_info": 3}', "commit_info is not"),
        (json.dumps({**PYTEST, "benchmarks": [{"name": "a"}]}), r"benchmarks\[0\].stats is not"),
        ('{"benchmarks": [NaN]}', "JSON has no NaN"),
    ],
)  # fmt: skip
def test_a_file_of_another_format_is_an_error_with_the_reason(
    tmp_path: Path, content: str, reason: str
) -> None:
    with pytest.raises(ArtifactError, match=reason):
        read_figures(written(tmp_path, content))


def test_a_path_that_is_no_text_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ArtifactError, match="cannot be imported"):
        read_figures(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_figures(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="cannot be read"):
        read_figures(tmp_path)


def test_the_suffix_or_the_option_selects_the_format() -> None:
    assert format_of(Path("a.csv"), None) == "csv"
    assert format_of(Path("a.json"), None) == "pytest-benchmark"
    assert format_of(Path("a.txt"), "csv") == "csv"
    with pytest.raises(UsageError, match="is not that of a format"):
        format_of(Path("a.txt"), None)
