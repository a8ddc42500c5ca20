"""Times in the JSON of pytest-benchmark, which has the figures of one run.

The fields are those of version 5.3 (`--benchmark-json`). OLYMPUS writes its own facts to
`extra_info`, so that reading the file loses nothing. Fields that need all samples, such as the
number of outliers, are null: the history has only summaries of samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olympus.files import typed
from olympus_cli.history.exchange.records import (
    new_point,
    point_data,
    point_of,
    read_time,
    spread_of,
)
from olympus_cli.history.points import Point, Run, Spread
from olympus_cli.history.recording import machine_digest

_OWN = "olympus"  # the key in `extra_info`
_NO_COMMIT = ("unversioned", "unknown", "")
_NO_BRANCH = ("(unknown)", "")


def write_benchmarks(points: Sequence[Point]) -> dict[str, Any]:
    """Return the document; the points are times with a known spread of samples."""
    newest = max((point.run for point in points), key=lambda run: run.time)
    return {
        "machine_info": {
            "node": newest.host or "",
            "python_version": newest.versions.get("python"),
        },
        "commit_info": {
            "id": newest.commit or _NO_COMMIT[0],
            "time": newest.commit_time,
            "author_time": newest.commit_time,
            "dirty": bool(newest.dirty),
            "project": "",
            "branch": newest.branch or _NO_BRANCH[0],
        },
        "benchmarks": [_benchmark(point) for point in points],
        "datetime": newest.time,
        "version": "5.3.1",
    }


def _benchmark(point: Point) -> dict[str, Any]:
    figure, spread = point.figure, spread_of(point.figure)
    assert spread is not None  # `exported` omits others
    name = f"{figure.target}[{figure.backend}-{figure.metric}]"
    count = figure.count or 1
    return {
        "group": figure.metric,
        "name": name,
        "fullname": name,
        "params": {"backend": figure.backend, "metric": figure.metric},
        "param": f"{figure.backend}-{figure.metric}",
        "extra_info": {_OWN: point_data(point)},
        "options": {},
        "stats": {
            "min": spread.min,
            "max": spread.max,
            "mean": spread.mean,
            "stddev": spread.stddev,
            "rounds": count,
            "median": figure.value,
            "iqr": spread.q3 - spread.q1,
            "q1": spread.q1,
            "q3": spread.q3,
            "iqr_outliers": None,
            "stddev_outliers": None,
            "outliers": "",
            "ld15iqr": None,
            "hd15iqr": None,
            "ops": 1 / spread.mean if spread.mean else None,
            "total": spread.mean * count,
            "iterations": 1,
        },
    }


def read_benchmarks(document: Mapping[str, Any]) -> list[Point]:
    """Return the points of a document: the median of each benchmark, as the metric "time".

    Raises:
        ValueError: the document has another form; the message names the place.
    """
    run = _run(document)
    benchmarks = document["benchmarks"]
    if not isinstance(benchmarks, list):
        raise ValueError("benchmarks is not an array")
    return [_point(benchmark, run, f"benchmarks[{i}]") for i, benchmark in enumerate(benchmarks)]


def _run(document: Mapping[str, Any]) -> Run:
    if document.get("datetime") is None:
        raise ValueError("it has no datetime, the time of the run")
    commit = _object(document.get("commit_info") or {}, "commit_info")
    machine = _object(document.get("machine_info") or {}, "machine_info")
    name, time, branch = commit.get("id"), commit.get("time"), commit.get("branch")
    known = isinstance(name, str) and name not in _NO_COMMIT
    dirty = commit.get("dirty")
    python = machine.get("python_version")
    return Run(
        time=read_time(document.get("datetime"), "the file"),
        command="pytest-benchmark",
        commit=name if known else None,
        commit_time=read_time(time, "commit_info") if known and time is not None else None,
        dirty=dirty if known and isinstance(dirty, bool) else None,
        branch=branch if isinstance(branch, str) and branch not in _NO_BRANCH else None,
        host=_host(machine),
        versions={"python": python} if isinstance(python, str) else {},
    )


def _host(machine: Mapping[str, Any]) -> str:
    """Return the digest of the kind of machine, without its name, as in the history itself."""
    cpu = machine.get("cpu")
    facts = {key: str(machine.get(key)) for key in ("system", "machine")}
    if isinstance(cpu, dict):
        facts |= {key: str(cpu.get(key)) for key in ("brand_raw", "count", "brand")}
    return machine_digest(facts)


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not an object")
    return value


def _point(benchmark: object, run: Run, where: str) -> Point:
    fields = _object(benchmark, where)
    extra = fields.get("extra_info")
    if isinstance(extra, dict) and _OWN in extra:
        return point_of(extra[_OWN], f"{where}.extra_info.{_OWN}")
    stats = _object(fields.get("stats"), f"{where}.stats")

    def stat(name: str, kind: type) -> Any:
        return typed(stats.get(name), kind, f"{where}.stats.{name}")

    facts = {
        "target": typed(fields.get("fullname") or fields.get("name"), str, f"{where}.name"),
        "metric": "time",
        "value": stat("median", float),
        "count": stat("rounds", int),
        "spread": {name: stat(name, float) for name in Spread.__dataclass_fields__},
    }
    return new_point(run, facts, where)
