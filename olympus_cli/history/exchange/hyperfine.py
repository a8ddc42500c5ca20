"""Times in the JSON of hyperfine, version 1 and version 2, which OLYMPUS reads and does not write.

Version 1 has an array `results` with command, mean, stddev (null for one run), median, user,
system, min, max, times and exit_codes, in seconds (benchmark_result.rs of hyperfine 1.20). Version
2 has `schema_version` 2, `metadata` with start_time, and a list of measurements, each with
time_wall_clock. Readers of these files, such as the scripts of hyperfine, need the times of all
runs, of which the history has only summaries. Files that an earlier OLYMPUS wrote have its facts in
`parameters`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from olympus.files import parse_json, typed
from olympus_cli.bench.statistics import summarize
from olympus_cli.history.bench_figures import sample_spread
from olympus_cli.history.exchange.records import new_point, point_of, read_time
from olympus_cli.history.points import Point, Run

_OWN = "olympus"  # the key in `parameters`
_VERSION = 2


def read_results(document: Mapping[str, Any], time: str, source: str) -> list[Point]:
    """Return the points of a document: the median of each command, as the metric "time".

    Version 1 does not have the time of the run: `time` is the file's time, and `source` its digest.

    Raises:
        ValueError: the document has another form; the message names the place.
    """
    results = document["results"]
    if not isinstance(results, list):
        raise ValueError("results is not an array")
    is_second = document.get("schema_version") == _VERSION
    if is_second:
        metadata = document.get("metadata")
        started = metadata.get("start_time") if isinstance(metadata, dict) else None
        if started is None:
            raise ValueError("it has no metadata.start_time, the time of the run")
        time = read_time(started, "metadata")
    run = Run(time=time, command="hyperfine", source=source)
    return [_point(result, run, f"results[{i}]", is_second) for i, result in enumerate(results)]


def _point(result: object, run: Run, where: str, is_second: bool) -> Point:
    if not isinstance(result, dict):
        raise ValueError(f"{where} is not an object")
    parameters = result.get("parameters")
    if isinstance(parameters, dict) and isinstance(parameters.get(_OWN), str):
        return point_of(_own(parameters[_OWN], where), f"{where}.parameters.{_OWN}")
    name = typed(result.get("name") or result.get("command"), str, f"{where}.command")
    facts = {"target": name, "metric": "time"}
    samples = _samples(result, where, is_second)
    if samples:
        return new_point(run, {**facts, **_summary(samples)}, where)
    median = typed(result.get("median"), float, f"{where}.median")
    return new_point(run, {**facts, "value": median, "count": 1}, where)


def _own(text: str, where: str) -> object:
    try:
        return parse_json(text)
    except ValueError as error:
        raise ValueError(f"{where}.parameters.{_OWN} is not JSON: {error}") from error


def _samples(result: Mapping[str, Any], where: str, is_second: bool) -> tuple[float, ...]:
    """Return the times of the single runs in seconds; empty if the file does not have them."""
    if not is_second:
        samples: tuple[float, ...] = typed(
            result.get("times") or [], tuple[float, ...], f"{where}.times"
        )
        return samples
    runs = result.get("measurements")
    if not isinstance(runs, list) or not runs:
        raise ValueError(f"{where}.measurements is not an array of at least one run")
    return tuple(_seconds(run, f"{where}.measurements[{i}]") for i, run in enumerate(runs))


def _seconds(measurement: object, where: str) -> float:
    time = measurement.get("time_wall_clock") if isinstance(measurement, dict) else None
    if not isinstance(time, dict) or time.get("unit") != "second":
        raise ValueError(f"{where} has no time_wall_clock in seconds")
    seconds: float = typed(time.get("value"), float, f"{where}.time_wall_clock.value")
    return seconds


def _summary(samples: Sequence[float]) -> dict[str, Any]:
    summary = summarize(samples)
    return {
        "value": summary.median,
        "low": summary.low,
        "high": summary.high,
        "count": summary.count,
        "spread": asdict(sample_spread(samples)),
    }
