"""Times of targets as rows of a table, for people, and as data, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from olympus_cli.bench.stages import TargetTimes
from olympus_cli.bench.statistics import CONFIDENCE, Summary
from olympus_cli.spec.backends import backend_text
from olympus_cli.units import duration

__all__ = ["COLUMNS", "times_data", "times_rows", "times_title"]

COLUMNS = ("stage", "median", "quartiles", f"{CONFIDENCE:.0%} interval", "samples")


def times_title(times: TargetTimes) -> str:
    """What the table is about."""
    return f"{times.target}  ({times.entry}, {backend_text(times.backend)})"


def times_rows(times: TargetTimes) -> list[tuple[str, ...]]:
    """One row for each stage."""
    return [(name, *_cells(summary)) for name, summary in times.stages.items()]


def _cells(summary: Summary) -> tuple[str, ...]:
    if summary.count == 1:
        return (duration(summary.median), "-", "-", "1")
    interval = "-"
    if summary.low is not None and summary.high is not None:
        interval = f"{duration(summary.low)} .. {duration(summary.high)}"
    quartiles = f"{duration(summary.q1)} .. {duration(summary.q3)}"
    return (duration(summary.median), quartiles, interval, str(summary.count))


def times_data(times: TargetTimes) -> dict[str, Any]:
    """The times in seconds."""
    stages = {
        name: {**asdict(summary), "precision": summary.precision}
        for name, summary in times.stages.items()
    }
    return {
        "target": times.target,
        "entry": times.entry,
        "backend": backend_text(times.backend),
        "unit": "s",
        "confidence": CONFIDENCE,
        "calls_per_sample": times.batch,
        "stages": {name.replace(" ", "_"): stage for name, stage in stages.items()},
    }
