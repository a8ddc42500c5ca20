"""The model of a measurement: metrics with their samples, and the conditions.

`olympus bench` prints, saves and compares this form; only this module names the keys.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from olympus.files import typed
from olympus_cli.bench.statistics import CONFIDENCE, summarize
from olympus_cli.text.metrics import current_name

#: The stages, in the order in which they are reported.
STAGES = ("import", "import-program", "load", "trace", "lower", "compile")

Direction = Literal["lower", "higher", "neither"]

# The keys of a metric's object that follow from its samples.
_FROM_SAMPLES = ("count", "median", "q1", "q3", "minimum", "low", "high", "precision")


@dataclass(frozen=True)
class Metric:
    """The samples of one figure, in the order of measurement.

    `unit` is "s", "B", "FLOP/s", "B/s" or "1/s". `better` is the better direction; a metric with
    "neither" is shown but not judged. `batch` is the number of calls whose mean is a sample.
    """

    unit: str
    better: Direction
    samples: tuple[float, ...]
    batch: int = 1

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data: the samples, and the summary of their median.

        >>> Metric("s", "lower", (3.0, 1.0, 2.0)).to_data()["median"]
        2.0
        """
        summary = summarize(self.samples)
        figures = {**asdict(summary), "precision": summary.precision}
        return {**figures, **asdict(self), "samples": list(self.samples)}


@dataclass(frozen=True)
class Measured:
    """The measurement of one target on one backend, in one run.

    `metrics` are by name, one of `BENCH` in `olympus_cli/text/metrics.py`. `machine` identifies the
    machine: figures of different machines cannot be compared. `conditions` are the load and the
    clock during the measurement, for a reader. `fingerprint` is the structural fingerprint of the
    program. `facts` describe the program and the measurement ("flops", "estimate_seconds",
    "input_sets", ...), `notes` are sentences for a reader, and `matrix` has the target's values of
    its matrix.
    """

    target: str
    entry: str
    backend: str
    metrics: Mapping[str, Metric]
    machine: Mapping[str, str]
    conditions: Mapping[str, float | str | None]
    versions: Mapping[str, str]
    fingerprint: str | None = None
    facts: Mapping[str, float | str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    matrix: Mapping[str, float | str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return JSON-like data with every number, which `of_document` reads."""
        metrics = {name: metric.to_data() for name, metric in self.metrics.items()}
        return {
            "target": self.target,
            "entry": self.entry,
            "backend": self.backend,
            "fingerprint": self.fingerprint,
            "confidence": CONFIDENCE,
            "metrics": metrics,
            "facts": dict(self.facts),
            "machine": dict(self.machine),
            "conditions": dict(self.conditions),
            "versions": dict(self.versions),
            "matrix": dict(self.matrix),
            "notes": list(self.notes),
        }

    @staticmethod
    def of_document(data: object) -> Measured:
        """Return the measurement of a document; old names of metrics are accepted.

        Raises:
            ValueError: the data does not have the form of `document`, or a metric has no sample or
                two names; the message names the place.
        """
        if not isinstance(data, dict):
            raise ValueError("the document is not an object")
        scalars = {key: _scalars(data.get(key), key) for key in ("facts", "conditions", "matrix")}
        metrics = data.get("metrics")
        if not isinstance(metrics, dict):
            raise ValueError("metrics is not an object")
        rest = {key: value for key, value in data.items() if key not in (*scalars, "confidence")}
        names = _current_names(metrics)
        rest["metrics"] = {name: _without_summary(metrics[names[name]]) for name in names}
        stored: _Stored = typed(rest, _Stored)
        for name, metric in stored.metrics.items():
            if not metric.samples or metric.batch < 1:
                raise ValueError(f"metrics.{name} has no sample")
        fields: dict[str, Any] = {**vars(stored), **scalars}
        return Measured(**fields)


@dataclass(frozen=True)
class _Stored:
    """The parts of a document that `typed` checks; the others are objects of numbers and texts."""

    target: str
    entry: str
    backend: str
    metrics: Mapping[str, Metric]
    machine: Mapping[str, str]
    versions: Mapping[str, str]
    fingerprint: str | None
    notes: tuple[str, ...]


def _current_names(metrics: Mapping[str, object]) -> dict[str, str]:
    """Return the document's name of each current metric; raise ValueError if one has two names."""
    name_of: dict[str, str] = {}
    for name in metrics:
        current = current_name(name)
        if current in name_of:
            raise ValueError(f"metrics has {current} twice, as {name_of[current]} and as {name}")
        name_of[current] = name
    return name_of


def _without_summary(metric: object) -> object:
    if not isinstance(metric, dict):
        return metric
    return {key: value for key, value in metric.items() if key not in _FROM_SAMPLES}


def _scalars(value: object, where: str) -> dict[str, Any]:
    """Return an object of numbers, texts and nulls; raise ValueError for any other."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not an object")
    for name, scalar in value.items():
        is_number = isinstance(scalar, int | float) and abs(scalar) <= sys.float_info.max
        if not (scalar is None or isinstance(scalar, str) or is_number):
            raise ValueError(f"{where}.{name} is not a number, a string or null")
    return value
