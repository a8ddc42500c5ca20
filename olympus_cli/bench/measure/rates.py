"""Rates of a program: calls, operations and bytes a second, and its time by the roofline.

A rate is a count of the program (see docs/explanation/cost.md) divided by the seconds of a call.
The roofline's time is the time for the counts at the peaks of the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import olympus
from olympus.analysis import CpuPeaks, kept_peaks, known_peaks, roofline
from olympus.errors import OlympusError
from olympus.stages import device_model
from olympus_cli.bench.measure.subject import Subject
from olympus_cli.bench.measurement import Metric
from olympus_cli.spec.devices import AnyModel
from olympus_cli.text.metrics import BENCH


def program_facts(subject: Subject) -> dict[str, Any]:
    """Return the cost of a call, its time by the roofline and by the estimate, and the peaks' name.

    The keys are "flops", "bytes" (read and written, by operation), "io_bytes" (arguments, results
    and constants, once), "roofline_seconds", "roofline_bound" ("compute" or "memory"),
    "estimate_seconds", "peaks": "calibrated", "usual" or the name of the device, and
    "peaks_assumption": the sentence of an estimate on the peaks of this CPU, with the time and the
    load of the calibration. Unknown values are None.
    """
    cost = subject.cost()
    peaks, name = _peaks(subject.backend)
    bound = roofline(cost, peaks) if peaks is not None else None
    try:
        estimate = subject.estimate()
    except OlympusError:  # nothing is known about the device
        estimate = None
    return {
        "flops": cost.flops,
        "bytes": cost.bytes,
        "io_bytes": cost.io_bytes,
        "roofline_seconds": bound and bound.seconds,
        "roofline_bound": bound and bound.bound,
        "estimate_seconds": estimate and estimate.seconds,
        "peaks": name,
        "peaks_assumption": kept_peaks().assumption if subject.backend.backend == "cpu" else None,
    }


def _peaks(backend: olympus.Target) -> tuple[CpuPeaks | AnyModel | None, str | None]:
    if backend.backend == "cpu":
        return known_peaks(), "calibrated" if kept_peaks().peaks is not None else "usual"
    model = device_model(backend)
    return model, None if model is None else model.name


def rate_metrics(steady: Metric, facts: dict[str, Any]) -> dict[str, Metric]:
    """Return the rates of the samples of a steady call, which follow from its time."""
    rates = {
        "throughput": 1,
        "flop-rate": facts["flops"],
        "byte-rate": facts["io_bytes"],
    }
    return {
        name: Metric(BENCH[name], "neither", tuple(count / s for s in steady.samples), steady.batch)
        for name, count in rates.items()
        if count and all(steady.samples)
    }


def roofline_share(steady: Metric, facts: Mapping[str, Any]) -> float | None:
    """Return the part of the roofline that a steady call reaches; None if it is not known.

    >>> roofline_share(Metric("s", "lower", (0.5, 0.25)), {"roofline_seconds": 0.1875})
    0.5
    """
    usual, least = median(steady.samples), facts.get("roofline_seconds")
    return least / usual if isinstance(least, int | float) and least and usual else None
